"""Sums and choices from the leaves up.

The table is read once, from its last node to its first. Parents stand before their children, so that the sum of a
node's children is complete when its turn comes, however deep the tree. A batch of values shares the pass.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Real

from jaxtree.arrays import AnyArray, FloatLike, library_of
from jaxtree.compilation import compiled
from jaxtree.prune.inputs import as_float64, in_float64
from jaxtree.tree import Tree
from jaxtree.tree.nodes import pad_to_bucket
from jaxtree.tree.paths import feeds_parent


def sum_over_leaves(
    tree: Tree, values: Real[AnyArray, "*batch node"], stays: Real[AnyArray, "*batch node"] | None = None
) -> Float[AnyArray, "*batch node"]:
    """The sum of values over the leaves below every node, a leaf's own for a leaf.

    If `stays` is given, a split node has the sum of these over the split nodes below it and its own as well.
    """
    below = _add_children(tree, values, stays, -np.inf)
    return library_of(below).where(tree.is_leaf, values, below)


def collapse_to_cheapest(
    tree: Tree,
    own: Real[AnyArray, "*batch node"],
    stays: Real[AnyArray, "*batch node"] | None = None,
    slack: FloatLike = 0.0,
) -> Bool[AnyArray, "*batch node"]:
    r"""Returns the nodes that cost no more as leaves than the subtrees below them, these pruned by the same rule.

    The subtree of a node t costs $C(t) = s_t + \sum_b \min(c_b, C(b))$ over its children b: what comes out is the
    smallest of the cheapest subtrees.

    Args:
        tree: A tree with its root at node 0.
        own: The cost $c_t$ of every node as a leaf.
        stays: The cost of a split node by itself, $s_t$; 0 if not given.
        slack: By how much more a leaf may cost and still be taken.
    """
    return (own <= _add_children(tree, own, stays, slack) + slack) & ~tree.is_leaf


@in_float64
def _add_children(tree: Tree, own, stays, slack) -> Float[AnyArray, "*batch node"]:
    """The cost of every subtree, where a leaf is cheaper up to the slack; minus infinity lets all splits stand."""
    library = library_of(tree.parent, tree.num_children, own, stays, slack)
    stays = np.zeros(tree.parent.shape) if stays is None else as_float64(stays)
    own, stays = (library.moveaxis(x, -1, 0) for x in library.broadcast_arrays(as_float64(own), stays))
    arrays = tree.parent, feeds_parent(tree), tree.is_leaf, own, stays
    if library is not np:
        return jnp.moveaxis(_read_from_last(*arrays, slack), 0, -1)
    below = np.asarray(_read_from_last(*map(pad_to_bucket, arrays), slack))
    return np.moveaxis(below[: len(own)], 0, -1)


@compiled()
def _read_from_last(
    parent: Int[Array, " node"],
    feeds: Bool[Array, " node"],
    is_leaf: Bool[Array, " node"],
    own: Float[Array, "node *batch"],
    stays: Float[Array, "node *batch"],
    slack: Float[Array, ""],
) -> Float[Array, "node *batch"]:
    size = len(parent)

    def visit(i, below):
        node = size - 1 - i
        is_end = is_leaf[node] | (own[node] <= below[node] + slack)
        value = jnp.where(feeds[node], jnp.where(is_end, own[node], below[node]), 0)
        return below.at[parent[node]].add(value)

    return lax.fori_loop(0, size, visit, stays)
