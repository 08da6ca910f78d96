"""Walking the node table, and taking trees out of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_wine

import jaxtree
from jaxtree import DecisionTreeClassifier, ID3Classifier
from jaxtree.errors import InvalidInputError
from jaxtree.growth import SplitKind, apply, majority_class, take_tree
from jaxtree.tree.nodes import pad_nodes


@pytest.fixture(scope="module")
def cars():
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True)
    return ID3Classifier().fit(X, y), X, y


def walk_row(tree, codes, stops):
    """The obvious walk of one row."""
    node = 0
    while tree.num_children[node] and not stops[node]:
        code = int(codes[tree.feature[node]])
        match tree.split_kind[node]:
            case SplitKind.THRESHOLD:
                branch = int(code > tree.code[node])
            case SplitKind.MULTIWAY:
                branch = code
            case _:
                branch = int(code == tree.code[node])
        if branch >= tree.num_children[node]:
            break
        node = int(tree.first_child[node]) + branch
    return node


@pytest.mark.parametrize("seed", range(3))
def test_apply_is_the_walk_of_every_row(cars, seed):
    estimator, X, _ = cars
    tree, codes = estimator.tree_, estimator.encode(X)[:, ::7]
    collapsed = np.random.default_rng(seed).random(tree.node_count) < 0.2 * seed
    expected = [walk_row(tree, row, collapsed) for row in codes.T]
    np.testing.assert_array_equal(apply(tree, codes, collapsed), expected)


def test_apply_under_jit_and_vmap_over_masks(cars):
    estimator, X, _ = cars
    tree, codes = estimator.tree_, estimator.encode(X)[:, :50]
    masks = np.random.default_rng(0).random((4, tree.node_count)) < 0.1
    batch = jax.jit(jax.vmap(lambda mask: apply(jax.tree.map(jnp.asarray, tree), codes, mask)))(masks)
    for mask, nodes in zip(masks, batch, strict=True):
        np.testing.assert_array_equal(nodes, apply(tree, codes, mask))


def test_a_row_whose_category_was_never_seen_stays_at_the_node_that_asks(cars):
    estimator, X, _ = cars
    row = X[:1].copy()
    row[0, list(estimator.schema_.column_names).index("x5")] = "unheard of"
    assert estimator.tree_.feature[0] == 5
    assert estimator.apply(row)[0] == 0
    assert estimator.predict(row)[0] == "unacc"


def test_codes_and_values_lead_to_the_same_nodes():
    X, y = load_wine(return_X_y=True)
    for max_bins in (None, 8):
        estimator = DecisionTreeClassifier(max_bins=max_bins).fit(X, y)
        np.testing.assert_array_equal(apply(estimator.tree_, estimator.encode(X)), estimator.apply(X))


def test_an_empty_branch_predicts_its_parent_s_majority():
    """Below x0 = a, of classes 0, 1, 1, no row has x1 = z; an empty node by itself would have class 0."""
    rows = [("a", "x", 0), ("a", "y", 1), ("a", "y", 1), *[("b", "z", 0)] * 3, *[("b", "y", 0)] * 2]
    X, y = np.array([row[:2] for row in rows], object), np.array([row[2] for row in rows])
    estimator = ID3Classifier().fit(X, y)
    tree, (empty,) = estimator.tree_, np.flatnonzero(estimator.tree_.num_rows == 0)
    assert tree.is_leaf[empty]
    assert majority_class(tree)[empty] == 1
    assert estimator.predict([["a", "z"]])[0] == 1
    np.testing.assert_allclose(estimator.predict_proba([["a", "z"]]), [[1 / 3, 2 / 3]])


def test_majority_tie_goes_to_the_lowest_class():
    estimator = DecisionTreeClassifier(max_depth=1, min_samples_split=10).fit([[0.0], [1.0]], ["b", "a"])
    assert estimator.predict([[5.0]])[0] == "a"


def test_taking_a_collapsed_tree_keeps_its_predictions(cars):
    estimator, X, _ = cars
    tree, codes = estimator.tree_, estimator.encode(X)
    collapsed = np.random.default_rng(1).random(tree.node_count) < 0.15
    small = take_tree(tree, collapsed=collapsed)
    before = np.asarray(majority_class(tree))[np.asarray(apply(tree, codes, collapsed))]
    after = np.asarray(majority_class(small))[np.asarray(apply(small, codes))]
    np.testing.assert_array_equal(before, after)
    assert small.node_count < tree.node_count
    children = np.flatnonzero(small.depth > 0)
    branch = children - small.first_child[small.parent[children]]
    assert np.all((branch >= 0) & (branch < small.num_children[small.parent[children]]))


def test_codes_of_too_few_features(cars):
    estimator, X, _ = cars
    with pytest.raises(InvalidInputError, match="splits on feature 5, got codes of 3 features"):
        apply(estimator.tree_, estimator.encode(X)[:3])


def test_padding_adds_nodes_that_no_walk_reaches(cars):
    estimator, X, _ = cars
    padded = pad_nodes(estimator.tree_)
    assert padded.feature.size == 512
    assert int(padded.num_nodes) == 408
    codes = estimator.encode(X)
    np.testing.assert_array_equal(apply(padded, codes), apply(estimator.tree_, codes))
