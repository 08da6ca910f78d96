"""Rows that nobody has seen, for a teacher to label: rows of a table some of whose cells are those of other rows.

So Breiman and Shang (*Born again trees*, 1996) get as many rows as they like: a cell is, with some probability, that of
another row drawn at random, and stays in its column. Any column of any type has only values that it has in the table.
"""

from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError
from jaxtree.table.sources import as_frame, is_source

SWAPPED = 0.25
"""The probability with which a cell is that of another row."""


def drawn_rows(
    num_rows: int, num_columns: int, number: int, generator: np.random.RandomState, swapped: float = SWAPPED
) -> Int[np.ndarray, "row column"]:
    """Returns the row of a table that every cell of so many new rows is taken from.

    Args:
        num_rows: The number of rows of the table.
        num_columns: The number of its columns.
        number: The number of new rows.
        generator: What draws.
        swapped: The probability with which a cell is that of another row.

    >>> drawn_rows(10, 3, 2, np.random.RandomState(0)).shape
    (2, 3)
    """
    first = generator.randint(num_rows, size=(number, 1))
    other = generator.randint(num_rows, size=(number, num_columns))
    return np.where(generator.random_sample((number, num_columns)) < swapped, other, first)


def with_synthetic_rows(X: Any, number: int, generator: np.random.RandomState) -> tuple[Any, Any]:
    """Returns so many new rows, and the table with these behind its own.

    Args:
        X: A table: a two-dimensional array, nested lists, or a data frame.
        number: The number of new rows.
        generator: What draws.

    Raises:
        InvalidInputError: The table is sparse, or one in parts.

    >>> new, whole = with_synthetic_rows(np.array([[1, 10], [2, 20]]), 3, np.random.RandomState(0))
    >>> new.shape, whole[:2].tolist(), sorted(set(whole[:, 1].tolist()))
    ((3, 2), [[1, 10], [2, 20]], [10, 20])
    """
    if is_source(X) or issparse(X):
        raise InvalidInputError(
            f"n_synthetic is for tables that are held as arrays or data frames, got {type(X).__name__}"
        )
    frame = as_frame(X)
    table: Any = frame if hasattr(frame, "columns") else np.array(X, object) if isinstance(X, list) else np.asarray(X)
    if len(table.shape) != 2:
        raise InvalidInputError(f"X must be a table of rows and columns, got an array of shape {table.shape}")
    num_rows, num_columns = table.shape
    source = drawn_rows(num_rows, num_columns, number, generator)
    own = np.broadcast_to(np.arange(num_rows)[:, None], (num_rows, num_columns))
    new, whole = (_gathered(table, rows) for rows in (source, np.concatenate([own, source])))
    return (new.tolist(), whole.tolist()) if isinstance(X, list) else (new, whole)


def _gathered(table: Any, source: Int[np.ndarray, "row column"]) -> Any:
    """The table whose cells are those of some rows."""
    if isinstance(table, np.ndarray):
        return np.take_along_axis(table, source, axis=0)
    columns = [table[name][source[:, place].tolist()] for place, name in enumerate(table.columns)]
    names = table.columns
    first = table[source[:, 0].tolist()]
    return first.with_columns(*(own.alias(name) for own, name in zip(columns, names, strict=True))).to_native()
