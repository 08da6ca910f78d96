"""Splits that are chosen again a level at a time, and the subtrees at the bottom of trees."""

import itertools

import jax
import numpy as np
import pytest

from jaxtree.kernels import choose
from jaxtree.optimal import refine
from jaxtree.optimal.bottoms import with_best_bottoms
from jaxtree.optimal.exact import SplitTable, exact_frontier
from jaxtree.optimal.levels import LeafLosses, RoutedRows, SplitNodes, chosen_again
from jaxtree.optimal.nodes import CodedTable, SplitNode, objective_of
from jaxtree.tree import SplitKind
from tests.marks import rest_is_slow
from tests.optimal.tables import IS_CATEGORICAL, NUM_VALUES, case_of, indicators_of

NAMES = ["errors", "loss_weighted", "squared_error", "squared_error_weighted", "regret", "regret_weighted"]


def refined(table, target, **options):
    return refine.refined(some_tree(3), table, target, choose.Engines.of("cpu"), **options)


def table_of(codes):
    return CodedTable(codes, NUM_VALUES, IS_CATEGORICAL)


def some_tree(depth, number=0):
    if depth == 0:
        return None
    feature = (number + depth) % len(NUM_VALUES)
    kind = int(SplitKind.ONE_VS_REST if IS_CATEGORICAL[feature] else SplitKind.THRESHOLD)
    sides = some_tree(depth - 1, 2 * number + 1), some_tree(depth - 1, 2 * number + 2)
    return SplitNode(feature, number % 2, kind, number % 2, *sides)


def losses_of(nodes, entries, made):
    leaf = entries.ends(nodes, nodes.root[entries.tree])
    return LeafLosses(made, entries.row, leaf, nodes.depth.size), leaf


@pytest.mark.parametrize("name", ["errors", "loss_weighted", "regret"])
def test_rows_lose_what_the_best_predictions_of_their_leaves_cost(name):
    codes, _, _, made = case_of(name, seed=30)
    nodes, entries = SplitNodes.of([some_tree(2)]), RoutedRows.of(table_of(codes), 1)
    losses, leaf = losses_of(nodes, entries, made)
    lost = losses(entries.row, leaf).sum() * made.unit
    assert lost == pytest.approx(objective_of(some_tree(2), table_of(codes), made), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_split_is_the_best_for_the_predictions_of_its_leaves(name):
    codes, _, _, made = case_of(name, seed=31)
    table, indicators = table_of(codes), indicators_of(codes)
    nodes, entries = SplitNodes.of([some_tree(1)]), RoutedRows.of(table_of(codes), 1)
    losses, _ = losses_of(nodes, entries, made)
    after = chosen_again(nodes, entries, made, indicators)
    left, right = (losses(entries.row, np.full(table.num_rows, leaf)) for leaf in nodes.child[:, 0])
    columns = [indicators.column(number) for number in range(indicators.number)]
    ways = itertools.chain(columns, (~column for column in columns))
    least = min(int(np.where(column, left, right).sum()) for column in ways)
    assert losses(entries.row, entries.ends(after, after.root[entries.tree])).sum() == least


@pytest.mark.parametrize("name", NAMES)
def test_no_choice_of_a_deep_tree_costs_more(name):
    codes, _, _, made = case_of(name, seed=32)
    nodes, entries = SplitNodes.of([some_tree(4), some_tree(2, 3), None]), RoutedRows.of(table_of(codes), 3)
    losses, leaf = losses_of(nodes, entries, made)
    after = chosen_again(nodes, entries, made, indicators_of(codes))
    now = losses(entries.row, entries.ends(after, after.root[entries.tree]))
    for tree in range(3):
        own = entries.tree == tree
        assert now[own].sum() <= losses(entries.row, leaf)[own].sum()


@pytest.mark.parametrize("name", ["errors", "loss_weighted", "squared_error"])
def test_two_levels_at_the_bottom_are_the_best(name):
    codes, _, _, made = case_of(name, seed=33)
    made = made._replace(cost=made.free_cost)
    splits = SplitTable(indicators_of(codes), made, choose.Engines.of("cpu"))
    trees = [some_tree(2), some_tree(1, 2)]
    better = with_best_bottoms(SplitNodes.of(trees), RoutedRows.of(table_of(codes), 2), splits)
    rest = made.moment.sum()
    for tree, depth in zip(better, (2, 1), strict=True):
        least = exact_frontier(splits, np.ones(codes.shape[1], bool), depth)[-1]
        np.testing.assert_allclose(objective_of(tree, table_of(codes), made), rest + made.unit * least)


@pytest.mark.parametrize("name", rest_is_slow(NAMES, 2))
def test_neither_the_kernel_nor_the_order_of_rows_matters(name, monkeypatch):
    codes, _, _, made = case_of(name, seed=34)
    made = made._replace(cost=made.free_cost)
    options = {"restarts": 3, "key": jax.random.key(0)}
    expected = refined(table_of(codes), made, **options)
    order = np.random.default_rng(0).permutation(codes.shape[1])
    values = made.values._replace(label=made.values.label[order], value=made.values.value[:, order])
    other = made._replace(values=values, moment=made.moment[order], weighted=made.weighted[:, order])
    assert refined(table_of(codes[:, order]), other, **options) == expected
    monkeypatch.setattr(choose, "is_there", lambda: False)
    assert refined(table_of(codes), made, **options) == expected


def test_trees_side_by_side_are_those_alone(monkeypatch):
    codes, _, _, made = case_of("errors", seed=35)
    options = {"restarts": 5, "key": jax.random.key(1)}
    expected = refined(table_of(codes), made, **options)
    monkeypatch.setattr(refine, "MOST_ENTRIES", 1)
    assert refined(table_of(codes), made, **options) == expected
