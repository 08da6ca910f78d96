"""The tree that best-first growth would stop at.

Which split a node makes does not depend on when it is made, so a tree grown best-first to a number of
leaves is part of the full one: what is left once all other splits are collapsed.
"""

import heapq

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Int32

from jaxtree.arrays import AnyArray
from jaxtree.pruning.inputs import Number, as_float64, check_numbers, in_float64, library_of
from jaxtree.tree import Tree


def max_leaf_nodes(tree: Tree, max_leaf_nodes: Number) -> Bool[AnyArray, "... node"]:
    """Returns the nodes collapsed by stopping at a number of leaves; the split of greatest weighted gain comes first.

    Of equal gains that of the first node comes first. A multiway split that would make too many leaves ends the growth.
    (Shi, *Best-first decision tree learning*, 2007; scikit-learn's `max_leaf_nodes`.) One number or many: the splits
    are put in order once. Of n nodes that takes O(n log n) on the host, and O(n^2) for a tree that is traced.

    Args:
        tree: A tree with its root at node 0.
        max_leaf_nodes: The most leaves, at least 1; an array gives a mask for each.

    Raises:
        InvalidInputError: There may be fewer than 1 leaf.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in max_leaf_nodes(tree, np.array([2, 3, 5]))]
        [2, 3, 5]
    """
    most = check_numbers("max_leaf_nodes", max_leaf_nodes, least=1.0)
    return leaves_when_split(tree) > most[..., None]


def leaves_when_split(tree: Tree) -> Int[AnyArray, " node"]:
    """Returns how many leaves the tree has right after the split of each node, in best-first order; 0 for a leaf."""
    if library_of(tree.num_children, tree.gain) is jnp:
        return _leaves_by_search(tree)
    children, first_child = tree.num_children.tolist(), tree.first_child.tolist()
    benefit = (np.asarray(tree.gain, np.float64) * np.asarray(tree.weight, np.float64)).tolist()
    leaves_then, num_leaves = np.zeros(len(children), np.int64), 1
    queue = [(-benefit[0], 0)] if children[0] else []
    while queue:
        node = heapq.heappop(queue)[1]
        num_leaves += children[node] - 1
        leaves_then[node] = num_leaves
        for child in range(first_child[node], first_child[node] + children[node]):
            if children[child]:
                heapq.heappush(queue, (-benefit[child], child))
    return leaves_then


@in_float64
def _leaves_by_search(tree: Tree) -> Int32[Array, " node"]:
    """The same by looking at all nodes before each split, which can be traced."""
    benefit = as_float64(tree.gain) * as_float64(tree.weight)
    number = jnp.arange(benefit.size, dtype=jnp.int32)
    children = tree.num_children.astype(jnp.int32)

    def split_best(state):
        waits, leaves_then, num_leaves = state
        best = jnp.max(jnp.where(waits, benefit, -jnp.inf))
        # Not argmax, which does not lower in a caller's float32 program.
        node = jnp.min(jnp.where(waits & (benefit == best), number, benefit.size - 1))
        num_leaves = num_leaves + children[node] - 1
        is_new = (tree.parent == node) & (tree.depth > 0) & ~tree.is_leaf
        return (waits & (number != node)) | is_new, leaves_then.at[node].set(num_leaves), num_leaves

    start = (number == 0) & ~tree.is_leaf, jnp.zeros(benefit.size, jnp.int32), jnp.int32(1)
    return lax.while_loop(lambda state: jnp.any(state[0]), split_best, start)[1]
