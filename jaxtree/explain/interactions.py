"""Shapley interaction values of pairs of columns, for every row and what is predicted of it."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.explain.blocks import fill, is_plain, values_of
from jaxtree.explain.edges import edges_of
from jaxtree.explain.pairs import pair_sums
from jaxtree.explain.shap import shap_values
from jaxtree.export.spoken import spoken


class ShapInteractions(NamedTuple):
    """Shapley interaction values.

    Attributes:
        values: Of every row and pair of columns, both orders alike; of classes also for every class. A column with
            itself has its main effect. Each row of the matrix adds up to the Shapley value of its column; with `base`
            all add up to the prediction.
        base: What is predicted of no row in particular.
    """

    values: Float64[np.ndarray, "row column column *class"]
    base: Float64[np.ndarray, "*class"]


def shap_interaction_values(estimator: Any, X: Any) -> ShapInteractions:
    r"""Returns the exact Shapley interaction values of what a fitted tree or forest predicts.

    The value of two columns is half of what knowing one changes in the contribution of the other, as a mean over all
    orders in which columns become known (Fujimoto, Kojadinovic and Marichal, 2006; for trees Lundberg et al., *From
    local explanations to global understanding*, 2020). What is predicted where a column is not known is the mean over
    the training rows that reach a node, as in `shap_values`.

    The cost is that of `shap_values` times about the depth of the trees.

    Args:
        estimator: A fitted tree or forest of one output.
        X: A table.

    Raises:
        InvalidInputError: The estimator has several outputs, or the table is not like the fitted one.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 0.0, 4.0]
        >>> shap_interaction_values(DecisionTreeRegressor().fit(X, y), [[1.0, 1.0]]).values.tolist()
        [[[1.0, 0.5], [0.5, 1.0]]]
    """
    main = shap_values(estimator, X)
    said, values = spoken(estimator), values_of(estimator, X)
    edges = edges_of(said)
    num_rows, num_columns = main.values.shape[:2]
    pairs = np.zeros((num_rows, num_columns, num_columns, edges.base.size))
    if edges.levels and num_rows:
        program = partial(pair_sums, num_columns=num_columns, is_plain=is_plain(edges))
        fill(pairs, program, edges, values, 1 / len(said.trees))
    pairs += pairs.swapaxes(1, 2)
    own = np.arange(num_columns)
    pairs[:, own, own] = 0
    pairs[:, own, own] = main.values.reshape(num_rows, num_columns, -1) - pairs.sum(axis=2)
    return ShapInteractions(pairs if said.classes is not None else pairs[..., 0], main.base)
