import numpy as np
import pytest

import jaxtree
from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, OptimalTreeClassifier, OptimalTreeRegressor
from jaxtree.errors import InvalidInputError
from tests.examples import mixed_classes, mixed_numbers, mixed_table

FEW = {"max_thresholds": 5}


def test_no_greedy_tree_is_better():
    table = mixed_table()
    classes, numbers = mixed_classes(table), mixed_numbers(table)
    greedy = {"max_depth": 2, "categorical_splits": "one_vs_rest"}
    best = OptimalTreeClassifier(max_depth=2).fit(table, classes)
    assert best.score(table, classes) > DecisionTreeClassifier(**greedy).fit(table, classes).score(table, classes)
    assert best.objective_ == np.sum(best.predict(table) != classes)
    assert best.optimality_ == "proven"
    best = OptimalTreeRegressor(max_depth=2).fit(table, numbers)
    assert best.score(table, numbers) >= DecisionTreeRegressor(**greedy).fit(table, numbers).score(table, numbers)
    np.testing.assert_allclose(best.objective_, np.sum((best.predict(table) - numbers) ** 2))


def test_the_table_of_nodes_tells_what_the_rows_do():
    table = mixed_table()
    classes = mixed_classes(table)
    best = OptimalTreeClassifier(max_depth=2, **FEW).fit(table, classes)
    tree = best.tree_
    leaf = best.apply(table)
    np.testing.assert_array_equal(
        np.bincount(leaf, minlength=tree.node_count)[tree.is_leaf], tree.num_rows[tree.is_leaf]
    )
    assert tree.count[0].sum() == len(table)
    below = tree.weight * tree.impurity
    np.testing.assert_allclose(tree.weight[0] * tree.gain[0], below[0] - below[1:3].sum())


def test_a_penalty_and_a_number_of_leaves_make_smaller_trees():
    table = mixed_table()
    classes = mixed_classes(table)
    sizes = [
        OptimalTreeClassifier(max_depth=2, leaf_penalty=penalty, **FEW).fit(table, classes).get_n_leaves()
        for penalty in (0.0, 3.0, 100.0)
    ]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[1] > sizes[2] == 1
    assert OptimalTreeClassifier(max_depth=2, max_leaf_nodes=3, **FEW).fit(table, classes).get_n_leaves() == 3


def test_refined_thresholds_never_makes_the_tree_worse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0.37) ^ (X[:, 1] > -1.13)
    coarse = OptimalTreeClassifier(max_depth=2, max_thresholds=4, refine_thresholds=False).fit(X, y)
    fine = OptimalTreeClassifier(max_depth=2, max_thresholds=4).fit(X, y)
    assert fine.score(X, y) == 1 > coarse.score(X, y)
    assert fine.optimality_ == "proven on bins"


def test_a_cost_matrix_decides_what_leaves_predict():
    table = mixed_table()
    classes = mixed_classes(table)
    cost = np.array([[0, 1, 1], [9, 0, 9], [1, 1, 0]])  # high, low, middle
    best = OptimalTreeClassifier(max_depth=2, cost_matrix=cost, **FEW).fit(table, classes)
    names = list(best.classes_)
    predicted = [names.index(name) for name in best.predict(table)]
    assert best.objective_ == cost[[names.index(name) for name in classes], predicted].sum()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 7}, "max_depth"),
        ({"cost_matrix": [[0, 1], [1, 0]]}, "a row and a column for each of 3 classes"),
        ({"cost_matrix": np.ones((3, 3)), "criterion": "gini"}, "cost_matrix is for criterion='misclassification'"),
        ({"missing": "fraction"}, "missing"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    table = mixed_table()
    with pytest.raises(InvalidInputError, match=message):
        OptimalTreeClassifier(**parameters).fit(table, mixed_classes(table))


def test_four_levels_in_no_time_are_those_of_greed_at_least():
    table = mixed_table()
    classes = mixed_classes(table)
    deep = OptimalTreeClassifier(max_depth=4, time_limit=0, refine_thresholds=False, **FEW).fit(table, classes)
    assert deep.optimality_ == "proven on bins" or 0 < deep.optimality_ <= 1
    greedy = DecisionTreeClassifier(max_depth=4, categorical_splits="one_vs_rest").fit(table, classes)
    assert deep.score(table, classes) >= greedy.score(table, classes)
    assert deep.objective_ <= OptimalTreeClassifier(refine_thresholds=False, **FEW).fit(table, classes).objective_
    with pytest.raises(InvalidInputError, match="max_leaf_nodes is for max_depth up to 3, got max_depth=4"):
        OptimalTreeClassifier(max_depth=4, max_leaf_nodes=5).fit(table, classes)


def test_two_targets_are_for_numbers_alone():
    table = mixed_table()
    both = np.stack([mixed_numbers(table), mixed_numbers(table) ** 2], axis=1)
    assert OptimalTreeRegressor(max_depth=2, **FEW).fit(table, both).predict(table).shape == both.shape
    with pytest.raises(InvalidInputError, match="y must have one column, got 2"):
        OptimalTreeClassifier(max_depth=2).fit(table, both > 0)


@pytest.mark.parametrize("cost_matrix", [[[0, 1], [1]], [["a", 0], [0, 1]]], ids=["ragged", "words"])
def test_a_cost_matrix_is_one_of_numbers(cost_matrix):
    with pytest.raises(InvalidInputError, match="cost_matrix must be 2 rows of 2 numbers"):
        jaxtree.OptimalTreeClassifier(max_depth=1, cost_matrix=cost_matrix).fit([[0], [1]], [0, 1])
