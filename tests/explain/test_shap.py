"""Shapley values beside their definition, beside another library, and the sums that they must have."""

import dataclasses
import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.cores import using_cores
from jaxtree.errors import InvalidInputError
from jaxtree.explain import shap, shap_interaction_values, shap_values
from jaxtree.explain.kernel import sum_shap_values
from jaxtree.explain.splits import splits_of
from jaxtree.export.node_tables import to_sklearn
from jaxtree.kernels import library
from jaxtree.kernels.choose import Engine
from jaxtree.tree import ALL_BRANCHES
from tests.examples import example
from tests.export.shipping import FORESTS, PLAIN, SHARING, TREES, edge_rows
from tests.marks import rest_is_slow
from tests.reference.walks import _branch_of_value

SINGLE = (*TREES, *SHARING)


def rows_of(estimator, number):
    """Rows on all sides of the thresholds, with missing and unseen values."""
    return edge_rows(estimator, number)


def predictions(estimator, X):
    """The explained predictions: shares, or the mean."""
    return estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)


def unknowing(model, row, known, node=0):
    """The prediction of a tree for a row of which some columns are known: the mean over training rows where one is
    not."""
    tree, shares = model.tree, model.node_value
    number = int(tree.num_children[node])
    if not number:
        return shares[node]
    children = np.arange(tree.first_child[node], tree.first_child[node] + number)
    feature = tree.feature[node]
    if feature in known:
        value = row[feature]
        branch = tree.missing_branch[node] if np.isnan(value) else _branch_of_value(tree, node, value)
        if branch < number:
            return unknowing(model, row, known, children[branch])
        if tree.missing_branch[node] != ALL_BRANCHES:
            return shares[node]
    weight = tree.weight[children].astype(float)
    parts = [w * unknowing(model, row, known, c) for w, c in zip(weight, children, strict=True) if w > 0]
    return np.sum(parts, axis=0) / weight.sum()


def by_definition(worth, num_columns):
    """The Shapley values of a game, as means over all sets of the other columns."""
    columns = range(num_columns)
    worth = {
        known: worth(set(known)) for size in range(num_columns + 1) for known in itertools.combinations(columns, size)
    }
    values = []
    for column in columns:
        total = 0.0
        for known in worth:
            if column not in known:
                weight = math.factorial(len(known)) * math.factorial(num_columns - len(known) - 1)
                with_it = tuple(sorted((*known, column)))
                total = total + weight / math.factorial(num_columns) * (worth[with_it] - worth[known])
        values.append(total)
    return np.array(values)


@pytest.mark.parametrize("name", SINGLE)
def test_values_are_those_of_the_definition(name):
    estimator = example(name)
    model, X = estimator.model_, rows_of(estimator, 12)
    values = estimator.encoder_.values(X)
    expected = [by_definition(partial(unknowing, model, row), len(model.schema.columns)) for row in values]
    found = shap_values(estimator, X)
    np.testing.assert_allclose(found.values.reshape(np.shape(expected)), expected, atol=1e-12)
    np.testing.assert_allclose(np.ravel(found.base), unknowing(model, values[0], set()), atol=1e-12)


@pytest.mark.parametrize("name", rest_is_slow(["cart", "c45", "id3_onehot", "regression", "forest"], 3))
def test_values_against_a_background_are_those_of_the_definition(name):
    """Where a column is not known, the row has what the rows of the background have there."""
    estimator = example(name)
    X = rows_of(estimator, 5)
    background = rows_of(estimator, 9).iloc[5:]
    columns = list(X.columns)

    def worth_of(row):
        def worth(known):
            mixed = background.copy()
            for place in known:
                mixed[columns[place]] = pd.Series(
                    [row[columns[place]]] * len(mixed), mixed.index, dtype=X.dtypes.iloc[place]
                )
            return predictions(estimator, mixed).mean(axis=0)

        return worth

    expected = [by_definition(worth_of(row), len(columns)) for _, row in X.iterrows()]
    found = shap_values(estimator, X, background=background)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.base, predictions(estimator, background).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("name", [*SINGLE, *FORESTS])
def test_values_and_base_add_up_to_the_prediction(name):
    estimator = example(name)
    X = rows_of(estimator, 40)
    found = shap_values(estimator, X)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), predictions(estimator, X), atol=1e-10)


@pytest.mark.parametrize("name", PLAIN)
def test_values_are_those_of_another_library(name):
    shap = pytest.importorskip("shap")
    estimator = example(name)
    trees = getattr(estimator, "estimators_", [estimator])
    X = edge_rows(estimator, 60, known=True, dtype=np.float32)
    theirs = [
        shap.TreeExplainer(to_sklearn(tree), feature_perturbation="tree_path_dependent").shap_values(X)
        for tree in trees
    ]
    np.testing.assert_allclose(shap_values(estimator, X).values, np.mean(theirs, axis=0), atol=1e-6)


@pytest.mark.slow
def test_deep_trees_are_those_of_another_library():
    """More columns on a path than two points would do for, and columns that are asked for several times on one."""
    shap = pytest.importorskip("shap")
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 7)).astype(np.float32)
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] - X[:, 4] + 0.5 * X[:, 5] * X[:, 6]
    tree = jaxtree.DecisionTreeRegressor(max_depth=12).fit(X, y)
    assert tree.get_depth() > 8
    found, exported = shap_values(tree, X[:50]), to_sklearn(tree)
    theirs = shap.TreeExplainer(exported, feature_perturbation="tree_path_dependent")
    np.testing.assert_allclose(found.values, theirs.shap_values(X[:50]), atol=1e-6)
    np.testing.assert_allclose(found.base, np.ravel(theirs.expected_value)[0], atol=1e-6)
    against = shap.TreeExplainer(exported, X[50:60], feature_perturbation="interventional").shap_values(X[:20])
    np.testing.assert_allclose(shap_values(tree, X[:20], background=X[50:60]).values, against, atol=1e-6)


def by_program(monkeypatch):
    """Lets a program of JAX explain, as where there is no kernel, in blocks of as few rows as there may be."""
    monkeypatch.setattr("jaxtree.explain.shap.choose", lambda platform: Engine.XLA)
    monkeypatch.setattr("jaxtree.explain.shap._NUMBERS_OF_BLOCK", 1)


needs_kernel = pytest.mark.skipif(library.load() is None, reason="the kernel in C++ is not installed")
PROGRAMS = ("cart_fraction", "forest_regression", "c45", "id3", "cart", "boosted_classes")


@needs_kernel
@pytest.mark.parametrize("name", rest_is_slow(PROGRAMS, 2))
def test_a_program_explains_as_the_kernel_does(name, monkeypatch):
    estimator = example(name)
    X = rows_of(estimator, 40)
    ways = (
        lambda: shap_values(estimator, X).values,
        lambda: shap_values(estimator, X, background=X[:3]).values,
        lambda: shap_interaction_values(estimator, X).values,
    )
    of_kernel = [way() for way in ways]
    by_program(monkeypatch)
    before = sum_shap_values.num_programs()
    for way, wanted in zip(ways, of_kernel, strict=True):
        np.testing.assert_allclose(way(), wanted, atol=1e-12)
    assert sum_shap_values.num_programs() > before


def many_rows(number, *, num_columns=4):
    """A forest of deep trees that ask about columns again and again, and rows of which some values are missing."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(number, num_columns))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    X[draw.random(X.shape) < 0.05] = np.nan
    return jaxtree.RandomForestRegressor(n_estimators=4, max_depth=9, random_state=0).fit(X, y), X


@needs_kernel
@pytest.mark.parametrize("explain", [shap_values, shap_interaction_values])
def test_cores_order_and_number_of_rows_make_no_difference_to_bits(explain):
    forest, X = many_rows(700)
    with using_cores(1):
        whole = explain(forest, X).values
    order = np.random.default_rng(1).permutation(len(X))
    with using_cores(3):
        np.testing.assert_array_equal(explain(forest, X).values, whole)
        np.testing.assert_array_equal(explain(forest, X[order]).values, whole[order])
    for rows in (slice(0, 1), slice(3, 36), slice(100, 657)):
        np.testing.assert_array_equal(explain(forest, X[rows]).values, whole[rows])


@needs_kernel
@pytest.mark.parametrize("of_pairs", [False, True])
def test_order_of_columns_makes_no_difference_to_bits(of_pairs):
    forest, X = many_rows(90, num_columns=6)
    splits, values = splits_of(forest.model_), np.asarray(forest.encoder_.values(X), np.float64)
    order = np.array([3, 0, 5, 1, 4, 2])  # the new place of every column
    moved = splits._replace(splits=splits.splits._replace(column=order[splits.splits.column].astype(np.int32)))
    one = shap._sum_up(shap._Question(splits, values, None, of_pairs=of_pairs))
    other = shap._sum_up(shap._Question(moved, values[:, np.argsort(order)], None, of_pairs=of_pairs))
    other = other[:, order]
    if of_pairs:  # the diagonal is what the others of its row leave, added up in their order
        np.testing.assert_allclose(other[:, :, order], one, atol=1e-13)
    else:
        np.testing.assert_array_equal(other, one)


@pytest.mark.parametrize("way", ["kernel", "program"])
def test_columns_that_a_path_asks_about_again_are_those_of_the_definition(way, monkeypatch):
    forest, X = many_rows(300, num_columns=3)
    tree, rows = forest.estimators_[0], X[:6]
    assert tree.get_depth() > 6
    if way == "program":
        by_program(monkeypatch)
    expected = [by_definition(partial(unknowing, tree.model_, row), 3)[:, 0] for row in tree.encoder_.values(rows)]
    np.testing.assert_allclose(shap_values(tree, rows).values, expected, atol=1e-13)


@pytest.mark.parametrize("weight", [0.0, 1e-300, 1e-15])
@pytest.mark.parametrize("way", ["kernel", "program"])
def test_nodes_of_hardly_any_weight_are_those_of_the_definition(way, weight, monkeypatch):
    """They made values that are no numbers in XGBoost (dmlc/xgboost#3333) and in shap (#152, #4272), and false ones in
    H2O (h2oai/h2o-3#5568), which divide by shares."""
    forest, X = many_rows(300, num_columns=3)
    tree, rows = forest.estimators_[0], X[:8]
    model, nodes = tree.model_, tree.model_.forest.nodes
    weights = np.asarray(nodes.weight, np.float64).copy()
    lonely = np.flatnonzero(np.asarray(nodes.num_children) == 2)[1::3]  # the second child of some splits
    weights[np.asarray(nodes.first_child)[lonely] + 1] = weight
    nodes = dataclasses.replace(nodes, weight=weights)
    model = dataclasses.replace(model, forest=dataclasses.replace(model.forest, nodes=nodes))
    if way == "program":
        by_program(monkeypatch)
    values = np.asarray(tree.encoder_.values(rows), np.float64)
    expected = [by_definition(partial(unknowing, model, row), 3)[:, 0] for row in values]
    np.testing.assert_allclose(shap.shap_values_of(model, values).values, expected, atol=1e-12)
    pairs = shap._sum_up(shap._Question(splits_of(model), values, None, of_pairs=True))[..., 0]
    np.testing.assert_allclose(pairs.sum(axis=2), expected, atol=1e-12)


@needs_kernel
@pytest.mark.parametrize("depth", [1, 4, 100, 600])
def test_no_depth_and_no_number_of_rows_is_compiled_for(depth):
    X = np.arange(700.0).reshape(-1, 1)
    # A chain: every split cuts off one row.
    tree = jaxtree.DecisionTreeRegressor(max_depth=depth).fit(X, 2.0 ** np.minimum(X[:, 0] - 600, 0))
    before = sum_shap_values.num_programs()
    for number in (1, 5, 700):
        found = shap_values(tree, X[:number])
        whole = found.values[:, 0] + found.base
        np.testing.assert_allclose(whole, tree.predict(X[:number]), atol=1e-9 * np.abs(found.base))
    assert sum_shap_values.num_programs() == before


def test_a_leaf_explains_nothing():
    tree = jaxtree.prune_to(example("cart_plain"), np.arange(example("cart_plain").tree_.node_count) == 0)
    found = shap_values(tree, np.zeros((3, 2)))
    assert not found.values.any() and found.values.shape == (3, 2, 3)
    np.testing.assert_allclose(found.base, tree.predict_proba(np.zeros((1, 2)))[0])


def test_what_has_no_values_is_refused():
    with pytest.raises(InvalidInputError, match="one output"):
        shap_values(example("cart_outputs"), rows_of(example("cart_outputs"), 2))
    with pytest.raises(InvalidInputError, match="0 sample"):
        shap_values(example("cart_plain"), np.zeros((1, 2)), background=np.zeros((0, 2)))
