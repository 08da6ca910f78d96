"""Rows that nobody has seen, for a teacher to label: rows of a table whose cells are those of rows near it.

A tree that is grown on a teacher's labels of as many rows as one likes has enough of them in all its lower nodes
(Breiman and Shang, *Born again trees*, 1996). New rows should lie where those of the table do: a number is moved among
the sorted numbers of its column, and only now and then a category is that of another row. So any column of any type has
only values that it has in the table, and columns that depend on each other nearly do so still.
"""

from typing import Any

import numpy as np
from jaxtyping import Float64, Int, Shaped
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError
from jaxtree.table.columns import TableColumn
from jaxtree.table.reading import read_table
from jaxtree.table.sources import as_frame, is_source

NEAR = 0.03
"""The standard deviation of the way that a number is moved among those of its column, as a share of these."""

SWAPPED = 0.1
"""The probability with which a category is that of another row, drawn at random."""


def with_synthetic_rows(
    X: Any, number: int, generator: np.random.RandomState, weight: Float64[np.ndarray, " row"] | None = None
) -> tuple[Any, Any]:
    """Returns so many new rows, and the table with these behind its own.

    Args:
        X: A table: a two-dimensional array, a list of rows, or a data frame.
        number: The number of new rows.
        generator: The random generator.
        weight: The weight of every row, to which the chance is in proportion that a new row is near it; None is 1.

    Raises:
        InvalidInputError: The table is sparse, one in parts, or one of another kind.

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
        raise InvalidInputError(f"n_synthetic is for tables of rows and columns, got an array of shape {table.shape}")
    if weight is None:
        first = generator.randint(table.shape[0], size=number)
    else:
        first = generator.choice(table.shape[0], size=number, p=weight / weight.sum())
    source = np.stack([near_rows(column, first, generator) for column in read_table(X).columns], axis=1)
    own = np.broadcast_to(np.arange(table.shape[0])[:, None], table.shape)
    new, whole = (_gathered(table, rows) for rows in (source, np.concatenate([own, source])))
    return (new.tolist(), whole.tolist()) if isinstance(X, list) else (new, whole)


def near_rows(
    column: TableColumn, first: Int[np.ndarray, " new"], generator: np.random.RandomState
) -> Int[np.ndarray, " new"]:
    """Returns the rows whose cells of a column new rows take, near those of some rows.

    Args:
        column: The column.
        first: The row that every new row is near to.
        generator: The random generator.
    """
    values = np.asarray(column.values)
    if column.kind in ("categorical", "boolean"):
        other = generator.randint(len(values), size=len(first))
        return np.where(generator.random_sample(len(first)) < SWAPPED, other, first)
    known = generator.permutation(np.flatnonzero(_is_known(column, values)))
    if not len(known):
        return first
    # Equal values are in an order drawn at random.
    order = known[np.argsort(values[known], kind="stable")]
    rank = np.full(len(values), -1)
    rank[order] = np.arange(len(order))
    way = np.rint(generator.standard_normal(len(first)) * NEAR * len(order)).astype(np.int64)
    moved = order[np.clip(rank[first] + way, 0, len(order) - 1)]
    return np.where(rank[first] < 0, first, moved)


def _is_known(column: TableColumn, values: Shaped[np.ndarray, " row"]) -> Shaped[np.ndarray, " row"]:
    """Which rows have a value of the column."""
    if column.has_categories:
        return values != len(column.categories)
    return ~np.isnat(values) if values.dtype.kind in "mM" else ~np.isnan(values.astype(np.float64))


def _gathered(table: Any, source: Int[np.ndarray, "row column"]) -> Any:
    """The table whose cells are those of some rows."""
    if isinstance(table, np.ndarray):
        return np.take_along_axis(table, source, axis=0)
    # Expressions of narwhals are made of names that are strings; a series keeps any other, such as 0.
    columns = [own[source[:, place].tolist()] for place, own in enumerate(table.iter_columns())]
    return table[source[:, 0].tolist()].with_columns(*columns).to_native()
