"""C4.5's collapse: subtrees that make no fewer training errors than a leaf become one."""

from jaxtyping import Bool

from jaxtree.arrays import AnyArray
from jaxtree.pruning.from_below import sum_over_leaves
from jaxtree.pruning.inputs import as_float64, check_classes, in_float64
from jaxtree.tree import Tree

COLLAPSE_TOLERANCE = 1e-3
"""By how much fewer errors do not count."""


@in_float64
def collapse(tree: Tree) -> Bool[AnyArray, " node"]:
    """Returns the nodes whose leaves together make no fewer training errors than they would as leaves.

    Errors are the weight that is not of the node's majority class; 1e-3 fewer do not count (Quinlan, *C4.5:
    Programs for Machine Learning*, 1993; J48 without `-O`).

    Args:
        tree: A tree of classes of one output with its root at node 0.

    Raises:
        InvalidInputError: The tree is of numbers, or of several outputs.

    Example:
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> tree = DecisionTreeClassifier().fit([[0.0], [0.0], [1.0], [1.0], [1.0]], [0, 0, 0, 0, 1]).tree_
        >>> tree.n_leaves, take_tree(tree, collapsed=collapse(tree)).n_leaves
        (2, 1)
    """
    check_classes(tree, "collapsing", of_one_output=True)
    own = as_float64(tree.weight) - as_float64(tree.count).max(axis=1)
    return (sum_over_leaves(tree, own) >= own - COLLAPSE_TOLERANCE) & ~tree.is_leaf
