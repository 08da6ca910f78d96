"""The law of measured rows: what a model is fitted to must tell it something; of what is measured each row counts."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import KFold

from jaxtree import GradientBoostingDistribution, GradientBoostingRegressor, SearchCV
from jaxtree.boosting import cox
from jaxtree.errors import InvalidInputError
from jaxtree.losses.names import DISTRIBUTIONS, LOSSES
from tests.marks import rest_is_slow

ROWS = 60
FEW: dict = {"n_estimators": 2, "max_depth": 2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 2))
EVENT = np.arange(ROWS) % 4 == 0
TIME = RNG.exponential(size=ROWS) + 0.1
COUNT = (np.arange(ROWS) * 7 % 5) * EVENT
NOTHING = np.flatnonzero(~EVENT)[:12]
"""Rows without a count and without an event."""

MODELS = {
    **{name: (GradientBoostingRegressor(loss=name, **FEW), make().domain) for name, make in LOSSES.items()},
    **{
        name: (GradientBoostingDistribution(distribution=name, **FEW), make().domain)
        for name, make in DISTRIBUTIONS.items()
    },
}
COUNTED = [name for name, (_, domain) in MODELS.items() if domain.has_positive]


def test_the_losses_of_counts_are_found():
    assert set(COUNTED) == {"poisson", "tweedie", "negative_binomial"}


def model_and_rows(name):
    if name == "cox":
        return GradientBoostingRegressor(loss=cox(), **FEW), TIME, {"event": EVENT}
    return MODELS[name][0], COUNT.astype(float), {}


@pytest.mark.parametrize("name", rest_is_slow([*COUNTED, "cox"]))
def test_rows_without_counts_or_events_are_measured(name):
    model, y, extras = model_and_rows(name)
    held = {key: values[NOTHING] for key, values in extras.items()}
    fitted = model.fit(X, y, eval_set=[(X[NOTHING], y[NOTHING], held)], **extras)
    (losses,) = fitted.evals_result_["validation_0"].values()
    with warnings.catch_warnings():
        # No pair of rows without events has an order.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        score = fitted.score(X[NOTHING], y[NOTHING], **held)
    assert np.isfinite(losses).all() and np.isfinite(score) == (name != "cox")
    if name == "negative_binomial":
        assert score == pytest.approx(-losses[-1], abs=1e-9)
    assert np.isfinite(fitted.refit(X[NOTHING], y[NOTHING], **held).predict(X)).all()


@pytest.mark.parametrize("name", [*COUNTED, "cox"])
def test_a_fit_still_needs_a_count_or_an_event(name):
    model, y, extras = model_and_rows(name)
    y = TIME if extras else np.zeros(ROWS)
    with pytest.raises(InvalidInputError, match="of some row must be above 0, got 0 in all 60 rows"):
        model.fit(X, y, **{key: np.zeros(ROWS) for key in extras})


def test_each_measured_row_must_still_be_allowed():
    with pytest.raises(InvalidInputError, match="a target must be 0 or more, got -1"):
        GradientBoostingRegressor(loss="poisson", **FEW).fit(X, COUNT, eval_set=[(X, COUNT - 1)])


def test_a_search_scores_a_fold_without_a_count():
    order = np.concatenate([NOTHING, np.setdiff1d(np.arange(ROWS), NOTHING)])
    search = SearchCV(MODELS["poisson"][0], {"max_depth": [1, 2]}, cv=KFold(5), refit=False)
    search.set_params(scoring="neg_mean_poisson_deviance").fit(X[order], COUNT[order])
    assert np.isfinite([search.cv_results_[f"split{fold}_test_score"] for fold in range(5)]).all()
