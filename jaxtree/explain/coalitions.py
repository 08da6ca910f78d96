"""Shapley values of any prediction by their definition: over all coalitions of few columns, over random orders of many.

A *coalition* is a set of columns that are known. Its prediction is the mean over the rows of a background, in which
the values of these columns are put.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from jaxtree.errors import InvalidInputError

MOST_COLUMNS = 8
"""Columns of which all coalitions are asked about."""

NUM_PAIRS = 32
"""Random orders of more columns, each of which is also taken backwards (Mitchell et al., *Sampling permutations for
Shapley value estimation*, JMLR 23, 2022)."""

MOST_BACKGROUND = 100
"""Rows of a background; of more, these many are drawn."""

_ROWS_AT_A_TIME = 2**15

Values = Float[np.ndarray, "row feature"]
Others = Float[np.ndarray, "other feature"]
Predict = Callable[[Values], Float64[np.ndarray, "row output"]]


class Weights(NamedTuple):
    """How contributions of columns follow from what coalitions predict.

    Attributes:
        known: The columns of every coalition; the first has none.
        weight: The weight of every coalition in a column's contribution.
    """

    known: Bool[np.ndarray, "coalition column"]
    weight: Float64[np.ndarray, "column coalition"]


def is_exact(num_columns: int) -> bool:
    """Returns whether all coalitions of some columns are asked about."""
    return num_columns <= MOST_COLUMNS


def weights_of(num_columns: int) -> Weights:
    """Returns the coalitions that are asked about, with their weights.

    >>> weights = weights_of(2)
    >>> weights.known.astype(int).tolist(), weights.weight.tolist()
    ([[0, 0], [1, 0], [0, 1], [1, 1]], [[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]])
    """
    if is_exact(num_columns):
        known = (np.arange(2**num_columns)[:, None] >> np.arange(num_columns) & 1).astype(bool)
        size = known.sum(axis=1)
        share = np.array([1 / (num_columns * math.comb(num_columns - 1, less)) for less in range(num_columns)])
        with_column, without = share[np.maximum(size - 1, 0)], share[np.minimum(size, num_columns - 1)]
        return Weights(known, np.where(known.T, with_column, -without))
    draw = np.random.default_rng(0)
    orders = np.array([draw.permutation(num_columns) for _ in range(NUM_PAIRS)])
    return _weights_of_orders(np.concatenate([orders, orders[:, ::-1]]))


def _weights_of_orders(orders: Int[np.ndarray, "order column"]) -> Weights:
    """The coalitions of columns that become known one after the other, in several orders."""
    num_orders, num_columns = orders.shape
    place = np.argsort(orders, axis=1)
    every = place[:, None] < np.arange(num_columns + 1)[:, None]
    known, which = np.unique(every.reshape(-1, num_columns), axis=0, return_inverse=True)
    which = which.reshape(num_orders, num_columns + 1)
    weight = np.zeros((num_columns, len(known)))
    for place in range(num_columns):
        np.add.at(weight, (orders[:, place], which[:, place + 1]), 1 / num_orders)
        np.add.at(weight, (orders[:, place], which[:, place]), -1 / num_orders)
    return Weights(known, weight)


def weights_of_pairs(num_columns: int) -> Float64[np.ndarray, "column column coalition"]:
    """Returns the weight of every coalition in what a pair of columns has together; 0 of a column with itself.

    Raises InvalidInputError if there are too many columns to ask about all coalitions.

    >>> weights_of_pairs(2)[0, 1].tolist()
    [0.5, -0.5, -0.5, 0.5]
    """
    if not is_exact(num_columns):
        raise InvalidInputError(
            f"interactions of planes and of weights of leaves are of up to {MOST_COLUMNS} columns, got {num_columns}"
        )
    member = weights_of(num_columns).known.T.astype(int)
    others = member.sum(axis=0) - member[:, None] - member[None]
    factorial = np.array([math.factorial(number) for number in range(num_columns + 1)], np.float64)
    size = others.clip(0, max(num_columns - 2, 0))
    share = factorial[size] * factorial[(num_columns - 2 - size).clip(0)] / (2 * factorial[max(num_columns - 1, 0)])
    weight = np.where(member[:, None] == member[None], share, -share)
    weight[np.arange(num_columns), np.arange(num_columns)] = 0
    return weight


def predictions_of_coalitions(
    predict: Predict, values: Values, others: Others
) -> Float64[np.ndarray, "coalition row output"]:
    """Returns what is predicted of rows of which the columns of every coalition of `weights_of` are known.

    Args:
        predict: Predicts encoded rows.
        values: The rows.
        others: The background.

    Example: of a product, both columns have half of what it has more than the mean over the background.
        >>> rows, others = np.array([[2.0, 3.0]]), np.array([[0.0, 0.0], [0.0, 2.0]])
        >>> product = lambda rows: rows[:, :1] * rows[:, 1:]
        >>> found = predictions_of_coalitions(product, rows, others)
        >>> found[:, 0, 0].tolist(), (weights_of(2).weight @ found[:, 0]).tolist()
        ([0.0, 2.0, 0.0, 6.0], [[4.0], [2.0]])
    """
    known = weights_of(values.shape[1]).known
    number, size = len(known) * len(values), max(1, _ROWS_AT_A_TIME // len(others))
    found = []
    for first in range(0, number, size):
        coalition, row = np.divmod(np.arange(first, min(first + size, number)), len(values))
        mixed = np.where(known[coalition][:, None], values[row][:, None], others)
        predicted = predict(mixed.reshape(-1, values.shape[1]))
        found.append(predicted.reshape(len(row), len(others), -1).mean(axis=1))
    return np.concatenate(found).reshape(len(known), len(values), -1)


def drawn_background(rows: Values) -> Others:
    """Returns rows as a background: all, or `MOST_BACKGROUND` of more, always the same."""
    if len(rows) <= MOST_BACKGROUND:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), MOST_BACKGROUND, replace=False))]
