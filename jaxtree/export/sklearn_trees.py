"""Trees of scikit-learn: a fitted tree as one of them, and one of them as a node table."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int32
from sklearn.base import is_classifier
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED
from sklearn.tree._tree import Tree as SklearnTree
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.models import exported_model
from jaxtree.tree import ALL_BRANCHES, FittedModel, SplitKind, Tree


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
    model = exported_model(estimator)
    if model.averages_trees:
        raise InvalidInputError("only single trees become scikit-learn's: export the members, `estimators_`")
    _check(model, no_missing=no_missing)
    exported: Any = DecisionTreeClassifier() if model.classes else DecisionTreeRegressor()
    num_columns = len(model.schema.columns)
    exported.tree_ = _sklearn_tree(model, num_columns)
    exported.n_features_in_ = num_columns
    exported.n_outputs_ = 1
    exported.max_features_ = num_columns
    if hasattr(estimator, "feature_names_in_"):
        exported.feature_names_in_ = estimator.feature_names_in_
    if model.classes:
        exported.classes_ = model.classes[0]
        exported.n_classes_ = np.int64(len(model.classes[0]))
    return exported


def _check(model: FittedModel, *, no_missing: bool) -> None:
    """Raises InvalidInputError where scikit-learn has no such tree."""
    tree = model.tree
    worded = [column.name for column in model.schema.columns if column.kind not in ("numeric", "boolean")]
    if worded:
        raise InvalidInputError(f"scikit-learn's trees read numbers, and columns such as {worded[0]!r} are words")
    split = ~np.asarray(tree.is_leaf)
    if (np.asarray(tree.split_kind)[split] != SplitKind.THRESHOLD).any():
        raise InvalidInputError("scikit-learn's trees have thresholds, and the tree splits by category")
    missing = np.asarray(tree.missing_branch)[split]
    if (missing > 1).any() and not (no_missing and (missing[missing > 1] == ALL_BRANCHES).all()):
        raise InvalidInputError(
            "scikit-learn's trees send a missing value to a branch, and this tree shares it out or stops: fit with "
            "missing='learn', or export with no_missing=True for tables without missing values"
        )
    if model.node_label is not None and (model.node_value.argmax(axis=1) != model.node_label[0])[~split].any():
        raise InvalidInputError(
            "scikit-learn's trees predict the first of the most frequent classes, and this tree prefers another where "
            "classes are equally frequent"
        )


def _sklearn_tree(model: FittedModel, num_columns: int) -> SklearnTree:
    tree, num_values = model.tree, model.node_value.shape[1]
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
    made = SklearnTree(num_columns, np.array([num_values], np.intp), 1)
    values: Float64[np.ndarray, "node output class"] = np.ascontiguousarray(model.node_value[:, None, :])
    made.__setstate__({"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": values})
    return made


def _goes_left(tree: Tree):
    """Whether a missing value goes to branch 0; where it is shared out, whether that is the heavier one."""
    weight, first = np.asarray(tree.weight), np.asarray(tree.first_child)
    heavier = weight[first] >= weight[np.minimum(first + 1, weight.size - 1)]
    missing = np.asarray(tree.missing_branch)
    return np.where(missing == ALL_BRANCHES, heavier, missing == 0)


WHOLE = 1e-9
"""Weights of classes are whole numbers if each is within this share of one: scikit-learn stores shares."""


def from_sklearn(estimator: Any) -> Tree:
    """Returns the node table of a fitted tree of scikit-learn, its nodes in breadth-first order.

    Splits are thresholds on the columns of the table; there are no codes, so that rows are walked by values:
    `tree.apply(X)`, `tree.predict(X)`. scikit-learn rounds rows to float32 before it compares them with float64
    thresholds, and `tree.apply` does not: give it `X.astype(np.float32)` for the very same walks.

    The weights of the classes are its shares times the weights of the nodes. Of numbers, `target_sum` is what a node
    predicts times its weight: of "absolute_error" that is the median, and under monotone constraints the bounded value.
    `gain` is the decrease of the impurity that it stores. A missing value goes where its split learned.

    Args:
        estimator: A `DecisionTreeClassifier`, `DecisionTreeRegressor`, `ExtraTreeClassifier` or `ExtraTreeRegressor`,
            such as the members of a forest are.

    Raises:
        InvalidTypeError: The estimator is of another class.
        sklearn.exceptions.NotFittedError: It is not fitted.

    Example:
        >>> import sklearn.tree
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = from_sklearn(sklearn.tree.DecisionTreeClassifier(max_depth=2).fit(X, y))
        >>> tree.count.tolist()
        [[50.0, 50.0, 50.0], [50.0, 0.0, 0.0], [0.0, 50.0, 50.0], [0.0, 49.0, 5.0], [0.0, 1.0, 45.0]]
    """
    if not isinstance(estimator, BaseDecisionTree):
        raise InvalidTypeError(f"estimator must be a tree of sklearn.tree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    table = estimator.tree_
    order, parent, depth = _breadth_first(table.children_left.astype(np.int32), table.children_right.astype(np.int32))
    is_leaf = table.children_left[order] == TREE_LEAF
    weight, impurity = table.weighted_n_node_samples[order], table.impurity[order]
    num_classes = tuple(map(int, table.n_classes)) if is_classifier(estimator) else ()
    value = table.value[order] * weight[:, None, None]
    number, none = np.arange(order.size, dtype=np.int32), np.zeros(order.size, np.int32)
    return Tree(
        feature=np.where(is_leaf, TREE_UNDEFINED, table.feature[order]).astype(np.int32),
        code=none,
        next_code=none,
        threshold=np.where(is_leaf, float(TREE_UNDEFINED), table.threshold[order]),
        split_kind=none,
        subset=np.zeros((order.size, 0), np.uint32),
        missing_code=none,
        missing_branch=np.where(is_leaf | table.missing_go_to_left[order].astype(bool), 0, 1).astype(np.int32),
        first_child=_first_children(is_leaf),
        num_children=np.where(is_leaf, 0, 2).astype(np.int32),
        parent=parent,
        depth=depth,
        root=none,
        weight=weight,
        count=_class_weights(value, num_classes),
        target_sum=value[:, : 0 if num_classes else None, 0],
        num_rows=table.n_node_samples[order].astype(np.int32),
        impurity=impurity,
        gain=_gains(weight * impurity, weight, parent, is_leaf),
        num_nodes=np.array(number.size, np.int32),
        num_classes=num_classes,
        num_features=int(table.n_features),
    )


def _breadth_first(
    left: Int[np.ndarray, " node"], right: Int[np.ndarray, " node"]
) -> tuple[Int[np.ndarray, " node"], Int32[np.ndarray, " node"], Int32[np.ndarray, " node"]]:
    """scikit-learn's number of every node of ours, and our parents and depths."""
    level, parent, first = np.zeros(1, np.int64), np.zeros(1, np.int64), 0
    levels, parents = [], []
    while level.size:
        levels.append(level)
        parents.append(parent)
        is_split = left[level] != TREE_LEAF
        split = level[is_split]
        parent = np.repeat(first + np.flatnonzero(is_split), 2)
        first += level.size
        level = np.stack([left[split], right[split]], axis=1).ravel()
    depth = np.repeat(np.arange(len(levels)), [level.size for level in levels])
    return np.concatenate(levels), np.concatenate(parents).astype(np.int32), depth.astype(np.int32)


def _first_children(is_leaf: Bool[np.ndarray, " node"]) -> Int[np.ndarray, " node"]:
    """In breadth-first order the children of the k-th split node are nodes 2k + 1 and 2k + 2; 0 for a leaf."""
    return np.where(is_leaf, 0, 2 * np.cumsum(~is_leaf) - 1).astype(np.int32)


def _class_weights(
    value: Float[np.ndarray, "node output class"], num_classes: tuple[int, ...]
) -> Float[np.ndarray, "node column"]:
    """The weights of the classes, the outputs side by side, without the padding of outputs of fewer classes."""
    columns = [value[:, output, :size] for output, size in enumerate(num_classes)]
    count = np.concatenate([value[:, 0, :0], *columns], axis=1)
    whole = np.rint(count)
    return whole if np.allclose(count, whole, rtol=WHOLE, atol=0) else count


def _gains(
    risk: Float[np.ndarray, " node"],
    weight: Float[np.ndarray, " node"],
    parent: Int[np.ndarray, " node"],
    is_leaf: Bool[np.ndarray, " node"],
) -> Float[np.ndarray, " node"]:
    """What every split takes from the risk of its node, which is weight times impurity, over the weight."""
    below = np.bincount(parent[1:], risk[1:], minlength=risk.size)
    return np.where(is_leaf, 0.0, (risk - below) / weight)
