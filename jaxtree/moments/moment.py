"""Moments whose pseudo-outcomes are made anew at every node, and the entries of the nodes of a level.

An *entry* is a row with a weight in one of the trees. The *pseudo-outcomes* of a node's entries say how each would move
the node's solution of the moment, so that branches in which their means differ most have the most different solutions
(Athey, Tibshirani and Wager, *Generalized random forests*, Annals of Statistics 47, 2019, section 2.3).
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64, Real

from jaxtree.growth.inputs.objective import Objective


class NodeRows(NamedTuple):
    """The entries of the nodes of a level, node after node, and within a node in the order of the moment's ranks.

    Attributes:
        row: The row of every entry.
        node: The node of every entry, counted from the first of the level; ascending.
        first: Where the entries of every node begin, and the number of all.
        weight: The weight of every entry.
    """

    row: Int32[np.ndarray, " entry"]
    node: Int32[np.ndarray, " entry"]
    first: Int64[np.ndarray, " boundary"]
    weight: Real[np.ndarray, " entry"]

    @classmethod
    def of(cls, row: Any, node: Any, weight: Any, num_nodes: int) -> "NodeRows":
        """Returns the entries of some nodes, which must be in order."""
        first = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=num_nodes))])
        return cls(np.asarray(row, np.int32), np.asarray(node, np.int32), first, np.asarray(weight))

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return self.first.size - 1


class Relabelled(NamedTuple):
    """The targets that the split of a level is chosen by.

    Attributes:
        target: The targets of every entry, as the moment's objective takes them.
        is_open: Whether a node may be split: its moment has a solution.
        solution: The solution of every node, with which its children begin.
        exponent: The exponent of the power of two that the targets of every node were divided by; None for 0.
    """

    target: Real[np.ndarray, "outcome entry"]
    is_open: Bool[np.ndarray, " node"]
    solution: Float64[np.ndarray, "node parameter"]
    exponent: Int[np.ndarray, " node"] | None = None


@runtime_checkable
class Moment(Protocol):
    """A moment equation.

    Attributes:
        rank: The rank of every row in the order that `relabel` needs entries in; equal ranks are as good as equal.
    """

    @property
    def rank(self) -> Int[np.ndarray, " row"] | None:
        """The ranks."""
        ...

    @property
    def objective(self) -> Objective:
        """The objective that scores splits by pseudo-outcomes."""
        ...

    @property
    def start(self) -> Float64[np.ndarray, " parameter"]:
        """The solution that roots begin with; empty where a node needs none of its parent's."""
        ...

    def relabel(self, nodes: NodeRows, solution: Float64[np.ndarray, "node parameter"]) -> Relabelled:
        """Returns the pseudo-outcomes of the entries of a level.

        Args:
            nodes: The entries.
            solution: The solution of every node's parent.
        """
        ...


def sums_of_nodes(values: Float64[np.ndarray, "*column entry"], nodes: NodeRows) -> Float64[np.ndarray, "*column node"]:
    """Returns the sums of every node's entries, which do not depend on the order of these.

    They are summed as whole numbers of a unit that follows from the greatest value and the number of a node's entries.

    Example:
        >>> nodes = NodeRows.of([0, 1, 2], [0, 0, 1], np.ones(3), num_nodes=2)
        >>> sums_of_nodes(np.array([[1.5, 2.0, 4.0]]), nodes).tolist()
        [[3.5, 4.0]]
    """
    first, sizes = nodes.first[:-1], np.diff(nodes.first)
    greatest = np.maximum.reduceat(np.abs(values), first, axis=-1)
    with np.errstate(invalid="ignore"):
        power = np.where(np.isfinite(greatest), np.frexp(greatest)[1], 0) - BITS_OF_SUM + _bits(sizes)
    whole = np.rint(np.ldexp(values, -power[..., nodes.node]))
    is_finite = np.isfinite(whole)
    total = np.add.reduceat(np.where(is_finite, whole, 0).astype(np.int64), first, axis=-1)
    sums = np.ldexp(total.astype(np.float64), power)
    return np.where(np.logical_and.reduceat(is_finite, first, axis=-1), sums, np.nan)


def whole_sums(nodes: NodeRows, unit: float) -> Int64[np.ndarray, " boundary"]:
    """Returns the running sums of weights over all entries, 0 first, in whole numbers of a unit.

    Sums of a node's entries are differences of these, without a rounding error of other nodes. A weight counts one unit
    at least.

    Args:
        nodes: The entries.
        unit: The unit, which all trees of a forest share: 1 of whole weights, see `unit_of_weights`.
    """
    weight = nodes.weight
    if weight.dtype.kind == "f":
        weight = np.maximum(np.rint(weight / unit), 1)
    return np.concatenate([[0], np.cumsum(weight, dtype=np.int64)])


def unit_of_weights(weight: Real[np.ndarray, " row"] | None) -> float:
    """Returns the unit in which the weights of a table are counted: 1 if they are whole numbers of an integer type.

    >>> unit_of_weights(None), unit_of_weights(np.array([0.5, 3.0])) == 2.0**-30
    (1.0, True)
    """
    if weight is None or weight.dtype.kind in "iu":
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(weight.max())[1]) - BITS_OF_WEIGHT))


BITS_OF_WEIGHT = 32
"""Bits of the greatest weight of a table."""

BITS_OF_SUM = 61
"""Bits of a sum of whole numbers."""


def _bits(sizes: Int64[np.ndarray, " node"]) -> Int[np.ndarray, " node"]:
    """Bits of the numbers of terms."""
    return np.frexp(sizes.astype(np.float64))[1]
