"""Values of columns, and the limits between them, in words that mean the same when they are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxtree.table.binning import Bins
from jaxtree.table.numerals import decimal_at_most, decimal_between, exact_decimal
from jaxtree.table.rare_words import RareWords
from jaxtree.table.times import Days, TimeScale


def value_in_words(value: str | int | float | bool | RareWords | None) -> str:
    """Writes a value or a category as it is, a number with all its digits, and `Days` as a date or duration.

    >>> [value_in_words(value) for value in (0.38150001, 2.0, 1e6, 20180102.0, "sunny", True)]
    ['0.38150001', '2', '1000000', '20180102', 'sunny', 'True']
    """
    if isinstance(value, Days):
        return value.scale.in_words(value)
    if isinstance(value, Limit):
        return value.words
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return exact_decimal(value)


class Limit(float):
    """A threshold with its words: the values of the fitted column lie on the same sides of what they say.

    Attributes:
        words: A decimal, a date or a duration.
        is_time: Whether it is one of the latter.
    """

    words: str
    is_time: bool

    @classmethod
    def of(cls, bins: Bins, time: TimeScale | None, threshold: float) -> "Limit":
        """Returns the threshold of a numeric column.

        >>> from jaxtree.table.binning import fit_bins
        >>> days = fit_bins(np.array([20180101.0, 20180102.0, 20180103.0]), max_bins=3)
        >>> Limit.of(days, None, 20180102.5).words
        '20180102'
        """
        limit = cls(threshold)
        low, high = values_beside(bins, threshold)
        limit.is_time = time is not None
        limit.words = decimal_between(threshold, low, high) if time is None else time.limit_in_words(threshold, low)
        return limit


def values_beside(bins: Bins, threshold: float) -> tuple[float, float]:
    """Returns the greatest value of the fitted column that is not above a threshold, and the least above it.

    They are infinite where there is none; and twice the threshold where that lies inside a bin, whose values are not
    known.
    """
    code = int(np.searchsorted(bins.low, threshold, side="right")) - 1
    if code >= 0 and bins.high[code] > threshold:
        return threshold, threshold
    low = float(bins.high[code]) if code >= 0 else -np.inf
    return low, float(bins.low[code + 1]) if code + 1 < bins.num_bins else np.inf


def number_at_most(bins: Bins, time: TimeScale | None, threshold: float) -> float:
    """Returns a number of few digits at or below a threshold, with no value of the fitted column between the two."""
    low = values_beside(bins, threshold)[0]
    return float(decimal_at_most(threshold, low)) if time is None else time.number_at_most(threshold, low)


def range_in_words(bins: Bins | None, time: TimeScale | None, categories: Sequence[Any]) -> str:
    """Writes the least and the greatest number of a column's bins in six digits, or its categories.

    >>> range_in_words(None, None, ("no", "yes"))
    'no, yes'
    """
    if bins is None:
        return ", ".join(map(value_in_words, categories))
    ends = (bins.low[0], bins.high[-1]) if bins.num_bins else ()
    return " to ".join(value_in_words(float(f"{own:.6g}")) if time is None else time.in_words(own) for own in ends)


def cell_in_words(bins: Bins, value: float) -> str:
    """Writes a number in as few digits as the bin that it lies in needs: what float32 has made of 0.1 is 0.1."""
    code = int(np.searchsorted(bins.edges, value, side="left"))
    below = np.nextafter(bins.edges[code - 1], np.inf) if code else -np.inf
    edge = bins.edges[code] if code < len(bins.edges) else np.inf
    return decimal_between(value, below, np.nextafter(edge, np.inf))
