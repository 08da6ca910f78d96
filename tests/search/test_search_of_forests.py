"""Searches over forests: the trees of a fold grow once for all settings that limit, prune or number them."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from jaxtree import (
    Dropout,
    ExtraTreesClassifier,
    Pessimistic,
    RandomForestClassifier,
    ReducedError,
    SearchCV,
)
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.forests import base as forest_base
from tests.marks import rows_are_slow
from tests.search.beside import FOLDS, ROWS, compare, numbers, weights

X, Y = numbers()
FOREST = RandomForestClassifier(6, random_state=0)
LIMITS = {
    "n_estimators": [2, 6],
    "max_depth": [2, None],
    "min_samples_split": [2, 0.2],
    "min_impurity_decrease": [0, 0.02],
}


@pytest.fixture
def growths(monkeypatch):
    """The number of trees of every growth."""
    really, numbers = forest_base.grow_sample, []

    def counted(*arguments, trees, **options):
        numbers.append(len(trees))
        return really(*arguments, trees=trees, **options)

    monkeypatch.setattr(forest_base, "grow_sample", counted)
    return numbers


@pytest.mark.parametrize(
    ("forest", "is_weighted"),
    rows_are_slow(
        [
            (FOREST, True),
            (RandomForestClassifier(6, random_state=0, class_weight="balanced_subsample", min_samples_leaf=2), False),
            (ExtraTreesClassifier(6, random_state=0), True),
        ]
    ),
    ids=["bootstrap", "balanced", "all rows"],
)
def test_limits_and_numbers_of_trees(forest, is_weighted):
    params = {"sample_weight": weights()} if is_weighted else {}
    compare(forest, LIMITS, X, Y, scoring="neg_log_loss", fit_params=params)


@pytest.mark.slow
def test_prunings():
    grid = {
        "pruning": [None, Pessimistic(), ReducedError(), Dropout(0.2), Dropout(0.2, draws=3)],
        "n_estimators": [2, 3],
    }
    compare(FOREST, [grid, {"max_leaf_nodes": [4], "ccp_alpha": [0, 0.02]}], X, Y, return_train_score=True)


def test_limits_numbers_and_prunings_never_cause_another_growth(growths):
    grid = [LIMITS, {"pruning": [Pessimistic()], "ccp_alpha": [0.01], "n_jobs": [1], "oob_score": [True]}]
    SearchCV(FOREST, grid, cv=FOLDS, refit=False).fit(X, Y)
    assert growths == [6, 6, 6]
    SearchCV(FOREST, {"max_features": [1, 2], "random_state": [0, 1], "max_depth": [2]}, cv=FOLDS).fit(X, Y)
    assert growths[3:] == [6] * 13


def test_a_generator_lets_every_setting_grow(growths):
    forest = RandomForestClassifier(3, random_state=np.random.RandomState(0))
    SearchCV(forest, {"max_depth": [1, 2]}, cv=FOLDS, refit=False).fit(X, Y)
    assert growths == [3] * 6


def test_settings_that_are_not_allowed_fail_alone():
    grid = [{"max_depth": [2, -1]}, {"bootstrap": [False], "oob_score": [False, True]}]
    ours = compare(FOREST, grid, X, Y)
    assert np.isfinite(ours.cv_results_["mean_test_score"]).tolist() == [True, False, True, False]
    with pytest.raises(InvalidInputError, match=r"Out of bag.*bootstrap=True"):
        SearchCV(FOREST, grid[1], cv=FOLDS, error_score="raise").fit(X, Y)
    with pytest.raises(ValueError, match="Invalid parameter 'deep'"):
        SearchCV(FOREST, {"deep": [1]}, cv=FOLDS).fit(X, Y)


@pytest.mark.parametrize("shares", [True, False])
def test_an_interrupted_growth_ends_the_search(shares, monkeypatch):
    """A forest alone would keep the trees that it has."""
    really, calls = forest_base.grow_sample, []

    def interrupted(*arguments, trees, **options):
        calls.append(len(trees))
        # The second setting is interrupted on the last fold.
        return really(*arguments, trees=trees[:2] if len(calls) == 6 else trees, **options)

    monkeypatch.setattr(forest_base, "grow_sample", interrupted)
    forest = FOREST if shares else RandomForestClassifier(6, random_state=np.random.RandomState(0))
    grid = {"max_features": [1, 2]} if shares else [{"max_depth": [1]}, {"max_features": [1]}]
    search = SearchCV(forest, grid, cv=FOLDS)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert len(search.cv_results_["params"]) == 1 and search.best_index_ == 0 and len(calls) == 6


def test_a_warning_of_a_fit_comes_through():
    y = np.where(np.arange(ROWS) % 2, "a", "b")
    forest = RandomForestClassifier(2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SearchCV(forest, {"max_depth": [1]}, cv=FOLDS).fit(X, y)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        SearchCV(forest.set_params(oob_score=True), {"max_depth": [1]}, cv=FOLDS).fit(X, y)


def test_rows_out_of_bag_are_scored_for_the_refit_and_for_scorers_that_read_it(monkeypatch):
    really, calls = RandomForestClassifier._score_out_of_bag, []
    monkeypatch.setattr(RandomForestClassifier, "_score_out_of_bag", lambda *given: calls.append(1) or really(*given))
    forest = RandomForestClassifier(9, random_state=0, oob_score=True)
    search = SearchCV(forest, {"max_depth": [1, 2]}, cv=FOLDS).fit(X, Y)
    assert len(calls) == 1 and search.best_estimator_.oob_score_ > 0
    read = SearchCV(forest, {"max_depth": [1, 2]}, cv=FOLDS, scoring=lambda own, X, y: own.oob_score_, refit=False)
    assert len(calls) == 1 and np.isfinite(read.fit(X, Y).cv_results_["mean_test_score"]).all()


def test_the_search_leaves_the_forest_alone_and_predicts_by_the_best():
    search = SearchCV(FOREST, LIMITS, cv=FOLDS).fit(X, Y)
    assert not hasattr(FOREST, "forest_")
    other = GridSearchCV(FOREST, {}, cv=FOLDS).fit(X, Y)
    assert search.best_score_ >= other.best_score_
    assert len(search.best_estimator_) == search.best_params_["n_estimators"]
