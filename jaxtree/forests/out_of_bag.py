"""Predictions of rows by the trees that have not drawn them (Breiman, *Out-of-bag estimation*, 1996)."""

import numpy as np
from jaxtyping import Float, Float64, UInt8

from jaxtree.forests.drawing import CELLS_AT_A_TIME, Drawing, draw_counts
from jaxtree.tree import Forest, Predictor

ROWS_AT_A_TIME = 2**13
"""Rows predicted in one go, which bounds the memory."""


def out_of_bag_means(
    forest: Forest,
    values: Float[np.ndarray, "row feature"],
    node_value: Float[np.ndarray, "node column"],
    drawing: Drawing,
) -> Float64[np.ndarray, "row column"]:
    """Returns the mean prediction of rows by the trees that have not drawn them; NaN for a row that all have drawn.

    Args:
        forest: The trees, with thresholds in units of the values.
        values: The rows: numbers, or the codes of categories; NaN is a missing value.
        node_value: The values of the nodes of all trees.
        drawing: How the trees drew their rows.

    Example:
        >>> import jax
        >>> from jaxtree import RandomForestRegressor
        >>> from jaxtree.forests.drawing import make_drawing
        >>> X, y = np.arange(10.0)[:, None], np.arange(10.0)
        >>> forest = RandomForestRegressor(50, random_state=0).fit(X, y)
        >>> drawing = make_drawing(jax.random.key(0), 10, 10)
        >>> out_of_bag_means(forest.forest_, X, forest.forest_.nodes.target_sum[:, :0], drawing).shape
        (10, 0)
    """
    predictor = Predictor(forest)
    unseen = _unseen(drawing, len(forest))
    means = np.empty((len(values), node_value.shape[1]))
    for first in range(0, len(values), ROWS_AT_A_TIME):
        rows = values[first : first + ROWS_AT_A_TIME]
        total, num_trees = np.zeros((len(rows), node_value.shape[1])), np.zeros(len(rows), np.int64)
        bits = unseen[:, first // 8 : (first + ROWS_AT_A_TIME) // 8]
        for end, of_tree in zip(predictor.ends_in_trees(rows).T, bits, strict=True):
            asked = np.flatnonzero(np.unpackbits(of_tree, count=len(rows)))
            total[asked] += predictor.mean_at(rows[asked], end[asked], node_value)
            num_trees[asked] += 1
        with np.errstate(invalid="ignore"):
            means[first : first + len(rows)] = total / num_trees[:, None]
    return means


def _unseen(drawing: Drawing, num_trees: int) -> UInt8[np.ndarray, "tree byte"]:
    """Whether every tree has not drawn every row, a bit each."""
    step = max(1, CELLS_AT_A_TIME // max(drawing.num_rows, drawing.num_draws))
    firsts = range(0, num_trees, step)
    counts = (draw_counts(drawing, first, min(step, num_trees - first)) for first in firsts)
    return np.concatenate([np.packbits(some == 0, axis=1) for some in counts])
