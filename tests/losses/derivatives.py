"""Derivatives by differences, which know nothing of autodiff."""

import functools

import jax
import numpy as np


@functools.partial(jax.jit, static_argnums=0)
def derive(loss, *arrays):
    """The derivatives of a loss, as one program."""
    return loss.derivatives(*arrays)


@functools.partial(jax.jit, static_argnums=0)
def evaluate(loss, *arrays):
    """The values of a loss, as one program."""
    return loss.values(*arrays)


@functools.partial(jax.jit, static_argnums=0)
def mean_of(loss, *arrays):
    """The mean of a loss, as one program."""
    return loss.mean(*arrays)


def numeric(function, at, step=1e-5):
    """Central differences of a function of scores `[score, row]` that has a value (or an array) a row, last axis.

    Returns `[score, ..., row]`: the derivative by every score of the row itself.
    """
    slopes = []
    for score in range(len(at)):
        move = np.zeros_like(at)
        move[score] = step
        slopes.append((np.asarray(function(at + move)) - np.asarray(function(at - move))) / (2 * step))
    return np.stack(slopes)


def check_derivatives(loss, scores, target, extras=None, hessian=True):
    """Compares gradients with differences of values, and Hessians with those of gradients, in float64.

    Hessians of losses that are not convex are compared by their absolute values.
    """
    extras = extras or {}
    weight = np.linspace(0.5, 2, scores.shape[1])
    with jax.enable_x64(True):
        derivatives = derive(loss, scores, target, weight, extras)
        slope = numeric(lambda at: evaluate(loss, at, target, extras), scores)
        np.testing.assert_allclose(derivatives.gradient, weight * slope, rtol=1e-6, atol=1e-7)
        if hessian:
            unit = np.ones_like(weight)
            curvature = numeric(lambda at: derive(loss, at, target, unit, extras).gradient, scores)
            expected = curvature if loss.num_scores > 1 else np.abs(curvature[0])
            np.testing.assert_allclose(derivatives.hessian, weight * expected, rtol=1e-5, atol=1e-6)
    return derivatives
