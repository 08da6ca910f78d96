"""Sums over the rows from a place on whose value is below a threshold, for many places and thresholds at once.

The rows from a place on are blocks of 1, 2, 4, ... rows, at most one of each size; in each block values are sorted.
"""

import numpy as np
from jaxtyping import Float, Int


def sums_below(
    values: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    start: Int[np.ndarray, " query"],
    thresholds: Float[np.ndarray, "query threshold"],
) -> Float[np.ndarray, "query threshold"]:
    r"""Returns the weight of the rows from a start on whose value is below each threshold.

    Time is proportional to $n \log^2 n$ of rows and queries, memory to their number.

    Args:
        values: The values of the rows.
        weight: Their weights.
        start: The first row of every query; the number of rows for none.
        thresholds: The thresholds of every query.

    Example: of the rows from the second on, those below 3.
        >>> sums_below(np.array([1.0, 2.0, 5.0]), np.ones(3), np.array([1]), np.array([[3.0]])).tolist()
        [[1.0]]
    """
    sums = np.zeros(thresholds.shape)
    if not len(values) or not len(start):
        return sums
    place = np.unique(values, return_inverse=True)[1].reshape(-1)
    below = np.searchsorted(np.unique(values), thresholds)
    size, num_rows, first = 1, len(values), start.copy()
    while size <= num_rows:
        # Blocks behind the last full one are never asked for: a place has no rows beyond the last.
        is_asked = ((first // size) % 2 == 1) & (first < num_rows)
        if is_asked.any():
            block = first[is_asked] // size
            sums[is_asked] += _below_in_blocks(place, weight, size, block, below[is_asked])
        first = np.where(is_asked, first + size, first)
        size *= 2
    is_all = first == 0
    sums[is_all] += _below_in_blocks(place, weight, size, first[is_all], below[is_all])
    return sums


def _below_in_blocks(
    place: Int[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    size: int,
    block: Int[np.ndarray, " query"],
    below: Int[np.ndarray, "query threshold"],
) -> Float[np.ndarray, "query threshold"]:
    """The weight of the rows of a block whose place among the distinct values is below each number."""
    width = len(place) + 1
    key = np.arange(len(place)) // size * width + place
    order = np.argsort(key, kind="stable")
    total = np.append(0.0, np.cumsum(weight[order]))
    ends = np.searchsorted(key[order], block[:, None] * width + below)
    return total[ends] - total[np.searchsorted(key[order], block * width)][:, None]
