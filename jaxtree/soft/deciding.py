"""Which nodes of a soft tree are left once its gates decide: rows are led to one end each, and dead branches go.

A *heap* node is one of the soft tree; a *kept* node is one of the hard tree made of it. A branch is dead if no row
comes there, or if no point of the box of all rows does.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Shaped
from scipy.optimize import linprog

DROPS = ("rows", "box")
GoesRight = Callable[[Int[np.ndarray, " moving"], Int[np.ndarray, " moving"]], Bool[np.ndarray, " moving"]]
"""Says of rows, each at a node, which go right from there."""


class Kept(NamedTuple):
    """The kept nodes, in breadth-first order.

    Attributes:
        heap: The heap node whose question, rows and value each has.
        is_leaf: Whether it has no children.
        first_child: The first of its two children; 0 for a leaf.
        parent: The node above; a root is its own parent.
        depth: Edges to the root.
        value: What each says if it is a leaf.
    """

    heap: Int[np.ndarray, " kept"]
    is_leaf: Bool[np.ndarray, " kept"]
    first_child: Int[np.ndarray, " kept"]
    parent: Int[np.ndarray, " kept"]
    depth: Int[np.ndarray, " kept"]
    value: Float64[np.ndarray, "kept output"]


def lead_rows(goes_right: GoesRight, num_rows: int, stops: Bool[np.ndarray, " heap"]) -> Int[np.ndarray, " row"]:
    """The heap node where every row ends.

    Args:
        goes_right: Says of rows, each at a node, which go right from there.
        num_rows: The number of rows.
        stops: Where they end at the latest; all leaves of the heap.
    """
    node = np.zeros(num_rows, np.int64)
    moving = np.flatnonzero(~stops[node])
    while moving.size:
        node[moving] = 2 * node[moving] + 1 + goes_right(moving, node[moving])
        moving = moving[~stops[node[moving]]]
    return node


def sum_up(at_end: Shaped[np.ndarray, "heap column"]) -> Shaped[np.ndarray, "heap column"]:
    """Sums of all nodes, given those of rows that end at each."""
    total = at_end.copy()
    for node in range(len(total) - 1, 0, -1):
        total[(node - 1) // 2] += total[node]
    return total


def reached_in_box(
    normal: Float[np.ndarray, "inner column"],
    offset: Float[np.ndarray, " inner"],
    low: Float[np.ndarray, " column"],
    high: Float[np.ndarray, " column"],
) -> Bool[np.ndarray, " heap"]:
    """Which nodes any point of a box can come to, where points of `normal @ x + offset > 0` go right.

    By linear programs. What only points on a border of two gates could reach counts as reached.
    """
    num_inner = len(offset)
    is_reached = np.zeros(2 * num_inner + 1, bool)
    is_reached[0] = True
    box = list(zip(low.tolist(), high.tolist(), strict=True))
    for node in range(1, is_reached.size):
        if is_reached[(node - 1) // 2]:
            path = _path(node)
            gate, sign = np.array([at for at, _ in path]), np.array([-1.0 if side else 1.0 for _, side in path])
            size = np.maximum(np.abs(normal[gate]).max(axis=1), np.abs(offset[gate])) + 1e-300
            rule, bound = normal[gate] / size[:, None], -offset[gate] / size
            found = linprog(np.zeros(low.size), A_ub=sign[:, None] * rule, b_ub=sign * bound, bounds=box)
            is_reached[node] = found.status != 2  # infeasible
    return is_reached


def _path(node: int) -> list[tuple[int, bool]]:
    """The gates above a node, and whether the way goes right there."""
    path = []
    while node:
        path.append(((node - 1) // 2, node % 2 == 0))
        node = (node - 1) // 2
    return path


def keep_nodes(
    is_reached: Bool[np.ndarray, " heap"],
    stops: Bool[np.ndarray, " heap"],
    value: Float64[np.ndarray, "heap output"],
) -> Kept:
    """Returns the nodes that are left.

    A node with one dead branch gives way to the other. Two leaves that say the very same become one.

    Args:
        is_reached: Where rows, or points, come to.
        stops: Where they end at the latest; all heap leaves.
        value: What each says if it is a leaf; of inner nodes only where rows may stop at them.
    """
    kept_of = np.arange(is_reached.size)  # the node that stands for each
    is_leaf = stops.copy()
    told = value.copy()
    for node in range(is_reached.size - 1, -1, -1):
        if is_leaf[node]:
            continue
        left, right = 2 * node + 1, 2 * node + 2
        if not (is_reached[left] and is_reached[right]):
            kept_of[node] = kept_of[left if is_reached[left] else right]
            continue
        left, right = kept_of[left], kept_of[right]
        if is_leaf[left] and is_leaf[right] and (told[left] == told[right]).all():
            is_leaf[node], told[node] = True, told[left]
    return _in_order(kept_of, is_leaf, told)


def _in_order(
    kept_of: Int[np.ndarray, " heap"], is_leaf: Bool[np.ndarray, " heap"], told: Float64[np.ndarray, "heap output"]
) -> Kept:
    heap, parent, depth = [int(kept_of[0])], [0], [0]
    first_child = []
    for number, node in enumerate(heap):  # which grows meanwhile
        first_child.append(0 if is_leaf[node] else len(heap))
        if not is_leaf[node]:
            heap += [int(kept_of[2 * node + 1]), int(kept_of[2 * node + 2])]
            parent += [number, number]
            depth += [depth[number] + 1] * 2
    nodes = np.array(heap)
    first, above, level = (np.array(column, np.int32) for column in (first_child, parent, depth))
    return Kept(nodes, is_leaf[nodes], first, above, level, told[nodes])
