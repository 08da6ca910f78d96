"""The kernel in C++ that finds the best splits of small trees on a CPU; see native/src/small_trees.h."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int32, Int64

from jaxtree.growth.native import has_handler
from jaxtree.optimal.costs import LeafCost, RowValues
from jaxtree.optimal.indicators import Indicators

HANDLER = "jaxtree_best_sides_of_nodes"
"""The function of the kernel."""

FORMULAS = ("cost", "gini", "entropy", "squared_error", "poisson")
"""The formulas of leaves, in the order of the kernel's numbers."""


def is_available() -> bool:
    """Whether the kernel is there, and computes on this device."""
    return jax.default_backend() == "cpu" and has_handler(HANDLER)


def best_sides_of(
    indicators: Indicators,
    values: RowValues,
    cost: LeafCost,
    node: Int32[np.ndarray, " row"],
    depth: int,
    *,
    num_nodes: int,
) -> Int64[np.ndarray, "node side leaves indicator"]:
    """Returns the least cost on both sides of every first split of nodes, as `gram.best_sides` does of one.

    64-bit types must be enabled.

    Args:
        indicators: The indicators.
        values: What every row adds to sums.
        cost: The cost of a leaf.
        node: The node of every row; below 0 for a row that does not count.
        depth: The depth of the whole tree, 1 to 3.
        num_nodes: The number of nodes.
    """
    result = jax.ShapeDtypeStruct((num_nodes, 2, (1, 2, 4)[depth - 1], indicators.number), jnp.int64)
    sides = jax.ffi.ffi_call(HANDLER, result)(
        indicators.codes,
        indicators.first,
        indicators.is_nested,
        values.label,
        values.value,
        node,
        np.asarray(cost.loss),
        np.asarray(cost.scale),
        np.asarray(cost.mean, np.float64),
        np.asarray(cost.least_rows, np.int64),
        formula=np.int32(FORMULAS.index(cost.formula)),
        num_labels=np.int32(cost.num_labels),
        counts_rows=bool(cost.counts_rows),
        depth=np.int32(depth),
    )
    return np.asarray(sides)
