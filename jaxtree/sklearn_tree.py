"""scikit-learn's fitted trees as node tables, so that all that works on a `Tree` works on them."""

import numpy as np
from jaxtyping import Bool, Float, Int, Int32
from sklearn.base import is_classifier
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import TREE_LEAF, TREE_UNDEFINED
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidTypeError
from jaxtree.tree import Tree

WHOLE = 1e-9
"""Weights of classes are whole numbers if each is within this share of one: scikit-learn stores shares."""


def from_sklearn(estimator: BaseDecisionTree) -> Tree:
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
    order, parent, depth = _breadth_first(table.children_left, table.children_right)
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
