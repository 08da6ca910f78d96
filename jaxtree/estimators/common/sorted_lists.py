"""Small sums of one number a list and a number of that list, without a look at all of them.

A sum rises with the number of the list, rounded as it is; so of every list there is a range of places where the sum
that is looked for may be. A *pivot*, a sum from the middle of the longest range, cuts the ranges of all lists: into
sums below it, equal to it and above it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

CELLS_AT_A_TIME = 2**20
"""Sums that are looked at at a time."""

FEW_PLACES = 4
"""Ranges of so many places are not cut further: all of their sums are sorted."""


class _Ranges(NamedTuple):
    """The range of places in every list at which the wanted sum may be, its end excluded."""

    first: Int[np.ndarray, "row list"]
    end: Int[np.ndarray, "row list"]


class SortedLists(NamedTuple):
    """Numbers, list by list, ascending in each.

    Attributes:
        numbers: The numbers.
        start: Where every list begins, and the end.
    """

    numbers: Float[np.ndarray, " number"]
    start: Int[np.ndarray, " boundary"]

    @classmethod
    def of(
        cls, numbers: Float[np.ndarray, " number"], list_: Int[np.ndarray, " number"], num_lists: int
    ) -> "SortedLists":
        """Sorts numbers, given the list of each."""
        start = np.append(0, np.cumsum(np.bincount(list_, minlength=num_lists)))
        return cls(numbers[np.lexsort((numbers, list_))], start)

    def smallest_sums(self, center: Float[np.ndarray, "row list"], place: int) -> Float[np.ndarray, " row"]:
        """Returns the sum at a place of every row, counted from 1, if all its sums are sorted.

        Where a sum is no number, the result may be none.

        Args:
            center: What is added to the numbers of every list.
            place: The place.

        Example:
            >>> lists = SortedLists.of(np.array([3.0, 1.0, 2.0]), np.array([0, 0, 1]), 2)
            >>> lists.smallest_sums(np.array([[0.0, 0.0], [0.0, 9.0]]), 2).tolist()  # of 1, 2, 3 and of 1, 3, 11
            [2.0, 3.0]
        """
        cells = center.shape[1] * min(FEW_PLACES, int(np.diff(self.start).max()))
        size = max(1, CELLS_AT_A_TIME // cells)
        blocks = [self._of_block(center[i : i + size], place) for i in range(0, len(center), size)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    def _of_block(self, center: Float[np.ndarray, "row list"], place: int) -> Float[np.ndarray, " row"]:
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

    def _number_before(self, place: Int[np.ndarray, "row list"]) -> Int[np.ndarray, " row"]:
        """How many numbers stand before some places of all lists."""
        return (place - self.start[:-1]).sum(axis=1)

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

    def _of_few(self, center: Float[np.ndarray, "row list"], ranges: _Ranges, place: int) -> Float[np.ndarray, " row"]:
        """The sums at a place, of which few may be it."""
        width = int((ranges.end - ranges.first).max())
        at = ranges.first[:, :, None] + np.arange(width)
        sums = center[:, :, None] + self.numbers[np.minimum(at, len(self.numbers) - 1)]
        sums = np.where(at < ranges.end[:, :, None], sums, np.inf).reshape(len(center), -1)
        rank = place - 1 - self._number_before(ranges.first)
        if (rank == rank[0]).all():
            return np.partition(sums, rank[0], axis=1)[:, rank[0]]
        return np.take_along_axis(np.sort(sums, axis=1), rank[:, None], axis=1)[:, 0]
