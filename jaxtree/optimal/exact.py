"""The best tree of a depth of up to three, of every number of leaves."""

import functools
from collections import OrderedDict
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int32, Int64

from jaxtree.buckets import row_bucket
from jaxtree.kernels import optimal as kernel
from jaxtree.kernels.choose import Engine, Engines
from jaxtree.kernels.products import LIMB
from jaxtree.optimal.costs import CostedTarget, LeafCost
from jaxtree.optimal.gram import IndicatorRows, best_sides
from jaxtree.optimal.indicators import Indicators

MOST_EXACT_DEPTH = 3
"""The depth up to which sums over pairs of indicators give the best tree."""

BUCKET = 16
"""Indicators are padded to a multiple of it, so that tables of a like size share a program."""

MOST_KEPT = 256
"""The number of sets of rows whose best splits are kept: the last that were asked for."""

Sides = Int64[np.ndarray, "side leaves indicator"]


class Fork(NamedTuple):
    """A node of a tree that asks an indicator; None in its place is a leaf.

    Attributes:
        indicator: The number of the indicator.
        inside: The subtree where it is 1.
        outside: The subtree where it is 0.
    """

    indicator: int
    inside: "Fork | None"
    outside: "Fork | None"


def count_leaves(tree: Fork | None) -> int:
    """Returns the number of leaves of a tree."""
    return 1 if tree is None else count_leaves(tree.inside) + count_leaves(tree.outside)


class SplitTable:
    """A table of indicators with the costs of leaves, and the best splits of any of its rows.

    Args:
        indicators: The indicators.
        target: The contributions of rows to sums, and the cost of a leaf.
        engines: Who computes.
    """

    def __init__(self, indicators: Indicators, target: CostedTarget, engines: Engines):
        self.indicators, self.target, self.engines = indicators, target, engines
        self.values, self.cost = target.values, target.cost
        self._kept: OrderedDict[tuple[int, bytes], Sides] = OrderedDict()

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.values.label.size

    def sums(self, is_member: Bool[np.ndarray, " row"]) -> Int64[np.ndarray, " channel"]:
        """Returns the sums over some rows."""
        return self.target.sums(np.flatnonzero(is_member))

    @property
    def free_cost(self) -> LeafCost:
        """The cost of a leaf of any number of rows."""
        return self.target.free_cost

    def leaf(self, is_member: Bool[np.ndarray, " row"]) -> int:
        """Returns the cost of some rows as one leaf."""
        with jax.enable_x64(True):
            return int(self.cost(self.sums(is_member)))

    def sides(self, is_member: Bool[np.ndarray, " row"], depth: int) -> Sides:
        """Returns the least cost inside and outside of every first split of some rows.

        Trees of every number of leaves follow from them, so that what was summed last is kept.

        Args:
            is_member: The rows.
            depth: The depth of the whole tree, 1 to 3. Row l has trees of at most l + 1 leaves on the side.
        """
        kind = depth, np.packbits(is_member).tobytes()
        if kind not in self._kept:
            self._kept[kind] = self.sides_of_nodes(is_member.astype(np.int32) - 1, depth, num_nodes=1)[0]
        self._kept.move_to_end(kind)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return self._kept[kind]

    def sides_of_nodes(
        self, node: Int32[np.ndarray, " row"], depth: int, *, num_nodes: int
    ) -> Int64[np.ndarray, "node side leaves indicator"]:
        """Returns `sides` of many nodes at once; `node` is the one of every row, below 0 for none."""
        if self.engines.of_device is not Engine.XLA:
            cost = self.cost
            numbers = kernel.numbers_of_cost(cost.formula, cost.num_labels, cost.counts_rows, depth)
            return kernel.best_sides(self._costed_rows, node, numbers, num_nodes=num_nodes)
        return np.stack([self._sides_by_products(node == number, depth) for number in range(num_nodes)])

    def _sides_by_products(
        self, is_member: Bool[np.ndarray, " row"], depth: int
    ) -> Int64[np.ndarray, "side leaves indicator"]:
        rows, number = self._padded_rows, self.indicators.number
        member = np.zeros(rows.label.size, bool)
        member[: self.num_rows] = is_member
        with jax.enable_x64(True):
            sides = best_sides(
                rows, member, self.cost, depth=depth, num_limbs=self._num_limbs, platform=self.engines.platform
            )
        return np.asarray(sides)[:, :, :number]

    @functools.cached_property
    def _costed_rows(self) -> kernel.CostedRows:
        own, cost = self.indicators, self.cost
        numbers = (np.asarray(cost.scale), np.asarray(cost.mean, np.float64), np.asarray(cost.least_rows, np.int64))
        rows = own.codes, own.first, own.is_nested, self.values.label, self.values.value
        return kernel.CostedRows(*rows, np.asarray(cost.loss), *numbers)

    @functools.cached_property
    def _num_limbs(self) -> int:
        value = self.values.value
        bits = int(np.abs(value).max(initial=1)).bit_length() + bool((value < 0).any())
        return -(-bits // LIMB)

    @functools.cached_property
    def _padded_rows(self) -> IndicatorRows:
        own = self.indicators
        rows = row_bucket(self.num_rows) - self.num_rows
        columns = -own.number % BUCKET
        padded = lambda values, fill=0: np.pad(values, (0, columns), constant_values=fill)  # noqa: E731
        codes = np.pad(own.codes, ((0, max(len(own.codes) == 0, -len(own.codes) % 4)), (0, rows)))
        return IndicatorRows(
            codes,
            padded(own.group),
            padded(own.place, -1),
            padded(own.is_nested[own.group], fill=1),
            np.pad(self.values.label, (0, rows)),
            np.pad(self.values.value, ((0, 0), (0, rows))),
        )


def frontier_of(sides: Sides, leaf: int) -> Int64[np.ndarray, " most_leaves"]:
    """Returns the least cost of trees with at most 1, 2, ... leaves.

    Args:
        sides: The least costs on both sides of every split, see `SplitTable.sides`.
        leaf: The cost of one leaf.
    """
    inside, outside = sides
    most = len(inside)
    best = [leaf]
    for leaves in range(2, 2 * most + 1):
        parts = range(max(1, leaves - most), min(most, leaves - 1) + 1)
        values = [(inside[part - 1] + outside[leaves - part - 1]).min(initial=best[-1]) for part in parts]
        best.append(min(map(int, values)))
    return np.array(best)


class FirstSplit(NamedTuple):
    """The first split of a tree, and how many leaves it may have on both sides."""

    indicator: int
    inside_leaves: int
    outside_leaves: int


def first_split(sides: Sides, leaf: int, leaves: int) -> FirstSplit | None:
    """Returns the first split of the best tree of at most `leaves` leaves, or None for one leaf.

    Among equally good trees it is the one of the fewest leaves, then of the first indicator, then of the fewest leaves
    inside.
    """
    frontier = frontier_of(sides, leaf)
    fewest = int(np.argmax(frontier == frontier[leaves - 1])) + 1
    if fewest == 1:
        return None
    inside, outside = sides
    most = len(inside)
    parts = range(max(1, fewest - most), min(most, fewest - 1) + 1)
    values = np.stack([inside[part - 1] + outside[fewest - part - 1] for part in parts])
    indicator = int(values.min(axis=0).argmin())
    part = parts[int(values[:, indicator].argmin())]
    return FirstSplit(indicator, part, fewest - part)


def exact_frontier(
    table: SplitTable, is_member: Bool[np.ndarray, " row"], depth: int
) -> Int64[np.ndarray, " most_leaves"]:
    """Returns the least cost of trees of some rows with at most 1, 2, ... leaves, of a depth of up to 3."""
    if depth == 0:
        return np.array([table.leaf(is_member)])
    return frontier_of(table.sides(is_member, depth), table.leaf(is_member))


def exact_tree(table: SplitTable, is_member: Bool[np.ndarray, " row"], depth: int, leaves: int) -> Fork | None:
    """Returns the best tree of some rows, of a depth of up to 3 and at most `leaves` leaves."""
    if depth == 0 or leaves == 1:
        return None
    cut = first_split(table.sides(is_member, depth), table.leaf(is_member), leaves)
    if cut is None:
        return None
    inside = table.indicators.column(cut.indicator)
    return Fork(
        cut.indicator,
        exact_tree(table, is_member & inside, depth - 1, cut.inside_leaves),
        exact_tree(table, is_member & ~inside, depth - 1, cut.outside_leaves),
    )


def best_number_of_leaves(frontier: Int64[np.ndarray, " most_leaves"], penalty: float, most: int | None = None) -> int:
    """Returns how many leaves the best tree has where every leaf costs a penalty; of equally good ones the fewest."""
    return int(np.argmin(frontier[:most] + penalty * np.arange(1, len(frontier[:most]) + 1))) + 1
