"""The kernel in C++ that finds the best splits of small trees on a CPU; see native/src/optimal/optimal_trees.h."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int32, Int64

from jaxtree.devices import current_platform
from jaxtree.growth.native.trees import has_handler
from jaxtree.optimal.costs import LeafCost, RowValues
from jaxtree.optimal.indicators import Indicators

HANDLER = "jaxtree_best_sides_of_nodes"
"""The function of the kernel."""

FORMULAS = ("cost", "gini", "entropy", "squared_error", "poisson")
"""The formulas of leaves, in the order of the kernel's numbers."""


def is_available() -> bool:
    """Whether the kernel is there, and computes on this device."""
    return current_platform() == "cpu" and has_handler(HANDLER)


class KernelTable:
    """A table as the kernel takes it, its arrays padded so that tables of a like size share a program.

    Args:
        indicators: The indicators.
        values: What every row adds to sums.
        cost: The cost of a leaf.
    """

    def __init__(self, indicators: Indicators, values: RowValues, cost: LeafCost):
        self._sizes = len(indicators.codes), values.label.size, len(values.value)
        self._num_indicators, self._cost = indicators.number, cost
        rows = (indicators.codes, indicators.first, indicators.is_nested, values.label, values.value)
        self._rows = [_padded(own.reshape(-1)) for own in rows]

    def best_sides(
        self, node: Int32[np.ndarray, " row"], depth: int, *, num_nodes: int
    ) -> Int64[np.ndarray, "node side leaves indicator"]:
        """Returns the least cost on both sides of every first split of nodes, as `gram.best_sides` does of one.

        64-bit types must be enabled.

        Args:
            node: The node of every row; below 0 for a row that does not count.
            depth: The depth of the whole tree, 1 to 3.
            num_nodes: The number of nodes.
        """
        cost, shape = self._cost, (num_nodes, 2, (1, 2, 4)[depth - 1], self._num_indicators)
        result = jax.ShapeDtypeStruct((_bucket(math.prod(shape)),), jnp.int64)
        sides = jax.ffi.ffi_call(HANDLER, result)(
            np.array([*self._sizes, num_nodes], np.int64),
            *self._rows,
            _padded(node),
            np.asarray(cost.loss),
            np.asarray(cost.scale),
            np.asarray(cost.mean, np.float64),
            np.asarray(cost.least_rows, np.int64),
            formula=np.int32(FORMULAS.index(cost.formula)),
            num_labels=np.int32(cost.num_labels),
            counts_rows=bool(cost.counts_rows),
            depth=np.int32(depth),
        )
        return np.asarray(sides)[: math.prod(shape)].reshape(shape)


def _bucket(size: int) -> int:
    """A power of two, at least 16."""
    return 1 << max(4, (size - 1).bit_length())


def _padded(values: Any) -> Any:
    return np.pad(values, (0, _bucket(values.size) - values.size))
