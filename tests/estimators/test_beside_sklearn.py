"""CART beside scikit-learn's, on its own data.

scikit-learn draws among equal gains in an order of its own; here the first column wins, and trees are compared in two
ways. Leaves and their impurity must be equal everywhere. Predictions on the training rows must be equal where the tree
does not depend on ties: where the tree of the columns in reverse order predicts the same.
"""

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor

PAIRS = {
    "classifier": (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier),
    "regressor": (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor),
}
TIES = {(load_breast_cancer, 2), (load_breast_cancer, 3), (load_breast_cancer, 4), (load_digits, 4)}


def predictions(tree, X):
    """Shares of classes, or means."""
    found = tree.predict_proba(X) if hasattr(tree, "predict_proba") else tree.predict(X)
    return np.concatenate(found, axis=1) if isinstance(found, list) else found


def leaf_impurity(tree):
    leaf = tree.children_left == -1
    return (tree.impurity * tree.weighted_n_node_samples)[leaf].sum()


def compare(kind, X, y, weight=None, *, has_ties=False, **options):
    """Fits both, and says whether ties matter."""
    ours_class, theirs_class = PAIRS[kind]
    ours = ours_class(max_bins=None, ties="first", **options).fit(X, y, sample_weight=weight)
    theirs = theirs_class(random_state=0, **options).fit(X, y, sample_weight=weight)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert leaf_impurity(ours.tree_) == pytest.approx(leaf_impurity(theirs.tree_), rel=1e-9, abs=1e-9)
    if "monotonic_cst" in options:
        options["monotonic_cst"] = options["monotonic_cst"][::-1]
    reverse = ours_class(max_bins=None, ties="first", **options).fit(X[:, ::-1], y, sample_weight=weight)
    tied = not np.allclose(predictions(ours, X), predictions(reverse, X[:, ::-1]))
    assert tied == has_ties, "whether ties matter has changed"
    if not tied:
        np.testing.assert_allclose(predictions(ours, X), predictions(theirs, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("max_depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes])
def test_trees_of_every_depth(load, max_depth):
    kind = "regressor" if load is load_diabetes else "classifier"
    compare(kind, *load(return_X_y=True), max_depth=max_depth, has_ties=(load, max_depth) in TIES)


def weights(y):
    return np.random.default_rng(0).integers(1, 8, len(y)) / 4


CLASSIFIERS = {
    "weights": dict(max_depth=4),
    "class_weight": dict(max_depth=4, class_weight={0: 1.25, 1: 0.75}),
    "balanced": dict(max_depth=2, class_weight="balanced"),
    "max_leaf_nodes": dict(max_leaf_nodes=7),
    "min_weight_fraction_leaf": dict(min_weight_fraction_leaf=0.04, has_ties=True),
    "min_impurity_decrease": dict(min_impurity_decrease=0.01),
    "min_samples_split": dict(min_samples_split=60),
    "monotonic_cst": dict(max_depth=5, monotonic_cst=[-1, 1, 1] * 10, has_ties=True),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_with_weights_and_limits(name):
    X, y = load_breast_cancer(return_X_y=True)
    # Its "balanced" counts rows whatever their weights; here a doubled row is one of weight 2.
    weight = None if name == "balanced" else weights(y)
    compare("classifier", X, y, weight, min_samples_leaf=5, **CLASSIFIERS[name])


REGRESSORS = {
    "weights": dict(max_depth=5),
    "max_leaf_nodes": dict(max_leaf_nodes=9),
    "monotonic_cst": dict(max_depth=5, monotonic_cst=[0, 0, 1, 1, 0, 0, -1, 0, 1, 0]),
    "poisson": dict(max_depth=5, criterion="poisson"),
}


@pytest.mark.parametrize(
    "name", ["weights", *(pytest.param(n, marks=pytest.mark.slow) for n in REGRESSORS if n != "weights")]
)
def test_regressors_with_weights_and_limits(name):
    X, y = load_diabetes(return_X_y=True)
    compare("regressor", X, y, weights(y), min_samples_leaf=5, **REGRESSORS[name])


@pytest.mark.slow
def test_several_outputs():
    X, y = load_breast_cancer(return_X_y=True)
    both = np.stack([y, X[:, 0] > 14], axis=1).astype(int)
    compare("classifier", X, both, weights(y), max_depth=4, min_samples_leaf=5)
    X, y = load_diabetes(return_X_y=True)
    compare("regressor", X, np.stack([y, 1000 * X[:, 2] + y / 2], axis=1), weights(y), max_depth=5, min_samples_leaf=5)


def test_unlimited_trees_fit_the_training_rows_as_well():
    for kind, load in (("classifier", load_wine), ("regressor", load_diabetes)):
        X, y = load(return_X_y=True)
        ours, theirs = (cls() for cls in PAIRS[kind])
        assert ours.fit(X, y).score(X, y) == pytest.approx(theirs.fit(X, y).score(X, y))
