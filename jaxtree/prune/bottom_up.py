"""Sums and choices from the leaves up.

The table is read once, from its last node to its first. Parents stand before their children, so a node's own value is
settled when its turn comes, however deep the tree; a batch of values is carried along.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Real

from jaxtree.arrays import AnyArray, FloatLike, library_of
from jaxtree.compilation import compiled
from jaxtree.prune.inputs import as_float64, in_float64
from jaxtree.tree import Tree
from jaxtree.tree.paths import feeds_parent, pad_to_bucket


class _Rule(NamedTuple):
    """How a node's value follows from its own number and its children's, and how values of siblings are joined."""

    value: Callable
    join: Callable


def _of_leaves(own, below, is_leaf, slack):
    return jnp.where(is_leaf, own, below)


def _of_either(own, below, is_leaf, slack):
    return jnp.maximum(own, below)


def _of_cheaper(own, below, is_leaf, slack):
    return jnp.where(is_leaf | (own <= below + slack), own, below)


_SUM = _Rule(_of_leaves, jnp.add)
_GREATEST = _Rule(_of_either, jnp.maximum)
_CHEAPEST = _Rule(_of_cheaper, jnp.add)


def sum_over_children(tree: Tree, values: Real[AnyArray, "node column"]) -> Float[AnyArray, "node column"]:
    """The sums of values over the children of every node; 0 for a leaf."""
    fed, parent = feeds_parent(tree)[:, None], tree.parent
    if library_of(parent, values) is jnp:
        values = as_float64(values)
        return jnp.zeros_like(values).at[parent].add(jnp.where(fed, values, 0.0))
    num_nodes, columns = values.shape
    cell = parent[:, None].astype(np.int64) * columns + np.arange(columns)
    sums = np.bincount(cell.ravel(), np.where(fed, values, 0.0).ravel(), minlength=num_nodes * columns)
    return sums.reshape(num_nodes, columns)


def sum_over_leaves(tree: Tree, values: Real[AnyArray, "*batch node"]) -> Float[AnyArray, "*batch node"]:
    """The sum of values over the leaves below every node; a leaf's own for a leaf."""
    below = _fold(tree, values, None, 0.0, _SUM)
    return library_of(below).where(tree.is_leaf, values, below)


def max_over_splits(tree: Tree, values: Real[AnyArray, "*batch node"]) -> Float[AnyArray, "*batch node"]:
    """The greatest of the values of a node and of all split nodes below it; minus infinity for a leaf."""
    library = library_of(tree.num_children, values)
    values = library.where(tree.is_leaf, -np.inf, values)
    return library.maximum(values, _fold(tree, values, np.full(tree.depth.shape, -np.inf), 0.0, _GREATEST))


def collapse_to_cheapest(
    tree: Tree,
    own: Real[AnyArray, "*batch node"],
    stays: Real[AnyArray, " node"] | None = None,
    slack: FloatLike = 0.0,
) -> Bool[AnyArray, "*batch node"]:
    r"""Returns the nodes that cost no more as leaves than the subtrees below them, these pruned by the same rule.

    The subtree of a node t costs $C(t) = s_t + \sum_b \min(c_b, C(b))$ over its children b: what comes out is the
    smallest of the cheapest subtrees.

    Args:
        tree: A tree with its root at node 0.
        own: The cost $c_t$ of every node as a leaf.
        stays: What a split node costs beside its children, $s_t$; 0 if not given.
        slack: By how much more a leaf may cost and still be taken.
    """
    below = _fold(tree, own, stays, slack, _CHEAPEST)
    return (own <= below + slack) & ~tree.is_leaf


@in_float64
def _fold(tree: Tree, own, start, slack, rule: _Rule) -> Float[AnyArray, "*batch node"]:
    """What is joined at every node from its children, beginning with `start`, or 0."""
    library = library_of(tree.parent, tree.num_children, own, slack)
    nodes = tree.parent, feeds_parent(tree), tree.is_leaf
    values = library.moveaxis(as_float64(own), -1, 0)
    start = np.zeros(tree.parent.shape) if start is None else as_float64(start)
    start = library.broadcast_to(start.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    if library is jnp:
        return jnp.moveaxis(_read_from_last(*nodes, values, start, slack, rule=rule), 0, -1)
    size = len(values)
    arrays = (pad_to_bucket(array) for array in (*nodes, values, start))
    return np.moveaxis(np.asarray(_read_from_last(*arrays, slack, rule=rule))[:size], 0, -1)


@compiled("rule")
def _read_from_last(
    parent: Int[Array, " node"],
    feeds: Bool[Array, " node"],
    is_leaf: Bool[Array, " node"],
    own: Float[Array, "node *batch"],
    start: Float[Array, "node *batch"],
    slack: Float[Array, ""],
    *,
    rule: _Rule,
) -> Float[Array, "node *batch"]:
    size = len(parent)

    def visit(i, joined):
        node = size - 1 - i
        above = parent[node]
        value = rule.value(own[node], joined[node], is_leaf[node], slack)
        fed = jnp.where(feeds[node], rule.join(joined[above], value), joined[above])
        return joined.at[above].set(fed)

    return lax.fori_loop(0, size, visit, start)
