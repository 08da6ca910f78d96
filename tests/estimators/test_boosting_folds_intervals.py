"""Intervals of models of folds hold what they promise, with folds that are drawn once and more often."""

import numpy as np
import pytest
from sklearn.model_selection import RepeatedKFold

from jaxtree import GradientBoostingRegressor
from tests.estimators.lone_folds import FEW, ROWS, SIGNAL, X

PROBLEMS, COVERAGE = 200, 0.9
SMALL = {"max_depth": 2, "min_samples_leaf": 3, "n_iter_no_change": 2, "learning_rate": 0.3}


def share_held(seed, num_rows, repeats):
    """The share of 100 new rows that lie in their intervals, of a problem with noise that differs from row to row."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(num_rows + 100, 2))
    noise = random.standard_t(3, len(table)) * (1 + np.abs(table[:, 0]))
    y = table[:, 0] + table[:, 1] ** 2 + noise
    folds = RepeatedKFold(n_splits=4, n_repeats=repeats, random_state=seed)
    model = GradientBoostingRegressor(8, **SMALL, early_stopping="cv", cv=folds)
    low, high = model.fit(table[:num_rows], y[:num_rows]).predict_interval(table[num_rows:], coverage=COVERAGE).T
    return np.mean((low <= y[num_rows:]) & (y[num_rows:] <= high))


@pytest.mark.slow
@pytest.mark.parametrize(("num_rows", "repeats"), [(20, 3), (40, 1)])
def test_intervals_hold_their_share_of_new_rows(num_rows, repeats):
    shares = [share_held(seed, num_rows, repeats) for seed in range(PROBLEMS)]
    mean, error = np.mean(shares), np.std(shares, ddof=1) / np.sqrt(PROBLEMS)
    print(f"{num_rows} rows, {repeats} x 4 folds: {mean:.4f} +- {error:.4f} lie in intervals of {COVERAGE}")
    assert mean >= COVERAGE - 2 * error


def test_an_interval_of_repeats_is_infinite_where_that_of_one_is():
    """More models do not make more rows: 9 of them cannot say where the last of 10 lies."""
    for coverage, is_known in ((0.88, True), (0.91, False)):
        for repeats in (1, 3):
            folds = RepeatedKFold(n_splits=3, n_repeats=repeats, random_state=0)
            model = GradientBoostingRegressor(8, **SMALL, early_stopping="cv", cv=folds).fit(X[:9], SIGNAL[:9])
            assert np.isfinite(model.predict_interval(X[:2], coverage=coverage)).all() == is_known


def test_intervals_of_repeats_are_those_of_all_sums():
    folds = RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)
    model = GradientBoostingRegressor(**FEW | {"cv": folds}).fit(X, SIGNAL)
    kept = model.folds_
    center = model._scores_of_folds(X[:5])
    place = int(np.ceil(0.8 * 2 * (ROWS + 1)))
    above = np.sort(center[:, kept.fold_of_held] + kept.residual, axis=1)[:, place - 1]
    np.testing.assert_allclose(model.predict_interval(X[:5], coverage=0.8)[:, 1], above)
