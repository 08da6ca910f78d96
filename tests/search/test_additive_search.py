"""Searches over additive models: every member is its fit by itself."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor, SearchCV
from jaxtree.additive import coded_rows, fitting
from jaxtree.compilation import PROGRAMS
from jaxtree.search import additive_folds
from jaxtree.search.additive_folds import AdditiveSearchCV, fit_on_folds
from jaxtree.search.alone import PlainSearchCV
from jaxtree.search.evaluation import Search

ENDS = {"max_rounds": [20, 60, 10**4], "early_stopping_rounds": [5, 50], "early_stopping_tolerance": [0.0, 1e-2]}
GRID = {"learning_rate": [0.03, 0.2], "max_leaves": [2, 3], "interactions": [0, 1], "max_bins": [8, 16]}


def table(num_rows=160):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(num_rows, 3))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * draw.normal(size=num_rows)


@pytest.mark.parametrize("kind", ["classes", "numbers", "counts", "weights", "groups"])
def test_members_are_what_their_lone_fits_are(kind):
    X, y = table()
    few, params = {"outer_bags": 2, "max_rounds": 60}, {}
    estimator = ExplainableBoostingRegressor(**few)
    if kind == "classes":
        estimator, y = ExplainableBoostingClassifier(**few), y > 0
    elif kind == "counts":
        estimator, y = ExplainableBoostingRegressor(loss="poisson", **few), np.exp(y / 2).round()
    elif kind == "weights":
        params = {"sample_weight": np.arange(160) % 3}
    elif kind == "groups":
        params = {"group": np.arange(160) // 4}
    search = SearchCV(estimator, GRID, cv=2, refit=False).fit(X, y, **params)
    alone = PlainSearchCV(estimator, GRID, cv=2, refit=False).fit(X, y, **params)
    assert isinstance(search.search_, AdditiveSearchCV)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    np.testing.assert_array_equal(search.cv_results_["split0_test_score"], alone.cv_results_["split0_test_score"])
    np.testing.assert_array_equal(search.cv_results_["split1_test_score"], alone.cv_results_["split1_test_score"])


def fits_of(estimator, candidates, X, y, fit_params=None):
    """The values of terms and the rounds of every setting on two folds, and what failed among others."""
    halves = np.arange(len(y)) % 2 == 0
    splits = [(np.flatnonzero(halves), np.flatnonzero(~halves)), (np.flatnonzero(~halves), np.flatnonzero(halves))]
    search = Search(estimator, candidates, X, y, splits, None, fit_params or {}, {}, np.nan, False)
    made, alone = {}, []

    def use(setting, fold):
        return setting.additive_.values, setting.num_rounds_

    def keep(fitted):
        made[fitted.number, fitted.fold] = fitted.made

    fit_on_folds(search, use, keep, lambda number, fold: alone.append((number, fold)))
    return splits, made, alone


@pytest.mark.parametrize("kind", ["classes", "numbers", "several", "counts", "groups"])
def test_terms_of_members_are_those_of_their_lone_fits(kind):
    X, y = table()
    few, params = {"outer_bags": 2, "validation_size": 0.3}, {}
    estimator = ExplainableBoostingRegressor(**few)
    if kind in ("classes", "several"):
        y = np.digitize(y, [0.0] if kind == "classes" else [-0.5, 0.5])
        estimator = ExplainableBoostingClassifier(**few)
    elif kind == "counts":
        estimator, y = ExplainableBoostingRegressor(loss="poisson", **few), np.exp(y / 2).round()
    elif kind == "groups":
        params = {"group": np.arange(160) // 4}
    candidates = [
        *ParameterGrid(ENDS | {"interactions": [2]}),
        *ParameterGrid({"learning_rate": [0.1], "max_bins": [6], "interactions": [0, 1, [(0, 2)]], "max_rounds": [99]}),
        *({"interactions": 0, name: value} for name, value in {"max_bins": 6, "validation_size": 0.2}.items()),
        {"interactions": 0},
    ]
    splits, made, alone = fits_of(estimator, candidates, X, y, params)
    assert len(made) == 2 * len(candidates) == 36 and not alone
    for (number, fold), (values, num_rounds) in made.items():
        train, own = splits[fold][0], {name: array[splits[fold][0]] for name, array in params.items()}
        lone = clone(estimator).set_params(**candidates[number]).fit(X[train], y[train], **own)
        np.testing.assert_array_equal(values, lone.additive_.values)
        np.testing.assert_array_equal(num_rounds, lone.num_rounds_)


def test_settings_that_differ_in_ends_or_pairs_boost_curves_once(monkeypatch):
    boosted, original = [], fitting.boost_terms
    monkeypatch.setattr(fitting, "boost_terms", lambda *given, **more: boosted.append(1) or original(*given, **more))
    X, y = table()
    estimator = ExplainableBoostingRegressor(outer_bags=1, max_leaves=3, interactions=0)
    fits_of(estimator, list(ParameterGrid(ENDS)), X, y)
    assert len(boosted) == 2
    boosted.clear()
    fits_of(estimator, [{"interactions": number} for number in (0, 1, 2)], X, y)
    # Curves, one pair, and two pairs, on each fold.
    assert len(boosted) == 6


def test_settings_of_equal_models_are_scored_once(monkeypatch):
    X, y = table()
    taken, original = [], ExplainableBoostingRegressor.set_model
    monkeypatch.setattr(
        ExplainableBoostingRegressor, "set_model", lambda own, *given: taken.append(1) or original(own, *given)
    )
    estimator = ExplainableBoostingRegressor(outer_bags=1, interactions=0, max_leaves=3, max_rounds=40)
    _, made, _ = fits_of(estimator, [{"early_stopping_rounds": number} for number in (500, 600)], X, y)
    assert made[0, 0] is made[1, 0] and made[0, 0] is not made[0, 1]
    assert len(taken) == 2


def test_sums_over_pairs_of_bins_are_made_once_for_all_rules(monkeypatch):
    X, y = table(2000)
    made, original = [], coded_rows.gram_sums
    monkeypatch.setattr(coded_rows, "gram_sums", lambda *given, **more: made.append(1) or original(*given, **more))
    few = {"outer_bags": 1, "interactions": 0, "max_bins": 8, "max_leaves": 3}
    for estimator in (ExplainableBoostingRegressor(**few), ExplainableBoostingRegressor(loss="poisson", **few)):
        counts = []
        for rates in ([0.05], [0.05, 0.1, 0.2]):
            made.clear()
            fits_of(estimator, [{"learning_rate": rate, "max_rounds": 5} for rate in rates], X, np.abs(y))
            counts.append(len(made))
        if estimator.loss == "poisson":
            # Weights at the start are the same, later ones are not.
            assert counts[0] > 2 and counts[1] == 3 * counts[0] - 4
        else:
            assert counts == [2, 2]


@pytest.mark.slow
def test_a_search_compiles_nothing_more_than_a_fit(monkeypatch):
    monkeypatch.setattr("jaxtree.additive.sums.has_handler", lambda handler: False)
    X, y = table()
    few = {"outer_bags": 1, "interactions": 0, "max_bins": 6, "max_leaves": 3, "max_rounds": 12}
    estimator = ExplainableBoostingRegressor(**few)
    rows = np.arange(len(y)) % 2 == 0
    estimator.fit(X[rows], y[rows])
    added, original = [], PROGRAMS.add
    monkeypatch.setattr(PROGRAMS, "add", lambda key, program: added.append(key) or original(key, program))
    _, made, alone = fits_of(estimator, list(ParameterGrid({"learning_rate": [0.1, 0.2], "max_rounds": [5, 12]})), X, y)
    assert len(made) == 8 and not alone
    assert not added


def test_an_interrupt_keeps_the_settings_that_are_scored_on_all_folds(monkeypatch):
    X, y = table()
    estimator, grid = ExplainableBoostingRegressor(outer_bags=1, max_rounds=40), {"learning_rate": [0.05, 0.1, 0.2]}
    whole = SearchCV(estimator, grid, cv=2, refit=False).fit(X, y)

    def interrupted(futures, timeout):
        # All but the last setting on the last fold.
        yield from [future for future in futures[:-1] if future.result()]
        raise KeyboardInterrupt

    monkeypatch.setattr(additive_folds, "as_completed", interrupted)
    search = SearchCV(estimator, grid, cv=2, refit=False)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    scores = (own.cv_results_["mean_test_score"] for own in (search, whole))
    np.testing.assert_array_equal(next(scores), next(scores)[:2])


def test_the_order_of_settings_is_of_no_account():
    X, y = table()
    estimator, rates = ExplainableBoostingRegressor(outer_bags=1, max_rounds=40), [0.01, 0.1, 0.3]
    scores = [
        SearchCV(estimator, {"learning_rate": own}, cv=2, refit=False).fit(X, y).cv_results_["mean_test_score"]
        for own in (rates, rates[::-1])
    ]
    np.testing.assert_array_equal(scores[0], scores[1][::-1])


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
