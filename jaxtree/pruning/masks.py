"""What masks do to a tree: stopping it there, and which nodes are left."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Int

from jaxtree.tree import Tree


def stop_at(tree: Tree, collapsed: Bool[np.ndarray, " node"]) -> Tree:
    """Returns the tree with collapsed nodes as leaves; what was below them stays in the table, where no walk comes.

    Prunings that look at a whole tree can so follow one another on one table, and their masks unite by `|`.
    """
    num_children = np.where(collapsed, 0, np.asarray(tree.num_children)).astype(np.int32)
    return dataclasses.replace(tree, num_children=num_children)


def survivors(tree: Tree, collapsed: Bool[np.ndarray, "mask node"]) -> Bool[np.ndarray, "mask node"]:
    """Returns which nodes walks still come to under each mask: the root, and the children of those that go on.

    On the host; a tree with its root at node 0.
    """
    kept = np.zeros(collapsed.shape[::-1], bool)
    kept[0] = True
    goes_on = ~collapsed.T & ~np.asarray(tree.is_leaf)[:, None]
    for nodes in levels(tree)[1:]:
        parent = np.asarray(tree.parent)[nodes]
        kept[nodes] = kept[parent] & goes_on[parent]
    return kept.T


def levels(tree: Tree) -> list[Int[np.ndarray, " node"]]:
    """The nodes of every depth, the root's first."""
    depth = np.asarray(tree.depth)
    by_depth = np.argsort(depth, kind="stable")
    return np.split(by_depth, np.cumsum(np.bincount(depth))[:-1])


def ends_under(tree: Tree, collapsed: Bool[np.ndarray, " node"]) -> Int[np.ndarray, " node"]:
    """Returns, for a walk that ends at each node, where it ends under the mask: at its first collapsed node."""
    end, parent = np.arange(tree.capacity), np.asarray(tree.parent)
    stops = np.asarray(collapsed) | np.asarray(tree.is_leaf)
    for nodes in levels(tree)[1:]:
        above = end[parent[nodes]]
        end[nodes] = np.where(stops[above], above, nodes)
    return end
