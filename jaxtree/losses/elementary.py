"""Elementary functions that losses are made of: exponentials that stay finite, links, means.

Derivatives of those that end at a limit go on beyond it, so that Newton steps come back.
"""

import functools
from typing import Any

import numpy as np
from jaxtyping import Float, Real, Shaped

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike, library_of
from jaxtree.lazy import Array, custom_jvp, jax, jnp

MOST_EXPONENT, MOST_EXPONENT_IN_DOUBLE = 50.0, 300.0
"""Beyond these exponents `growth` is constant: sums of $e^{50}$ over any table stay far within float32, squares of
$e^{300}$ within float64."""

LEAST_SHARE = 2.0**-52
"""The share of a class that no row has, above 0 so that scores are finite."""

Row = Float[Array, " score"]
Target = Real[Array, ""]


def bounded(number: Float[AnyArray, "*shape"], limit: float) -> Float[AnyArray, "*shape"]:
    """The closest number between minus a limit and the limit; its derivative is 1 everywhere.

    Newton steps from beyond the limit thus come back.
    """
    return np.clip(number, -limit, limit) if library_of(number) is np else _bounded(number, limit)


@functools.partial(custom_jvp, nondiff_argnums=(1,))
def _bounded(number: Float[Array, "*shape"], limit: float) -> Float[Array, "*shape"]:
    return jnp.clip(number, -limit, limit)


@_bounded.defjvp
def _bounded_jvp(limit: float, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return _bounded(*primals, limit), tangents[0]


def growth(exponent: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    r"""$e^x$ where $|x|$ is up to a limit, and beyond it what it is there; its derivative is itself everywhere.

    The limit is 50, and 300 in float64.

    >>> float(growth(jnp.array(1000.0))) == float(jnp.exp(jnp.array(50.0)))
    True
    """
    return either.exp(bounded(exponent, of_precision(exponent, MOST_EXPONENT, MOST_EXPONENT_IN_DOUBLE)))


def of_precision(numbers: FloatLike, single: float, double: float) -> float:
    """One number for what has fewer than 64 bits, and another for float64."""
    dtype = getattr(numbers, "dtype", None) or jax.dtypes.canonicalize_dtype(np.float64)
    return double if dtype == np.float64 else single


def weighted_mean(
    target: Shaped[np.ndarray, "row *output"], weight: Shaped[np.ndarray, " row"]
) -> Float[np.ndarray, " output"]:
    """The mean of targets, as the one score; of several outputs a score each."""
    mean = np.average(target, axis=0, weights=weight)
    # Sums are rounded: the mean of equal targets is that target.
    counts = weight > 0
    return np.atleast_1d(np.clip(mean, target[counts].min(axis=0), target[counts].max(axis=0)))


def log_of_mean(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    """The logarithm of the mean of targets, as the one score."""
    return np.log(np.maximum(weighted_mean(target, weight), np.finfo(np.float64).tiny))


def exp_link(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """Predictions that are exponentials of scores."""
    return either.exp(scores)


@custom_jvp
def softplus(scores: Row) -> Row:
    """`jax.nn.softplus`, whose derivative is a sigmoid: so those of a row ask for one exponential and no logarithm.

    >>> jax.grad(lambda scores: softplus(scores)[0])(jnp.zeros(1)).tolist()
    [0.5]
    """
    return jax.nn.softplus(scores)


@softplus.defjvp
def _softplus_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (scores,), (tangent,) = primals, tangents
    return softplus(scores), tangent * jax.nn.sigmoid(scores)


def sigmoid(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """The probability of class 1, of which scores are the log odds."""
    return either.sigmoid(scores)
