"""Predictions in JAX of what the plain walk does not know: rows that are shared out among branches, and planes.

The *reach* of a node is the part of a row that comes to it; the prediction is the mean of all ends, by their reach.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int32

from jaxtree.arrays import AnyArray
from jaxtree.export.models import Planes, PlaneTermKind
from jaxtree.kernels.walk import branch_of
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import PROBABILITY_TOLERANCE
from jaxtree.tree.nodes import ALL_BRANCHES


class MeanOfParts(NamedTuple):
    """The walk of rows.

    Attributes:
        mean: The mean over the trees, and over the parts of a row.
        is_shared: Whether a row was shared out in any tree.
    """

    mean: Float[Array, "row column"]
    is_shared: Bool[Array, " row"]


def mean_of_shared_rows(
    forest: Forest,
) -> Callable[[Float[Array, "node column"], Float[Array, "row feature"]], MeanOfParts]:
    """Returns the mean of the values of the nodes where rows, or their parts, end, as a function of both.

    Args:
        forest: The trees.
    """
    double, single = _levels(forest, np.float64), _levels(forest, np.float32)

    def mean(node_value: Float[Array, "node column"], values: Float[Array, "row feature"]) -> MeanOfParts:
        levels = single if values.dtype == np.float32 else double
        features, reach = values.T, jnp.ones((len(forest), values.shape[0]), values.dtype)
        is_shared = jnp.zeros(values.shape[0], bool)
        total = jnp.zeros((values.shape[0], node_value.shape[1]), values.dtype)
        for level in levels:
            if not level.child.size:
                total += _times(reach, node_value[level.node])
                break
            value = features[level.feature]
            is_missing = jnp.isnan(value)
            is_out = is_missing & level.shares_out[:, None] & (reach[level.above] > 0)
            is_shared |= is_out.any(axis=0)
            known = branch_of(jnp.asarray(level.kind)[:, None], level.threshold[:, None], value, level.reader())
            branch = jnp.where(is_missing, level.missing_branch[:, None], known)
            taken = jnp.where(is_out, level.share[:, None], branch == level.branch[:, None])
            below = reach[level.above] * taken
            gone = jax.ops.segment_sum(below, level.above, num_segments=len(level.node), indices_are_sorted=True)
            total += _times(jnp.maximum(reach - gone, 0), node_value[level.node])
            reach = below
        return MeanOfParts(total / len(forest), is_shared)

    return mean


def planes_of_rows(planes: Planes) -> Callable[[Float[Array, "row feature"]], Float32[Array, "row plane"]]:
    """Returns the planes of rows, which are above 0 on one side, as a function of rows."""
    column, middle, unit = planes.column, planes.middle.astype(np.float32), planes.unit.astype(np.float32)
    weight, offset = planes.weight.T.astype(np.float32), planes.offset.astype(np.float32)

    def sums(values: Float[Array, "row feature"]) -> Float32[Array, "row plane"]:
        value = values[:, column]
        number = jnp.where(jnp.isnan(value), 0.0, (value - middle) / unit).astype(jnp.float32)
        kinds = [planes.kind == PlaneTermKind.NUMBER, planes.kind == PlaneTermKind.CATEGORY]
        term = jnp.select(kinds, [number, (value == middle).astype(jnp.float32)], jnp.isnan(value).astype(jnp.float32))
        return _times(term.T, weight) + offset

    return sums


class _Level(NamedTuple):
    """The nodes of one depth, and all children of theirs.

    Attributes:
        node: The nodes.
        above: The place of every child's parent among these.
        child: The children.
        branch: The branch of its parent that leads to each.
        share: Its share of the parent's training weight.
        feature: The feature that the parent compares; see `jaxtree.tree.nodes`.
        kind: How.
        threshold: The limit; of 32 bits rounded down.
        missing_branch: The branch of missing values.
        shares_out: Whether these are shared out.
        subset: The words of subsets.
    """

    node: np.ndarray
    above: np.ndarray
    child: np.ndarray
    branch: np.ndarray
    share: np.ndarray
    feature: np.ndarray
    kind: np.ndarray
    threshold: np.ndarray
    missing_branch: np.ndarray
    shares_out: np.ndarray
    subset: np.ndarray

    def reader(self) -> Callable[[Int32[Array, "child row"]], Array] | None:
        """Reads the words of subsets; None if no split has one."""
        subset = jnp.asarray(self.subset)
        last = self.subset.shape[1] - 1
        return None if last < 0 else lambda place: jnp.take_along_axis(subset, jnp.clip(place, 0, last), axis=1)


def _levels(forest: Forest, dtype: Any) -> list[_Level]:
    """The nodes of all trees, depth by depth, with floats of a type."""
    nodes = forest.nodes
    first_child, weight = np.asarray(nodes.first_child), np.asarray(nodes.weight)
    threshold, node, levels = np.asarray(nodes.threshold), forest.first_node[:-1], []
    threshold = round_down_to_float32(threshold) if dtype == np.float32 else threshold
    while node.size:
        number = np.asarray(nodes.num_children)[node]
        above = np.repeat(np.arange(node.size), number)
        branch = np.arange(above.size) - np.repeat(np.cumsum(number) - number, number)
        child = first_child[node[above]] + branch
        whole = np.bincount(above, weight[child], minlength=node.size)[above]
        share = np.divide(weight[child], whole, out=np.zeros(child.size), where=whole > 0)
        asks = node[above]
        levels.append(
            _Level(
                node,
                above,
                child,
                branch,
                share.astype(dtype),
                np.asarray(nodes.feature)[asks],
                np.asarray(nodes.split_kind)[asks],
                np.asarray(threshold)[asks],
                np.asarray(nodes.missing_branch)[asks],
                np.asarray(nodes.missing_branch)[asks] == ALL_BRANCHES,
                np.asarray(nodes.subset[asks]),
            )
        )
        node = child
    return levels


def _times(columns: Float[Array, "inner row"], matrix: Float[AnyArray, "inner column"]) -> Array:
    """The product of a transposed matrix with another, in all the digits of their type."""
    return jnp.matmul(columns.T, jnp.asarray(matrix), precision=jax.lax.Precision.HIGHEST)


def most_probable(shares: Float[Array, "row class"], order: np.ndarray) -> Int32[Array, " row"]:
    """The class of greatest share, of equal ones the first in an order; see `FittedModel.predict_label`."""
    ordered = shares[:, order]
    is_most = ordered >= ordered.max(axis=1, keepdims=True) - PROBABILITY_TOLERANCE
    return jnp.asarray(order, jnp.int32)[jnp.argmax(is_most, axis=1)]
