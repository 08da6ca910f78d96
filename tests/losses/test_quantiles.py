"""Quantiles of many levels: each as if alone, and in order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.losses.numbers import quantile, quantiles

LEVELS = (0.1, 0.5, 0.75)
ROWS = np.random.default_rng(3)
TARGET = ROWS.normal(size=50)
SCORES = ROWS.normal(size=(3, 50))
WEIGHT = ROWS.uniform(0.1, 2, size=50)


def test_every_level_is_that_of_a_loss_of_its_own():
    many = quantiles(LEVELS)
    with jax.enable_x64(True):
        alone = [quantile(level).derivatives(SCORES[k : k + 1], TARGET, WEIGHT, {}) for k, level in enumerate(LEVELS)]
        together = many.derivatives(SCORES, TARGET, WEIGHT, {})
        for part in ("gradient", "hessian"):
            expected = np.concatenate([getattr(one, part) for one in alone])
            np.testing.assert_array_equal(getattr(together, part), expected)
        values = sum(quantile(level).values(SCORES[k : k + 1], TARGET, {}) for k, level in enumerate(LEVELS))
        np.testing.assert_allclose(many.values(SCORES, TARGET, {}), values)
    starts = np.concatenate([quantile(level).start(TARGET, WEIGHT, {}) for level in LEVELS])
    np.testing.assert_array_equal(many.start(TARGET, WEIGHT, {}), starts)
    assert many.renewal == LEVELS


def test_predictions_do_not_cross_and_are_the_same_numbers():
    prediction = np.asarray(quantiles(LEVELS).predict(jnp.asarray(SCORES)))
    assert (np.diff(prediction, axis=0) >= 0).all()
    np.testing.assert_array_equal(prediction, np.sort(SCORES.astype(np.float32), axis=0))


def test_an_offset_may_be_one_a_score():
    offset = ROWS.normal(size=(50, 3))
    start = quantiles(LEVELS).start(TARGET, WEIGHT, {"offset": offset})
    expected = [quantile(level).start(TARGET - offset[:, k], WEIGHT, {})[0] for k, level in enumerate(LEVELS)]
    np.testing.assert_array_equal(start, expected)
    beside = quantiles(LEVELS).derivatives(jnp.asarray(SCORES), TARGET, WEIGHT, {"offset": offset})
    within = quantiles(LEVELS).derivatives(jnp.asarray(SCORES + offset.T), TARGET, WEIGHT, {})
    np.testing.assert_array_equal(beside.gradient, within.gradient)


def test_equal_levels_make_equal_losses():
    assert quantiles([0.25, 0.5]) == quantiles((0.25, 0.5)) and hash(quantiles([0.5])) == hash(quantiles((0.5,)))
    assert quantiles([0.25, 0.5]) != quantiles([0.25, 0.75])


@pytest.mark.parametrize(
    "wrong, message",
    [
        ([], r"quantiles needs a level or more, got \[\]"),
        ([0.5, 0.1], r"levels of quantiles must rise, got \[0.5, 0.1\]"),
        ([0.5, 0.5], r"levels of quantiles must rise, got \[0.5, 0.5\]"),
        ([0.5, 1.0], "the level of quantiles must be between 0 and 1, without these, got 1.0"),
    ],
)
def test_wrong_levels_are_named(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        quantiles(wrong)
