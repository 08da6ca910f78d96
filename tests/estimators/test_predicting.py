"""A fitted tree that predicts: few rows and many, both types of numbers, rows that are shared out."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from jaxtree import C45Classifier, DecisionTreeClassifier
from jaxtree.ensemble import blocks
from jaxtree.estimators.predicting import PredictingTree
from jaxtree.growth.candidates import NO_BRANCH
from tests.reference.walks import made_up_tree, made_up_values, mean_of_row


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return DecisionTreeClassifier().fit(X, y), np.tile(X, (5, 1))


def test_one_row_is_predicted_as_among_many(wine):
    tree, X = wine
    together = tree.predict(X), tree.predict_proba(X), tree.apply(X)
    for row in range(0, 178, 7):
        alone = X[row : row + 1]
        apart = tree.predict(alone), tree.predict_proba(alone), tree.apply(alone)
        for ours, theirs in zip(apart, together, strict=True):
            np.testing.assert_array_equal(ours[0], theirs[row])


def test_blocks_change_nothing(wine, monkeypatch):
    tree, X = wine
    whole = tree.predict_proba(X)
    monkeypatch.setattr(blocks, "ROWS_FOR_FEW_TREES", 256)
    np.testing.assert_array_equal(tree.predict_proba(X), whole)


@pytest.mark.parametrize("num_rows", [40, 700])
def test_rows_are_shared_out_where_a_value_is_missing(num_rows):
    tree = made_up_tree(5, missing=(0, 1, NO_BRANCH))
    values = made_up_values(tree, num_rows, seed=6, share_missing=0.2)
    of_node = np.random.default_rng(0).normal(size=(tree.node_count, 2))
    predicting = PredictingTree(tree)
    end = predicting.apply(values)
    assert predicting.held_up(end).size > 5
    expected = [mean_of_row(tree, row, of_node) for row in values]
    np.testing.assert_allclose(predicting.mean(values, end, of_node), expected, rtol=1e-12, atol=1e-12)


def test_parts_of_a_row_weigh_one_together():
    tree = made_up_tree(5, missing=(NO_BRANCH,))
    values = made_up_values(tree, 200, seed=7, share_missing=0.4)
    predicting = PredictingTree(tree)
    end = predicting.apply(values)
    held = predicting.held_up(end)
    visits = predicting.share_out(values[held], end[held])
    np.testing.assert_allclose(np.bincount(visits.row, visits.weight), 1)
    assert not predicting.is_shared[visits.node].any()


def test_a_row_of_few_numbers_of_either_type():
    X, y = load_wine(return_X_y=True)
    single = X.astype(np.float32)
    tree = DecisionTreeClassifier().fit(single, y)
    np.testing.assert_array_equal(tree.apply(single[:5]), tree.apply(single.astype(np.float64)[:5]))


@pytest.mark.slow
def test_most_probable_class_of_rows_shared_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = C45Classifier().fit(X, y)
    shares = np.array([mean_of_row(tree.tree_, row, tree.tree_.value[:, 0]) for row in X])
    np.testing.assert_allclose(tree.predict_proba(X), shares, atol=1e-9)
    sure = np.abs(shares[:, 0] - 0.5) > 1e-3
    np.testing.assert_array_equal(tree.predict(X)[sure], shares.argmax(axis=1)[sure])
