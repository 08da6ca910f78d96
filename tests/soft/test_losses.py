"""Losses: each is least where it should be, and says what its formula does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.soft import losses


def least(loss, target, start, rate=0.5, steps=2000):
    """One output for all rows, found by gradients."""
    slope = jax.jit(jax.grad(lambda output: loss(jnp.broadcast_to(output, (len(target), len(start))), target).mean()))
    output = jnp.asarray(start, jnp.float32)
    for _ in range(steps):
        output -= rate * slope(output)
    return np.asarray(output)


def test_cross_entropy_is_minus_the_log_likelihood():
    output = np.random.default_rng(0).normal(size=(50, 4))
    target = np.arange(50) % 4
    probability = np.exp(output) / np.exp(output).sum(axis=1, keepdims=True)
    expected = -np.log(probability[np.arange(50), target])
    np.testing.assert_allclose(losses.cross_entropy(jnp.asarray(output), jnp.asarray(target)), expected, rtol=1e-5)


def test_smoothing_is_a_target_between_the_class_and_all_classes():
    output = jnp.asarray(np.random.default_rng(1).normal(size=(20, 5)), jnp.float32)
    target = jnp.arange(20) % 5
    smoothed = 0.8 * jax.nn.one_hot(target, 5) + 0.2 / 5
    expected = losses.distillation(output, smoothed)
    np.testing.assert_allclose(losses.smoothed_cross_entropy(0.2)(output, target), expected, rtol=1e-5)


def test_distillation_is_least_at_the_teacher():
    teacher = jnp.array([[0.5, 0.3, 0.2]])
    found = jax.nn.softmax(least(losses.distillation, teacher, [0.0, 0.0, 0.0]))
    np.testing.assert_allclose(found, teacher[0], atol=1e-3)


def test_a_wrong_smoothing_is_named():
    with pytest.raises(InvalidInputError, match=r"got 1\.0"):
        losses.smoothed_cross_entropy(1.0)
