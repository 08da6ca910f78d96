"""Importances of columns, beside sums that are made by hand."""

import itertools

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

from jaxtree import (
    DecisionTreeClassifier,
    ExplainableBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    SearchCV,
    SoftTreeClassifier,
    importances,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain import shap_values
from tests.examples import mixed_classes, mixed_table

X = mixed_table()
Y = mixed_classes(X)
NUMBERS = np.cos(np.arange(len(X))) + X["is_new"].to_numpy()
WEIGHT = 1 + np.arange(len(X)) % 3


def by_hand(estimator, of_node):
    """Sums over the nodes of every tree, one after another."""
    total = np.zeros(estimator.n_features_in_)
    for tree in getattr(estimator, "estimators_", [estimator]):
        for node in np.flatnonzero(~tree.tree_.is_leaf):
            total[tree.tree_.feature[node]] += of_node(tree.tree_, node)
    return total


OF_NODE = {
    "splits": lambda tree, node: 1,
    "cover": lambda tree, node: tree.weighted_n_node_samples[node],
    "gain": lambda tree, node: tree.weighted_n_node_samples[node] * tree.gain[node],
}
ESTIMATORS = [
    DecisionTreeClassifier(),
    RandomForestClassifier(3, random_state=0),
    GradientBoostingClassifier(4, max_leaf_nodes=4, min_samples_leaf=2),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_sums_are_those_over_all_splits(estimator):
    fitted = estimator.fit(X, Y, WEIGHT)
    for kind, of_node in OF_NODE.items():
        np.testing.assert_allclose(importances(fitted, kind), by_hand(fitted, of_node), rtol=1e-9)
    assert importances(fitted, "splits").sum() == sum(
        own.get_n_leaves() - 1 for own in getattr(fitted, "estimators_", [fitted])
    )
    if not isinstance(estimator, RandomForestClassifier):  # whose importances are means of shares
        gain = importances(fitted)
        np.testing.assert_allclose(gain / gain.sum(), fitted.feature_importances_)


def test_covers_of_a_tree_are_weights_of_rows_and_of_boosting_second_derivatives():
    stump = DecisionTreeClassifier(max_depth=1).fit(X, Y, WEIGHT)
    assert importances(stump, "cover").sum() == WEIGHT.sum()
    yes = Y[0] == Y
    boosted = GradientBoostingClassifier(1, max_depth=1, min_samples_leaf=1, min_child_weight=0).fit(X, yes)
    assert importances(boosted, "cover").sum() == pytest.approx(len(X) * yes.mean() * (1 - yes.mean()), rel=1e-5)


def test_those_of_rows_are_the_functions_that_there_are():
    tree = DecisionTreeClassifier(max_depth=3).fit(X, Y)
    shuffled = permutation_importance(tree, X, Y, n_repeats=3, random_state=1)
    own = importances(tree, "permutation", X=X, y=Y, n_repeats=3, random_state=1)
    np.testing.assert_array_equal(own, shuffled.importances_mean)
    size = np.abs(shap_values(tree, X).values).mean(axis=0).sum(axis=1)
    np.testing.assert_allclose(importances(tree, "shap", X=X), size)
    boosted = GradientBoostingRegressor(3, min_samples_leaf=2).fit(X, NUMBERS)
    np.testing.assert_allclose(importances(boosted, "shap", X=X), np.abs(shap_values(boosted, X).values).mean(axis=0))


def test_means_have_those_of_their_models_by_weight_and_searches_their_best():
    members = [GradientBoostingRegressor(number, min_samples_leaf=2).fit(X, NUMBERS) for number in (1, 4)]
    mean = GradientBoostingRegressor.mean_of(members, weights=[3, 1])
    one, other = (importances(model, "gain") for model in members)
    np.testing.assert_allclose(importances(mean, "gain"), 0.75 * one + 0.25 * other)
    search = SearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(X, Y)
    np.testing.assert_array_equal(importances(search, "splits"), importances(search.best_estimator_, "splits"))


def test_a_tree_without_splits_has_zeros():
    tree = DecisionTreeClassifier().fit(X, np.zeros(len(X)))
    for kind in OF_NODE:
        np.testing.assert_array_equal(importances(tree, kind), np.zeros(X.shape[1]))


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("weight", {}, "'splits'.*got 'weight': it is 'splits' here"),
        ("total_gain", {}, "it is 'gain' here"),
        ("magic", {}, "got 'magic'$"),
        ("gain", {"X": X}, "kind='gain' takes no X"),
        ("shap", {}, "kind='shap' needs X"),
        ("permutation", {"X": X}, "kind='permutation' needs y"),
        ("shap", {"X": X, "y": Y}, "kind='shap' takes no y"),
    ],
)
def test_what_is_not_asked_for_is_refused(kind, given, said):
    tree = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    with pytest.raises(InvalidInputError, match=said):
        importances(tree, kind, **given)


def test_soft_trees_have_no_splits_to_count():
    """Nor have trees of planes, whose splits are on none of the columns."""
    soft = SoftTreeClassifier(max_epochs=1, depth=1).fit(X, Y)
    for own, kind in itertools.product((soft, soft.harden()), ("gain", "splits", "cover")):
        with pytest.raises(InvalidTypeError, match=f"which {type(own).__name__} does not have: give kind=.permutation"):
            importances(own, kind)
    assert importances(soft, "permutation", X=X, y=Y, n_repeats=1).shape == (X.shape[1],)


def test_importances_of_additive_models_are_the_sizes_of_their_terms():
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = X[:, 0] + X[:, 0] * X[:, 1]
    model = ExplainableBoostingRegressor(outer_bags=1, interactions=[(0, 1)]).fit(X, y)
    found = importances(model)
    assert found.sum() == pytest.approx(model.term_importances_.sum()) and found[0] > found[2]
    np.testing.assert_allclose(found / found.sum(), model.feature_importances_)
    sizes = dict(zip(model.term_names_, model.term_importances_, strict=True))
    assert found[2] == pytest.approx(sizes["x2"]) and found[1] == pytest.approx(sizes["x1"] + sizes["x0 & x1"] / 2)
    for kind in ("splits", "cover"):
        with pytest.raises(InvalidTypeError, match='give kind="gain"'):
            importances(model, kind)
