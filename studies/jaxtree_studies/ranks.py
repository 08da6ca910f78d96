r"""Whether methods differ over several data sets (Demšar, *Statistical comparisons of classifiers*, JMLR 7, 2006).

On every data set the methods are *ranked* by accuracy, the best 1; equal ones share the mean of their ranks.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Bool, Float

SAME = 1e-9
"""Accuracies are means of shares of rows: closer than this they are the same number."""

ALPHA = 0.05
"""The level of significance of every test, and what intervals leave out."""

DRAWS = 10_000
"""Samples of a bootstrap."""
LEAST_FOR_INTERVAL = 5
"""Samples drawn from fewer data sets are too much alike for an interval."""


class Friedman(NamedTuple):
    """Friedman's test that all methods are alike.

    Attributes:
        statistic: Chi-squared, corrected for ties; 0 if all accuracies are equal.
        p_value: The probability of a statistic at least as large if they are.
    """

    statistic: float
    p_value: float


class Comparison(NamedTuple):
    """One method against another, over data sets.

    Attributes:
        wins: On how many it is more accurate.
        ties: On how many it is as accurate.
        losses: On how many it is less accurate.
        mean_difference: By how much it is more accurate on average.
        p_value: The p-value of Wilcoxon's signed-rank test that it is not.
    """

    wins: int
    ties: int
    losses: int
    mean_difference: float
    p_value: float

    @property
    def is_sure(self) -> bool:
        """Whether the difference is significant."""
        return self.p_value < ALPHA


class Difference(NamedTuple):
    """A mean difference over data sets.

    Attributes:
        mean: The mean.
        low: The lower end of its interval of 95 %, by a bootstrap over the data sets; None for too few of them.
        high: The upper end.
        above: On how many the difference is above 0.
        below: On how many it is below 0.
        number: The number of data sets.
    """

    mean: float
    low: float | None
    high: float | None
    above: int
    below: int
    number: int

    @property
    def is_sure(self) -> bool:
        """Whether there is an interval, and 0 is not in it."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def mean_ranks(accuracy: Float[np.ndarray, "data method"]) -> Float[np.ndarray, " method"]:
    """Returns the mean rank of every method.

    Example:
        >>> mean_ranks(np.array([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]])).tolist()
        [2.0, 1.75, 2.25]
    """
    return scipy.stats.rankdata(-_rounded(accuracy), axis=1).mean(axis=0)


def summary(accuracy: Float[np.ndarray, "data method"], names: Sequence[str]) -> dict[str, Any]:
    """Returns the mean ranks of three methods or more by name, Friedman's test, and Nemenyi's critical difference."""
    return {
        "mean": dict(zip(names, mean_ranks(accuracy).tolist(), strict=True)),
        "friedman": friedman(accuracy)._asdict(),
        "critical_difference": critical_difference(len(names), len(accuracy)),
    }


def friedman(accuracy: Float[np.ndarray, "data method"]) -> Friedman:
    """Returns Friedman's test of three methods or more."""
    rounded = _rounded(accuracy)
    if np.all(rounded == rounded[:, :1]):
        return Friedman(0.0, 1.0)
    found = scipy.stats.friedmanchisquare(*rounded.T)
    return Friedman(float(found.statistic), float(found.pvalue))


def critical_difference(num_methods: int, num_data: int, alpha: float = ALPHA) -> float:
    r"""Returns by how much mean ranks must differ for Nemenyi's test to find a difference.

    $CD = q_\alpha \sqrt{k (k+1) / (6 N)}$ for k methods on N data sets, where $q_\alpha$ is the quantile of the
    studentized range of k means divided by $\sqrt 2$ (Demšar, 2006, section 3.2.2 and table 5).

    Example:
        >>> round(critical_difference(4, 14), 3)  # 1.25 in the example there
        1.254
    """
    quantile = scipy.stats.studentized_range.ppf(1 - alpha, num_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(num_methods * (num_methods + 1) / (6 * num_data)))


def cliques(ranks: Float[np.ndarray, " method"], difference: float) -> list[Bool[np.ndarray, " method"]]:
    """Returns the largest sets of two methods or more whose mean ranks lie within the difference, best ranks first."""
    found: list[Bool[np.ndarray, " method"]] = []
    for first in np.unique(ranks):
        members = (ranks >= first) & (ranks <= first + difference)
        if members.sum() > 1 and not any(np.all(members <= other) for other in found):
            found.append(members)
    return found


def compare(method: Float[np.ndarray, " data"], other: Float[np.ndarray, " data"]) -> Comparison:
    """Returns one method's accuracies against another's.

    Example:
        >>> compare(np.array([0.9, 0.8, 0.7]), np.array([0.8, 0.8, 0.75]))[:3]
        (1, 1, 1)
    """
    difference = _rounded(method) - _rounded(other)
    difference[np.abs(difference) <= SAME] = 0
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    p_value = 1.0
    if wins or losses:
        found: Any = scipy.stats.wilcoxon(difference, zero_method="zsplit")
        p_value = float(found.pvalue)
    return Comparison(wins, len(difference) - wins - losses, losses, float(difference.mean()), p_value)


def difference(one: Float[np.ndarray, " data"], other: Float[np.ndarray, " data"]) -> Difference:
    """Returns the mean of one method's figures less another's, and its interval.

    Example:
        >>> difference(np.array([0.9, 0.8]), np.array([0.8, 0.8])).low is None
        True
        >>> found = difference(np.array([0.9, 0.8] * 3), np.full(6, 0.8))
        >>> [round(number, 3) for number in found]
        [0.05, 0.017, 0.083, 3, 0, 6]
    """
    found = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    low = high = None
    if len(found) >= LEAST_FOR_INTERVAL:
        drawn = np.random.default_rng(0).integers(0, len(found), (DRAWS, len(found)))
        low, high = np.quantile(found[drawn].mean(axis=1), [ALPHA / 2, 1 - ALPHA / 2]).tolist()
    above, below = int((found > SAME).sum()), int((found < -SAME).sum())
    return Difference(float(found.mean()), low, high, above, below, len(found))


def _rounded(accuracy: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Accuracies without the last bits, so that equal ones tie."""
    return np.round(accuracy, 10)
