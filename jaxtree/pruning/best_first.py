"""The tree that best-first growth would stop at.

Which split a node makes does not depend on when it is made, so a tree grown best-first to a number of
leaves is part of the full one: what is left once all other splits are collapsed.
"""

import heapq

import numpy as np
from jaxtyping import Bool

from jaxtree.errors import InvalidInputError
from jaxtree.tree import Tree


def best_first(tree: Tree, max_leaf_nodes: int) -> Bool[np.ndarray, " node"]:
    """Returns the nodes collapsed by stopping at a number of leaves; the split of greatest weighted gain comes first.

    Of equal gains that of the first node comes first. A multiway split that would make too many leaves ends the growth.
    (Shi, *Best-first decision tree learning*, 2007; scikit-learn's `max_leaf_nodes`.)

    Args:
        tree: A tree with its root at node 0, on the host.
        max_leaf_nodes: The most leaves, at least 2.

    Raises:
        InvalidInputError: There may be fewer than 2 leaves.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=best_first(tree, 3)).n_leaves
        3
    """
    if max_leaf_nodes < 2:
        raise InvalidInputError(f"max_leaf_nodes must be at least 2, got {max_leaf_nodes}")
    children = np.asarray(tree.num_children)
    benefit = np.asarray(tree.gain, np.float64) * np.asarray(tree.weight, np.float64)
    is_split, num_leaves = np.zeros(children.size, bool), 1
    queue = [(-benefit[0], 0)] if children[0] else []
    while queue:
        node = heapq.heappop(queue)[1]
        num_leaves += int(children[node]) - 1
        if num_leaves > max_leaf_nodes:
            break
        is_split[node] = True
        first = int(tree.first_child[node])
        for child in range(first, first + int(children[node])):
            if children[child]:
                heapq.heappush(queue, (-benefit[child], child))
    return ~is_split
