"""Weights have no unit, and neither have targets whose loss has one: all of them times a constant change nothing.

Weights that are whole multiples of the least one count rows: a doubled row is one of twice the weight. Both laws hold
in any table, but not where all weights are doubled at once, which is another unit.
"""

import numpy as np
import pytest

from jaxtree import (
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from jaxtree.boosting import absolute, quantile
from jaxtree.dataset.magnitude import MOST_ROWS, unit_of
from tests.marks import are_slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).round(2)
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * RNG.standard_t(4, size=200)
POSITIVE = np.exp(Y / 2)
COUNTS = RNG.poisson(POSITIVE).astype(float)
CLASSES = np.where(Y > 0, "yes", "no")
GROUP = np.arange(200) // 10
FEW = {"n_estimators": 8, "max_depth": 3}
BAGS = {"outer_bags": 2, "max_rounds": 100, "interactions": 0}
POWERS = [2.0**-20, 2.0**40, 2.0**508, 2.0**-508]

MODELS = {
    "boosted classes": (GradientBoostingClassifier(**FEW), CLASSES, {}),
    "boosted numbers": (GradientBoostingRegressor(**FEW), Y, {}),
    "boosted quantile": (GradientBoostingRegressor(**FEW, max_leaf_nodes=8, loss=quantile(0.8)), Y, {}),
    "boosted counts": (GradientBoostingRegressor(**FEW, loss="poisson"), COUNTS, {}),
    "boosted gamma": (GradientBoostingRegressor(**FEW, loss="gamma"), POSITIVE, {}),
    "ranker": (GradientBoostingRanker(**FEW), np.floor(POSITIVE), {"group": GROUP}),
    "distribution": (GradientBoostingDistribution(**FEW), Y, {}),
    "folds": (GradientBoostingRegressor(**FEW, early_stopping="cv", cv=2, random_state=0), Y, {}),
    "stopped": (GradientBoostingClassifier(**FEW, early_stopping=True, random_state=0), CLASSES, {}),
    "drawn rows": (GradientBoostingRegressor(**FEW, subsample=0.5, sampling="mvs", random_state=0), Y, {}),
    "additive classes": (ExplainableBoostingClassifier(**BAGS), CLASSES, {}),
    "additive numbers": (ExplainableBoostingRegressor(**BAGS), Y, {}),
    "additive counts": (ExplainableBoostingRegressor(**BAGS, loss="poisson"), COUNTS, {}),
    "additive medians": (ExplainableBoostingRegressor(**BAGS, loss=absolute()), Y, {}),
}
SLOW = ["boosted quantile", "boosted gamma", "ranker", "distribution", "folds", "stopped", "drawn rows"]


def says(model):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("name", are_slow(MODELS, *SLOW))
def test_weights_have_no_unit(name):
    model, target, extras = MODELS[name]
    plain = says(model.fit(X, target, **extras))
    assert len(np.unique(plain.round(6))) > 5
    for power in POWERS:
        np.testing.assert_array_equal(says(model.fit(X, target, np.full(200, power), **extras)), plain)
    for weight in (np.where(np.arange(200) % 3, 1.0, 2.0), RNG.uniform(0.5, 2, size=200)):
        if name == "ranker":
            weight = weight[GROUP]
        usual = says(model.fit(X, target, weight, **extras))
        for power in POWERS:
            np.testing.assert_array_equal(says(model.fit(X, target, power * weight, **extras)), usual)
        np.testing.assert_allclose(says(model.fit(X, target, 1000 * weight, **extras)), usual, rtol=1e-6, atol=1e-6)


def test_factors_of_classes_have_no_unit():
    for factors in ({"yes": 1.0, "no": 3.0}, "balanced"):
        usual = GradientBoostingClassifier(**FEW, class_weight=factors).fit(X, CLASSES, np.ones(200)).predict_proba(X)
        tiny = GradientBoostingClassifier(**FEW, class_weight=factors).fit(X, CLASSES, np.full(200, 2.0**-30))
        np.testing.assert_array_equal(tiny.predict_proba(X), usual)


RATES = {
    "boosted": GradientBoostingRegressor(**FEW, loss="poisson"),
    "tweedie": GradientBoostingRegressor(**FEW, loss="tweedie"),
    "additive": ExplainableBoostingRegressor(**BAGS, loss="poisson"),
    "additive tweedie": ExplainableBoostingRegressor(**BAGS, loss="tweedie"),
}


@pytest.mark.parametrize("kind", are_slow(RATES, "tweedie", "additive tweedie"))
def test_rates_have_no_unit(kind):
    """Rates of 1e-6 made no step."""
    for target in (COUNTS, POSITIVE):
        usual = RATES[kind].fit(X, target).predict(X)
        assert np.std(usual) > 0.1 * np.std(target)
        for scale in (1e-6, 1e6, 2.0**-40):
            np.testing.assert_allclose(RATES[kind].fit(X, scale * target).predict(X) / scale, usual, rtol=1e-4)


def test_exposures_have_no_unit():
    """Events by exposure are those of the same exposure in days, whether they are an offset or a rate with a weight."""
    exposure = RNG.uniform(0.2, 1, size=200)
    events = RNG.poisson(exposure * POSITIVE).astype(float)
    model = GradientBoostingRegressor(**FEW, loss="poisson")
    by_offset = model.fit(X, events, offset=np.log(exposure)).predict(X)
    for days in (1.0, 365.0):
        shifted = model.fit(X, events, offset=np.log(days * exposure)).predict(X)
        np.testing.assert_allclose(shifted * days, by_offset, rtol=1e-6)
        rates = model.fit(X, events / (days * exposure), days * exposure).predict(X)
        np.testing.assert_allclose(rates * days, by_offset, rtol=1e-6)


def test_refits_have_the_unit_of_their_rows():
    model = GradientBoostingRegressor(**FEW).fit(X, Y)
    usual = model.refit(X[::2], Y[::2], decay_rate=0.5).predict(X)
    tiny = model.refit(X[::2], Y[::2], np.full(100, 2.0**-30), decay_rate=0.5)
    np.testing.assert_array_equal(tiny.predict(X), usual)


def test_the_unit_is_the_least_weight_of_counts_and_the_mean_of_others():
    assert unit_of(np.array([3.0, 6.0, 0.0])) == 3
    assert unit_of(np.array([0.1, 0.3, 0.7])) == 0.1
    assert unit_of(np.array([2.0, 3.0])) == 2.5
    assert unit_of(np.array([1.0, 2.0 * MOST_ROWS])) == MOST_ROWS + 0.5
    assert unit_of(np.full(3, 1e308)) == 1e308
    assert unit_of(np.array([5e-324, 1.0])) == 0.5


def test_bins_of_additive_models_have_the_unit_of_weights():
    weight = 0.5 + np.arange(200) % 3
    model = ExplainableBoostingRegressor(**BAGS).fit(X, Y, weight)
    assert model.additive_.weight.sum() == pytest.approx(4 * weight.sum(), rel=1e-6)
