"""Scales of numbers: what a column of a table becomes as one of the features of a soft tree."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Float64
from scipy.special import ndtri

from jaxtree.arrays import AnyArray, library_of

SCALINGS = ("standard", "quantile", "none")
MOST_EXPONENT = 400
"""Numbers below two to this can be squared and summed."""
MOST_KNOTS = 1000
"""The most knots of a quantile scale."""
LEAST_SHARE = 1e-9
"""The least share of a number in the weights of quantiles: sums are exact to less, and no quantile is 0 or 1."""

ENDS, LEAST_MIDDLE = 0.05, 1e-4
"""The share of rows at both ends of a column, and the least part of its range that the others take where those do not
set its scale."""


class Standard(NamedTuple):
    """Numbers less their mean, over their standard deviation."""

    mean: float
    deviation: float


class Quantile(NamedTuple):
    """Numbers by the share of the fitted ones below them, as quantiles of the normal distribution.

    Attributes:
        value: Ascending numbers.
        share: The weight below each and half of its own; linear between two of them.
    """

    value: Float64[np.ndarray, " knot"]
    share: Float64[np.ndarray, " knot"]


Scale = Standard | Quantile


def fit_scale(value: Float64[np.ndarray, " row"], weight: Float64[np.ndarray, " row"], scaling: str) -> Scale:
    """Returns the scale of a column, "standard", "quantile" or "none"; missing numbers (NaN) are left aside.

    >>> fit_scale(np.array([1.0, 3.0, np.nan]), np.ones(3), "standard")
    Standard(mean=2.0, deviation=1.0)
    """
    is_known = ~np.isnan(value) & (weight > 0)
    value, weight = value[is_known], weight[is_known]
    if scaling == "none" or not value.size:
        return Standard(0.0, 1.0)
    if scaling == "standard":
        # A power of two changes no digit, and keeps squares of the largest floats finite, of the least above 0.
        exponent = int(np.frexp(np.abs(value).max())[1])
        exponent -= min(max(exponent, -MOST_EXPONENT), MOST_EXPONENT)
        value = np.ldexp(value, -exponent)
        mean = np.average(value, weights=weight)
        deviation = np.sqrt(np.average(np.square(value - mean), weights=weight))
        mean, deviation = np.ldexp([mean, deviation], exponent).tolist()
        return Standard(mean, deviation if deviation > 1e-12 * abs(mean) else 1.0)
    return _fit_quantiles(value, weight)


def has_far_ends(value: Float64[np.ndarray, " row"], weight: Float64[np.ndarray, " row"]) -> bool:
    """Returns whether few numbers are so far from all others that these would be equal on a "standard" scale.

    >>> middle = np.linspace(0, 1, 100)
    >>> has_far_ends(np.append(middle, 1e15), np.ones(101)), has_far_ends(middle, np.ones(100))
    (True, False)
    """
    is_known = ~np.isnan(value) & (weight > 0)
    order = np.argsort(value[is_known], kind="stable")
    value, share = value[is_known][order], np.cumsum(weight[is_known][order])
    if not value.size:
        return False
    low, high = value[np.searchsorted(share, np.array([ENDS, 1 - ENDS]) * share[-1])]
    # Halves, as the difference of the largest floats is infinite.
    middle, whole = high / 2 - low / 2, value[-1] / 2 - value[0] / 2
    return bool(0 < middle < LEAST_MIDDLE * whole)


def _fit_quantiles(value: Float64[np.ndarray, " row"], weight: Float64[np.ndarray, " row"]) -> Quantile:
    distinct, place = np.unique(value, return_inverse=True)
    own = np.bincount(place, weight)
    own = np.maximum(own, LEAST_SHARE * own.sum())
    own /= own.sum()
    share = np.cumsum(own) - own / 2
    if distinct.size > MOST_KNOTS:
        chosen = np.searchsorted(share, np.linspace(share[0], share[-1], MOST_KNOTS))
        chosen = np.unique(np.append(chosen.clip(max=distinct.size - 1), [0, distinct.size - 1]))
        distinct, share = distinct[chosen], share[chosen]
    return Quantile(distinct, share)


def scaled(scale: Scale, value: Float[AnyArray, " row"]) -> Float[AnyArray, " row"]:
    """Returns numbers on a scale, in the library of the numbers; NaN stays so.

    >>> scaled(Quantile(np.array([1.0, 2.0, 5.0]), np.array([0.25, 0.5, 0.75])), np.array([1.0, 2.0, 9.0])).round(2)
    array([-0.67,  0.  ,  0.67])
    """
    if isinstance(scale, Standard):
        return (value - scale.mean) / scale.deviation
    if library_of(value) is not np:
        return jax.scipy.special.ndtri(jnp.interp(value, scale.value, scale.share))
    return ndtri(np.interp(value, scale.value, scale.share))
