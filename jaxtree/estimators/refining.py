"""`refine`: a fitted tree made better without growing it."""

import copy
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.conventions import key_of
from jaxtree.estimators.growing import decode_thresholds
from jaxtree.optimal.costs import cost_of_classes, cost_of_numbers
from jaxtree.optimal.nodes import CodedTable, branching_at, node_table
from jaxtree.optimal.refine import refined
from jaxtree.table.reading import check_same_length
from jaxtree.table.target import check_sample_weight

AnyTree = TypeVar("AnyTree", bound=BaseTree)


def refine(
    estimator: AnyTree, X: Any, y: Any, sample_weight: Any = None, *, restarts: int = 0, random_state: Any = 0
) -> AnyTree:
    """Returns a copy of a fitted tree whose splits are chosen again together, until none can be better.

    The tree has no more leaves and is no deeper; a classifier makes no more errors on the rows, and of a regressor the
    squared error is no larger. See `jaxtree.optimal.refine` for the way.

    Args:
        estimator: A fitted tree of one target of classes, or of numbers; its splits are thresholds, or one category
            against the rest.
        X: The table that it was fitted on, or another one.
        y: Its target.
        sample_weight: The weight of every row; None is 1.
        restarts: Further starts, from the tree with some of its splits drawn at random: more of them find nothing
            worse on these rows.
        random_state: Seed of their draws, or a NumPy generator.

    Raises:
        InvalidInputError: The tree has other splits, several targets of classes, or votes; or an argument is not
            allowed.
        InvalidTypeError: The estimator is no tree.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
        >>> round(tree.score(X, y), 3), round(refine(tree, X, y).score(X, y), 3)
        (0.979, 0.981)
    """
    if isinstance(restarts, bool) or not isinstance(restarts, Integral) or restarts < 0:
        raise InvalidInputError(f"restarts must be an integer >= 0, got {restarts!r}")
    if not isinstance(estimator, BaseTree):
        raise InvalidTypeError(f"refine takes a tree such as DecisionTreeClassifier, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    if is_classifier(estimator) and estimator.n_outputs_ > 1:
        raise InvalidInputError(f"refine takes a tree of one target of classes, got {estimator.n_outputs_}")
    codes, target = estimator.encode(X), estimator.read_target(y)
    check_same_length(codes.shape[1], target[0])
    weight = check_sample_weight(sample_weight, target.shape[1])
    used = np.ones(target.shape[1], bool) if weight is None else weight > 0
    if is_classifier(estimator):
        used &= target[0] >= 0
    weight = None if weight is None else weight[used]
    schema = estimator.schema_
    table = CodedTable(codes[:, used], schema.num_values, schema.is_categorical)
    if is_classifier(estimator):
        costed = cost_of_classes(target[0, used], int(estimator.n_classes_), weight)
    else:
        costed = cost_of_numbers(target[:, used], weight)
    tree = branching_at(estimator.tree_, 0)
    better = refined(tree, table, costed, restarts=restarts, key=key_of(random_state) if restarts else None)
    copied = copy.copy(estimator)
    return copied.settle(decode_thresholds(node_table(better, table, costed), schema))
