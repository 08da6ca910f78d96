"""Samples without replacement in bags, and the division of a tree's rows."""

import numpy as np
import pytest

from jaxtree.forests.samples import TreeRows, draw_rows
from jaxtree.forests.subsamples import Bags, Halves, Subsampler, units_of

SEED = np.array([3, 5], np.uint64)


HALF = Bags()


def sampler(num_rows=40, bags=HALF, group=None):
    return Subsampler(SEED, *units_of(group, num_rows), bags)


def test_a_tree_draws_its_share_without_replacement():
    counts = sampler(41, Bags(0.25, 4)).draw_counts(0, 12)
    assert (counts.sum(axis=1) == 10).all()
    assert counts.max() == 1
    assert len({own.tobytes() for own in counts}) == 12


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_the_trees_of_a_bag_draw_from_one_half(share):
    counts = sampler(40, Bags(share, 5)).draw_counts(0, 20)
    for bag in counts.reshape(4, 5, 40):
        assert bag.max(axis=0).sum() <= 20


def test_bags_of_one_tree_draw_any_share():
    counts = sampler(40, Bags(0.9, 1)).draw_counts(0, 3)
    assert (counts.sum(axis=1) == 36).all()
    assert (sampler(40, Bags(1.0, 1)).draw_counts(0, 2) == 1).all()


def test_a_tree_draws_the_same_rows_in_every_batch():
    own = sampler(40, Bags(0.3, 4))
    together = own.draw_counts(0, 11)
    apart = np.concatenate([own.draw_counts(0, 3), own.draw_counts(3, 6), own.draw_counts(9, 2)])
    assert (together == apart).all()


def test_a_draw_is_fair():
    counts = sampler(20, Bags(0.25, 2)).draw_counts(0, 2000)
    assert np.abs(counts.mean(axis=0) - 0.25).max() < 0.05


def test_the_rows_of_a_group_are_drawn_together():
    group = np.arange(60) % 20
    counts = sampler(60, Bags(0.5, 2), group).draw_counts(0, 6)
    for own in counts:
        assert (own == own[group]).all()
        assert own.sum() == 30


def test_groups_draw_alike_whatever_the_order_of_rows():
    group, order = np.arange(30) * 7, np.random.default_rng(0).permutation(30)
    counts = sampler(30, Bags(), group).draw_counts(0, 8)
    moved = sampler(30, Bags(), group[order]).draw_counts(0, 8)
    assert (moved == counts[:, order]).all()


def test_the_numbers_of_rows_are_those_that_growth_makes_room_for():
    own = sampler(1001, Bags(0.5, 4))
    assert own.expected_rows() == 500
    assert own.largest_count() == 1
    assert len(draw_rows(own, 0, 3).row) == 1500


def halves(num_rows=40, share=0.5, group=None):
    return Halves(SEED, *units_of(group, num_rows), share)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_a_tree_s_rows_are_divided_by_their_share(share):
    rows = draw_rows(sampler(40, Bags(0.5, 2)), 4, 6)
    split, fill = halves(40, share).divide(rows, 4)
    for tree in range(6):
        own, others = split.row[split.tree == tree], fill.row[fill.tree == tree]
        assert len(own) == 20 * share
        assert sorted([*own, *others]) == sorted(rows.row[rows.tree == tree])
    assert len({tuple(split.row[split.tree == tree]) for tree in range(6)}) == 6


def test_a_division_follows_from_the_number_of_the_tree():
    rows = draw_rows(sampler(40), 0, 5)
    split, _ = halves().divide(rows, 0)
    one = TreeRows(*(values[rows.tree == 3] for values in rows))
    alone, _ = halves().divide(one._replace(tree=one.tree * 0), 3)
    assert (alone.row == split.row[split.tree == 3]).all()


def test_the_rows_of_a_group_are_divided_together():
    group = np.arange(60) // 3
    rows = draw_rows(sampler(60, Bags(), group), 0, 4)
    split, fill = halves(60, 0.5, group).divide(rows, 0)
    for tree in range(4):
        assert not set(group[split.row[split.tree == tree]]) & set(group[fill.row[fill.tree == tree]])


def test_counts_of_a_bootstrap_sample_go_with_their_rows():
    rows = TreeRows(np.arange(10, dtype=np.int32), np.zeros(10, np.int32), np.arange(1, 11))
    split, fill = halves(10).divide(rows, 0)
    assert (split.weight == split.row + 1).all()
    assert (fill.weight == fill.row + 1).all()


@pytest.mark.parametrize("num_units", [1, 2])
def test_each_part_has_a_unit_where_there_are_two(num_units):
    rows = TreeRows(np.arange(num_units, dtype=np.int32), np.zeros(num_units, np.int32), np.ones(num_units, np.int32))
    split, fill = halves(num_units, 0.01).divide(rows, 0)
    assert (len(split.row), len(fill.row)) == (1, num_units - 1)
