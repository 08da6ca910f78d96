"""Trees of so many leaves at most: of a tree grown level by level the splits that best-first growth makes.

A split does not depend on when it is made, so what best-first growth makes of the same rows is a part of the tree grown
to the greatest depth (see `jaxtree.prune.max_leaf_nodes`, which takes the same part of a tree on the host).
"""

import dataclasses

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int32

from jaxtree.tree import Tree


def cut_to_leaves(tree: Tree, max_leaf_nodes: Int32[Array, ""]) -> Tree:
    """Returns the tree with leaves where best-first growth to a number of leaves ends; nodes below stay in the table.

    The split that saves most comes first, of equal ones that of the first node. A multiway split that would make too
    many leaves ends the growth.

    Args:
        tree: A tree with its root at node 0.
        max_leaf_nodes: The most leaves, at least 1.
    """
    saved = tree.gain * tree.weight
    is_split = tree.num_children > 0

    def goes_on(state: tuple[Bool[Array, " node"], Bool[Array, " node"], Int32[Array, ""]]) -> Bool[Array, ""]:
        waits, _, num_leaves = state
        return jnp.any(waits) & (num_leaves <= max_leaf_nodes)

    def split_best(state: tuple[Bool[Array, " node"], Bool[Array, " node"], Int32[Array, ""]]):
        waits, made, num_leaves = state
        node = jnp.argmax(jnp.where(waits, saved, -jnp.inf))
        num_leaves = num_leaves + tree.num_children[node] - 1
        made = made.at[node].set(num_leaves <= max_leaf_nodes)
        is_new = (tree.parent == node) & (tree.depth > 0) & is_split
        return waits.at[node].set(False) | is_new, made, num_leaves

    number = jnp.arange(tree.capacity)
    start = (number == 0) & is_split, jnp.zeros(tree.capacity, bool), jnp.int32(1)
    made = lax.while_loop(goes_on, split_best, start)[1]
    return dataclasses.replace(tree, num_children=jnp.where(made, tree.num_children, 0))
