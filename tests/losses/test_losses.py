"""Losses of numbers, counts and classes, against closed forms, differences and brute force."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import sklearn.metrics

from jaxtree import boosting as losses
from jaxtree.errors import InvalidInputError
from jaxtree.losses.classes import logistic, softmax
from jaxtree.losses.numbers import squared
from jaxtree.losses.start import weighted_quantile
from tests.losses.derivatives import check_derivatives, derive, evaluate
from tests.marks import in_turn

ROWS = np.random.default_rng(1)
NUMBER_OF_ROWS = 30
SCORES = ROWS.normal(size=(1, NUMBER_OF_ROWS))
WEIGHT = ROWS.uniform(0.1, 2, size=NUMBER_OF_ROWS)
CASES = {
    "squared": (squared(), ROWS.normal(size=NUMBER_OF_ROWS)),
    "absolute": (losses.absolute(), ROWS.normal(size=NUMBER_OF_ROWS)),
    "huber": (losses.huber(0.7), ROWS.normal(size=NUMBER_OF_ROWS)),
    "pseudo_huber": (losses.pseudo_huber(0.7), ROWS.normal(size=NUMBER_OF_ROWS)),
    "quantile": (losses.quantile(0.8), ROWS.normal(size=NUMBER_OF_ROWS)),
    "expectile": (losses.expectile(0.8), ROWS.normal(size=NUMBER_OF_ROWS)),
    "poisson": (losses.poisson(), ROWS.integers(4, size=NUMBER_OF_ROWS)),
    "gamma": (losses.gamma(), ROWS.gamma(2, size=NUMBER_OF_ROWS)),
    "tweedie": (losses.tweedie(1.3), ROWS.gamma(2, size=NUMBER_OF_ROWS) * ROWS.integers(2, size=NUMBER_OF_ROWS)),
    "logistic": (logistic(), ROWS.integers(2, size=NUMBER_OF_ROWS)),
    "softmax": (softmax(3, "full"), ROWS.integers(3, size=NUMBER_OF_ROWS)),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_values(name):
    loss, target = CASES[name]
    scores = ROWS.normal(size=(loss.num_scores, NUMBER_OF_ROWS))
    derivatives = check_derivatives(loss, scores, target, hessian=loss.hessian == "full")
    if loss.hessian == "one":
        np.testing.assert_array_equal(derivatives.hessian[0], np.linspace(0.5, 2, NUMBER_OF_ROWS))


OF_NUMBERS = [name for name in CASES if name != "softmax"]


@pytest.mark.parametrize("has_offset", [False, True])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_the_start_is_the_best_of_all_constants(name, has_offset):
    loss, target = CASES[name]
    extras = {"offset": 0.5 * ROWS.normal(size=NUMBER_OF_ROWS)} if has_offset else {}
    start = loss.start(target, WEIGHT, extras)

    def cost(constant):
        with jax.enable_x64(True):
            scores = np.broadcast_to(constant, (1, NUMBER_OF_ROWS)).astype(float)
            return float(np.sum(WEIGHT * evaluate(loss, scores, target, extras)))

    found = scipy.optimize.minimize_scalar(cost, bounds=(-3, 3), options={"xatol": 1e-9})
    assert cost(start[0]) <= found.fun * (1 + 1e-9)
    if loss.renewal is None:
        np.testing.assert_allclose(start, found.x, atol=1e-4)


def test_the_start_of_softmax_is_where_newton_steps_end():
    loss, target = CASES["softmax"]
    found = dataclasses.replace(loss, constant=None).start(target, WEIGHT, {})
    np.testing.assert_allclose(loss.start(target, WEIGHT, {}), found - found.mean(), atol=1e-5)
    shifted = loss.start(target, WEIGHT, {"offset": np.full(NUMBER_OF_ROWS, 2.0)})
    np.testing.assert_allclose(shifted - shifted.mean(), found - found.mean(), atol=1e-5)


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.8])
def test_quantiles_of_weighted_rows_are_those_of_repeated_rows(level):
    values = ROWS.normal(size=20)
    # Where rows weigh the same, these levels lie between two.
    for times in (ROWS.integers(0, 4, size=20), np.ones(20, int)):
        expected = np.quantile(np.repeat(values, times), level, method="averaged_inverted_cdf")
        np.testing.assert_allclose(weighted_quantile(values, times, level), expected, rtol=1e-12)


def test_deviances_are_those_of_scikit_learn():
    mean = np.exp(SCORES[0])
    for name, power in (("poisson", 1), ("gamma", 2), ("tweedie", 1.3)):
        loss, target = CASES[name]
        with jax.enable_x64(True):
            values = np.mean(evaluate(loss, SCORES, target, {}))
        np.testing.assert_allclose(2 * values, sklearn.metrics.mean_tweedie_deviance(target, mean, power=power))
        np.testing.assert_allclose(loss.predict(jnp.asarray(SCORES))[0], mean, rtol=1e-6)


def test_robust_losses_in_closed_form():
    error = np.array([0.0, 1e-3, 0.5, 2.0, -1e5])
    huber = np.where(np.abs(error) < 2, error**2 / 2, 2 * np.abs(error) - 2)
    np.testing.assert_allclose(losses.huber(2.0).values(error[None], np.zeros(5), {}), huber, rtol=1e-6)
    pseudo = 4 * (np.sqrt(1 + (error / 2) ** 2) - 1)
    np.testing.assert_allclose(losses.pseudo_huber(2.0).values(error[None], np.zeros(5), {}), pseudo, rtol=1e-5)
    derivatives = losses.pseudo_huber(2.0).derivatives(error[None], np.zeros(5), np.ones(5), {})
    np.testing.assert_allclose(derivatives.hessian[0], (1 + (error / 2) ** 2) ** -1.5, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
def test_newton_steps_come_back_from_extreme_scores(name):
    """Where exponentials are cut off, steps still have the size of those that would lead back."""
    loss, target = CASES[name]
    weight = jnp.asarray(target > 0, jnp.float32)
    for score in (-1e3, 1e3):
        derivatives = derive(loss, jnp.full((1, NUMBER_OF_ROWS), score), target, weight, {})
        step = -derivatives.gradient.sum() / (derivatives.hessian.sum() + 1e-6)
        assert np.isfinite(step) and step * score < 0


@pytest.mark.parametrize(("size", "name"), in_turn([1e2, 1e4, 1e6], CASES))
def test_extreme_scores_give_numbers(name, size):
    loss, target = CASES[name]
    scores = size * np.sign(ROWS.normal(size=(loss.num_scores, NUMBER_OF_ROWS)))
    scores = jnp.asarray(scores, jnp.float32)
    results = [evaluate(loss, scores, target, {}), *derive(loss, scores, target, np.ones(NUMBER_OF_ROWS), {})]
    assert all(np.isfinite(result).all() for result in results)
    assert (results[0] >= -1e-6).all()
    assert not np.isnan(loss.predict(scores)).any()


def test_logistic_in_closed_form():
    loss, target = CASES["logistic"]
    probability = scipy.special.expit(SCORES[0])
    derivatives = check_derivatives(loss, SCORES, target)
    weight = np.linspace(0.5, 2, NUMBER_OF_ROWS)
    np.testing.assert_allclose(derivatives.gradient[0], weight * (probability - target))
    np.testing.assert_allclose(derivatives.hessian[0], weight * probability * (1 - probability))
    np.testing.assert_allclose(loss.predict(jnp.asarray(SCORES))[0], probability, rtol=1e-6)


def test_softmax_in_closed_form():
    loss, target = CASES["softmax"]
    scores = ROWS.normal(size=(3, NUMBER_OF_ROWS))
    probability = scipy.special.softmax(scores, axis=0)
    derivatives = check_derivatives(loss, scores, target)
    weight = np.linspace(0.5, 2, NUMBER_OF_ROWS)
    np.testing.assert_allclose(derivatives.gradient, weight * (probability - np.eye(3)[target].T))
    expected = np.eye(3)[..., None] * probability - probability * probability[:, None]
    np.testing.assert_allclose(derivatives.hessian, weight * expected)
    np.testing.assert_allclose(loss.predict(jnp.asarray(scores)), probability, rtol=1e-6)


def test_a_class_without_rows_and_rows_of_one_class_have_finite_starts():
    start = softmax(3).start(np.array([0, 0, 2]), np.ones(3), {})
    np.testing.assert_allclose(scipy.special.softmax(start), [2 / 3, 0, 1 / 3], atol=1e-12)
    assert np.isfinite(logistic().start(np.ones(3), np.ones(3), {})).all()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: losses.huber(0.0), "delta of huber must be a number above 0, got 0.0"),
        (lambda: losses.pseudo_huber(np.nan), "delta of pseudo_huber must be a number above 0, got nan"),
        (lambda: losses.quantile(1.0), "the level of quantile must be between 0 and 1, without these, got 1.0"),
        (lambda: losses.expectile(0), "the level of expectile must be between 0 and 1, without these, got 0"),
        (lambda: losses.tweedie(2), "the power of tweedie must be between 1 and 2, without these, got 2"),
        (lambda: softmax(1), "softmax needs 2 classes or more, got 1"),
        (lambda: softmax(3, hessian="one"), "hessian of softmax must be 'full' or 'diagonal', got 'one'"),
    ],
)
def test_a_wrong_parameter_is_named(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    "loss, wrong, message",
    [
        (losses.poisson(), -1, r"poisson\(\): a target must be 0 or more, got -1"),
        (losses.gamma(), 0.0, r"gamma\(\): a target must be above 0, got 0.0"),
        (losses.tweedie(1.5), -0.5, r"tweedie\(power=1.5\): a target must be 0 or more, got -0.5"),
        (logistic(), 2.0, r"logistic\(\): a target must be from 0 to 1, got 2.0"),
        (softmax(3), 3, r"softmax\(num_classes=3, .*\): a target must be a whole number from 0 to 2, got 3"),
        (squared(), np.inf, r"squared\(\): a target must be a finite number, got inf"),
    ],
)
def test_a_target_that_is_not_allowed_is_named(loss, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        loss.check(np.array([wrong, 1]), {})
