r"""Ordered target statistics: numbers in place of the categories of a column that has many.

The *statistic* of a category is the mean of a target over its rows, smoothed by one row more that has the mean of all
rows: $(\sum w t) / (1 + \sum w)$ with targets t counted from that mean. A row to learn from has the statistic of the
rows of its category before it, in a random order, so that its own target is not in it (Prokhorenkova et al.,
*CatBoost*, NeurIPS 2018, section 3.2).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int

from jaxtree.arrays import AnyArray, library_of, where
from jaxtree.soft.scales import fit_scale

PRIOR_WEIGHT = 1.0
"""The weight of the row that every category has besides its own."""


class Statistics(NamedTuple):
    """The statistics of the categories of a feature: deviations of the target from its mean, in units of their own.

    The unit is the standard deviation of the target, not that of the statistics: those of a column that says little are
    small, beside the noise of training, and tables of many such columns are learned better so.

    Attributes:
        value: The statistics of every category, from all rows: a column for each column of the target.
        mean: The mean of the target.
        unit: Its standard deviation.
    """

    value: Float64[np.ndarray, "category column"]
    mean: Float64[np.ndarray, " column"]
    unit: Float64[np.ndarray, " column"]

    def of_codes(self, code: Float[AnyArray, " row"]) -> Float[AnyArray, "row column"]:
        """Returns the statistics of codes of categories; NaN where one is missing.

        >>> statistics = Statistics(np.array([[-1.0], [2.0]]), np.zeros(1), np.ones(1))
        >>> statistics.of_codes(np.array([1.0, np.nan, 0.0]))[:, 0].tolist()
        [2.0, nan, -1.0]
        """
        is_missing = code != code
        place = where(is_missing, 0, code).astype(np.int32)
        return where(is_missing[:, None], np.nan, library_of(code).asarray(self.value)[place])


def fit_statistics(
    code: Float64[np.ndarray, " row"],
    num_categories: int,
    target: Float64[np.ndarray, "row column"],
    weight: Float64[np.ndarray, " row"],
) -> Statistics:
    """Returns the statistics of the categories of a feature.

    Args:
        code: The category of every row, NaN where it is missing.
        num_categories: How many there are; one that no row has has the statistic 0.
        target: The target, of which means are taken: numbers, or 1 for the rows of a class.
        weight: The weights of the rows.

    Example:
        >>> code, target = np.array([0.0, 0.0, 1.0, 1.0]), np.array([[0.0], [0.0], [1.0], [1.0]])
        >>> fit_statistics(code, 3, target, np.ones(4))
        Statistics(value=array([[-0.66666667],
               [ 0.66666667],
               [ 0.        ]]), mean=array([0.5]), unit=array([0.5]))
    """
    is_known = ~np.isnan(code)
    known, own = code[is_known].astype(np.int64), weight[is_known]
    total = np.bincount(known, own, minlength=num_categories)
    mean, unit = np.array([fit_scale(column, weight, "standard") for column in target.T]).T
    deviation = ((target - mean) / unit)[is_known]
    sums = [np.bincount(known, own * column, minlength=num_categories) for column in deviation.T]
    return Statistics(np.stack(sums, axis=1) / (total + PRIOR_WEIGHT)[:, None], mean, unit)


def ordered_statistics(
    statistics: Statistics,
    code: Float64[np.ndarray, " row"],
    target: Float64[np.ndarray, "row column"],
    weight: Float[np.ndarray, " row"],
    order: Int[np.ndarray, " row"],
) -> Float64[np.ndarray, "row column"]:
    """Returns the statistics of rows to learn from, each of the rows of its category before it; NaN for a missing one.

    A row's own target has a part in nothing but the mean and the unit, which are those of all rows.

    Args:
        statistics: The statistics of the categories, which have the mean and the unit.
        code: The category of every row, NaN where it is missing.
        target: The target of every row.
        weight: The weights of the rows.
        order: The rows, one after the other.

    Example:
        >>> statistics = Statistics(np.zeros((1, 1)), np.array([2.0]), np.ones(1))
        >>> target = np.array([[4.0], [2.0], [5.0]])
        >>> ordered_statistics(statistics, np.zeros(3), target, np.ones(3), np.array([2, 0, 1]))[:, 0].tolist()
        [1.5, 1.6666666666666667, 0.0]
    """
    in_order = order[np.argsort(code[order], kind="stable")]
    sorted_code = code[in_order]
    is_first = np.append(True, sorted_code[1:] != sorted_code[:-1])
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(code)), 0))
    weighted = weight[:, None] * np.column_stack([np.ones(len(code)), (target - statistics.mean) / statistics.unit])
    # Sums of the rows above alone: a sum less a row's own target would keep the digits that rounding has lost to it.
    before = np.cumsum(np.pad(weighted[in_order][:-1], [(1, 0), (0, 0)]), axis=0)
    sums = np.empty_like(before)
    sums[in_order] = before - before[first]
    ordered = sums[:, 1:] / (sums[:, :1] + PRIOR_WEIGHT)
    return np.where(np.isnan(code)[:, None], np.nan, ordered)
