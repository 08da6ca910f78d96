"""Rows that have shares of classes as several rows, the *parts*, of one class each.

A search counts rows by labels. So that limits count rows still, all rows have as many parts, those of the most classes:
the heaviest class of a row of fewer is halved until there are enough.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int32


class ClassParts(NamedTuple):
    """The parts of all rows, row by row.

    Attributes:
        row: The row of every part.
        label: Its class.
        weight: Its weight; those of a row add up to the row's.
        per_row: The number of parts of a row.
    """

    row: Int[np.ndarray, " part"]
    label: Int32[np.ndarray, " part"]
    weight: Float64[np.ndarray, " part"]
    per_row: int


def parts_of(shares: Float64[np.ndarray, "class row"], weight: Float64[np.ndarray, " row"] | None) -> ClassParts:
    """Returns the parts of rows.

    Args:
        shares: The share of every class in every row.
        weight: The weight of every row; None is 1.

    >>> parts = parts_of(np.array([[0.25, 0.0], [0.75, 1.0]]), None)
    >>> parts.row.tolist(), parts.label.tolist(), parts.weight.tolist()
    ([0, 0, 1, 1], [0, 1, 1, 1], [0.25, 0.75, 0.5, 0.5])
    """
    has_class = shares > 0
    per_row = int(has_class.sum(axis=0).max())
    heaviest = shares.argmax(axis=0)
    # The classes of a row in ascending order; behind them its heaviest class again.
    order = np.argsort(~has_class, axis=0, kind="stable")[:per_row]
    number = has_class.sum(axis=0)
    is_extra = np.arange(per_row)[:, None] >= number
    label = np.where(is_extra, heaviest, order)
    share = np.take_along_axis(shares, label, axis=0)
    halvings = per_row - number
    # Halves, quarters, ..., of which the smallest stands twice.
    rank = np.where(is_extra, np.arange(per_row)[:, None] - number, halvings - 1)
    is_halved = (label == heaviest) & (halvings > 0)
    share = np.where(is_halved, np.ldexp(share, -(rank + 1)), share)
    own = share if weight is None else share * weight
    row = np.repeat(np.arange(shares.shape[1]), per_row)
    return ClassParts(row, label.T.reshape(-1).astype(np.int32), own.T.reshape(-1), per_row)
