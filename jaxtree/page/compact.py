"""Numbers written in few characters."""

from typing import Any

import numpy as np
from jaxtyping import Real

DIGITS = 12
"""Significant digits of a number that is compared or summed, so that sums are right to nine."""


def compact(values: Real[np.ndarray, " entry"], digits: int = DIGITS) -> list[int | float | None]:
    """Returns numbers as JSON has them: whole ones without a point, and None for what is not finite.

    >>> compact(np.array([1.0, 0.1 + 0.2, np.inf]))
    [1, 0.3, None]
    """
    return [_compact_number(value, digits) for value in np.asarray(values).tolist()]


def compact_rows(table: Real[np.ndarray, "row column"], digits: int = DIGITS) -> list[list[int | float | None]]:
    """Returns every row as its entries that are not 0: column, value, column, value.

    >>> compact_rows(np.array([[0.0, 2.5], [0.0, 0.0]]))
    [[1, 2.5], []]
    """
    table = np.asarray(table)
    rows: list[list[Any]] = [[] for _ in table]
    row, column = np.nonzero(table)
    for place, name, value in zip(row.tolist(), column.tolist(), compact(table[row, column], digits), strict=True):
        rows[place] += (name, value)
    return rows


def _compact_number(value: int | float, digits: int) -> int | float | None:
    if isinstance(value, int):
        return value
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.{digits}g}")
