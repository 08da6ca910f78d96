"""A search over penalties of optimal trees: the scores of scikit-learn's search, by one product a fold and depth."""

import collections

import numpy as np
import pytest

from jaxtree import Dropout, OptimalTreeClassifier, OptimalTreeRegressor, SearchCV
from jaxtree.optimal.exact import SplitTable
from tests.search.beside import FOLDS, compare, numbers, targets, weights, words

PENALTIES = [0.0, 1.0, 2.5, 6.0, 40.0]


@pytest.fixture
def products(monkeypatch):
    """The number of sums over pairs of thresholds in all rows of a training part, by the depth of the trees."""
    made = collections.Counter()
    summed = SplitTable.sides_of_nodes

    def counted(table, node, depth, *, num_nodes):
        made[depth] += bool(np.all(node >= 0))
        return summed(table, node, depth, num_nodes=num_nodes)

    monkeypatch.setattr(SplitTable, "sides_of_nodes", counted)
    return made


@pytest.mark.slow
def test_a_path_of_penalties_costs_one_product_a_fold_and_depth(products):
    grid = {"leaf_penalty": PENALTIES, "max_depth": [1, 2, 3]}
    SearchCV(OptimalTreeClassifier(), grid, cv=FOLDS, refit=False).fit(*numbers())
    assert products == dict.fromkeys((1, 2, 3), len(FOLDS))


@pytest.mark.slow
def test_penalties_and_depths():
    compare(OptimalTreeClassifier(), {"leaf_penalty": PENALTIES[::2], "max_depth": [1, 2, 3]}, *numbers())


def test_thresholds_are_refined_for_each_tree_on_its_own():
    """Four of eleven thresholds of a column at once: the thresholds that are compared next depend on the tree."""
    trees = OptimalTreeClassifier(max_depth=2, max_thresholds=4)
    compare(trees, {"leaf_penalty": PENALTIES}, *numbers(seed=3), return_train_score=True)


@pytest.mark.slow
def test_penalties_of_words_with_missing_values_leaves_and_prunings():
    X, y = words(missing=True)
    grid = {"leaf_penalty": [0.0, 2.0], "max_leaf_nodes": [None, 3], "pruning": [None, Dropout(0.3)]}
    compare(OptimalTreeClassifier(max_depth=2, random_state=0), grid, X, y, scoring="neg_log_loss")


@pytest.mark.slow
def test_penalties_of_numbers_with_weights():
    X, y = targets()
    trees = OptimalTreeRegressor(max_depth=2)
    compare(trees, {"leaf_penalty": [0.0, 3.0, 30.0]}, X, y, fit_params={"sample_weight": weights()})


def test_the_best_tree_tells_its_objective():
    X, y = numbers()
    search = SearchCV(OptimalTreeClassifier(max_depth=2), {"leaf_penalty": PENALTIES}, cv=FOLDS).fit(X, y)
    best = search.best_estimator_
    penalty = best.leaf_penalty * best.get_n_leaves()
    np.testing.assert_allclose(best.objective_, np.sum(best.predict(X) != y) + penalty)


def test_four_levels_share_what_they_can():
    X, y = numbers()
    trees = OptimalTreeClassifier(max_depth=4, max_thresholds=3, refine_thresholds=False)
    compare(trees, {"leaf_penalty": [1.0, 4.0]}, X, y, refit=False)
