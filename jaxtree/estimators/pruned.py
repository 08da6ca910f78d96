"""A fitted estimator with a smaller tree."""

import copy
from typing import TypeVar

import numpy as np
from jaxtyping import Bool
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree
from jaxtree.growth.units import mark_leaves
from jaxtree.tree import take_tree

Fitted = TypeVar("Fitted", bound=BaseTree)


def prune_to(estimator: Fitted, collapsed: Bool[AnyArray, " node"]) -> Fitted:
    """Returns a copy of a fitted estimator whose tree ends at the collapsed nodes; what is below them is gone.

    Args:
        estimator: A fitted tree of jaxtree.
        collapsed: A mask of its `tree_`, such as the functions of `jaxtree.prune` make.

    Raises:
        InvalidInputError: The estimator is none of jaxtree's, or the mask does not have one truth value a node.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, prune
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
        >>> prune_to(tree, prune.cost_complexity(tree.tree_, 0.02) | prune.max_depth(tree.tree_, 2)).get_n_leaves()
        3
    """
    if not isinstance(estimator, BaseTree):
        raise InvalidInputError(f"estimator must be a fitted tree of jaxtree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    mask = np.asarray(collapsed)
    if mask.dtype != bool or mask.shape != (estimator.tree_.node_count,):
        raise InvalidInputError(
            f"collapsed must be a mask of the tree's {estimator.tree_.node_count} nodes, got shape {mask.shape} "
            f"of {mask.dtype}"
        )
    return copy.copy(estimator)._settle(mark_leaves(take_tree(estimator.tree_, collapsed=mask)))
