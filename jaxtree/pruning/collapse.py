"""C4.5's collapse: subtrees that make no fewer training errors than a leaf become one."""

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.tree import Tree

COLLAPSE_TOLERANCE = 1e-3
"""By how much fewer errors do not count."""


def collapse(tree: Tree) -> Bool[np.ndarray, " node"]:
    """Returns the nodes whose leaves together make no fewer training errors than they would as leaves.

    Errors are the weight that is not of the node's majority class; 1e-3 fewer do not count (Quinlan, *C4.5:
    Programs for Machine Learning*, 1993; J48 without `-O`).

    Args:
        tree: A classification tree of one output with its root at node 0, on the host.
    """
    own = np.asarray(tree.weight, np.float64) - np.asarray(tree.count, np.float64).max(axis=1)
    return sum_over_leaves(tree, own) >= own - COLLAPSE_TOLERANCE


def sum_over_leaves(tree: Tree, values: Float[np.ndarray, " node"]) -> Float[np.ndarray, " node"]:
    """The sum of a value over the leaves below every node; a leaf's own for a leaf."""
    sums = np.where(tree.is_leaf, values, 0.0)
    depth, parent = np.asarray(tree.depth), np.asarray(tree.parent)
    for level in range(int(depth.max()), 0, -1):
        here = np.flatnonzero(depth == level)
        np.add.at(sums, parent[here], sums[here])
    return sums
