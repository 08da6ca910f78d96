"""The search among all thresholds by the kernel in C++ or by NumPy, see `jaxtree.optimal.thresholds`.

NumPy looks at the same rows and columns in the same order as the kernel, native/src/optimal/optimal_thresholds.cc, so
that it finds the same tree, also where it ends early.
"""

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64

from jaxtree.errors import present
from jaxtree.kernels import library
from jaxtree.kernels.choose import Engine

PART_OF_SLACK = 4
"""The part of what the rows between two thresholds can cost by which a cost is sought beyond the tree in hand."""

DEAR = 2**62
"""More than any tree costs."""

SWEEP_IN_LOOKS = 4
"""A sweep over a column takes the time of so many times `ThresholdTable.looks` thresholds looked at one by one."""

NO_SPLIT = -1

Order = Int32[np.ndarray, "group _row"]
"""The rows of a node, in the order of the codes of every group."""


class ThresholdTable(NamedTuple):
    """The rows of a search.

    Attributes:
        codes: The code of every group in every row, see `Indicators`.
        first: The first indicator of every group, and the number of all.
        is_nested: Whether an indicator of a group is `code <= place`, or `code == place`.
        cost: The cost of a row with every prediction.
        most: The most that a row can cost.
        of_leaf: The penalty of a leaf.
        looks: How many first thresholds of a column of two levels are looked at one by one, by bounds, before all are
            swept over, if that takes less time than those that are left.
    """

    codes: Int[np.ndarray, "group row"]
    first: Int32[np.ndarray, " boundary"]
    is_nested: Bool[np.ndarray, " group"]
    cost: Int64[np.ndarray, "row prediction"]
    most: Int64[np.ndarray, " row"]
    of_leaf: int
    looks: int = DEAR


class BestSplit(NamedTuple):
    """The cost of the best tree of a node, and the indicator of its first split; `NO_SPLIT` for a leaf."""

    cost: int
    split: int = NO_SPLIT


class _Interval(NamedTuple):
    """Thresholds between two that are known, and what the best trees below and above any of them cost at least."""

    begin: int
    end: int
    least: tuple[int, int]


def best_tree(
    table: ThresholdTable, depth: int, below: int, cells: int, *, engine: Engine
) -> tuple[int, int, Int32[np.ndarray, " inner_node"]]:
    """Finds the best tree that costs less than a given number.

    Args:
        table: The rows.
        depth: The largest depth of a leaf.
        below: The cost that the tree must stay below.
        cells: The number of cells of rows and groups that may be looked at.
        engine: Who computes on the host.

    Returns:
        The cost, or `below` if there is no such tree; the cells that are left, below 0 if the search ended early; and
        the splits of a heap's inner nodes.

    Raises:
        MemoryError: There is not enough memory for the kernel.
    """
    if engine is not Engine.XLA:
        return _best_tree_by_kernel(table, depth, below, cells)
    search, rows = _BoundedSearch(table, cells), np.argsort(table.codes, axis=1, kind="stable").astype(np.int32)
    found, splits = search.best(rows, depth, below), np.full(2**depth - 1, NO_SPLIT, np.int32)
    if found.cost < below:
        # The trees below the first split are searched again, for as long as it takes.
        _write_tree(_BoundedSearch(table, DEAR), rows, depth, 0, found, splits)
    return min(found.cost, below), search.cells, splits


def _best_tree_by_kernel(
    table: ThresholdTable, depth: int, below: int, cells: int
) -> tuple[int, int, Int32[np.ndarray, " inner_node"]]:
    *arrays, of_leaf, looks = table
    sizes = np.array([len(table.codes), *table.cost.shape, depth, looks], np.int64)
    left, splits = np.array([cells], np.int64), np.full(2**depth - 1, NO_SPLIT, np.int32)
    given = [np.require(own, requirements=("C", "A")) for own in (sizes, *arrays)]
    addresses = [own.ctypes.data for own in given]
    found = _find_kernel()(*addresses, of_leaf, below, left.ctypes.data, splits.ctypes.data)
    if found < 0:
        raise MemoryError("there is not enough memory to search all thresholds")
    return found, int(left[0]), splits


@functools.cache
def _find_kernel() -> Any:
    """The function of the kernel, with the types of its arguments."""
    search = present(library.load()).jaxtree_best_thresholds
    whole, pointer = ctypes.c_int64, ctypes.c_void_p
    search.argtypes = [pointer, pointer, pointer, pointer, pointer, pointer, whole, whole, pointer, pointer]
    search.restype = whole
    return search


def _write_tree(
    search: "_BoundedSearch",
    rows: Order,
    depth: int,
    node: int,
    found: BestSplit,
    splits: Int32[np.ndarray, " inner_node"],
) -> None:
    """Writes the splits of the best tree of a node, whose children are 2 node + 1 and 2 node + 2."""
    splits[node] = found.split
    if found.split == NO_SPLIT or depth == 1:
        return
    for side, part in enumerate(search.divided_by(found.split, rows)):
        below = search.best(part, depth - 1, DEAR)
        _write_tree(search, part, depth - 1, 2 * node + 1 + side, below, splits)


class _BoundedSearch:
    """A search of some rows, with what it may look at.

    Args:
        table: The rows.
        cells: How many cells of rows and groups may be looked at; thereafter, what is left of them.
    """

    def __init__(self, table: ThresholdTable, cells: int):
        self._table, self.cells = table, cells
        self._sizes, self._categorical = np.diff(table.first), np.flatnonzero(~table.is_nested).tolist()
        self._costs = np.ascontiguousarray(table.cost.T)

    @property
    def is_over(self) -> bool:
        """Whether more cells were looked at than there were."""
        return self.cells < 0

    def best(self, rows: Order, depth: int, below: int) -> BestSplit:
        """Returns the best tree of some rows that costs less than a number, or the number; anything once it is over."""
        penalty, total = self._table.of_leaf, self._total(rows)
        leaf = int(total.min()) + penalty
        best = BestSplit(min(leaf, below))
        if depth == 0 or leaf == penalty or 2 * penalty >= best.cost:
            return best
        if self._may_look_at(rows):
            best = self._best_stump(rows, best)
        for group in range(len(rows)) if depth > 1 else ():
            if self.is_over:
                break
            search = self._along_thresholds if self._table.is_nested[group] else self._of_categories
            best = search(rows, group, depth, best)
        return best

    def divided_by(self, indicator: int, rows: Order) -> tuple[Order, Order]:
        """Returns the rows where an indicator is 1, and the others."""
        group = int(np.searchsorted(self._table.first, indicator, side="right")) - 1
        place, codes = indicator - self._table.first[group], self._table.codes[group]
        return _divided(rows, codes > place if self._table.is_nested[group] else codes != place)

    def _total(self, rows: Order) -> Int64[np.ndarray, " prediction"]:
        """The costs of some rows with every prediction."""
        return self._table.cost[rows[0]].sum(axis=0)

    def _may_look_at(self, rows: Order) -> bool:
        """Counts the cells of some rows, and returns whether there were as many left."""
        self.cells -= rows.size
        return not self.is_over

    def _best_stump(self, rows: Order, best: BestSplit) -> BestSplit:
        """Returns the best split into two leaves, of equal ones the first, or a tree that costs no more."""
        if not rows.size:
            return best
        codes, is_nested = np.take_along_axis(self._table.codes, rows, axis=1), self._table.is_nested
        is_end = np.empty(rows.shape, bool)
        np.not_equal(codes[:, :-1], codes[:, 1:], out=is_end[:, :-1])
        is_end[:, -1] = ~is_nested & (codes[:, -1] < self._sizes)
        inside = outside = np.full(rows.shape, DEAR)
        for of_prediction in self._costs:
            sums = of_prediction[rows].cumsum(axis=1)
            total = sums[0, -1]
            for group in self._categorical:
                sums[group] = _sums_of_runs(sums[group], is_end[group])
            inside, outside = np.minimum(inside, sums), np.minimum(outside, total - sums)
        cost = np.where(is_end, inside + outside, DEAR)
        group, place = divmod(int(cost.argmin()), rows.shape[1])
        least = int(cost[group, place]) + 2 * self._table.of_leaf
        if least >= best.cost:
            return best
        return BestSplit(least, int(self._table.first[group]) + int(codes[group, place]))

    def _both_sides(
        self, rows: Order, is_outside: Bool[np.ndarray, " row"], depth: int, sought: int, slack: int, least: list[int]
    ) -> bool:
        """Finds what the best trees of both sides cost, and returns whether their sum is exact, and below a number.

        Args:
            rows: The rows of a node.
            is_outside: Which rows are outside.
            depth: The largest depth of a leaf of the node.
            sought: The number that the sum must stay below.
            slack: By how much more a cost is sought, which leaves out more thresholds.
            least: Lower bounds of both costs, which are raised in place.
        """
        parts = _divided(rows, is_outside)
        if depth == 2:
            stumps = [BestSplit(int(self._total(part).min()) + self._table.of_leaf) for part in parts]
            if any(stump.cost > self._table.of_leaf for stump in stumps) and self._may_look_at(rows):
                stumps = [self._best_stump(part, stump) for part, stump in zip(parts, stumps, strict=True)]
            least[:] = [stump.cost for stump in stumps]
            return sum(least) < sought
        self._may_look_at(rows)
        larger = int(parts[1].size > parts[0].size)
        for side in (larger, 1 - larger):
            below = sought - least[1 - side]
            least[side] = max(least[side], self.best(parts[side], depth - 1, below + slack).cost)
            if self.is_over or least[side] >= below:
                return False
        return True

    def _along_thresholds(self, rows: Order, group: int, depth: int, best: BestSplit) -> BestSplit:
        """Returns the best tree whose first split is a threshold of a group, or one that costs no more."""
        own, penalty = rows[group], self._table.of_leaf
        codes, is_outside = self._table.codes[group], np.zeros(len(self._table.cost), bool)
        starts = np.flatnonzero(np.diff(codes[own].astype(np.int32))) + 1
        # The most that the rows below every threshold can cost.
        lost = np.cumsum(self._table.most[own])[starts - 1].tolist()
        waiting, looked, looks = [_Interval(0, len(starts), (penalty, penalty))], 0, self._table.looks
        while waiting and not self.is_over:
            begin, end, known = waiting.pop()
            if begin >= end or sum(known) >= best.cost:
                continue
            looked += 1
            if depth == 2 and looked > looks:
                left = end - begin + sum(other.end - other.begin for other in waiting)
                if left > SWEEP_IN_LOOKS * looks:
                    return self._swept(rows, group, starts, best)
            middle, least = (begin + end) // 2, list(known)
            is_outside[own] = np.arange(own.size) >= starts[middle]
            slack = (lost[end - 1] - lost[begin]) // PART_OF_SLACK
            if self._both_sides(rows, is_outside, depth, best.cost, slack, least) and not self.is_over:
                split = int(self._table.first[group]) + int(codes[own[starts[middle] - 1]])
                best = BestSplit(sum(least), split)
            below, above = middle, middle + 1
            while begin < below and _bound(known[0], least[0], lost[middle] - lost[below - 1]) + least[1] >= best.cost:
                below -= 1
            while above < end and _bound(known[1], least[1], lost[above] - lost[middle]) + least[0] >= best.cost:
                above += 1
            waiting.append(_Interval(above, end, (least[0], known[1])))
            waiting.append(_Interval(begin, below, (known[0], least[1])))
        return best

    def _swept(self, rows: Order, group: int, starts: Int64[np.ndarray, " cut"], best: BestSplit) -> BestSplit:
        """Returns the best tree of two levels whose first split is a threshold of a group, or one that costs no more.

        Args:
            rows: The rows of a node.
            group: The group.
            starts: The number of rows below every threshold.
            best: The tree in hand.
        """
        self.cells -= SWEEP_IN_LOOKS * self._table.looks * rows.size
        if self.is_over:
            return best
        own, penalty = rows[group], self._table.of_leaf
        below = self._table.cost[own].cumsum(axis=0)
        sides = np.stack([below[starts - 1], below[-1] - below[starts - 1]])
        least = np.minimum(sides.min(axis=2) + penalty, _least_stumps(self._table, rows, own, starts) + 2 * penalty)
        cost = least.sum(axis=0)
        cut = int(cost.argmin())
        if cost[cut] >= best.cost:
            return best
        return BestSplit(
            int(cost[cut]), int(self._table.first[group]) + int(self._table.codes[group][own[starts[cut] - 1]])
        )

    def _of_categories(self, rows: Order, group: int, depth: int, best: BestSplit) -> BestSplit:
        """Returns the best tree whose first split is a category of a group, or one that costs no more."""
        codes, penalty = self._table.codes[group], self._table.of_leaf
        present = np.unique(codes[rows[group]])
        for code in present[present < self._sizes[group]].tolist() if present.size > 1 else ():
            if self.is_over:
                break
            least = [penalty, penalty]
            if self._both_sides(rows, codes != code, depth, best.cost, 0, least) and not self.is_over:
                best = BestSplit(sum(least), int(self._table.first[group]) + code)
        return best


def _least_stumps(
    table: ThresholdTable, rows: Order, order: Int32[np.ndarray, " place"], starts: Int64[np.ndarray, " cut"]
) -> Int64[np.ndarray, "side cut"]:
    """Returns the costs, without penalties, of the best splits of the first rows and of all others, at some cuts.

    A split costs sum_a + total_b - sum_b for the predictions a and b of both sides, where sums are those up to a place,
    or at it: the least over places is that of sums of differences, which a tree over them has for every pair (a, b).

    Args:
        table: The table.
        rows: The rows of a node.
        order: The same rows in the order in which they come to the first.
        starts: How many are the first at every cut.
    """
    codes = np.take_along_axis(table.codes, rows, axis=1).astype(np.int64)
    place = np.zeros((len(rows), len(table.cost)), np.int64)
    ranks = np.append(np.zeros((len(rows), 1), np.int64), np.cumsum(np.diff(codes, axis=1) != 0, axis=1), axis=1)
    np.put_along_axis(place, rows, ranks, axis=1)
    num_places, is_nested = ranks[:, -1] + 1, table.is_nested[:, None]
    size = 1 << int(num_places.max() - 1).bit_length()
    first, second = np.nonzero(~np.eye(table.cost.shape[1], dtype=bool))
    differences = table.cost[:, first] - table.cost[:, second]
    # [node, side, group, pair]: the sums, and the least sums up to a place; the root is node 1.
    sums = np.zeros((2 * size, 2, len(rows), first.size), np.int64)
    groups = np.arange(len(rows))
    for group in groups.tolist():
        np.add.at(sums[size:, 1, group], ranks[group], differences[rows[group]])
    is_none = np.arange(size)[:, None] >= num_places
    is_none |= np.arange(size)[:, None] == np.where(
        ~table.is_nested & (codes[:, -1] == np.diff(table.first)), num_places - 1, -1
    )
    least = np.where(np.append(is_none, is_none, axis=0)[:, None, :, None], DEAR // 2, sums)

    def renew(node: Any) -> None:
        left = sums[2 * node, :, groups]
        sums[node, :, groups] = left + sums[2 * node + 1, :, groups]
        other = np.where(is_nested[:, None], left, 0) + least[2 * node + 1, :, groups]
        least[node, :, groups] = np.minimum(least[2 * node, :, groups], other)

    for node in range(size - 1, 0, -1):
        renew(np.full(len(rows), node))
    total = np.stack([np.zeros_like(table.cost[0]), table.cost[order].sum(axis=0)])
    found, sign, begin = np.empty((2, len(starts)), np.int64), np.array([[1], [-1]]), 0
    for cut, end in enumerate(starts.tolist()):
        for row in order[begin:end].tolist():
            node = place[:, row] + size
            sums[node, :, groups] += sign * differences[row]
            least[node, :, groups] += sign * differences[row]
            total += sign * table.cost[row]
            while node[0] > 1:
                node >>= 1
                renew(node)
        found[:, cut] = (total[:, None, second] + least[1]).min(axis=(1, 2))
        begin = end
    return found


def _divided(rows: Order, is_outside: Bool[np.ndarray, " row"]) -> tuple[Order, Order]:
    """Returns the rows inside and outside, in the order of every group."""
    outside, shape = is_outside[rows], (len(rows), -1)
    return rows[~outside].reshape(shape), rows[outside].reshape(shape)


def _sums_of_runs(sums: Int64[np.ndarray, " place"], is_end: Bool[np.ndarray, " place"]) -> Int64[np.ndarray, " place"]:
    """Returns in place of sums up to the ends of runs the sums of the runs; at other places anything."""
    of_runs = sums.copy()
    of_runs[is_end] = np.diff(sums[is_end], prepend=0)
    return of_runs


def _bound(known: int, next_to: int, between: int) -> int:
    """Returns what a side costs at least: what is known, or the cost at a threshold less that of the rows between."""
    return max(known, next_to - between)
