"""Where the nodes of a tree stand, and sums and products along its paths.

A path is followed by doubling: after k steps every node knows what lies up to $2^k$ edges above it. That takes a fixed
number of steps, so that it has a gradient and no loop over levels, however deep the tree.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Int, Num, Real, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.buckets import node_bucket
from jaxtree.tree import Tree

FEWEST_PLACES = 64
"""Inner nodes are padded to a power of two, this at least."""


class Skeleton(NamedTuple):
    """The links of a node table, of a tree on the host padded to a bucket with leaves that no walk reaches.

    In a tree that was stopped, nodes may stand below a leaf; no row comes there, so sums of rows need not mind them.
    """

    parent: Int[AnyArray, " node"]
    first_child: Int[AnyArray, " node"]
    num_children: Int[AnyArray, " node"]
    depth: Int[AnyArray, " node"]


class Inner(NamedTuple):
    """A list of the root and all inner nodes, and maybe others; only inner nodes matter to a draw.

    Attributes:
        node: The node at every place of the list; the root at the first. Spare places hold a leaf.
        above: The place of every node's parent.
    """

    node: Int[AnyArray, " place"]
    above: Int[AnyArray, " node"]

    @property
    def parent(self) -> Int[AnyArray, " place"]:
        """The place of the node above every place's."""
        return self.above[self.node]


def skeleton_of(tree: Tree) -> Skeleton:
    """The links of a tree; a traced one's are not padded."""
    links = (getattr(tree, name) for name in Skeleton._fields)
    return Skeleton(*links) if is_traced(tree) else Skeleton(*map(pad_to_bucket, links))


def inner_nodes(skeleton: Skeleton) -> Inner:
    """The inner nodes; of a traced tree, which cannot be counted, all nodes."""
    if is_traced(skeleton):
        return Inner(jnp.arange(len(skeleton.parent), dtype=jnp.int32), skeleton.parent)
    # The root is in the list also as a leaf, where a stopped tree may still have inner nodes that no walk reaches.
    inner = np.concatenate([[0], 1 + np.flatnonzero(skeleton.num_children[1:] > 0)]).astype(np.int32)
    size = max(FEWEST_PLACES, 1 << (inner.size - 1).bit_length())
    place = np.zeros(len(skeleton.parent), np.int32)
    place[inner] = np.arange(inner.size)
    leaf = np.argmin(skeleton.num_children).astype(np.int32)
    return Inner(np.concatenate([inner, np.full(size - inner.size, leaf)]), place[skeleton.parent])


def is_traced(*values: object) -> bool:
    """Whether any of the arrays is being traced."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))


def pad_to_bucket(values: Shaped[AnyArray, "node *column"]) -> Shaped[np.ndarray, "padded *column"]:
    """Pads a table over the nodes with zeros, on the host."""
    values = np.asarray(values)
    return np.pad(values, [(0, node_bucket(len(values)) - len(values))] + [(0, 0)] * (values.ndim - 1))


def trim(values: Shaped[AnyArray, "*batch"], num_nodes: int, axis: int = -1) -> Shaped[AnyArray, "*trimmed"]:
    """Takes the padding off a table's axis of nodes; what is not traced comes to the host, where that is free."""
    values = values if is_traced(values) else np.asarray(values)
    return values[(..., slice(num_nodes), *[slice(None)] * (-1 - axis))]


def along_path(
    combine: Callable[[Array, Array], Array],
    values: Shaped[Array, "*batch"],
    parent: Int[Array, " node"],
    axis: int = -1,
) -> Shaped[Array, "*batch"]:
    """Combines the value of every node with those of all nodes above it.

    Args:
        combine: An associative and commutative function; the root's value must combine with itself to itself.
        values: The values.
        parent: The node above; the root's is itself.
        axis: The axis of the nodes.
    """

    def double(_, state):
        values, above = state
        return combine(values, jnp.take(values, above, axis=axis, mode="clip")), above[above]

    return lax.fori_loop(0, _num_doublings(parent), double, (values, jnp.asarray(parent)))[0]


def sum_below(
    skeleton: Skeleton,
    values: Num[Array, "*batch node"],
    factor: Real[Array, "*batch node"] | None = None,
) -> Num[Array, "*batch node"]:
    r"""$S_v = x_v + \sum_c f_c\, S_c$ over the children c of every node; the factors f are 1 if not given.

    After k steps a node's sum has the terms of up to $2^k$ edges below it, and its factor is that of as many above.
    """
    num_nodes = skeleton.parent.shape[0]
    values, factor = jnp.asarray(values), jnp.ones_like(values) if factor is None else factor

    def double(_, state):
        values, factor, above = state
        values = values.at[..., above].add(factor * values, mode="drop")
        factor = factor * factor.at[..., above].get(mode="fill", fill_value=1)
        return values, factor, above.at[above].get(mode="fill", fill_value=num_nodes)

    above = jnp.where(skeleton.depth > 0, skeleton.parent, num_nodes)
    return lax.fori_loop(0, _num_doublings(above), double, (values, factor, above))[0]


def sum_over_children(skeleton: Skeleton, values: Num[Array, "*batch node"]) -> Num[Array, "*batch node"]:
    """The sum of a value over the children of every node."""
    return jnp.zeros_like(values).at[..., skeleton.parent].add(jnp.where(skeleton.depth > 0, values, 0))


def _num_doublings(nodes: Int[Array, " node"]) -> int:
    """Steps after which the deepest node of such a table has seen its root."""
    return (nodes.shape[0] - 1).bit_length()
