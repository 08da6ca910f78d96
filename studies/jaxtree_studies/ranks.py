r"""Whether methods differ over several data sets (Demšar, *Statistical comparisons of classifiers*, JMLR 7, 2006).

On every data set the methods are *ranked* by accuracy, the best 1; equal ones share the mean of their ranks.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Bool, Float

SAME = 1e-9
"""Accuracies are means of shares of rows: closer than this they are the same number."""

ALPHA = 0.05
"""The level of significance of every test."""


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


def mean_ranks(accuracy: Float[np.ndarray, "data method"]) -> Float[np.ndarray, " method"]:
    """Returns the mean rank of every method.

    Example:
        >>> mean_ranks(np.array([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]])).tolist()
        [2.0, 1.75, 2.25]
    """
    return scipy.stats.rankdata(-_rounded(accuracy), axis=1).mean(axis=0)


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


def _rounded(accuracy: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Accuracies without the last bits, so that equal ones tie."""
    return np.round(accuracy, 10)
