"""Samples without replacement, in bags, and the division of a tree's rows into two parts: one splits, one fills leaves.

The *units* that are drawn are rows, or clusters of rows, which are drawn together. The trees of a *bag* draw their rows
from one half-sample of the units, so that the differences between bags tell how far predictions depend on the sample
(little bags; Athey, Tibshirani and Wager, *Generalized random forests*, Annals of Statistics 47, 2019, section 4.1).

A tree is *honest* if the rows that fill its leaves are others than those that chose its splits (Athey and Imbens,
*Recursive partitioning for heterogeneous causal effects*, PNAS 113, 2016).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, UInt64

from jaxtree.errors import present
from jaxtree.forests.samples import TreeRows, random_numbers

ROUNDING = 1e-9
"""The rounding error of a share times a number of units, so that 0.29 of 100 are 29."""


class Bags(NamedTuple):
    """How the trees of bags draw their rows.

    Attributes:
        share: The share of the units that a tree draws.
        size: Trees of a bag.
    """

    share: float = 0.5
    size: int = 4

    @property
    def bag_share(self) -> float:
        """The share of the units that a bag draws: half, or what its only tree draws."""
        return self.share if self.size == 1 else max(self.share, 0.5)


class Subsampler(NamedTuple):
    """Draws without replacement, see `RowSampler`; a unit is drawn once or not at all.

    Attributes:
        seed: Two words of a key.
        unit: The number of every row's unit.
        num_units: The number of units.
        bags: How trees draw.
    """

    seed: UInt64[np.ndarray, " two"]
    unit: Int32[np.ndarray, " row"]
    num_units: int
    bags: Bags

    @property
    def num_rows(self) -> int:
        """The number of rows of the table."""
        return self.unit.size

    @property
    def num_draws(self) -> int:
        """The number of rows that a tree draws at most."""
        return self.num_rows

    def expected_rows(self) -> int:
        """How many rows a tree draws, on average and rounded up."""
        return int(np.ceil(self.num_rows * self._number(self.bags.share) / self.num_units))

    def largest_count(self) -> int:
        """How often a row is drawn at most."""
        return 1

    def draw_counts(self, first_tree: int, num_trees: int) -> Int[np.ndarray, "tree row"]:
        """Returns whether every row is drawn, 1 or 0, by some trees that follow one another.

        Example:
            >>> sampler = Subsampler(np.zeros(2, np.uint64), np.arange(8, dtype=np.int32), 8, Bags(0.25, 2))
            >>> counts = sampler.draw_counts(0, 4)
            >>> counts.sum(axis=1).tolist(), bool(counts[:2].max(axis=0).sum() <= 4)
            ([2, 2, 2, 2], True)
        """
        counts = np.zeros((num_trees, self.num_rows), np.int64)
        bag, units = -1, np.zeros(0, np.int64)
        number = self._number(self.bags.share)
        for place, tree in enumerate(range(first_tree, first_tree + num_trees)):
            if tree // self.bags.size != bag:
                bag = tree // self.bags.size
                units = self.units_of_bag(bag)
            own = units
            if number < units.size:
                own = units[_lowest(self._numbers(_OF_TREES, tree)[units], number)]
            is_drawn = np.zeros(self.num_units, bool)
            is_drawn[own] = True
            counts[place] = is_drawn[self.unit]
        return counts

    def units_of_bag(self, bag: int) -> Int[np.ndarray, " unit"]:
        """Returns the units of a bag, in ascending order."""
        return np.sort(_lowest(self._numbers(_OF_BAGS, bag), self._number(self.bags.bag_share)))

    def _number(self, share: float) -> int:
        """The number of units of a share, one at least."""
        return max(1, int(share * self.num_units + ROUNDING))

    def _numbers(self, kind: int, place: int) -> UInt64[np.ndarray, " unit"]:
        """The random numbers of the units, for a tree or for a bag."""
        return random_numbers(self.seed ^ np.uint64(kind), place, 1, self.num_units)[0]


_OF_BAGS, _OF_TREES, _OF_HALVES = 0, 1, 2
"""The streams of random numbers: changes of the seed."""


class Halves(NamedTuple):
    """How the rows of a tree are divided into those that choose its splits and those that fill its leaves.

    Attributes:
        seed: Two words of a key.
        unit: The number of every row's unit; the rows of one stay together.
        num_units: The number of units.
        share: The share of a tree's units that chooses splits.
    """

    seed: UInt64[np.ndarray, " two"]
    unit: Int32[np.ndarray, " row"]
    num_units: int
    share: float = 0.5

    def divide(self, rows: TreeRows, first_tree: int) -> tuple[TreeRows, TreeRows]:
        """Returns the rows of some trees that choose splits, and those that fill leaves.

        Each part has a unit at least where a tree has two.

        Args:
            rows: The rows, tree by tree.
            first_tree: The number of the first tree.
        """
        chooses = np.zeros(rows.row.size, bool)
        num_trees = int(rows.tree[-1]) + 1 if rows.tree.size else 0
        ends = np.searchsorted(rows.tree, np.arange(num_trees + 1))
        for tree in range(num_trees):
            own = slice(ends[tree], ends[tree + 1])
            chooses[own] = self._chooses(rows.row[own], first_tree + tree)
        split, fill = (TreeRows(*(values[part] for values in rows)) for part in (chooses, ~chooses))
        return split, fill

    def _chooses(self, row: Int32[np.ndarray, " drawn"], tree: int) -> Bool[np.ndarray, " drawn"]:
        unit = self.unit[row]
        units = np.flatnonzero(np.bincount(unit, minlength=self.num_units))
        number = min(max(1, int(self.share * units.size + ROUNDING)), max(units.size - 1, 1))
        numbers = random_numbers(self.seed ^ np.uint64(_OF_HALVES), tree, 1, self.num_units)[0][units]
        is_chosen = np.zeros(self.num_units, bool)
        is_chosen[units[_lowest(numbers, number)]] = True
        return is_chosen[unit]


def units_of(group: Int[np.ndarray, " row"] | None, num_rows: int) -> tuple[Int32[np.ndarray, " row"], int]:
    """Returns the unit of every row and the number of units: groups in ascending order, or each row for itself.

    >>> units_of(np.array([7, 3, 7]), 3)
    (array([1, 0, 1], dtype=int32), 2)
    """
    if group is None:
        return np.arange(num_rows, dtype=np.int32), num_rows
    names, unit = np.unique(present(group), return_inverse=True)
    return unit.reshape(-1).astype(np.int32), len(names)


def _lowest(numbers: UInt64[np.ndarray, " number"], count: int) -> Int[np.ndarray, " chosen"]:
    """The places of the lowest numbers, in any order."""
    return np.arange(numbers.size) if count >= numbers.size else np.argpartition(numbers, count - 1)[:count]
