"""How other libraries compare a number with a threshold, as the comparison of jaxtree, `x <= limit` in float64.

XGBoost, CatBoost and the trees of scikit-learn round a row to float32 first. So a *limit* is the largest double that
rounds to the last float32 below their threshold: then rows of float64 and of float32 go where they go there.

Values that are *alike* with a limit are all that another library cannot tell from it, or that it writes as the same
threshold: from these a limit has its words.
"""

import enum

import numpy as np
from jaxtyping import Float, Float32, Float64, Real

LEAST_NORMAL = np.finfo(np.float32).tiny
"""The least normal float32: programs of XLA take smaller numbers for 0."""

NEARLY_ZERO = 1e-34
"""A number above that which LightGBM writes for 0."""

GREATEST = np.finfo(np.float64).max


class ThresholdRule(enum.Enum):
    """The comparison by which a row goes to the left.

    BELOW_SINGLE: the row, rounded to float32, is below the threshold (XGBoost).
    AT_MOST_SINGLE: the row, rounded to float32, is at most the threshold (CatBoost, trees of scikit-learn).
    AT_MOST_DOUBLE: the row is at most the threshold (histogram boosting of scikit-learn).
    ABOVE_MIDDLE: the same, of thresholds that are a double above the middle of two numbers (LightGBM).
    """

    BELOW_SINGLE = "x < t in float32"
    AT_MOST_SINGLE = "x <= t in float32"
    AT_MOST_DOUBLE = "x <= t"
    ABOVE_MIDDLE = "x <= the double above t"

    def limits(self, thresholds: Real[np.ndarray, " node"]) -> Float64[np.ndarray, " node"]:
        """Returns the limits of thresholds, none of which is NaN.

        >>> limit = ThresholdRule.BELOW_SINGLE.limits(np.array([2.5]))[0]
        >>> np.float32(limit) < 2.5, np.float32(np.nextafter(limit, 3)) < 2.5
        (np.True_, np.False_)
        """
        if self in (ThresholdRule.AT_MOST_DOUBLE, ThresholdRule.ABOVE_MIDDLE):
            limits = np.asarray(thresholds, np.float64)
        else:
            limits = greatest_alike(self._last_single(thresholds))
        return np.maximum(limits, -GREATEST)  # an infinite one has a meaning of its own: what is known

    def _last_single(self, thresholds: Real[np.ndarray, " node"]) -> Float32[np.ndarray, " node"]:
        """The greatest float32 that goes to the left."""
        with np.errstate(over="ignore"):
            single = np.asarray(thresholds, np.float64).astype(np.float32)
            before = np.nextafter(single, np.float32(-np.inf))
        last = np.where((self == ThresholdRule.BELOW_SINGLE) | (single > thresholds), before, single)
        is_subnormal = (np.abs(last) < LEAST_NORMAL) & (last != 0)
        return np.where(is_subnormal, np.where(last < 0, -LEAST_NORMAL, 0), last).astype(np.float32)

    def least_alike(self, limits: Float64[np.ndarray, " limit"]) -> Float64[np.ndarray, " limit"]:
        """Returns the least number that is alike with each limit.

        >>> limit = ThresholdRule.AT_MOST_SINGLE.limits(np.array([0.8], np.float32))
        >>> bool(ThresholdRule.AT_MOST_SINGLE.least_alike(limit)[0] <= 0.8 <= limit[0])
        True
        """
        if self == ThresholdRule.AT_MOST_DOUBLE:
            return limits
        if self == ThresholdRule.ABOVE_MIDDLE:
            below = np.nextafter(np.nextafter(limits, -np.inf), -np.inf)
            return np.where((limits > 0) & (limits < NEARLY_ZERO), 0.0, below)
        with np.errstate(over="ignore"):
            own = limits.astype(np.float32)
            own = np.where(own > limits, np.nextafter(own, np.float32(-np.inf)), own)
            return np.nextafter(greatest_alike(np.nextafter(own, np.float32(-np.inf))), np.inf)


def greatest_alike(singles: Float32[np.ndarray, " number"]) -> Float[np.ndarray, " number"]:
    """Returns the largest double that rounds to each float32; of two equally near ones the even one is rounded to.

    >>> greatest_alike(np.array([1.0], np.float32))[0] == 1 + 2.0**-24
    np.True_
    """
    with np.errstate(invalid="ignore", over="ignore"):
        own, above = singles.astype(np.float64), np.nextafter(singles, np.float32(np.inf)).astype(np.float64)
        step = np.where(np.isfinite(above), above - own, 2.0**104)
        middle = np.where(np.isfinite(own), own + step / 2, own)
    is_even = singles.view(np.int32) % 2 == 0
    return np.where(is_even | ~np.isfinite(own), middle, np.nextafter(middle, -np.inf))
