"""scikit-learn's trees as node tables: the same walks, values and prunings."""

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from jaxtree import prune
from jaxtree.errors import InvalidTypeError
from jaxtree.export.node_tables import read_sklearn_tree
from jaxtree.growth import majority_class, take_tree

CLASSES = {"iris": load_iris, "breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
DATA = {**CLASSES, "diabetes": load_diabetes}
RNG = np.random.default_rng(0)


def read(name):
    X, y = DATA[name](return_X_y=True)
    # scikit-learn compares rows in float32, so that both are given the same numbers.
    return X.astype(np.float32), y


def tree_class(name):
    return sklearn.tree.DecisionTreeClassifier if name in CLASSES else sklearn.tree.DecisionTreeRegressor


def fit(name, **parameters):
    X, y = read(name)
    return tree_class(name)(random_state=0, **parameters).fit(X, y)


def many_kinds():
    X, y = read("wine")
    numbers = X[:, 0]
    weight = RNG.uniform(0.1, 3, len(y))
    with_missing = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    classifier, regressor = sklearn.tree.DecisionTreeClassifier, sklearn.tree.DecisionTreeRegressor
    return {
        "classes": (classifier(random_state=0), X, y, None),
        "weights": (classifier(criterion="entropy", random_state=0), X, y, weight),
        "several classes": (classifier(max_depth=4, random_state=0), X, np.stack([y, y > 0], axis=1), None),
        "missing values": (classifier(random_state=0), with_missing, y, None),
        "random": (sklearn.tree.ExtraTreeClassifier(random_state=0), X, y, None),
        "numbers": (regressor(random_state=0), X[:, 1:], numbers, weight),
        "several numbers": (regressor(max_depth=5, random_state=0), X[:, 2:], X[:, :2], None),
        "medians": (regressor(criterion="absolute_error", max_depth=4, random_state=0), X[:, 1:], numbers, None),
        "random numbers": (sklearn.tree.ExtraTreeRegressor(random_state=0), X[:, 1:], numbers, None),
        "no split": (classifier(), X, np.zeros(len(y)), None),
    }


def match_nodes(tree, theirs):
    """scikit-learn's number of every node, by walking down both trees; checks that the splits are the same."""
    number = np.zeros(tree.node_count, int)
    for node in range(tree.node_count):
        other = number[node]
        assert bool(tree.is_leaf[node]) == (theirs.children_left[other] == -1)
        assert tree.feature[node] == theirs.feature[other] and tree.threshold[node] == theirs.threshold[other]
        if not tree.is_leaf[node]:
            first = tree.first_child[node]
            number[first], number[first + 1] = theirs.children_left[other], theirs.children_right[other]
            assert np.all(tree.parent[first : first + 2] == node)
            assert np.all(tree.depth[first : first + 2] == tree.depth[node] + 1)
    assert sorted(number) == list(range(theirs.node_count))
    return number


@pytest.mark.parametrize("name", list(many_kinds()))
def test_every_node_and_every_row(name):
    estimator, X, y, weight = many_kinds()[name]
    estimator.fit(X, y, sample_weight=weight)
    theirs, tree = estimator.tree_, read_sklearn_tree(estimator)
    number = match_nodes(tree, theirs)
    np.testing.assert_array_equal(number[tree.apply(X)], estimator.apply(X))
    np.testing.assert_allclose(tree.value, theirs.value[number], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(tree.num_rows, theirs.n_node_samples[number])
    np.testing.assert_array_equal(tree.weight, theirs.weighted_n_node_samples[number])
    np.testing.assert_array_equal(tree.impurity, theirs.impurity[number])
    for ours, name_of_theirs in (("max_depth", "max_depth"), ("n_leaves", "n_leaves"), ("n_outputs", "n_outputs")):
        assert getattr(tree, ours) == getattr(theirs, name_of_theirs)


@pytest.mark.parametrize("name", ["classes", "weights", "missing values", "numbers"])
def test_gains_are_what_their_importances_are_made_of(name):
    estimator, X, y, weight = many_kinds()[name]
    tree = read_sklearn_tree(estimator.fit(X, y, sample_weight=weight))
    split = np.flatnonzero(~tree.is_leaf)
    importance = np.bincount(tree.feature[split], (tree.gain * tree.weight)[split], minlength=X.shape[1])
    np.testing.assert_allclose(importance / importance.sum(), estimator.feature_importances_, atol=1e-12)
    assert np.all(tree.gain[tree.is_leaf] == 0)


def test_classes_of_several_outputs():
    estimator, X, y, _ = many_kinds()["several classes"]
    tree = read_sklearn_tree(estimator.fit(X, y))
    assert tree.num_classes == (3, 2) and tree.count.shape[1] == 5
    np.testing.assert_array_equal(tree.count[0], [59, 71, 48, 59, 119])


def test_class_weights_are_whole_where_they_can_be():
    """scikit-learn stores shares, of which rounding is taken away."""
    tree = read_sklearn_tree(fit("digits"))
    np.testing.assert_array_equal(tree.count, np.rint(tree.count))
    np.testing.assert_array_equal(tree.count.sum(axis=1), tree.weight)
    X, y = read("iris")
    light = read_sklearn_tree(sklearn.tree.DecisionTreeClassifier().fit(X, y, sample_weight=np.full(len(y), 1e-8)))
    np.testing.assert_allclose(light.count.sum(axis=1), light.weight)


def test_predictions():
    for name in ("wine", "diabetes"):
        estimator, tree, X = fit(name), read_sklearn_tree(fit(name)), read(name)[0]
        if name in CLASSES:
            np.testing.assert_array_equal(tree.predict(X), estimator.predict_proba(X))
            np.testing.assert_array_equal(majority_class(tree)[tree.apply(X)], estimator.predict(X))
        else:
            np.testing.assert_allclose(tree.predict(X)[:, 0], estimator.predict(X))


def test_members_of_a_forest():
    X, y = read("iris")
    for estimator in RandomForestClassifier(3, random_state=0).fit(X, y).estimators_:
        tree = read_sklearn_tree(estimator)
        np.testing.assert_array_equal(tree.predict(X), estimator.predict_proba(X))


def as_steps(alphas, impurities):
    """A path with one step for prices that differ by rounding alone, the last of them."""
    last = np.append(np.diff(alphas) > 1e-9, True)
    return alphas[last], impurities[last]


@pytest.mark.parametrize("name", list(DATA))
def test_their_cost_complexity_path(name):
    X, y = read(name)
    theirs = tree_class(name)(random_state=0).cost_complexity_pruning_path(X, y)
    ours = prune.cost_complexity_path(read_sklearn_tree(fit(name)))
    for our_part, their_part in zip(as_steps(*ours), as_steps(theirs.ccp_alphas, theirs.impurities), strict=True):
        np.testing.assert_allclose(our_part, their_part, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", list(DATA))
def test_their_trees_between_the_steps(name):
    X, _ = read(name)
    tree = read_sklearn_tree(fit(name))
    alphas, _ = as_steps(*prune.cost_complexity_path(tree))
    between = (alphas[1:] + alphas[:-1]) / 2
    chosen = between[np.linspace(0, len(between) - 1, 5).astype(int)]
    for alpha, mask in zip(chosen, prune.cost_complexity(tree, chosen), strict=True):
        theirs = fit(name, ccp_alpha=alpha)
        pruned = take_tree(tree, collapsed=mask)
        assert pruned.n_leaves == theirs.get_n_leaves()
        pairs = set(zip(pruned.apply(X).tolist(), theirs.apply(X).tolist(), strict=True))
        assert len(pairs) == pruned.n_leaves, "rows of one leaf are of one leaf there"
        expected = theirs.predict_proba(X) if name in CLASSES else theirs.predict(X)[:, None]
        np.testing.assert_allclose(pruned.predict(X), expected)


@pytest.mark.parametrize(
    ("parameters", "mask"),
    [
        ({"max_depth": 3}, lambda tree: prune.max_depth(tree, 3)),
        ({"min_samples_split": 20}, lambda tree: prune.min_samples_split(tree, 20)),
        ({"min_impurity_decrease": 0.01}, lambda tree: prune.min_impurity_decrease(tree, 0.01)),
    ],
)
def test_growing_there_under_a_rule_is_their_full_tree_under_the_mask(parameters, mask):
    """The features are drawn in an order of scikit-learn's own, which must not decide: one column has the say."""
    X, y = read("breast cancer")
    X = X[:, [7]]
    full = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    stopped = sklearn.tree.DecisionTreeClassifier(random_state=0, **parameters).fit(X, y)
    tree = read_sklearn_tree(full)
    pruned = take_tree(tree, collapsed=mask(tree))
    assert 1 < pruned.node_count == stopped.tree_.node_count < tree.node_count
    np.testing.assert_allclose(pruned.predict(X), stopped.predict_proba(X))


def test_float64_rows_may_go_another_way_than_there():
    """scikit-learn rounds rows to float32: a row just above a threshold may fall below it."""
    X = np.array([[0.0], [1.0]])
    estimator = sklearn.tree.DecisionTreeClassifier().fit(X, [0, 1])
    tree, row = read_sklearn_tree(estimator), np.array([[0.5 + 1e-12]])
    assert estimator.apply(row)[0] == 1 and tree.apply(row)[0] == 2
    assert tree.apply(row.astype(np.float32))[0] == 1


def test_what_is_no_tree():
    with pytest.raises(InvalidTypeError, match=r"must be a tree of sklearn\.tree, got RandomForestClassifier"):
        read_sklearn_tree(RandomForestClassifier())
    with pytest.raises(NotFittedError):
        read_sklearn_tree(sklearn.tree.DecisionTreeClassifier())
