"""Searches over soft models: settings of one form share a program; `tests/test_batches.py` has their members."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import SearchCV, SoftTreeRegressor
from jaxtree.boosting import Loss
from jaxtree.compilation import PROGRAMS
from jaxtree.errors import DivergedFitWarning
from jaxtree.estimators.common import jobs
from jaxtree.estimators.soft import base
from jaxtree.soft.epochs import run_epochs

GRID = {"gate_rate": [0.03, 0.2], "last_temperature": [0.1, 0.5], "averaging": [0.0, 0.9]}
FEW = {"depth": 2, "max_epochs": 8, "batch_size": 64, "random_state": 0}


def table(num_rows=160):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(num_rows, 3)) * [1, 10, 100]
    X[::17, 1] = np.nan
    return X, X[:, 0] + np.abs(X[:, 2]) / 50 + 0.1 * draw.normal(size=num_rows)


def scores_of(search):
    return np.stack([search.cv_results_[f"split{fold}_test_score"] for fold in range(2)])


@pytest.mark.usefixtures("trained_by_programs")
def test_settings_folds_and_restarts_share_a_program_in_any_order_and_company(monkeypatch):
    PROGRAMS.clear()
    monkeypatch.setattr(jobs, "_fit_alone", None)
    X, y = table()
    grid = {"gate_rate": [0.01, 0.1, 0.3], "n_restarts": [1, 2], "max_epochs": [5, 9]}
    search = SearchCV(SoftTreeRegressor(**FEW), grid, cv=2, refit=False).fit(X, y)
    monkeypatch.setattr(base, "MOST_FITS", 5)
    backwards = {name: values[::-1] for name, values in grid.items()}
    again = SearchCV(SoftTreeRegressor(**FEW), backwards, cv=2, refit=False).fit(X, y)
    one = SearchCV(SoftTreeRegressor(**FEW), {"gate_rate": [0.1], "max_epochs": [9]}, cv=2, refit=False).fit(X, y)
    assert run_epochs.num_programs() == 1
    np.testing.assert_array_equal(scores_of(search), scores_of(again)[:, ::-1])
    place = search.cv_results_["params"].index({"gate_rate": 0.1, "max_epochs": 9, "n_restarts": 1})
    np.testing.assert_array_equal(scores_of(search)[:, place], scores_of(one)[:, 0])


def test_rows_of_a_fold_are_read_once_for_settings_of_training(monkeypatch):
    read, original = [], SoftTreeRegressor.read_rows
    monkeypatch.setattr(SoftTreeRegressor, "read_rows", lambda *own: read.append(1) or original(*own))
    X, y = table()
    grid = {"leaf_rate": [0.05, 0.1, 0.2], "scaling": ["standard", "quantile"]}
    SearchCV(SoftTreeRegressor(**FEW), grid, cv=2, refit=False).fit(X, y)
    assert len(read) == 4


def test_a_setting_that_diverges_is_named_and_keeps_its_best():
    X, y = table()
    endless = Loss(lambda scores, target, extras: -jnp.abs(scores[0]), constant=lambda target, weight: jnp.ones(1))
    estimator = SoftTreeRegressor(loss=endless, **FEW | {"max_epochs": 40})
    grid = {"leaf_rate": [0.05, 3e37]}
    with pytest.warns(DivergedFitWarning, match=r"leaf_rate=3e\+37.*: the loss is not finite in epoch") as told:
        search = SearchCV(estimator, grid, cv=2, refit=False, scoring="neg_mean_absolute_error").fit(X, y)
    assert sum(own.category is DivergedFitWarning for own in told) == 2
    assert np.isfinite(scores_of(search)).all() and scores_of(search)[0, 1] < -1e30


@pytest.mark.usefixtures("trained_by_programs")
def test_an_interrupt_ends_the_search(monkeypatch):
    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxtree.soft.runs.run_epochs", interrupted)
    X, y = table()
    with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("error", DivergedFitWarning)
        SearchCV(SoftTreeRegressor(**FEW), GRID, cv=2).fit(X, y)
