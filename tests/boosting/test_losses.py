"""Losses of numbers, counts and classes, against closed forms, differences and brute force."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from jaxtree.boosting.losses import logistic, softmax, squared
from jaxtree.errors import InvalidInputError
from tests.boosting.derivatives import check_derivatives

ROWS = np.random.default_rng(1)
NUMBER_OF_ROWS = 30
SCORES = ROWS.normal(size=(1, NUMBER_OF_ROWS))
WEIGHT = ROWS.uniform(0.1, 2, size=NUMBER_OF_ROWS)
CASES = {
    "squared": (squared(), ROWS.normal(size=NUMBER_OF_ROWS)),
    "logistic": (logistic(), ROWS.integers(2, size=NUMBER_OF_ROWS)),
    "softmax": (softmax(3), ROWS.integers(3, size=NUMBER_OF_ROWS)),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_values(name):
    loss, target = CASES[name]
    scores = ROWS.normal(size=(loss.num_scores, NUMBER_OF_ROWS))
    check_derivatives(loss, scores, target)


@pytest.mark.parametrize("name", CASES)
def test_starts_in_closed_form_are_where_newton_steps_end(name):
    loss, target = CASES[name]
    closed = loss.start(target, WEIGHT, {})
    found = dataclasses.replace(loss, constant=None).start(target, WEIGHT, {})
    np.testing.assert_allclose(
        closed - closed.mean() * (len(closed) > 1), found - found.mean() * (len(found) > 1), atol=1e-5
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_extreme_scores_give_numbers(name, size):
    loss, target = CASES[name]
    scores = size * np.sign(ROWS.normal(size=(loss.num_scores, NUMBER_OF_ROWS)))
    scores = jnp.asarray(scores, jnp.float32)
    results = [loss.values(scores, target, {}), *loss.derivatives(scores, target, np.ones(NUMBER_OF_ROWS), {})]
    assert all(np.isfinite(result).all() for result in results)
    assert (results[0] >= 0).all()
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
        (logistic(), 2.0, r"logistic\(\): a target must be from 0 to 1, got 2.0"),
        (softmax(3), 3, r"softmax\(num_classes=3, .*\): a target must be a whole number from 0 to 2, got 3"),
        (squared(), np.inf, r"squared\(\): a target must be a finite number, got inf"),
    ],
)
def test_a_target_that_is_not_allowed_is_named(loss, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        loss.check(np.array([wrong, 1]), {})
