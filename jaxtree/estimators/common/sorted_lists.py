"""Small sums of one number a list and a number of that list, without a look at all of them.

A sum rises with the number of the list, rounded as it is; so of every list there is a range of places where the sum
that is looked for may be. A *pivot*, a sum from the middle of the longest range, cuts the ranges of all lists: into
sums below it, equal to it and above it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.errors import warn_user

CELLS_AT_A_TIME = 2**20
"""Sums that are looked at at a time."""

ROUNDING = 1e-12
"""The share of a number of rows that is not told from none."""

FEW_PLACES = 4
"""Ranges of so many places are not cut further: all of their sums are sorted."""


class _Ranges(NamedTuple):
    """The range of places in every list at which the wanted sum may be, its end excluded."""

    first: Int[np.ndarray, "row list"]
    end: Int[np.ndarray, "row list"]


class SortedLists(NamedTuple):
    """Numbers, list by list, ascending in each.

    A number of a weight counts as so many numbers.

    Attributes:
        numbers: The numbers.
        start: Where every list begins, and the end.
        before: How many numbers stand before each, and before the end.
    """

    numbers: Float[np.ndarray, " number"]
    start: Int[np.ndarray, " boundary"]
    before: Float[np.ndarray, " place"]

    @classmethod
    def of(
        cls,
        numbers: Float[np.ndarray, " number"],
        list_: Int[np.ndarray, " number"],
        num_lists: int,
        weight: Float[np.ndarray, " number"] | None = None,
    ) -> "SortedLists":
        """Sorts numbers, given the list of each, and perhaps weights above 0."""
        start, order = np.append(0, np.cumsum(np.bincount(list_, minlength=num_lists))), np.lexsort((numbers, list_))
        weight = np.ones(len(numbers)) if weight is None else weight
        return cls(numbers[order], start, np.append(0.0, np.cumsum(weight[order])))

    @property
    def total(self) -> float:
        """The number of numbers."""
        return float(self.before[-1])

    def smallest_sums(self, center: Float[np.ndarray, "row list"], place: float) -> Float[np.ndarray, " row"]:
        """Returns the sum at a place of every row, counted from 1, if all its sums are sorted.

        Where a sum is no number, the result may be none.

        Args:
            center: The number that is added to every list.
            place: The place, which may lie between whole numbers where weights are none.

        Example:
            >>> lists = SortedLists.of(np.array([3.0, 1.0, 2.0]), np.array([0, 0, 1]), 2)
            >>> lists.smallest_sums(np.array([[0.0, 0.0], [0.0, 9.0]]), 2).tolist()  # of 1, 2, 3 and of 1, 3, 11
            [2.0, 3.0]
        """
        cells = center.shape[1] * min(FEW_PLACES, int(np.diff(self.start).max()))
        size = max(1, CELLS_AT_A_TIME // cells)
        blocks = [self._of_block(center[i : i + size], place) for i in range(0, len(center), size)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    def _of_block(self, center: Float[np.ndarray, "row list"], place: float) -> Float[np.ndarray, " row"]:
        found, row = np.empty(len(center)), np.arange(len(center))
        ranges = _Ranges(*(np.broadcast_to(bound, center.shape) for bound in (self.start[:-1], self.start[1:])))
        while row.size and (length := ranges.end - ranges.first).max() > FEW_PLACES:
            longest = length.argmax(axis=1)[:, None]
            middle = np.take_along_axis((ranges.first + ranges.end) >> 1, longest, axis=1)
            pivot = np.take_along_axis(center[row], longest, axis=1) + self.numbers[middle]
            below = self._cut(center[row], ranges, pivot, holds_equal=False)
            up_to = self._cut(center[row], _Ranges(below, ranges.end), pivot, holds_equal=True)
            is_below, is_above = (self._number_before(cut) >= place for cut in (below, up_to))
            is_found = (is_above & ~is_below) | np.isnan(pivot[:, 0])
            found[row[is_found]] = pivot[is_found, 0]
            first = np.where(is_below[:, None], ranges.first, up_to)[~is_found]
            end = np.where(is_below[:, None], below, ranges.end)[~is_found]
            ranges, row = _Ranges(first, end), row[~is_found]
        if row.size:
            found[row] = self._of_few(center[row], ranges, place)
        return found

    def _number_before(self, place: Int[np.ndarray, "row list"]) -> Float[np.ndarray, " row"]:
        """How many numbers stand before some places of all lists."""
        return (self.before[place] - self.before[self.start[:-1]]).sum(axis=1)

    def _cut(
        self,
        center: Float[np.ndarray, "row list"],
        ranges: _Ranges,
        pivot: Float[np.ndarray, "row 1"],
        *,
        holds_equal: bool,
    ) -> Int[np.ndarray, "row list"]:
        """The places after all sums below a pivot, or up to it, in the ranges; found by halving."""
        first, end = ranges
        for _ in range(int((end - first).max()).bit_length()):
            middle = (first + end) >> 1
            value = center + self.numbers[np.minimum(middle, len(self.numbers) - 1)]
            is_before: Bool[np.ndarray, "row list"] = value <= pivot if holds_equal else value < pivot
            is_open = first < end
            first, end = np.where(is_open & is_before, middle + 1, first), np.where(is_open & ~is_before, middle, end)
        return first

    def _of_few(
        self, center: Float[np.ndarray, "row list"], ranges: _Ranges, place: float
    ) -> Float[np.ndarray, " row"]:
        """The sums at a place, of which few may be it."""
        width = int((ranges.end - ranges.first).max())
        at = ranges.first[:, :, None] + np.arange(width)
        known, is_in = np.minimum(at, len(self.numbers) - 1), at < ranges.end[:, :, None]
        sums = np.where(is_in, center[:, :, None] + self.numbers[known], np.inf).reshape(len(center), -1)
        weight = np.where(is_in, np.diff(self.before)[known], 0.0).reshape(len(center), -1)
        order = np.argsort(sums, axis=1, kind="stable")
        number = self._number_before(ranges.first)[:, None] + np.cumsum(np.take_along_axis(weight, order, 1), axis=1)
        chosen = (number >= place).argmax(axis=1)[:, None]
        return np.take_along_axis(sums, np.take_along_axis(order, chosen, 1), 1)[:, 0]


def intervals_around(
    center: Float[np.ndarray, "row list"], residuals: SortedLists, *, coverage: float, num_new: float
) -> Float[np.ndarray, "row 2"]:
    """Returns the lower and the upper end of the interval of every row by CV+.

    Args:
        center: The predictions of the rows by the model without each fold.
        residuals: The residuals of the rows of every fold.
        coverage: The share of rows that the intervals are to hold.
        num_new: How many residuals a new row would have.

    Example:
        >>> residuals = SortedLists.of(np.array([3.0, 1.0, 2.0]), np.array([0, 0, 1]), 2)
        >>> intervals_around(np.array([[0.0, 1.0]]), residuals, coverage=0.5, num_new=1).tolist()
        [[-1.0, 3.0]]
        >>> intervals_around(np.array([[0.0, 1.0]]), residuals, coverage=0.8, num_new=1).tolist()
        [[-inf, inf]]
    """
    place = coverage * (residuals.total + num_new)
    if place * (1 - ROUNDING) > residuals.total:
        rows = len(residuals.numbers)
        if coverage * (rows + num_new) * (1 - ROUNDING) <= rows:
            warn_user(
                f"intervals are infinite, as the weights of the {rows} residuals add up to {residuals.total:.3g}: a "
                "weight counts as so many rows; fit with weights whose mean is 1"
            )
        return np.tile([-np.inf, np.inf], (len(center), 1))
    place = min(place, residuals.total) * (1 - ROUNDING)
    # An end of minus the interval is a sum, too: that of a residual and minus the center.
    return np.stack([-residuals.smallest_sums(-center, place), residuals.smallest_sums(center, place)], axis=1)
