"""The fitted models of estimators that exports, drawings and explanations know; all others are refused in words.

An oblique tree compares *planes* with 0 where another tree compares a column with a threshold. A plane sums *terms*: a
scaled number of a column, or 1 where a column has a category, or where it is missing.
"""

import enum
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.sklearn_compat import BaseSearchCV
from jaxtree.table.schema import Schema
from jaxtree.tree.kinds import ModelKind, keeps_rows, kind_of
from jaxtree.tree.model import FittedModel


class PlaneTermKind(enum.IntEnum):
    """How a term follows from its column's value; a missing value is 0 except in the last."""

    NUMBER = 0
    CATEGORY = 1
    MISSING = 2


class Planes(NamedTuple):
    """The planes of a tree.

    Attributes:
        schema: The table that they are of.
        column: The column that each term reads.
        kind: A `PlaneTermKind`.
        middle: The number that is subtracted from a number; the code of a category; 0 for others.
        unit: The number by which it is divided then; 1 for others.
        weight: The factor of every term. Terms are rounded to float32, as the tree reads them, sums are of doubles.
        offset: The number that is added to the sum.
    """

    schema: Schema
    column: Int[np.ndarray, " term"]
    kind: Int[np.ndarray, " term"]
    middle: Float64[np.ndarray, " term"]
    unit: Float64[np.ndarray, " term"]
    weight: Float64[np.ndarray, "plane term"]
    offset: Float64[np.ndarray, " plane"]


FORMS_OF_RATIOS = "to_html, to_onnx, to_sql, to_c, to_jax_export and to_dataframe"
FORMS_OF_PLANES = (
    "export_text, to_graphviz, plot.plot_tree, to_html, to_dataframe, to_onnx, to_sql, to_c and to_jax_export"
)


def best_of_search(estimator: Any) -> Any:
    """Returns the best estimator of a fitted search over settings, and any other estimator as it is.

    Raises:
        InvalidInputError: The search has fitted no best estimator.
        sklearn.exceptions.NotFittedError: It is not fitted.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, SearchCV
        >>> search = SearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=2).fit(*load_iris(return_X_y=True))
        >>> best_of_search(search)
        DecisionTreeClassifier(max_depth=3)
    """
    if not isinstance(estimator, BaseSearchCV):
        return estimator
    check_is_fitted(estimator, "cv_results_")
    if not hasattr(estimator, "best_estimator_"):
        raise InvalidInputError(
            f"{type(estimator).__name__} has no best estimator, as it was fitted with refit={estimator.refit!r} or was "
            "interrupted: fit it with refit=True, or give an estimator"
        )
    return estimator.best_estimator_


def exported_model(estimator: Any, *, one_tree: bool = False, no_missing: bool = True) -> FittedModel:
    """Returns the model of a fitted tree or forest of one output, whose splits are along the axes.

    Args:
        estimator: The estimator.
        one_tree: Whether forests are refused.
        no_missing: Whether rows miss no value, so that a tree may share out such rows among all branches.

    Raises:
        InvalidInputError: It has several outputs, is a forest, or shares out rows, where that is refused.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits; or splits by planes.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    model = model_of_one_output(estimator)
    if one_tree and model.averages_trees:
        of_many = ": give one of its trees, `estimators_`" if kind_of(estimator) != ModelKind.MOMENT else ""
        raise InvalidInputError(f"estimator must be a single tree, got a forest{of_many}")
    if keeps_rows(estimator):
        raise InvalidTypeError(
            f"a {type(estimator).__name__} predicts from the rows that its leaves keep, and not from numbers at nodes: "
            "its forms are to_html and plot_dependence"
        )
    if _splits_by_planes(estimator):
        raise InvalidTypeError(
            "estimator must be a tree or forest of splits along the axes, and "
            f"{type(estimator).__name__} splits by planes: its forms are {FORMS_OF_PLANES}"
        )
    shared = np.flatnonzero(model.predictor.shares_out)
    if shared.size and not no_missing:
        column = model.schema.columns[model.tree.feature[shared[0]]]
        raise InvalidInputError(
            f"the tree shares out rows whose {column.name!r} is missing among all branches, which this form "
            "cannot express: fit with missing='learn', or export with no_missing=True for rows that have no missing "
            "value and no unseen category"
        )
    return model


def exported_with_planes(estimator: Any, *, no_missing: bool) -> tuple[FittedModel, Planes | None]:
    """Returns the same, also of an oblique tree: then as one of thresholds of 0 on the planes that stand behind it."""
    if not _splits_by_planes(estimator):
        return exported_model(estimator, no_missing=no_missing), None
    return on_planes(model_of_one_output(estimator)), estimator.planes()


def on_planes(model: FittedModel) -> FittedModel:
    """Returns the model of an oblique tree with thresholds of 0 on its planes, with no words in them."""
    nodes = replace(model.tree, threshold=np.zeros_like(model.tree.threshold))
    return replace(model, forest=replace(model.forest, nodes=nodes))


def drawn_model(
    estimator: Any, feature_names: Iterable[Any] | None = None, most_terms: int | None = None
) -> FittedModel:
    """Returns the model of a fitted tree as printed forms take it; an oblique tree's is one of thresholds on planes.

    Args:
        estimator: The estimator.
        feature_names: Other names of the columns of its table.
        most_terms: The most terms of a plane that its words have.

    Raises:
        InvalidInputError: There is not one name a column.
        InvalidTypeError: It decides by degrees, or is no single tree.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    _refuse_soft(estimator)
    check_is_fitted(estimator)
    kind = kind_of(estimator)
    if kind is None or not kind.is_one_tree:
        of_many = ": give one of its trees, `estimators_`" if kind is not None and kind.has_estimators else ""
        raise InvalidTypeError(
            f"estimator must be a single tree of hard splits, got {type(estimator).__name__}{of_many}"
        )
    if _splits_by_planes(estimator):
        return estimator.model_of_planes(feature_names, most_terms)
    model = estimator.model_
    return model if feature_names is None else replace(model, schema=model.schema.renamed(feature_names))


def _splits_by_planes(estimator: Any) -> bool:
    return kind_of(estimator) == ModelKind.PLANES


def _refuse_soft(estimator: Any) -> None:
    """Raises InvalidTypeError of an estimator whose splits are not decided."""
    if kind_of(estimator) == ModelKind.SOFT:
        raise InvalidTypeError(
            f"estimator must be a tree of hard splits, got {type(estimator).__name__}: harden() it first; the "
            f"forms of the hard tree are {FORMS_OF_PLANES}, with gate='axis' all others too"
        )


def model_of_one_output(estimator: Any) -> FittedModel:
    """Returns the model of a fitted tree or forest.

    Raises:
        InvalidInputError: It has several outputs.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    _refuse_soft(estimator)
    if kind_of(estimator) is None:
        raise InvalidTypeError(f"estimator must be a tree or forest of jaxtree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    model = estimator.model_
    if model.num_outputs != 1:
        raise InvalidInputError(f"estimator must have one output, got {model.num_outputs}")
    return model
