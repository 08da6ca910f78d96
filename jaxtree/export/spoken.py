"""What the nodes of a fitted tree or forest say, for exports of estimators of one output."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.planes import Planes
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree

FORMS_OF_PLANES = "export_text, to_graphviz, plot.plot_tree, to_onnx, to_sql and to_c"


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
        planes: The planes that are the columns of an oblique tree; none for others.
    """

    schema: Schema
    trees: list[SpokenTree]
    classes: Shaped[np.ndarray, " class"] | None
    is_forest: bool
    planes: Planes | None = None

    @property
    def table(self) -> Schema:
        """The columns of the user's table."""
        return self.schema if self.planes is None else self.planes.schema


def spoken(estimator: Any, *, knows_planes: bool = False) -> Spoken:
    """Returns what the nodes of a fitted estimator say.

    Args:
        estimator: The estimator.
        knows_planes: Whether the caller knows oblique trees, whose thresholds of 0 are on planes.

    Raises:
        InvalidInputError: It has several outputs.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits; or splits by planes.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    _refuse_soft(estimator)
    if hasattr(type(estimator), "_over_planes"):
        return _spoken_over_planes(estimator, knows_planes)
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


def in_drawings(estimator: Any, feature_names: Sequence[str] | None = None) -> tuple[Any, Schema]:
    """Returns a fitted estimator and its columns as printed forms take them.

    An oblique tree comes as one of thresholds on its planes.

    Args:
        estimator: The estimator.
        feature_names: Other names of the columns of its table.

    Raises:
        InvalidInputError: There is not one name a column.
        InvalidTypeError: It decides by degrees, or is no single tree.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    _refuse_soft(estimator)
    check_is_fitted(estimator)
    if hasattr(type(estimator), "_over_planes"):
        over = estimator._over_planes(feature_names)
        return over, over.schema_
    if not hasattr(estimator, "tree_"):
        raise InvalidTypeError(f"estimator must be a single tree of hard splits, got {type(estimator).__name__}")
    schema = estimator.schema_
    return estimator, schema if feature_names is None else schema.renamed(feature_names)


def _refuse_soft(estimator: Any) -> None:
    """Raises InvalidTypeError of an estimator whose splits are not decided."""
    if hasattr(type(estimator), "harden"):
        raise InvalidTypeError(
            f"estimator must be a tree of hard splits, got {type(estimator).__name__}: harden() it first; the "
            f"forms of the hard tree are {FORMS_OF_PLANES}, with gate='axis' all others too"
        )


def _spoken_over_planes(estimator: Any, knows_planes: bool) -> Spoken:
    over = estimator._over_planes()
    if not knows_planes:
        raise InvalidTypeError(
            "estimator must be a tree or forest of splits along the axes, and "
            f"{type(estimator).__name__} splits by planes: its forms are {FORMS_OF_PLANES}"
        )
    if over.n_outputs_ != 1:
        raise InvalidInputError(f"only estimators of one output are exported, got one of {over.n_outputs_}")
    shares = np.asarray(estimator.tree_.value, np.float64)
    labels = shares.argmax(axis=1) if is_classifier(estimator) else None
    tree = replace(over.tree_, threshold=np.zeros_like(over.tree_.threshold))
    classes = estimator.classes_ if is_classifier(estimator) else None
    return Spoken(over.schema_, [SpokenTree(tree, shares, labels)], classes, False, estimator._planes())


def _tree(estimator: Any) -> SpokenTree:
    said = estimator._said_of_nodes(estimator.tree_, estimator._said)
    labels = said.labels if is_classifier(estimator) else None
    return SpokenTree(estimator.tree_, np.asarray(said.shares, np.float64), labels)


def _trees_of_forest(estimator: Any) -> list[SpokenTree]:
    said = np.split(np.asarray(estimator._say(0), np.float64), estimator.forest_.first_node[1:-1])
    return [SpokenTree(tree, shares, None) for tree, shares in zip(estimator.forest_, said, strict=True)]
