"""How much each column counts: importances in the order of charts, with their names and their meaning."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64
from sklearn.utils import Bunch

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.tree.kinds import ModelKind, kind_of

MOST_COLUMNS = 15
"""Columns that a chart shows, the most important ones."""


class Importances(NamedTuple):
    """Importances of columns, the greatest first.

    Attributes:
        place: The positions of the columns.
        names: Their names.
        values: How much they count.
        deviations: The standard deviations of these over repetitions; None where nothing was repeated.
        meaning: The meaning of the numbers, in words.
    """

    place: list[int]
    names: list[str]
    values: Float64[np.ndarray, " column"]
    deviations: Float64[np.ndarray, " column"] | None
    meaning: str


def importances_of(estimator: Any, given: Any = None) -> Importances:
    """Returns the importances of an estimator, or given ones.

    Its own are `feature_importances_`. A tree of planes has the sizes of a column's weights in all planes,
    times the rows that each parts; a forest with weights of leaves has the rows that the splits on a column part.

    Args:
        estimator: A fitted estimator.
        given: A number a column, or what `sklearn.inspection.permutation_importance` returns; its own if not given.

    Raises:
        InvalidInputError: There is not one number a column, or there are importances by several scorers.
        InvalidTypeError: None are given, and the estimator has none.
    """
    names = estimator.encoder_.schema_.column_names
    if isinstance(given, dict) and "importances_mean" not in given:
        raise InvalidInputError(f"importances by several scorers are drawn one by one, got {', '.join(given)}")
    deviations, meaning = None, "importance"
    if given is None:
        values, meaning = _own_importances(estimator)
    elif isinstance(given, Bunch):
        values, deviations = given.importances_mean, given.importances_std
        meaning = "loss of score when the column is shuffled"
    else:
        values = np.asarray(given, np.float64)
    if values.shape != (len(names),):
        raise InvalidInputError(
            f"importances must be one number for each of {len(names)} columns, got shape {values.shape}"
        )
    order = np.argsort(-values, kind="stable")
    return Importances(
        order.tolist(),
        [names[place] for place in order],
        values[order],
        None if deviations is None else deviations[order],
        meaning,
    )


MEANINGS = {
    ModelKind.TREE: "share of the impurity that splits on the column remove",
    ModelKind.FOREST: "share of the impurity that splits on the column remove",
    ModelKind.PLANES: "share of the weights in planes",
    ModelKind.WEIGHTED: "share of the rows that splits on the column part",
    ModelKind.MOMENT: "share of the differences between branches that splits on the column make",
    ModelKind.TERMS: "share of the mean size of what terms add",
}
"""The meaning of importances by the kind of a model; all others have a share of the loss that splits save."""


def _own_importances(estimator: Any) -> tuple[Float[np.ndarray, " column"], str]:
    """The importances that a model has of itself, and their meaning."""
    kind, schema = kind_of(estimator), estimator.encoder_.schema_
    if kind is None or kind == ModelKind.SOFT:
        raise InvalidTypeError(
            f"{type(estimator).__name__} has no importances of its own: give those of "
            'jaxtree.importances(estimator, kind="permutation", X=X, y=y)'
        )
    meaning = MEANINGS.get(kind, "share of the loss that splits on the column save")
    if kind == ModelKind.PLANES:
        tree = estimator.tree_
        size = (np.abs(tree.normal) * tree.weight[:, None]).sum(axis=0)
        values = np.array([size[tree.inputs.columns_of(place)].sum() for place in range(len(schema.columns))])
    elif kind == ModelKind.WEIGHTED:
        nodes = estimator.forest_.nodes
        inner = np.flatnonzero(~np.asarray(nodes.is_leaf))
        values = np.bincount(nodes.feature[inner], nodes.weight[inner], len(schema.columns))
    else:
        return np.asarray(estimator.feature_importances_, np.float64), meaning
    return values / (values.sum() or 1.0), meaning
