"""Predictions of trees and forests: beside slow loops, whatever the blocks, and with few programs."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_wine

from jaxtree import C45Classifier, DecisionTreeClassifier
from jaxtree.kernels import choose
from jaxtree.tree import ALL_BRANCHES, predictor
from jaxtree.tree.forest import join_trees
from jaxtree.tree.predictor import Predictor
from tests.reference.walks import SplitKind, made_up_tree, made_up_values, mean_of_row, walk_value_row

THRESHOLDS = dict(kinds=(SplitKind.THRESHOLD,))
KINDS = {"thresholds": THRESHOLDS, "all kinds": dict(), "shared out": dict(missing=(0, 1, ALL_BRANCHES))}
NUM_TREES = 9


def made_up_forest(**kinds):
    """Trees of many sizes, and what their nodes say."""
    trees = [made_up_tree(seed, num_splits=5 + 4 * seed, **kinds) for seed in range(NUM_TREES)]
    rng = np.random.default_rng(0)
    return trees, [rng.normal(size=(tree.node_count, 2)) for tree in trees]


@pytest.fixture(autouse=True, params=["with the kernel", "without"])
def kernel_or_not(request, monkeypatch):
    if request.param == "without":
        monkeypatch.setattr(choose, "is_there", lambda: False)


@pytest.fixture(params=KINDS)
def case(request):
    trees, said = made_up_forest(**KINDS[request.param])
    return trees, said, made_up_values(trees[-1], 1300, seed=1)


@pytest.mark.parametrize("num_rows", [1, 40, 600])
def test_a_forest_is_its_trees(case, num_rows):
    trees, said, values = case
    forest, values = Predictor(join_trees(trees)), values[:num_rows]
    first = join_trees(trees).first_node[:-1]
    ends = np.array([[walk_value_row(tree, row) for tree in trees] for row in values]) + first
    np.testing.assert_array_equal(forest.ends_in_trees(values), ends)
    pairs = list(zip(trees, said, strict=True))
    means = [np.mean([mean_of_row(tree, row, of_node) for tree, of_node in pairs], axis=0) for row in values]
    np.testing.assert_allclose(forest.mean(values, np.concatenate(said)), means, rtol=1e-12, atol=1e-12)


def test_blocks_and_the_host_change_no_bit(case, monkeypatch):
    trees, said, values = case
    forest, of_node = Predictor(join_trees(trees)), np.concatenate(said)
    ends, means = forest.ends_in_trees(values), forest.mean(values, of_node)
    monkeypatch.setattr(predictor, "ROWS_FOR_MANY_TREES", 512)  # the last of 1300 rows overlap
    np.testing.assert_array_equal(forest.ends_in_trees(values), ends)
    np.testing.assert_array_equal(forest.mean(values, of_node), means)
    monkeypatch.setattr(predictor, "FEW_ROWS", len(values))
    np.testing.assert_array_equal(forest.ends_in_trees(values), ends)
    np.testing.assert_array_equal(forest.mean(values, of_node), means)
    reverse = slice(None, None, -1)
    np.testing.assert_array_equal(forest.mean(values[reverse], of_node)[reverse], means)


def test_float32_rows_go_where_their_float64_values_go():
    trees, _ = made_up_forest(**THRESHOLDS)
    values = made_up_values(trees[0], 600, seed=2).astype(np.float32)
    # All numbers of a row lie on one threshold, which float32 has rounded up or down.
    values[:, ::2] = np.resize(np.concatenate([tree.threshold for tree in trees]), (600, 1)).astype(np.float32)
    forest = Predictor(join_trees(trees))
    for rows in (values, values[:30]):
        np.testing.assert_array_equal(forest.ends_in_trees(rows), forest.ends_in_trees(rows.astype(np.float64)))


def test_rows_without_a_number_of_one_block_only():
    """Where no value of a block is missing, another step is compiled."""
    trees, said = made_up_forest(**THRESHOLDS)
    values = made_up_values(trees[0], 1300, seed=3, share_missing=0.0)
    without = Predictor(join_trees(trees)).mean(values, np.concatenate(said))
    values[7, 0] = np.nan
    with_one = Predictor(join_trees(trees)).mean(values, np.concatenate(said))
    np.testing.assert_array_equal(np.delete(with_one, 7, axis=0), np.delete(without, 7, axis=0))
    expected = [mean_of_row(tree, values[7], of_node) for tree, of_node in zip(trees, said, strict=True)]
    np.testing.assert_allclose(with_one[7], np.mean(expected, axis=0), rtol=1e-12)


def test_a_stored_forest_holds_no_arrays_of_a_device_and_predicts_the_same():
    trees, said = made_up_forest()
    values = made_up_values(trees[0], 600, seed=4)
    forest, of_node = Predictor(join_trees(trees)), np.concatenate(said)
    fresh = len(pickle.dumps(forest))
    means = forest.mean(values, of_node)
    assert len(pickle.dumps(forest)) == fresh
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).mean(values, of_node), means)


def test_tables_and_trees_of_a_like_size_share_programs():
    def predict(num_rows, num_splits, num_trees):
        trees = [made_up_tree(seed, num_splits=num_splits, **THRESHOLDS) for seed in range(num_trees)]
        forest = Predictor(join_trees(trees))
        values = made_up_values(trees[0], num_rows, seed=5)
        forest.ends_in_trees(values)
        forest.mean(values, np.ones((sum(tree.node_count for tree in trees), 2)))
        Predictor(trees[0]).ends(values)

    predict(2000, 60, 8)
    programs = (predictor._walk_trees, predictor.sum_over_trees, predictor.walk_values)
    before = [program.num_programs() for program in programs]
    for num_rows in (513, 1000, 2048):
        for num_splits, num_trees in ((50, 8), (60, 7), (63, 5)):
            predict(num_rows, num_splits, num_trees)
    assert [program.num_programs() for program in programs] == before


def test_wide_tables_are_walked_in_small_blocks():
    assert predictor.rows_at_a_time(1, 100_000) * 100_000 <= predictor.VALUES_ON_CPU
    assert predictor.rows_at_a_time(1, 2**30) == 1


@pytest.mark.parametrize("num_rows", [40, 700])
def test_rows_are_shared_out_where_a_value_is_missing(num_rows):
    tree = made_up_tree(5, missing=(0, 1, ALL_BRANCHES))
    values = made_up_values(tree, num_rows, seed=6, share_missing=0.2)
    of_node = np.random.default_rng(0).normal(size=(tree.node_count, 2))
    alone = Predictor(tree)
    end = alone.ends(values)
    assert alone.rows_to_share(end).size > 5
    expected = [mean_of_row(tree, row, of_node) for row in values]
    np.testing.assert_allclose(alone.mean_at(values, end, of_node), expected, rtol=1e-12, atol=1e-12)


def test_parts_of_a_row_weigh_one_together():
    tree = made_up_tree(5, missing=(ALL_BRANCHES,))
    values = made_up_values(tree, 200, seed=7, share_missing=0.4)
    alone = Predictor(tree)
    parts = alone.instances(values)
    assert len(parts.row) > len(values)
    np.testing.assert_allclose(np.bincount(parts.row, parts.weight), 1)
    assert not alone.shares_out[parts.node].any()


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
