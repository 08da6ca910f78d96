import jax
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.kernels import products
from jaxtree.optimal import gram
from jaxtree.optimal.costs import FORBIDDEN
from jaxtree.optimal.exact import count_leaves, exact_frontier, exact_tree
from jaxtree.optimal.nodes import CodedTable
from tests.optimal.tables import CASES, IS_CATEGORICAL, NUM_VALUES, case_of, indicators_of, table_of
from tests.reference.optimal_oracle import all_splits, best_costs


def everyone(made):
    return np.ones(made.values.label.size, bool)


def in_units(costs, made):
    return np.where(costs >= FORBIDDEN // 2, np.inf, made.moment.sum() + made.unit * costs.astype(float))


def leaf_costs(table, tree, member):
    if tree is None:
        return table.leaf(member)
    inside = table.indicators.column(tree.indicator)
    return leaf_costs(table, tree.inside, member & inside) + leaf_costs(table, tree.outside, member & ~inside)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_no_tree_is_better(name, depth):
    """Compared with all trees, for every number of leaves."""
    criterion, loss, _, least_rows = CASES[name]
    codes, target, weight, made = case_of(name, seed=depth)
    weight = np.ones(codes.shape[1]) if weight is None else weight
    splits = all_splits(codes, NUM_VALUES, IS_CATEGORICAL)
    loss = 1 - np.eye(3) if loss is None else loss
    expected = best_costs(splits, target, weight, depth, criterion=criterion, loss=loss, least_rows=least_rows)
    table = table_of(codes, made)
    frontier = exact_frontier(table, everyone(made), depth)
    np.testing.assert_allclose(in_units(frontier, made), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["loss_weighted", "squared_error", "gini"])
def test_the_tree_has_the_cost_and_the_leaves_that_were_found(name):
    codes, _, _, made = case_of(name, seed=5)
    table = table_of(codes, made)
    frontier = exact_frontier(table, everyone(made), 3)
    for leaves in range(1, 9):
        tree = exact_tree(table, everyone(made), 3, leaves)
        assert leaf_costs(table, tree, everyone(made)) == frontier[leaves - 1]
        assert count_leaves(tree) == np.argmax(frontier == frontier[leaves - 1]) + 1


def test_columns_that_divide_the_rows_alike_are_merged():
    codes = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 2]], np.uint8)
    indicators = indicators_of(codes, np.array([2, 2, 2, 3], np.int32), np.array([False, False, True, False]))
    assert list(zip(indicators.feature.tolist(), indicators.code.tolist(), strict=True)) == [(0, 0), (3, 0), (3, 1)]


def test_chunks_of_rows_do_not_change_sums(monkeypatch):
    codes, _, _, made = case_of("squared_error_weighted", seed=7)
    indicators = indicators_of(codes)
    rows = gram.IndicatorRows(
        indicators.codes, indicators.group, indicators.place, indicators.is_nested[indicators.group], *made.values
    )
    member = jax.numpy.asarray(everyone(made))
    with jax.enable_x64(True):
        whole = gram.pair_sums(rows, member, num_labels=1, num_limbs=7, platform="cpu")
        monkeypatch.setattr(products, "MOST_ROWS", 2)
        np.testing.assert_array_equal(gram.pair_sums(rows, member, num_labels=1, num_limbs=7, platform="cpu"), whole)
    column = indicators.column(0)
    np.testing.assert_array_equal(whole[:, 0, 0], made.values.value[:, column].sum(axis=1))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (dict(codes=np.array([[0, 3]], np.uint8)), "codes of feature 0 must be from 0 to 2, got 3"),
        (dict(num_values=np.array([2, 2])), r"one value a feature, shape \(1,\), got \(2,\)"),
    ],
)
def test_a_table_whose_parts_do_not_fit_is_named(changed, words):
    table = CodedTable(np.array([[0, 1]], np.uint8), np.array([2]), np.array([False]))
    with pytest.raises(InvalidInputError, match=words):
        table._replace(**changed).check()
