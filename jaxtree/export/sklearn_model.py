"""A tree as one of scikit-learn."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED
from sklearn.tree._tree import Tree as SklearnTree

from jaxtree.errors import InvalidInputError
from jaxtree.export.questions import SHARED_OUT
from jaxtree.export.spoken import Spoken, SpokenTree, spoken
from jaxtree.tree import SplitKind, Tree


def to_sklearn(estimator: Any, *, no_missing: bool = False) -> BaseDecisionTree:
    """Returns a fitted `sklearn.tree.DecisionTreeClassifier` or `DecisionTreeRegressor` with the same nodes.

    scikit-learn rounds every table to float32 before it compares values with thresholds, which stay what they are: its
    predictions equal jaxtree's of `X.astype(np.float32)`. The trees of a forest are exported one by one, from
    `estimators_`.

    Args:
        estimator: A fitted tree of one output whose splits are thresholds on numbers or truth values.
        no_missing: Allows a tree that shares out rows whose value is missing, for tables without missing values; the
            heavier branch stands in their place.

    Raises:
        InvalidInputError: scikit-learn has no such tree: it splits a column of words, has several outputs, shares out
            rows with missing values, or predicts another than the most frequent class of a node.
        InvalidTypeError: It is no tree of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> import jaxtree
        >>> X, y = load_iris(return_X_y=True)
        >>> to_sklearn(jaxtree.DecisionTreeClassifier(max_depth=2).fit(X, y)).score(X, y)
        0.96
    """
    said = spoken(estimator)
    if said.is_forest:
        raise InvalidInputError("only single trees become scikit-learn's: export the members, `estimators_`")
    (spoken_tree,) = said.trees
    _check(said, spoken_tree, no_missing=no_missing)
    exported: Any = DecisionTreeRegressor() if said.classes is None else DecisionTreeClassifier()
    num_columns = len(said.schema.columns)
    num_classes = 1 if said.classes is None else len(said.classes)
    exported.tree_ = _sklearn_tree(spoken_tree, num_columns, num_classes)
    exported.n_features_in_ = num_columns
    exported.n_outputs_ = 1
    exported.max_features_ = num_columns
    if hasattr(estimator, "feature_names_in_"):
        exported.feature_names_in_ = estimator.feature_names_in_
    if said.classes is not None:
        exported.classes_ = said.classes
        exported.n_classes_ = np.int64(num_classes)
    return exported


def _check(said: Spoken, spoken_tree: SpokenTree, *, no_missing: bool) -> None:
    """Raises InvalidInputError where scikit-learn has no such tree."""
    tree, shares, labels = spoken_tree
    worded = [column.name for column in said.schema.columns if column.kind not in ("numeric", "boolean")]
    if worded:
        raise InvalidInputError(f"scikit-learn's trees read numbers, and columns such as {worded[0]!r} are words")
    split = ~np.asarray(tree.is_leaf)
    if (np.asarray(tree.split_kind)[split] != SplitKind.THRESHOLD).any():
        raise InvalidInputError("scikit-learn's trees have thresholds, and the tree splits by category")
    missing = np.asarray(tree.missing_branch)[split]
    if (missing > 1).any() and not (no_missing and (missing[missing > 1] == SHARED_OUT).all()):
        raise InvalidInputError(
            "scikit-learn's trees send a missing value to a branch, and this tree shares it out or stops: fit with "
            "missing='learn', or export with no_missing=True for tables without missing values"
        )
    if labels is not None and (shares.argmax(axis=1) != labels)[~split].any():
        raise InvalidInputError(
            "scikit-learn's trees predict the first of the most frequent classes, and this tree prefers another where "
            "classes are equally frequent"
        )


def _sklearn_tree(spoken_tree: SpokenTree, num_columns: int, num_classes: int) -> SklearnTree:
    tree = spoken_tree.tree
    nodes: Any = np.zeros(tree.node_count, NODE_DTYPE)
    is_leaf = np.asarray(tree.is_leaf)
    first = np.asarray(tree.first_child)
    nodes["left_child"] = np.where(is_leaf, TREE_LEAF, first)
    nodes["right_child"] = np.where(is_leaf, TREE_LEAF, first + 1)
    nodes["feature"] = np.where(is_leaf, TREE_UNDEFINED, tree.feature)
    nodes["threshold"] = np.where(is_leaf, float(TREE_UNDEFINED), tree.threshold)
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = tree.num_rows
    nodes["weighted_n_node_samples"] = tree.weight
    nodes["missing_go_to_left"] = ~is_leaf & _goes_left(tree)
    made = SklearnTree(num_columns, np.array([num_classes], np.intp), 1)
    values: Float64[np.ndarray, "node output class"] = np.ascontiguousarray(spoken_tree.shares[:, None, :])
    made.__setstate__({"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": values})
    return made


def _goes_left(tree: Tree):
    """Whether a missing value goes to branch 0; where it is shared out, whether that is the heavier one."""
    weight, first = np.asarray(tree.weight), np.asarray(tree.first_child)
    heavier = weight[first] >= weight[np.minimum(first + 1, weight.size - 1)]
    missing = np.asarray(tree.missing_branch)
    return np.where(missing == SHARED_OUT, heavier, missing == 0)
