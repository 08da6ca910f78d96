"""Shapley values of the columns of a table, for every row and what is predicted of it."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.explain.blocks import fill, is_plain, values_of
from jaxtree.explain.edges import edges_of
from jaxtree.explain.kernel import sums, sums_against_rows
from jaxtree.export.spoken import Spoken, spoken


class ShapValues(NamedTuple):
    """Shapley values.

    Attributes:
        values: Of every row and column; of classes also for every class. With `base` they add up to the prediction.
        base: What is predicted of no row in particular.
    """

    values: Float64[np.ndarray, "row column *class"]
    base: Float64[np.ndarray, "*class"]


def shap_values(estimator: Any, X: Any, *, background: Any = None) -> ShapValues:
    r"""Returns the exact Shapley values of what a fitted tree or forest predicts: means, or shares of classes.

    The value of a column is its mean contribution over all orders in which columns become known. What is predicted
    where a column is not known is the mean over the training rows that reach a node (path-dependent TreeSHAP: Lundberg
    et al., *From local explanations to global understanding*, 2020), or over the rows of a background
    (interventional TreeSHAP). A column that is split one-hot is one column. Where a missing value shares out a row
    among branches, it says as much as if it were not known.

    The cost grows with the number of nodes and with half the most columns on a path, and for a background with its
    rows.

    Args:
        estimator: A fitted tree or forest of one output.
        X: A table.
        background: A table of rows to compare with; None for the training rows, as the nodes have counted them.

    Raises:
        InvalidInputError: The estimator has several outputs, or a table is not like the fitted one.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 2.0, 4.0, 6.0]
        >>> explained = shap_values(DecisionTreeRegressor().fit(X, y), [[1.0, 1.0]])
        >>> explained.base.item(), explained.values.tolist()
        (3.0, [[2.0, 1.0]])
    """
    said = spoken(estimator)
    values = values_of(estimator, X)
    edges = edges_of(said)
    phi, base = _zeros(said, len(values)), edges.base
    if background is not None:
        others = values_of(estimator, background)
        base = np.asarray(_predict(estimator, background), np.float64).reshape(len(others), -1).mean(axis=0)
    if edges.levels and len(values):
        static = {"num_columns": phi.shape[1], "is_plain": is_plain(edges)}
        if background is None:
            program, factor = partial(sums, **static), 1 / len(said.trees)
        else:
            program = partial(sums_against_rows, background=others.T, **static)
            factor = 1 / (len(said.trees) * len(others))
        fill(phi, program, edges, values, factor)
    if said.classes is None:
        return ShapValues(phi[:, :, 0], base[0])
    return ShapValues(phi, base)


def _predict(estimator: Any, X: Any) -> Float[np.ndarray, "row *class"]:
    return (estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.predict)(X)


def _zeros(said: Spoken, num_rows: int) -> Float64[np.ndarray, "row column output"]:
    return np.zeros((num_rows, len(said.schema.columns), said.trees[0].shares.shape[1]))
