"""Trees whose targets are made anew at every node, beside those that the engine grows at once."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxtree.growth.inputs.bundles import Data, Features, Limits, Rules, Sizes
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.growth.loop.grow import grow_until_it_fits
from jaxtree.growth.native import engine_of
from jaxtree.kernels.choose import Engine
from jaxtree.moments.growth import TreeEntries, grow_relabelled
from jaxtree.moments.quantiles import Quantiles
from jaxtree.moments.survival import SurvivalTimes
from jaxtree.tree.forest import take_trees
from tests.moments.tables import Mean, coded_table, grow, half_samples

FIELDS = ("feature", "code", "next_code", "split_kind", "missing_branch", "num_children", "first_child", "parent",
          "depth", "root", "weight", "num_rows", "subset")  # fmt: skip


def assert_same(first, second, names=FIELDS):
    """Trees have the same nodes."""
    first, second = (take_trees(tree, np.unique(np.asarray(tree.root))).nodes for tree in (first, second))
    for name in names:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    np.testing.assert_allclose(first.gain, second.gain, rtol=1e-6, atol=1e-12)


def table_of_kinds(seed):
    """A table with thresholds, categories and missing values."""
    rng = np.random.default_rng(seed)
    table = coded_table(60, 4, 6, seed)
    kinds = np.array([0, 3, 2, 0], np.int32)
    num_values = np.array([6, 6, 6, 5])
    table.codes[3] = rng.integers(0, 6, 60)
    return table._replace(features=Features(kinds, np.full(4, 6), num_values))


@pytest.mark.parametrize("samples", [{}, {"samples_features": True}, {"samples_thresholds": True}])
def test_the_mean_grows_the_trees_of_the_engine(samples):
    table, entries = table_of_kinds(1), half_samples(60, 3)
    y = np.random.default_rng(0).integers(0, 50, 60).astype(float)
    limits = Limits(min_samples_leaf=2, max_features=2, max_depth=4)
    own = grow(Mean(y), table, entries, limits, **samples)
    rules = Rules(Numbers(), **samples)
    data = Data(table.codes, y, entries.weight, entries.row, entries.tree)
    engine, seeds = engine_of(rules, "cpu", on_host=True), np.arange(3, dtype=np.uint32)
    at_once = grow_until_it_fits(data, table.features, limits, rules, Sizes(6, 256, 3), engine=engine, root_seed=seeds)
    assert own.node_count > 20
    assert_same(own, at_once)


@pytest.mark.parametrize("kind", [Quantiles, SurvivalTimes])
def test_a_program_grows_the_trees_of_the_kernel(kind):
    table, entries = table_of_kinds(2), half_samples(60, 3)
    moment = moment_of(kind, np.random.default_rng(3).integers(0, 20, 60))
    limits = Limits(min_samples_leaf=2, max_features=2)
    trees = [grow(moment, table, entries, limits, engine, samples_features=True) for engine in (None, Engine.XLA)]
    assert_same(*trees)


def moment_of(kind, rank):
    """The moment of a kind, of rows of some ranks."""
    return Quantiles(rank, (0.2, 0.5)) if kind is Quantiles else SurvivalTimes(rank, rank % 3 > 0)


@pytest.mark.parametrize("kind", [Quantiles, SurvivalTimes])
def test_trees_depend_neither_on_others_nor_on_the_order_of_rows(kind):
    table, entries = table_of_kinds(3), half_samples(60, 4)
    rank = np.random.default_rng(4).integers(0, 25, 60)
    limits, rules = Limits(min_samples_leaf=2, max_features=2), {"samples_features": True}
    together = take_trees(grow(moment_of(kind, rank), table, entries, limits, **rules), np.arange(4))
    order = np.random.default_rng(5).permutation(60)
    place = np.argsort(order).astype(np.int32)
    shuffled = table._replace(codes=table.codes[:, order])
    moved = entries._replace(row=place[entries.row])
    other = grow(moment_of(kind, rank[order]), shuffled, moved, limits, **rules)
    assert_same(together.nodes, other)
    alone = entries.tree == 3
    lone = TreeEntries(entries.row[alone], np.zeros(alone.sum(), np.int32), entries.weight[alone])
    rules = Rules(moment_of(kind, rank).objective, samples_features=True)
    single = grow_relabelled(
        table, lone, moment_of(kind, rank), limits, rules, np.array([3], np.uint32),
        engine=engine_of(rules, "cpu", on_host=True),
    )  # fmt: skip
    assert_same(together[3], single)


@pytest.mark.parametrize("kind", [Quantiles, SurvivalTimes])
@pytest.mark.parametrize("scale", [1, 0.3])
def test_a_row_of_weight_two_is_two_rows(kind, scale):
    table, rank = coded_table(40), np.random.default_rng(6).integers(0, 15, 40)
    twice = np.arange(0, 40, 3, dtype=np.int32)
    every, tree = np.arange(40, dtype=np.int32), np.zeros(40, np.int32)
    weight = np.ones(40, np.int32)
    weight[twice] = 2
    weight = weight if scale == 1 else weight * scale
    moment = moment_of(kind, rank)
    moment = moment if scale == 1 else dataclasses.replace(moment, unit=scale * 2.0**-20)
    heavy = grow(
        moment,
        table,
        TreeEntries(every, tree, weight),
        Limits(min_samples_split=0, min_samples_leaf=0, min_weight_leaf=3 * scale),
    )
    doubled = TreeEntries(
        np.append(every, twice), np.zeros(40 + twice.size, np.int32), np.ones(40 + twice.size, np.int32)
    )
    plain = grow(
        moment_of(kind, rank), table, doubled, Limits(min_samples_split=0, min_samples_leaf=0, min_weight_leaf=3)
    )
    assert plain.node_count > 7
    assert_same(heavy, plain, ("feature", "code", "num_children"))


def test_a_decrease_is_a_share_of_the_whole_tree():
    table, entries = coded_table(60), half_samples(60, 2)
    y = np.random.default_rng(0).integers(0, 50, 60).astype(float)
    limits, rules = Limits(min_impurity_decrease=15.0), Rules(Numbers())
    data = Data(table.codes, y, entries.weight, entries.row, entries.tree)
    engine = engine_of(rules, "cpu", on_host=True)
    at_once = grow_until_it_fits(data, table.features, limits, rules, Sizes(6, 256, 2), engine=engine)
    own = grow(Mean(y), table, entries, limits)
    assert 5 < own.node_count < 40
    assert_same(own, at_once)


def test_a_target_of_entries_takes_the_place_of_that_of_rows():
    table, entries = coded_table(60), half_samples(60, 2)
    y = np.random.default_rng(0).integers(0, 50, 60).astype(float)
    rules, sizes = Rules(Numbers()), Sizes(6, 256, 2)
    plain = Data(table.codes, y, entries.weight, entries.row, entries.tree)
    own = plain._replace(target=np.zeros(60), entry_target=y[entries.row])
    for engine in (Engine.XLA, engine_of(rules, "cpu", on_host=True)):
        with jax.enable_x64(True):
            trees = [grow_until_it_fits(d, table.features, Limits(), rules, sizes, engine=engine) for d in (plain, own)]
        assert_same(*trees)


def test_closed_nodes_are_leaves():
    class Closed(Mean):
        def relabel(self, nodes, solution):
            own = super().relabel(nodes, solution)
            return own._replace(is_open=np.diff(nodes.first) > 12)

    table, entries = coded_table(60), half_samples(60, 2)
    tree = grow(Closed(np.random.default_rng(0).normal(size=60)), table, entries)
    assert tree.num_rows[~tree.is_leaf].min() > 12
    assert tree.node_count > 5
