"""Searches of optimal trees by the kernel in C++, on the host; see native/src/optimal.

Programs of XLA and NumPy do the same with the same results, see `jaxtree.optimal.gram` and `jaxtree.optimal.bounded`.
"""

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64, UInt16

from jaxtree.cores import num_cores
from jaxtree.errors import present
from jaxtree.kernels import library
from jaxtree.kernels.choose import Attributes, call_kernel

FORMULAS = ("cost", "gini", "entropy", "squared_error", "poisson")
"""The formulas of leaves, in the order of the kernel's numbers."""


class CostedRows(NamedTuple):
    """Rows of indicators, what they add to sums, and the numbers of the cost of a leaf.

    Attributes:
        codes: The code of every row in every group.
        first: The first indicator of every group, and the number of all.
        is_nested: Whether indicator t of a group is `code <= t`, or `code == t`.
        label: The label of every row.
        value: The values that every row adds to the sums of its label.
        loss: The cost of every predicted class.
        scale: Units of cost for one of the formula's own.
        mean: The mean of every target.
        least_rows: The least number of rows of a leaf.
    """

    codes: UInt16[np.ndarray, "group row"]
    first: Int32[np.ndarray, " group_and_end"]
    is_nested: Bool[np.ndarray, " group"]
    label: Int32[np.ndarray, " row"]
    value: Int64[np.ndarray, "value row"]
    loss: Int64[np.ndarray, "label prediction"]
    scale: Float64[np.ndarray, ""]
    mean: Float64[np.ndarray, " target"]
    least_rows: Int64[np.ndarray, ""]


@functools.lru_cache
def numbers_of_cost(formula: str, num_labels: int, counts_rows: bool, depth: int) -> Attributes:
    """Returns the static facts of a search of trees of a depth, for leaves that cost what a formula says."""
    return Attributes(
        {
            "formula": np.int32(FORMULAS.index(formula)),
            "num_labels": np.int32(num_labels),
            "counts_rows": bool(counts_rows),
            "depth": np.int32(depth),
        }
    )


def best_sides(
    rows: CostedRows, node: Int32[np.ndarray, " row"], numbers: Attributes, *, num_nodes: int
) -> Int64[np.ndarray, "node side leaves indicator"]:
    """Returns the least cost on both sides of every first split of nodes, as `gram.best_sides` does of one.

    Args:
        rows: The table.
        node: The node of every row; below 0 for a row that does not count.
        numbers: The numbers of the search, by `numbers_of_cost`; the depth of the whole tree is 1 to 3.
        num_nodes: The number of nodes.
    """
    shape = num_nodes, 2, 1 << (int(numbers.values["depth"]) - 1), int(rows.first[-1])
    sizes = np.array([*rows.codes.shape, len(rows.value), num_nodes], np.int64)
    *of_rows, loss, scale, mean, least_rows = rows
    arrays = [sizes, *of_rows, node, loss, scale, mean, least_rows]
    handler, results = "jaxtree_best_sides_of_nodes", [(shape, np.int64)]
    return call_kernel(handler, results, arrays, numbers, num_threads=num_cores())[0]


def best_thresholds(
    arrays: tuple[Int[np.ndarray, "..."] | Bool[np.ndarray, "..."], ...], of_leaf: int, below: int, cells: int
) -> tuple[int, int, Int32[np.ndarray, " inner_node"]]:
    """Returns the cost of the best tree of all thresholds, the cells left, and the splits, as `bounded.best_tree` does.

    Args:
        arrays: The sizes; the codes of groups, their first indicators and whether they are nested; what rows cost with
            every prediction, and at most.
        of_leaf: The penalty of a leaf.
        below: The cost to be beaten.
        cells: How many cells of rows and columns may be looked at.

    Raises:
        MemoryError: There is not enough memory.
    """
    depth = int(arrays[0][-1])
    left, splits = np.array([cells], np.int64), np.full(2**depth - 1, -1, np.int32)
    given = [np.require(own, requirements=("C", "A")) for own in arrays]
    addresses = [own.ctypes.data for own in given]
    found = _find_best_thresholds()(*addresses, of_leaf, below, left.ctypes.data, splits.ctypes.data)
    if found < 0:
        raise MemoryError("there is not enough memory to search all thresholds")
    return found, int(left[0]), splits


@functools.cache
def _find_best_thresholds() -> Any:
    """The function of the kernel, with the types of its arguments."""
    search = present(library.load()).jaxtree_best_thresholds
    whole, pointer = ctypes.c_int64, ctypes.c_void_p
    search.argtypes = [pointer, pointer, pointer, pointer, pointer, pointer, whole, whole, pointer, pointer]
    search.restype = whole
    return search
