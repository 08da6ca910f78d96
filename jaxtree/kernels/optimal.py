"""The best splits of optimal trees by the kernel in C++, on the host; see native/src/optimal.

A program of XLA does the same with the same results, see `jaxtree.optimal.gram`.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64, UInt16

from jaxtree.cores import num_cores
from jaxtree.kernels.choose import Attributes, call_kernel

FORMULAS = ("cost", "gini", "entropy", "squared_error", "poisson", "regret")
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
