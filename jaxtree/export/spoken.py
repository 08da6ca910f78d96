"""What the nodes of a fitted tree or forest say, for exports of estimators of one output."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree


class SpokenTree(NamedTuple):
    """A tree, and what is predicted of a row that ends at each of its nodes.

    Attributes:
        tree: The tree, its root at node 0.
        shares: The share of every class; for numbers one column, the mean.
        labels: The place of the class in `classes_`; nothing for numbers, and for trees of a forest.
    """

    tree: Tree
    shares: Float[np.ndarray, "node column"]
    labels: Int[np.ndarray, " node"] | None


class Spoken(NamedTuple):
    """A tree, or the trees of a forest, whose shares have the same weight.

    Attributes:
        schema: The columns.
        trees: The trees.
        classes: The classes; none for numbers.
        is_forest: Whether the prediction is that of the mean of the trees, also if it has one.
    """

    schema: Schema
    trees: list[SpokenTree]
    classes: Shaped[np.ndarray, " class"] | None
    is_forest: bool


def spoken(estimator: Any) -> Spoken:
    """Returns what the nodes of a fitted estimator say.

    Raises:
        InvalidInputError: It has several outputs.
        InvalidTypeError: It is no tree or forest of jaxtree.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    is_forest = hasattr(type(estimator), "estimators_")
    if not hasattr(type(estimator), "schema_"):
        raise InvalidTypeError(f"estimator must be a tree or forest of jaxtree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    if not (hasattr(estimator, "forest_") if is_forest else hasattr(estimator, "tree_")):
        raise InvalidTypeError(f"estimator must be a tree or forest of hard splits, got {type(estimator).__name__}")
    if estimator.n_outputs_ != 1:
        raise InvalidInputError(f"only estimators of one output are exported, got one of {estimator.n_outputs_}")
    classes = estimator.classes_ if is_classifier(estimator) else None
    trees = _trees_of_forest(estimator) if is_forest else [_tree(estimator)]
    return Spoken(estimator.schema_, trees, classes, is_forest)


def _tree(estimator: Any) -> SpokenTree:
    said = estimator._said_of_nodes(estimator.tree_, estimator._said)
    labels = said.labels if is_classifier(estimator) else None
    return SpokenTree(estimator.tree_, np.asarray(said.shares, np.float64), labels)


def _trees_of_forest(estimator: Any) -> list[SpokenTree]:
    said = np.split(np.asarray(estimator._say(0), np.float64), estimator.forest_.first_node[1:-1])
    return [SpokenTree(tree, shares, None) for tree, shares in zip(estimator.forest_, said, strict=True)]
