"""Searches over additive models make what members share once; `tests/test_batches.py` has the members."""

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid

from jaxtree import ExplainableBoostingRegressor, SearchCV
from jaxtree.additive import coded_rows, fit
from jaxtree.compilation import PROGRAMS
from jaxtree.estimators.additive import base
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.jobs import Job, TablePart, fit_many

ENDS = {"max_rounds": [20, 60, 10**4], "early_stopping_rounds": [5, 50], "early_stopping_tolerance": [0.0, 1e-2]}


def table(num_rows=160):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(num_rows, 3))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * draw.normal(size=num_rows)


def fits_of(estimator, candidates, X, y):
    """The fits of every setting on two folds."""
    is_first = np.arange(len(y)) % 2 == 0
    parts = [TablePart(X, y, None, np.flatnonzero(own)) for own in (is_first, ~is_first)]
    settings = [configured(estimator, own) for own in candidates]
    return list(fit_many([Job(setting, part) for part in parts for setting in settings]))


def test_settings_that_differ_in_ends_or_pairs_boost_curves_once(monkeypatch):
    boosted, original = [], fit.boost_terms
    monkeypatch.setattr(fit, "boost_terms", lambda *given, **more: boosted.append(1) or original(*given, **more))
    X, y = table()
    estimator = ExplainableBoostingRegressor(outer_bags=1, max_leaves=3, interactions=0)
    fits_of(estimator, list(ParameterGrid(ENDS)), X, y)
    assert len(boosted) == 2
    boosted.clear()
    fits_of(estimator, [{"interactions": number} for number in (0, 1, 2)], X, y)
    # Curves, one pair, and two pairs, on each fold.
    assert len(boosted) == 6


def test_sums_over_pairs_of_bins_are_made_once_for_all_rules(monkeypatch):
    X, y = table(2000)
    made, original = [], coded_rows.gram_sums
    monkeypatch.setattr(coded_rows, "gram_sums", lambda *given, **more: made.append(1) or original(*given, **more))
    few = {"outer_bags": 1, "interactions": 0, "max_bins": 8, "max_leaves": 3}
    for estimator in (ExplainableBoostingRegressor(**few), ExplainableBoostingRegressor(loss="poisson", **few)):
        counts = []
        for rates in ([0.05], [0.05, 0.1, 0.2]):
            made.clear()
            fits_of(estimator, [{"learning_rate": rate, "max_rounds": 20} for rate in rates], X, np.abs(y))
            counts.append(len(made))
        if estimator.loss == "poisson":
            # Weights at the start are the same, later ones are not.
            assert counts[0] > 2 and counts[1] == 3 * counts[0] - 4
        else:
            assert counts == [2, 2]


@pytest.mark.slow
def test_a_search_compiles_nothing_more_than_a_fit(monkeypatch):
    monkeypatch.setattr("jaxtree.kernels.choose.is_there", lambda: False)
    X, y = table()
    few = {"outer_bags": 1, "interactions": 0, "max_bins": 6, "max_leaves": 3, "max_rounds": 12}
    estimator = ExplainableBoostingRegressor(**few)
    rows = np.arange(len(y)) % 2 == 0
    estimator.fit(X[rows], y[rows])
    added, original = [], PROGRAMS.add
    monkeypatch.setattr(PROGRAMS, "add", lambda key, program: added.append(key) or original(key, program))
    fits_of(estimator, list(ParameterGrid({"learning_rate": [0.1, 0.2], "max_rounds": [5, 12]})), X, y)
    assert not added


def test_an_interrupt_keeps_the_settings_that_are_scored_on_all_folds(monkeypatch):
    X, y = table()
    estimator, grid = ExplainableBoostingRegressor(outer_bags=1, max_rounds=40), {"learning_rate": [0.05, 0.1, 0.2]}
    whole = SearchCV(estimator, grid, cv=2, refit=False).fit(X, y)

    def interrupted(futures, timeout):
        # All but the last setting on the last fold.
        yield from [future for future in futures[:-1] if future.result()]
        raise KeyboardInterrupt

    monkeypatch.setattr(base, "as_completed", interrupted)
    search = SearchCV(estimator, grid, cv=2, refit=False)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    scores = (own.cv_results_["mean_test_score"] for own in (search, whole))
    np.testing.assert_array_equal(next(scores), next(scores)[:2])


def test_rows_of_a_fold_are_encoded_once_for_every_encoder(monkeypatch):
    from jaxtree.table.encoder import Encoder

    encoded, original = [], Encoder.fit_transform
    monkeypatch.setattr(Encoder, "fit_transform", lambda own, X: encoded.append(1) or original(own, X))
    X, y = table()
    grid = {"learning_rate": [0.05, 0.1, 0.2], "max_bins": [8, 16]}
    SearchCV(ExplainableBoostingRegressor(outer_bags=1, max_rounds=20), grid, cv=2, refit=False).fit(X, y)
    assert len(encoded) == 4


def test_a_setting_that_fails_fails_alone():
    X, y = table()
    grid = {"interactions": [0, [("x0", "nowhere")]]}
    with pytest.warns(FitFailedWarning, match="nowhere"):
        search = SearchCV(ExplainableBoostingRegressor(outer_bags=1, max_rounds=20), grid, cv=2).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert search.best_params_ == {"interactions": 0}
