"""Trees that choose actions: their costs, and the sweep over all thresholds, against all trees and by both engines."""

import numpy as np
import pytest

from jaxtree.kernels import choose
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.thresholds import DEAR, ThresholdTable, best_tree
from jaxtree.optimal.costs import cost_of_classes, cost_of_rewards
from jaxtree.optimal.nodes import CodedTable, split_nodes
from jaxtree.optimal.search import SearchLimits, find_trees
from jaxtree.optimal.thresholds import can_search, looks_before_sweep

ROWS = np.arange(30)


def test_costs_are_regrets_in_whole_numbers():
    reward = np.array([[1.0, 0.0, -2.0], [0.5, 3.0, -2.0]])
    made = cost_of_rewards(reward, np.array([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(made.row_costs * made.unit, [[0.0, 0.5], [6.0, 0.0], [0.0, 0.0]])
    assert made.risk(np.arange(3)) == 0.5 and made.risk(np.array([1])) == 0
    # A constant of a row changes nothing, and a factor of all rewards only the unit.
    moved = cost_of_rewards(4 * (reward + np.array([8.0, -1.0, 0.5])), np.array([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(moved.row_costs, made.row_costs)
    assert moved.unit == 4 * made.unit


def test_nodes_count_what_actions_gain():
    made = cost_of_rewards(np.array([[1.0, 0.0], [0.5, 3.0], [0.0, 1.0]]), None)
    np.testing.assert_array_equal(made.weight_of_labels(np.arange(2)), [1.0, 3.5, 1.0])
    # Where all actions are equally good, all of them have a weight.
    np.testing.assert_array_equal(cost_of_rewards(np.ones((3, 2)), None).weight_of_labels(np.arange(2)), [1, 1, 1])


def test_one_hot_rewards_are_classes():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (3, 80)).astype(np.uint16)
    label = (codes[0] + codes[1] > 5) + (rng.random(80) < 0.2).astype(int)
    table = CodedTable(codes, np.full(3, 6, np.int32), np.array([False, False, True]))
    for depth in (1, 2, 3):
        limits = [SearchLimits(depth, leaf_penalty=own) for own in (0.0, 1.5)]
        of_classes = find_trees(table, cost_of_classes(label, 3, None), limits)
        of_rewards = find_trees(table, cost_of_rewards(np.eye(3)[:, label], None), limits)
        assert [own.tree for own in of_rewards] == [own.tree for own in of_classes]
        assert [own.objective for own in of_rewards] == [own.objective for own in of_classes]


def search_of(rng, num_actions, num_values, num_categories):
    """Rows of noise, some columns of which are categories, the last of them in no indicator."""
    codes = [np.unique(own, return_inverse=True)[1] for own in rng.integers(0, num_values, (3, ROWS.size))]
    is_nested = np.arange(3) >= num_categories
    # All thresholds but the last; all categories but the last.
    number = np.array([own.max() for own in codes])
    cost = rng.integers(0, 1000, (ROWS.size, num_actions))
    cost -= cost.min(axis=1, keepdims=True)
    first = np.append(0, np.cumsum(number)).astype(np.int32)
    codes = np.array([np.minimum(own, most) for own, most in zip(codes, number, strict=True)], np.uint16)
    return ThresholdTable(codes, first, is_nested, cost, cost.max(axis=1), int(rng.integers(0, 400)))


def least_cost(table, depth, rows=ROWS):
    """The cost of the best tree by trying all."""
    best = table.cost[rows].sum(axis=0).min() + table.of_leaf
    for group in range(len(table.codes)) if depth else ():
        code = table.codes[group][rows]
        for place in range(table.first[group + 1] - table.first[group]):
            inside = code <= place if table.is_nested[group] else code == place
            if inside.any() and not inside.all():
                sides = least_cost(table, depth - 1, rows[inside]), least_cost(table, depth - 1, rows[~inside])
                best = min(best, sum(sides))
    return best


@pytest.mark.parametrize("num_actions", [2, 3, 5])
@pytest.mark.parametrize("num_categories", [0, 2])
@pytest.mark.parametrize("num_values", [4, 30])
def test_a_sweep_finds_the_best_tree(num_actions, num_categories, num_values):
    table = search_of(np.random.default_rng([num_actions, num_values]), num_actions, num_values, num_categories)
    above = int(table.cost.sum(axis=0).min()) + table.of_leaf + 1
    least = least_cost(table, 2)
    for looks in (1, 2, DEAR):
        made = [
            best_tree(table._replace(looks=looks), 2, above, 2**40, engine=engine)
            for engine in (Engine.XLA, *([Engine.HOST] if choose.is_there() else []))
        ]
        for cost, left, splits in made:
            assert cost == least
            assert left == made[0][1] and (splits == made[0][2]).all()


def test_a_sweep_below_a_first_split_finds_the_best_tree_of_three_levels():
    table = search_of(np.random.default_rng(5), 3, 7, 1)
    above, least = int(table.cost.sum(axis=0).min()) + table.of_leaf + 1, least_cost(table, 3)
    found = [best_tree(table._replace(looks=1), 3, above, 2**40, engine=choose.choose("cpu"))]
    found.append(best_tree(table._replace(looks=1), 3, above, 2**40, engine=Engine.XLA))
    assert [own[0] for own in found] == [least, least]
    np.testing.assert_array_equal(found[0][2], found[1][2])


def test_searches_that_end_early_are_the_same_by_both_engines():
    table = search_of(np.random.default_rng(6), 3, 30, 0)._replace(looks=1)
    above, least = int(table.cost.sum(axis=0).min()) + table.of_leaf + 1, least_cost(table, 2)
    ended = 0
    for cells in range(0, 1500, 90):
        by_numpy, by_kernel = (
            best_tree(table, 2, above, cells, engine=own) for own in (Engine.XLA, choose.choose("cpu"))
        )
        assert by_numpy[:2] == by_kernel[:2]
        np.testing.assert_array_equal(by_numpy[2], by_kernel[2])
        ended += by_numpy[1] < 0
        assert by_numpy[1] < 0 or by_numpy[0] == least
    assert 5 < ended < 17


def test_ties_take_the_fewest_leaves_and_the_same_tree_by_both_engines(monkeypatch):
    rng = np.random.default_rng(7)
    codes = np.stack([rng.integers(0, 40, 120) for _ in range(3)]).astype(np.uint16)
    reward = np.stack([np.zeros(120), np.where(codes[0] < 20, 1.0, -1.0)])
    table = CodedTable(codes, np.full(3, 40, np.int32), np.zeros(3, bool))
    target = cost_of_rewards(reward, None)
    by_kernel = find_trees(table, target, [SearchLimits(2, max_thresholds=None)])[0]
    monkeypatch.setattr(choose, "is_there", lambda: False)
    by_numpy = find_trees(table, target, [SearchLimits(2, max_thresholds=None)])[0]
    assert by_kernel == by_numpy
    assert by_kernel.optimality == "proven" and len(split_nodes(by_kernel.tree)) == 1


def test_all_thresholds_of_ordinary_tables_are_searched():
    """10,000 rows of 10 numbers and three actions are, of two levels; three levels of them are not."""
    table = CodedTable(np.zeros((10, 10_000), np.uint16), np.full(10, 10_000, np.int32), np.zeros(10, bool))
    target = cost_of_rewards(np.zeros((3, 10_000)), None)
    assert can_search(table, target, 2) and not can_search(table, target, 3)
    few = CodedTable(np.zeros((4, 300), np.uint16), np.full(4, 300, np.int32), np.zeros(4, bool))
    assert can_search(few, cost_of_rewards(np.zeros((2, 300)), None), 3)
    assert not can_search(few, cost_of_rewards(np.zeros((2, 300)), None, least_rows=2), 2)
    assert looks_before_sweep(few, cost_of_rewards(np.zeros((2, 300)), None)) > 1


def test_limits_together_give_the_trees_that_each_gives_alone():
    """A limit of leaves leaves some thresholds out, and so begins with others."""
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 1500, (2, 400)).astype(np.uint16)
    reward = np.stack([np.zeros(400), (codes[0] > 423) + (codes[1] > 277) - 1 + rng.normal(size=400)])
    table = CodedTable(codes, np.full(2, 1500, np.int32), np.zeros(2, bool))
    target = cost_of_rewards(reward, None)
    limits = [SearchLimits(2), SearchLimits(2, max_leaf_nodes=3), SearchLimits(2, leaf_penalty=9.0)]
    together = find_trees(table, target, limits)
    assert together == [find_trees(table, target, [own])[0] for own in limits]
    assert [own.optimality for own in together] == ["proven", "proven on bins", "proven"]
    assert together[1].objective > together[0].objective
