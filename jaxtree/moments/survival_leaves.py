r"""Hazards that leaves keep, and the curves of rows that follow from them.

A leaf keeps the hazard $d_s / Y_s$ at every time s of an event of its rows. The sum of these is Nelson and Aalen's
cumulative hazard of the leaf, and $\prod_s (1 - d_s / Y_s)$ Kaplan and Meier's curve. A forest's curve at a row is the
mean over trees of those of its leaves (Ishwaran, Kogalur, Blackstone and Lauer, *Random survival forests*, Annals of
Applied Statistics 2, 2008).
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int

from jaxtree.blocks import blocks_of, in_threads
from jaxtree.losses.curves import Curves, times_of
from jaxtree.losses.domain import require
from jaxtree.moments.forest import Filling, over_leaves
from jaxtree.moments.leaf_rows import ONE, LeafRows
from jaxtree.moments.moment import NodeRows
from jaxtree.moments.survival import SurvivalTimes
from jaxtree.tree.forest import Forest

CELLS_AT_A_TIME = 2**20
"""Cells, of a row and a time, that are summed at once."""


def fill_with_hazards(
    forest: Forest, filling: Filling, moment: SurvivalTimes, atom: Int[np.ndarray, " row"], *, num_atoms: int
) -> LeafRows:
    """Returns the hazards in the leaves of a forest, by the numbers of the times of events.

    Args:
        forest: The trees, with thresholds in codes.
        filling: The rows that fill them.
        moment: The moment.
        atom: The number of times of events before that of every row.
        num_atoms: The number of times of events.
    """

    def of_tree(num_nodes: int, node: Int[np.ndarray, " entry"], own: Any) -> LeafRows:
        order = np.lexsort((moment.rank[own.row], node))
        nodes = NodeRows.of(own.row[order], node[order], own.weight[order], num_nodes)
        first, share = moment.steps(nodes)
        kept = share > 0
        first, share = first[kept], share[kept]
        dtype = np.uint16 if num_atoms <= 2**16 else np.int32
        boundaries = np.concatenate([[0], np.cumsum(np.bincount(nodes.node[first], minlength=num_nodes))])
        times = atom[nodes.row[first]].astype(dtype)
        return LeafRows(boundaries, times, np.rint(share * ONE).astype(np.uint32), num_atoms)

    return over_leaves(forest, filling, of_tree)


def survival_steps(leaves: LeafRows) -> LeafRows:
    """Returns by how much Kaplan and Meier's curve of every leaf falls at each of its times.

    Example: a hazard of a half, and then of a half again.
        >>> leaves = LeafRows(np.array([0, 2]), np.array([3, 5]), np.array([ONE // 2] * 2, np.uint32), 6)
        >>> (survival_steps(leaves).weight / ONE).tolist()
        [0.5, 0.25]
    """
    hazard, sizes = np.asarray(leaves.weight, np.float64) / ONE, np.diff(leaves.first)
    left, steps = np.ones(sizes.size), np.zeros(hazard.size)
    leaf = np.flatnonzero(sizes)
    place = 0
    while leaf.size:
        at = leaves.first[leaf] + place
        steps[at] = left[leaf] * hazard[at]
        left[leaf] *= 1 - hazard[at]
        place += 1
        leaf = leaf[sizes[leaf] > place]
    return leaves._replace(weight=np.rint(steps * ONE).astype(np.uint32))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LeafCurves(Curves):
    """The mean over trees of step functions of leaves: survival, or cumulative hazards.

    Attributes:
        leaves: The steps in every leaf.
        ends: The leaf of every row in every tree.
        known: The times of events.
        times: Where the curves are shown.
        is_hazard: Whether steps add up to a cumulative hazard; they are taken from 1 otherwise.

    Example:
        >>> leaves = LeafRows(np.array([0, 2]), np.array([0, 1]), np.array([ONE // 2] * 2, np.uint32), 2)
        >>> hazards = LeafCurves(leaves, np.zeros((1, 1), int), np.array([3.0, 7.0]), np.array([3.0, 7.0]), True)
        >>> hazards([1.0, 3.0, 9.0]).tolist(), hazards
        ([[0.0, 0.5, 1.0]], <1 cumulative hazards at 2 times, until 7>)
    """

    leaves: LeafRows
    ends: Int[np.ndarray, "row tree"]
    known: Float64[np.ndarray, " known"]
    times: Float[np.ndarray, " time"]
    is_hazard: bool = False

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ends)

    @property
    def name(self) -> str:
        """The word for the curves."""
        return "cumulative hazards" if self.is_hazard else "survival curves"

    def take(self, rows: slice) -> "LeafCurves":
        """Returns the curves of some rows."""
        return dataclasses.replace(self, ends=self.ends[rows])

    def __call__(self, times: Any) -> Float64[np.ndarray, "row time"]:
        """Returns the chance of every row to have had no event by each of some times, or its cumulative hazard."""
        at = np.searchsorted(self.known, times_of(times), side="right")
        return self._of_blocks(lambda curves: np.concatenate([self._start(curves), curves], axis=1)[:, at])

    def quantile(self, level: float) -> Float64[np.ndarray, " row"]:
        """Returns the first time by which a row has had the event with a chance of `level`; infinite if none is known.

        For cumulative hazards it is the first time at which these are `level`.

        Raises:
            InvalidInputError: The level is not between 0 and 1.
        """
        require(0 < level < 1, "a level must be between 0 and 1, without these", level)
        known = np.append(self.known, np.inf)

        def first_time(curves: Float64[np.ndarray, "block known"]) -> Float64[np.ndarray, " block"]:
            reached = curves >= level if self.is_hazard else curves <= 1 - level
            return known[np.where(reached.any(axis=1), reached.argmax(axis=1), len(self.known))]

        return self._of_blocks(first_time)

    def _start(self, curves: Float64[np.ndarray, "block known"]) -> Float64[np.ndarray, "block 1"]:
        return np.full((len(curves), 1), 0.0 if self.is_hazard else 1.0)

    def _of_blocks(self, work: Any) -> Any:
        """The results of a function of the curves at all times of events, block by block of rows."""
        number, blocks = self.known.size, blocks_of(len(self), max(1, CELLS_AT_A_TIME // self.known.size))

        def of_block(block: slice) -> Any:
            ends = self.ends[block]
            sizes = np.diff(self.leaves.first)[ends]
            of_leaf, of_row = sizes.ravel(), sizes.sum(axis=1)
            begins = np.cumsum(of_leaf)
            entry = np.repeat(self.leaves.first[ends].ravel() - begins + of_leaf, of_leaf) + np.arange(of_leaf.sum())
            cell = np.repeat(np.arange(len(ends)) * number, of_row) + self.leaves.atom[entry]
            # Whole numbers, whose sums are exact.
            summed = np.bincount(cell, self.leaves.weight[entry], minlength=len(ends) * number)  # pyright: ignore
            reached = np.cumsum(summed.reshape(len(ends), number), axis=1) / (float(ONE) * ends.shape[1])
            return work(reached if self.is_hazard else np.maximum(1 - reached, 0.0))

        found = in_threads(of_block, blocks) if blocks else [work(np.ones((0, number)))]
        return np.concatenate(found)
