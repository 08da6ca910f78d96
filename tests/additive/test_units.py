"""The unit and the origin of a target change an additive model as they change the target, and nothing else.

Steps are whole numbers of a part of the largest one, so that in a unit of a power of two they are the same, bit for
bit; in other units the last digits of targets differ.
"""

import numpy as np
import pytest

from jaxtree import ExplainableBoostingRegressor
from jaxtree.boosting import (
    Loss,
    absolute,
    accelerated_failure_time,
    cox,
    distributions,
    expectile,
    gamma,
    huber,
    poisson,
    pseudo_huber,
    quantile,
    quantiles,
    squared,
    tweedie,
)
from tests.marks import are_slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)).round(2)
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * RNG.standard_t(4, size=300)
POSITIVE = np.exp(Y / 2)
EXACT = [2.0**20, 2.0**-20, 2.0**400]
OTHERS = [1000.0, 1e-30, 1e30]
OPTIONS = {"outer_bags": 2, "max_rounds": 300, "interactions": 1}


def square(scores, target, extras):
    return (scores[0] - target) ** 2 / 2


OF_NUMBERS = {
    "squared": squared(),
    "absolute": absolute(),
    "quantile": quantile(0.9),
    "quantiles": quantiles([0.2, 0.7]),
    "huber": huber(),
    "pseudo_huber": pseudo_huber(),
    "expectile": expectile(0.8),
    "one's own": Loss(square),
    "normal": distributions.normal(),
    "laplace": distributions.laplace(),
    "logistic": distributions.logistic(),
    "student_t": distributions.student_t(),
}
OF_POSITIVE = {
    "gamma": gamma(),
    "poisson": poisson(),
    "tweedie": tweedie(1.3),
    "lognormal": distributions.lognormal(),
    "weibull": distributions.weibull(),
    "gamma distribution": distributions.gamma(),
    "failure times": accelerated_failure_time("normal", None),
}
SLOW = ["quantiles", "laplace", "logistic", "one's own", "lognormal", "weibull", "gamma distribution", "failure times"]


def fit(loss, target, **extras):
    return ExplainableBoostingRegressor(loss=loss, **OPTIONS).fit(X, target, **extras)


@pytest.mark.parametrize("name", are_slow(OF_NUMBERS, *set(SLOW) & set(OF_NUMBERS)))
def test_losses_of_numbers(name):
    loss, spread = OF_NUMBERS[name], Y.std()
    usual = fit(loss, Y)
    assert usual.num_rounds_.sum() > 0
    is_exact = not name.startswith(("normal", "laplace", "logistic", "student"))  # logarithms of scales are rounded
    for scale in EXACT + OTHERS:
        model = fit(loss, scale * Y)
        np.testing.assert_array_equal(model.num_rounds_, usual.num_rounds_)
        tolerance = 0 if is_exact and scale in EXACT else 1e-5 * spread
        np.testing.assert_allclose(model.predict(X) / scale, usual.predict(X), rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", are_slow(OF_POSITIVE, *set(SLOW) & set(OF_POSITIVE)))
def test_losses_of_positive_numbers(name):
    extras = {"upper": np.where(Y > -1, POSITIVE, np.inf)} if name == "failure times" else {}
    usual = fit(OF_POSITIVE[name], POSITIVE, **extras).predict(X)
    assert np.ptp(usual) > 0.5
    for scale in EXACT + OTHERS:
        model = fit(OF_POSITIVE[name], scale * POSITIVE, **{key: scale * own for key, own in extras.items()})
        np.testing.assert_allclose(model.predict(X) / scale, usual, rtol=1e-4)


def test_given_deltas_have_the_unit_of_the_target():
    for make in (huber, pseudo_huber):
        usual = fit(make(0.5), Y).predict(X)
        for scale in (2.0**20, 2.0**-20):
            np.testing.assert_array_equal(fit(make(0.5 * scale), scale * Y).predict(X), scale * usual)


@pytest.mark.parametrize("name", ["squared", "absolute", "huber", "expectile", "normal"])
def test_the_origin(name):
    usual = fit(OF_NUMBERS[name], Y).predict(X)
    for shift in (-1e3, 1e6):
        # As far as digits of targets are left.
        np.testing.assert_allclose(fit(OF_NUMBERS[name], Y + shift).predict(X) - shift, usual, atol=0.1)


def test_offsets_have_the_unit_of_the_target():
    offset = RNG.normal(size=300)
    for loss in (absolute(), squared(), pseudo_huber()):
        usual = fit(loss, Y, offset=offset).predict(X)
        np.testing.assert_array_equal(fit(loss, 2.0**20 * Y, offset=2.0**20 * offset).predict(X), 2.0**20 * usual)


def test_hazards_have_no_unit():
    event = Y > -1
    usual = fit(cox(), POSITIVE, event=event).predict(X)
    np.testing.assert_array_equal(fit(cox(), 2.0**20 * POSITIVE, event=event).predict(X), usual)


def test_several_targets():
    both = np.column_stack([Y, POSITIVE])
    usual = ExplainableBoostingRegressor(**OPTIONS).fit(X, both).predict(X)
    moved = ExplainableBoostingRegressor(**OPTIONS).fit(X, 2.0**20 * both).predict(X)
    np.testing.assert_array_equal(moved, 2.0**20 * usual)


@pytest.mark.parametrize("loss", [squared(), absolute(), huber(), distributions.normal()])
def test_a_constant_target_is_predicted(loss):
    """But for the last bit, as every tree predicts a share of it."""
    for constant in (0.1, -3e20, 0.0):
        model = fit(loss, np.full(300, constant))
        np.testing.assert_allclose(model.predict(X), constant, rtol=4e-16)
