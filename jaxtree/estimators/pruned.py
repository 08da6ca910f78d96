"""Prunings of a fitted estimator: to a mask, and the rates of dropout pruning that suit held-out rows."""

import copy
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.dropout.tuning import Tuned, tune
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.growing import mark_leaves
from jaxtree.table.reading import check_same_length
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
    return copy.copy(estimator).settle(mark_leaves(take_tree(estimator.tree_, collapsed=mask)))


def tune_dropout(
    estimator: BaseTree, X_val: Any, y_val: Any, *, per: str = "tree", loss: str | None = None, **options: Any
) -> Tuned:
    """Returns the rates of dropout pruning of least expected loss on held-out rows; see `jaxtree.dropout.tune`.

    The rows should be none that the tree was grown on: on those the least loss prunes nothing. Rows of classes that the
    estimator does not know are left out. Where missing values are shared out among the branches, a row whose value is
    missing stays at the node that asks for it.

    Args:
        estimator: A fitted tree of jaxtree, of one output.
        X_val: The held-out rows.
        y_val: Their classes, or numbers.
        per: What has a rate of its own: "tree" for one p and q, "level" or "node".
        loss: "log_loss" or "accuracy" of classes, "squared_error" of numbers; the first, or the last, if None.
        **options: `steps` and `learning_rate` of the descent.

    Raises:
        InvalidInputError: The estimator has several outputs, the table is not like the fitted one, or an option is not
            allowed.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_car_evaluation
        >>> X, y = load_car_evaluation(return_X_y=True, binary=True)
        >>> tree = ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
        >>> tuned = tune_dropout(tree, X[1296:], y[1296:], loss="accuracy")
        >>> print(f"{1 - tuned.expected_loss:.3f} instead of {tree.score(X[1296:], y[1296:]):.3f}")
        0.954 instead of 0.861
    """
    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1:
        raise InvalidInputError(f"dropout is tuned for trees of one output, got one of {estimator.n_outputs_}")
    codes, target = estimator.encode(X_val), estimator.read_target(y_val)[0]
    check_same_length(codes.shape[1], target)
    if estimator.tree_.num_classes:
        known = np.flatnonzero(target >= 0)
        codes, target = codes[:, known], target[known]
    loss = loss or ("log_loss" if estimator.tree_.num_classes else "squared_error")
    return tune(estimator.tree_, codes, target, per=per, loss=loss, **options)
