"""Errors of forests by the number of their trees, also of the rows that trees have not drawn."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from jaxtree.tree.model import FittedModel

MOST_ROWS = 4000
"""The most rows that errors are measured on, the first ones."""


def errors_by_trees(
    model: FittedModel,
    values: Float[np.ndarray, "row feature"],
    target: Real[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    unseen: Bool[np.ndarray, "row tree"] | None = None,
) -> Float[np.ndarray, " tree"]:
    """Returns the error of the first 1, 2, ... trees: the share of wrong rows, or the root mean squared error.

    Args:
        model: The forest.
        values: Encoded rows, of which the first `MOST_ROWS` count.
        target: Their classes as codes, or their numbers.
        weight: Their weights, above 0.
        unseen: Whether a tree has not drawn a row: its prediction is the mean over these trees alone.
    """
    values, target, weight = values[:MOST_ROWS], target[:MOST_ROWS], weight[:MOST_ROWS]
    ends = model.predictor.ends_in_trees(values)
    total, number = np.zeros((len(values), model.node_value.shape[1])), np.zeros(len(values))
    errors = np.full(ends.shape[1], np.nan)
    for tree in range(ends.shape[1]):
        own = np.ones(len(values), bool) if unseen is None else unseen[:MOST_ROWS, tree]
        total[own] += model.predictor.mean_at(values[own], ends[own, tree], model.node_value)
        number += own
        known = number > 0
        if known.any():
            errors[tree] = _error(model, total[known] / number[known, None], target[known], weight[known])
    return errors


def _error(model: FittedModel, mean: Float[np.ndarray, "row output"], target: Any, weight: Any) -> float:
    if model.classes:
        return float(np.average(mean.argmax(axis=1) != target, weights=weight))
    return float(np.sqrt(np.average((mean[:, 0] - target) ** 2, weights=weight)))


def unseen_rows(drawn: list[Int[np.ndarray, " draw"]], num_rows: int) -> Bool[np.ndarray, "row tree"] | None:
    """Returns whether each tree has not drawn each row; None where there are fewer rows than were drawn."""
    if max((int(own.max(initial=-1)) for own in drawn), default=-1) >= num_rows:
        return None
    unseen = np.ones((num_rows, len(drawn)), bool)
    for tree, own in enumerate(drawn):
        unseen[own, tree] = False
    return unseen
