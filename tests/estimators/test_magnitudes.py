"""Targets of every magnitude: a power of two as factor changes no digit of what is learned, or is refused in words."""

import numpy as np
import pytest

from jaxtree import (
    ExplainableBoostingRegressor,
    GradientBoostingDistribution,
    GradientBoostingRegressor,
    SoftTreeRegressor,
)
from jaxtree.boosting import expectile, quantile
from jaxtree.errors import InvalidInputError
from tests.marks import are_slow, in_turn

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 3)), 2)
Y = np.round(1 + 0.5 * (X[:, 0] > 0) + 0.1 * RNG.random(60), 3)
LOSSES = ("squared_error", "absolute_error", "huber", "pseudo_huber", "poisson", "gamma", "tweedie")
DISTRIBUTIONS = ("normal", "laplace", "logistic", "student_t", "lognormal", "gamma", "weibull")
FEW: dict = {"n_estimators": 3, "max_depth": 2, "min_samples_leaf": 1, "learning_rate": 0.3, "random_state": 0}
OWN = {"quantile": quantile(0.8), "expectile": expectile(0.8)}
MODELS = {
    **{f"boosted {name}": GradientBoostingRegressor(**FEW, loss=name) for name in LOSSES},
    **{f"boosted {name}": GradientBoostingRegressor(**FEW, loss=loss) for name, loss in OWN.items()},
    **{f"distribution {name}": GradientBoostingDistribution(**FEW, distribution=name) for name in DISTRIBUTIONS},
    **{f"additive {name}": ExplainableBoostingRegressor(max_rounds=5, random_state=0, loss=name) for name in LOSSES},
    **{f"soft {name}": SoftTreeRegressor(depth=2, max_epochs=5, random_state=0, loss=name) for name in LOSSES},
}
FAST = ("boosted squared_error", "boosted poisson", "distribution normal", "additive gamma", "soft poisson")


@pytest.mark.parametrize("name", are_slow(MODELS, *set(MODELS) - set(FAST)))
def test_powers_of_two_change_nothing(name):
    """A soft tree of rates of 1e-9 learned nothing, and of 2**300 it ended with losses that are no numbers."""
    model = MODELS[name]
    usual = model.fit(X, Y).predict(X)
    assert len(np.unique(usual.round(6))) > 1
    for power in (-425, -30, 20, 425):
        moved = np.ldexp(model.fit(X, np.ldexp(Y, power)).predict(X), -power)
        np.testing.assert_allclose(moved, usual, rtol=4e-6)


@pytest.mark.parametrize(
    ("size", "name"), in_turn([5e-324, 1e-300, 1e-140, 1e140, 1e300], are_slow(MODELS, *set(MODELS) - set(FAST)))
)
def test_what_cannot_be_squared_is_refused(name, size):
    """Boosting learned nothing from targets of 1e-300, and a Poisson model of 1e300 predicted 6e307."""
    with pytest.raises(InvalidInputError, match=r"derivatives are squared, got .*: multiply y by a constant"):
        MODELS[name].fit(X, Y * size)


@pytest.mark.parametrize(
    ("name", "value"),
    in_turn(["boosted absolute_error", "distribution laplace", "distribution student_t"], [0.0, 3.0, -2.5, 0.1]),
)
def test_equal_targets_are_predicted_as_they_are(name, value):
    """Rows at the median moved Laplace's distribution by a part of 1e-7 in five rounds."""
    np.testing.assert_allclose(MODELS[name].fit(X, np.full(60, value)).predict(X), value, rtol=4e-16)
