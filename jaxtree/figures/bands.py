r"""Bands of curves and other estimates, from draws that are made around a known truth.

A draw misses its truth by noise, and by the bias that shrinkage and early stopping make. The half width of a band is

$$k \sqrt{s^2 + \bar b^2},$$

where $s$ is the standard deviation of draws at a point, and $\bar b^2$ is the mean square of their bias over the points
of a curve: where a bias is not known by place, a band that is wider by its mean size holds its share of all points of
a curve (Nychka, *Bayesian confidence intervals for smoothing splines*, Journal of the American Statistical Association
83, 1988). The factor $k$ is one number for all curves, with which the bands around draws hold their truth as often as
they are to, and no smaller than the quantile of a normal distribution.

A *size*, such as the mean of absolute values, is one number whose bias $b$ draws show with its sign: shrinkage makes it
smaller, and noise greater. Draws have less of it than the fit, as their truth is pulled or noisy already. So the band
has noise around all from no bias to twice that of draws: it is as far as $k s + |b|$ from the estimate less $b$.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Float, Float64, Int

from jaxtree.errors import InvalidInputError

LEAST_OUTSIDE = 2
"""Draws that lie outside a band at a point, at least, in the mean."""

LESS = 0.05
"""How much less often than it is to a band holds a curve of which that is said."""


class Band(NamedTuple):
    """Estimates and the ends of their band.

    Attributes:
        center: The estimates.
        lower: The lower ends.
        upper: The upper ends.
    """

    center: Float[np.ndarray, "*point"]
    lower: Float[np.ndarray, "*point"]
    upper: Float[np.ndarray, "*point"]

    def clipped(self, least: float, most: float) -> "Band":
        """Returns a band of numbers between two limits."""
        return Band(self.center, *(np.clip(own, least, most) for own in (self.lower, self.upper)))


class BandWidths(NamedTuple):
    """The half widths of bands, and how often these hold what draws were made around.

    Attributes:
        half: The half width at every point.
        factor: The factor of all of them.
        coverage: How often the bands around draws hold the truth, on every curve.
        bias: The root of the mean square of the bias of every curve.
        spread: The root of the mean variance of the draws of every curve.
    """

    half: Float64[np.ndarray, " point"]
    factor: float
    coverage: Float64[np.ndarray, " curve"]
    bias: Float64[np.ndarray, " curve"]
    spread: Float64[np.ndarray, " curve"]


def check_level(level: float, draws: int) -> None:
    """Checks the level of bands, and that there are draws enough.

    Raises:
        InvalidInputError: The level is not above 0 and below 1, or draws are too few.

    Example:
        >>> check_level(0.9, 10)
        Traceback (most recent call last):
        jaxtree.errors.InvalidInputError: draws must be at least 20 for bands of level 0.9, got 10
    """
    if not 0 < level < 1:
        raise InvalidInputError(f"level must be above 0 and below 1, got {level}")
    least = max(LEAST_OUTSIDE, math.ceil(round(LEAST_OUTSIDE / (1 - level), 9)))
    if draws < least:
        raise InvalidInputError(f"draws must be at least {least} for bands of level {level:g}, got {draws}")


def band_of_sizes(found: Float[np.ndarray, "member size"], level: float) -> Band:
    """Returns the band of sizes, whose bias is known with its sign.

    Args:
        found: The sizes that are estimated, those around which draws were made, and those of every draw.
        level: The chance with which a band is to hold its size.

    Example:
        >>> draws = np.random.default_rng(0).normal(0.8, 0.1, size=(2000, 1))
        >>> band = band_of_sizes(np.concatenate([[[0.7], [1.0]], draws]), 0.9)
        >>> [end.round(1).tolist() for end in band]
        [[0.7], [0.5], [1.3]]
    """
    center, truth, draws = found[0], found[1], found[2:]
    bias = draws.mean(axis=0) - truth
    half = _normal(level) * draws.std(axis=0, ddof=1) + np.abs(bias)
    return Band(center, center - bias - half, center - bias + half).clipped(0, np.inf)


def widths_of(
    draws: Float[np.ndarray, "draw point"],
    truth: Float[np.ndarray, " point"],
    level: float,
    *,
    curve: Int[np.ndarray, " point"],
    weight: Float[np.ndarray, " point"],
) -> BandWidths:
    """Returns the half widths of bands.

    Args:
        draws: The estimates of every draw.
        truth: The numbers around which draws were made.
        level: The share of points that bands are to hold.
        curve: The number of the curve of every point.
        weight: The weight of every point, 0 or more.

    Example:
        >>> draws = np.random.default_rng(0).normal(size=(2000, 3))
        >>> found = widths_of(draws, np.zeros(3), 0.9, curve=np.zeros(3, int), weight=np.ones(3))
        >>> found.half.round(1), found.coverage.round(2)
        (array([1.7, 1.6, 1.6]), array([0.9]))
    """
    total = np.maximum(np.bincount(curve, weight), np.finfo(float).tiny)

    def mean(values: Float[np.ndarray, " point"]) -> Float64[np.ndarray, " curve"]:
        return np.bincount(curve, weight * values) / total

    error, variance = draws - truth, draws.var(axis=0, ddof=1)
    bias, spread = mean(np.square(error.mean(axis=0))), mean(variance)
    width = np.sqrt(variance + bias[curve])
    sizes = np.divide(np.abs(error), width, out=np.where(error == 0, 0.0, np.inf), where=width > 0)
    factor = max(_normal(level), _quantile(sizes, weight, level))
    coverage = mean((sizes <= factor).mean(axis=0))
    return BandWidths(factor * width, factor, coverage, np.sqrt(bias), np.sqrt(spread))


def _normal(level: float) -> float:
    """Returns the deviations from the mean of a normal distribution that a share of it does not pass."""
    return float(scipy.stats.norm.ppf((1 + level) / 2))


def _quantile(sizes: Float[np.ndarray, "draw point"], weight: Float[np.ndarray, " point"], level: float) -> float:
    """Returns the size that a share of all points of all draws does not pass."""
    shares = np.broadcast_to(weight, sizes.shape).ravel()
    order = np.argsort(sizes, axis=None, kind="stable")
    below = np.cumsum(shares[order])
    place = min(int(np.searchsorted(below, level * below[-1])), len(order) - 1)
    return float(sizes.ravel()[order[place]])
