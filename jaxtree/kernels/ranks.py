"""Tables of trees whose nodes are computed for many rows at once, instead of rows that walk from node to node.

The *rank* of a value is the number of limits of its column that are below it. A *plane* has the ranks of a column, of
which missing values have the least or the greatest: two planes of a column send them left and right. Leaves are
numbered from left to right. A *step* stands for an inner node; behind the steps of its children it computes which of
the node's leaves a row would come to. Results are kept in *places*: two a level, and place 0 for leaves, with number 0.

The kernel (native/src/walk/ranks.h) and the programs of `jaxtree.to_c` compute the steps.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Int64, Shaped

STEP = np.dtype([(name, np.uint16) for name in ("plane", "limit", "leaves", "left", "right", "to")])
"""A step: a row of greater rank in the plane comes to the right child, behind the leaves of the left one.

Places are those of the children's results, and of its own.
"""

MOST = 2**16 - 1
"""The most planes, ranks, leaves and places that a step can have."""


NODES_A_LEVEL = 100
"""Nodes that are computed for a row in the time in which it walks down one level, with ranks of one byte."""


class Ranks(NamedTuple):
    """The limits of columns, and where questions find theirs.

    Attributes:
        column: The columns of which there are ranks, ascending.
        first_cut: Where the limits of each begin, and their number at the end.
        cuts: The limits, ascending in each column.
        planes: The planes of each column in which missing values have the least rank, and the greatest; or -1.
        plane: The plane of every question.
        rank: The place of every question's limit among those of its column.
    """

    column: Int[np.ndarray, " column"]
    first_cut: Int64[np.ndarray, " boundary"]
    cuts: Float[np.ndarray, " cut"]
    planes: Int32[np.ndarray, "column 2"]
    plane: Int32[np.ndarray, " question"]
    rank: Int64[np.ndarray, " question"]

    @property
    def num_planes(self) -> int:
        """The number of planes."""
        return int((self.planes >= 0).sum())

    @property
    def most_cuts(self) -> int:
        """The greatest rank."""
        return int(np.diff(self.first_cut).max(initial=0))

    @classmethod
    def of(
        cls,
        column: Int[np.ndarray, " question"],
        limit: Float[np.ndarray, " question"],
        sends_right: Bool[np.ndarray, " question"],
    ) -> "Ranks":
        """Returns the ranks of questions, whether a value of a column is above a limit.

        Args:
            column: The columns.
            limit: The limits.
            sends_right: Whether a missing value goes where greater values go.
        """
        order = np.lexsort((limit, column))
        is_new_column = _differs(column[order])
        is_new = is_new_column | _differs(limit[order])
        first_cut = np.append(np.flatnonzero(is_new_column[is_new]), is_new.sum())
        own, cut = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        own[order], cut[order] = np.cumsum(is_new_column) - 1, np.cumsum(is_new) - 1
        planes = np.full((len(first_cut) - 1, 2), -1, np.int32)
        side = sends_right.astype(np.int64)
        planes[own, side] = 0
        planes[planes == 0] = np.arange((planes == 0).sum())
        rank = cut - first_cut[own]
        return cls(column[order][is_new_column], first_cut, limit[order][is_new], planes, planes[own, side], rank)


def _differs(values: Shaped[np.ndarray, " value"]) -> Bool[np.ndarray, " value"]:
    """Whether a value is another than the one before it; the first is."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


class TreeSteps(NamedTuple):
    """The order of the steps of trees, and the leaves from left to right.

    Attributes:
        node: The node of every step, tree after tree.
        first_step: Where the steps of every tree begin, and their number at the end.
        leaf: The node of every leaf, tree after tree.
        first_leaf: Where the leaves of every tree begin, and their number at the end.
        num_leaves: The leaves below every node.
        place: Where the result of every node is kept.
    """

    node: Int64[np.ndarray, " step"]
    first_step: Int64[np.ndarray, " boundary"]
    leaf: Int64[np.ndarray, " leaf"]
    first_leaf: Int64[np.ndarray, " boundary"]
    num_leaves: Int64[np.ndarray, " node"]
    place: Int64[np.ndarray, " node"]

    @property
    def most_leaves(self) -> int:
        """The most leaves of a tree."""
        return int(np.diff(self.first_leaf).max())

    @property
    def num_places(self) -> int:
        """The number of places."""
        return int(self.place.max()) + 1

    @classmethod
    def of(
        cls,
        root: Int[np.ndarray, " tree"],
        left: Int[np.ndarray, " node"],
        right: Int[np.ndarray, " node"],
        is_leaf: Bool[np.ndarray, " node"],
    ) -> "TreeSteps":
        """Returns the steps of trees.

        Args:
            root: The root of every tree.
            left: The left child of every node.
            right: The right child.
            is_leaf: Whether a node has none.
        """
        place = np.zeros(len(is_leaf), np.int64)
        levels, nodes = [], root
        while nodes.size:
            inner = nodes[~is_leaf[nodes]]
            levels.append(inner)
            first = 1 + 2 * len(levels)
            place[left[inner]], place[right[inner]] = first, first + 1
            nodes = np.concatenate([left[inner], right[inner]])
        place[root] = 1
        place[is_leaf] = 0
        num_leaves, num_steps = is_leaf.astype(np.int64), np.zeros(len(is_leaf), np.int64)
        for inner in reversed(levels):
            num_leaves[inner] = num_leaves[left[inner]] + num_leaves[right[inner]]
            num_steps[inner] = num_steps[left[inner]] + num_steps[right[inner]] + 1
        first_leaf, first_step = (np.append(0, np.cumsum(number[root])) for number in (num_leaves, num_steps))
        leaf_at, step_at = np.empty(len(is_leaf), np.int64), np.empty(len(is_leaf), np.int64)
        leaf_at[root], step_at[root] = first_leaf[:-1], first_step[:-1]
        for inner in levels:
            for at, number in ((leaf_at, num_leaves), (step_at, num_steps)):
                at[left[inner]] = at[inner]
                at[right[inner]] = at[inner] + number[left[inner]]
        leaf, node = np.empty(first_leaf[-1], np.int64), np.empty(first_step[-1], np.int64)
        own = np.flatnonzero(is_leaf)
        leaf[leaf_at[own]] = own
        own = np.flatnonzero(~is_leaf)
        node[step_at[own] + num_steps[own] - 1] = own
        return cls(node, first_step, leaf, first_leaf, num_leaves, place)

    def records(
        self,
        plane: Int[np.ndarray, " node"],
        limit: Int[np.ndarray, " node"],
        left: Int[np.ndarray, " node"],
        right: Int[np.ndarray, " node"],
    ) -> np.ndarray:
        """Returns the steps as records of `STEP`.

        Args:
            plane: The plane of every inner node.
            limit: The rank of its limit.
            left: Its left child.
            right: Its right child.
        """
        records = np.empty(len(self.node), STEP)
        node, (left, right) = self.node, (child[self.node] for child in (left, right))
        records["plane"], records["limit"], records["leaves"] = plane[node], limit[node], self.num_leaves[left]
        records["left"], records["right"], records["to"] = self.place[left], self.place[right], self.place[node]
        return records


def bytes_of_rank(ranks: Ranks, steps: TreeSteps) -> int | None:
    """Returns how many bytes ranks and leaves take, 1 or 2; None if some take more."""
    most = max(ranks.most_cuts, steps.most_leaves - 1)
    if max(most, ranks.num_planes, steps.num_places) > MOST:
        return None
    return 1 if most <= np.iinfo(np.uint8).max else 2


def pays(ranks: Ranks, steps: TreeSteps, num_levels: int) -> bool:
    """Returns whether many rows are computed in less time than they walk, as is so of many trees that are not large.

    Args:
        ranks: The ranks.
        steps: The steps.
        num_levels: The levels of all trees.
    """
    size = bytes_of_rank(ranks, steps)
    searched = np.ceil(np.log2(np.diff(ranks.first_cut) + 1)).sum() + len(ranks.column)
    return size is not None and len(steps.node) * size / NODES_A_LEVEL + searched < num_levels
