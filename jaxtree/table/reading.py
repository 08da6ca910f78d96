"""Any table, read into columns: NumPy arrays, lists of rows, and every data frame that narwhals knows.

Whatever is wrong with a table itself is found here, before any work is done. Kinds of columns follow from their dtypes,
and for Python objects from the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Int, Num
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import (
    AnyColumn,
    Declared,
    NumberColumn,
    WordColumn,
    as_categorical,
    boolean_column,
    check_numbers,
    column_of_categories,
    column_of_values,
    number_column,
)
from jaxtree.table.source import is_source
from jaxtree.table.sparse import sparse_vectors
from jaxtree.table.times import TimeColumn, time_column

_ROW_TYPES = (list, tuple, np.ndarray)
_UNREADABLE = (nw.Int128, nw.UInt128, nw.Binary)


@dataclass(frozen=True)
class Table:
    """The columns of a table, all of the same length."""

    columns: tuple[AnyColumn, ...]
    is_named: bool  # the names came with the table
    matrix: Num[np.ndarray, "row column"] | None = None  # what was read, if it was one array of numbers

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def num_rows(self) -> int:
        """The number of rows, at least one."""
        column = self.columns[0]
        return len(column.codes if isinstance(column, WordColumn) else column.values)


def read_table(X: Any, *, max_categories: int | None = None) -> Table:
    """Reads a table.

    Args:
        X: A two-dimensional NumPy array (also masked), a structured array of one axis, whose fields are columns, a
            list of rows, a pandas, polars or pyarrow table, a sparse matrix or array of scipy in any format, or
            anything else that narwhals or `numpy.asarray` understands.
        max_categories: The most categories of a column of strings or of a categorical dtype; None allows any number.

    Raises:
        InvalidInputError: If the shape is not (rows, columns), both at least 1, if names repeat, if a number is
            infinite or an integer beyond 2**53, or if a column has too many categories.
        InvalidTypeError: If a column is of a type that has no meaning for a tree, or mixes types.
    """
    if issparse(X):
        return _read_sparse(X)
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except DuplicateError as error:
        raise InvalidInputError(f"the names of X's columns must be unique: {error}") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, max_categories)
    if isinstance(frame, nw.Series):
        check_shape(frame.shape)
    if isinstance(X, list | tuple):
        return _read_rows(X, max_categories)
    if _is_structured(X):
        return _read_structured(X, max_categories)
    if hasattr(X, "__array__"):
        return _read_array(X, max_categories)
    raise InvalidTypeError(f"X must be a two-dimensional array, a list of rows or a data frame, got {type(X).__name__}")


def take_rows(X: Any, rows: Int[np.ndarray, " taken"]) -> Any:
    """Returns some rows of a table that `read_table` reads, as a table.

    Raises InvalidInputError for a table in parts, whose rows are not at hand.

    >>> take_rows([["a", 1], ["b", 2], ["c", 3]], np.array([2, 0]))
    [['c', 3], ['a', 1]]
    """
    if is_source(X):
        raise InvalidInputError(
            "X is a table in parts, whose rows are not at hand: write it without rows of weight 0, and give rows to "
            "prune with as X_val and y_val"
        )
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    if issparse(X):
        return X.tocsr()[rows]
    return [X[row] for row in rows] if isinstance(X, list | tuple) else np.asanyarray(X)[rows]


def names_apart(X: Any) -> tuple[str, ...] | None:
    """Returns the names of the columns of a table whose names scikit-learn does not see; None for any other.

    >>> names_apart(np.zeros(2, [("age", float), ("size", float)])), names_apart(np.zeros((2, 2)))
    (('age', 'size'), None)
    """
    if _is_structured(X):
        return X.dtype.names
    frame = nw.from_native(X, pass_through=True)
    return tuple(frame.collect_schema().names()) if isinstance(frame, nw.LazyFrame) else None


def check_shape(shape: tuple[int, ...]) -> None:
    """Raises InvalidInputError unless the shape is that of a table with at least one row and one column."""
    if len(shape) < 2:
        raise InvalidInputError(
            f"Expected 2D array, got {'1D' if shape else 'scalar'} array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it is a single column or array.reshape(1, -1) if it is a single row."
        )
    if len(shape) > 2:
        raise InvalidInputError(f"Found array with dim {len(shape)}, while dim 2 (rows and columns) is required.")
    if shape[0] == 0:
        raise InvalidInputError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] == 0:
        raise InvalidInputError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def default_names(num_columns: int) -> tuple[str, ...]:
    """Returns the names of columns that came without: x0, x1, ..."""
    return tuple(f"x{column}" for column in range(num_columns))


def _read_array(X: Any, max_categories: int | None) -> Table:
    X = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    check_shape(X.shape)
    names = default_names(X.shape[1])
    if isinstance(X, np.ma.MaskedArray):
        X = _fill_masked(X, names)
    if X.dtype.kind in "OUT":
        return Table(tuple(map(column_of_values, names, (x.tolist() for x in X.T), repeat(max_categories))), False)
    if X.dtype.kind == "b":
        return Table(tuple(map(boolean_column, names, X.T)), False)
    if X.dtype.kind in "mM":
        return Table(tuple(map(time_column, names, X.T)), False)
    _check_numeric(X.dtype)
    has_missing = check_numbers(X, names).tolist()
    return Table(tuple(map(NumberColumn, names, X.T, has_missing)), False, matrix=X)


def _check_numeric(dtype: np.dtype) -> None:
    """Raises unless an array of this dtype has numbers that a float64 can hold."""
    if dtype.kind == "c":
        raise InvalidInputError(f"Complex data not supported: X has dtype {dtype}; pass real and imaginary parts.")
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise InvalidTypeError(
            f"X has dtype {dtype}; allowed are numbers of up to 64 bits, booleans, strings, dates, durations and "
            "objects."
        )


def _read_sparse(X: Any) -> Table:
    """Reads a sparse matrix column by column; the dtype says what they are, as that of a dense one does."""
    check_shape(X.shape)
    names = default_names(X.shape[1])
    if X.dtype.kind == "b":
        columns = (replace(v, entry=v.entry.astype(np.int32)) for v in sparse_vectors(X))
        words = [WordColumn(name, "boolean", (False, True), codes) for name, codes in zip(names, columns, strict=True)]
        return Table(tuple(words), False)
    _check_numeric(X.dtype)
    vectors = sparse_vectors(X)
    # A number column checks its numbers.
    has_missing = (
        len(v.entry) > 0 and number_column(n, v.entry).has_missing for n, v in zip(names, vectors, strict=True)
    )
    return Table(tuple(map(NumberColumn, names, vectors, has_missing)), False)


def _is_structured(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.names is not None


def _read_structured(X: np.ndarray, max_categories: int | None) -> Table:
    """Reads an array of one axis whose fields are columns, each by its own type."""
    names = X.dtype.names or ()
    if X.ndim != 1:
        raise InvalidInputError(f"a structured array must have one axis, of rows, got shape {X.shape}")
    columns: list[AnyColumn] = []
    for name in names:
        if X[name].ndim != 1:
            raise InvalidTypeError(
                f"field {name!r} of the structured array has axes of its own, of shape {X.dtype[name].shape}: make "
                "every number a field"
            )
        (column,) = _read_array(X[name][:, None], max_categories).columns
        columns.append(replace(column, name=name))
    return Table(tuple(columns), True)


def _fill_masked(X: np.ma.MaskedArray, names: Sequence[str]) -> np.ndarray:
    """Puts NaN, or None, where an array is masked."""
    if X.dtype.kind in "mM":
        times = np.ma.getdata(X).copy()
        times[np.ma.getmaskarray(X)] = "NaT"
        return times
    if X.dtype.kind not in "iuf":
        filled = np.ma.getdata(X).astype(object)
        filled[np.ma.getmaskarray(X)] = None
        return filled
    check_numbers(np.ma.filled(X, 0), names)
    return np.ma.filled(X.astype(np.result_type(X.dtype, np.float16)), np.nan)


def _read_rows(X: Sequence, max_categories: int | None) -> Table:
    if not all(isinstance(row, _ROW_TYPES) for row in X):
        check_shape((len(X),))
    lengths = sorted({len(row) for row in X})
    if len(lengths) > 1:
        raise InvalidInputError(f"the rows of X must have one length, got rows of lengths {lengths}")
    check_shape((len(X), *lengths))
    if isinstance(X[0][0], _ROW_TYPES):
        check_shape((len(X), len(X[0]), len(X[0][0])))
    columns = list(map(list, zip(*X, strict=True)))
    names = default_names(len(columns))
    return Table(tuple(map(column_of_values, names, columns, repeat(max_categories))), False)


def _read_frame(frame: nw.DataFrame, max_categories: int | None) -> Table:
    check_shape(frame.shape)
    names, is_named = tuple(frame.columns), True
    if not any(isinstance(name, str) for name in names):  # pandas numbers the columns of a bare array
        names, is_named = default_names(len(names)), False
    if not all(isinstance(name, str) for name in names):
        raise InvalidTypeError(f"the names of X's columns must all be strings, got {names}")
    return Table(tuple(map(_read_series, names, frame.iter_columns(), repeat(max_categories))), is_named)


def _read_series(name: str, series: nw.Series, max_categories: int | None) -> AnyColumn:
    dtype = series.dtype
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return _read_times(name, series)
    if dtype.is_temporal() or dtype.is_decimal() or dtype.is_nested() or dtype in _UNREADABLE:
        raise InvalidTypeError(
            f"column {name!r} has dtype {dtype}, which is not read: turn times of day into numbers (such as hours), "
            "decimals and wide integers into floats, anything else into strings"
        )
    if dtype.is_float():
        return number_column(name, series.to_numpy())
    if dtype.is_integer():
        return _read_integers(name, series)
    if dtype.is_boolean() and not series.null_count():
        return boolean_column(name, series.to_numpy())
    declared = declared_categories(series)
    if declared is not None:
        return column_of_categories(name, declared, series.to_list(), max_categories)
    column = column_of_values(name, series.to_list(), max_categories)
    return as_categorical(column) if isinstance(dtype, nw.Categorical) else column


def _read_times(name: str, series: nw.Series) -> AnyColumn:
    is_utc = isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None
    if is_utc:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    values = series.to_numpy()
    if values.dtype.kind in "mM":
        return time_column(name, values, is_utc=is_utc)
    column = column_of_values(name, series.to_list())  # pandas has Arrow's dates as objects
    return replace(column, kind="utc") if isinstance(column, TimeColumn) and is_utc else column


def declared_categories(series: nw.Series) -> Declared | None:
    """Returns the categories that the dtype of a series declares, or None if it declares none.

    A Categorical of polars has those that were met so far, in that order: they say nothing of the series.

    >>> import pandas as pd
    >>> sizes = pd.Series(["big", "small"], dtype=pd.CategoricalDtype(["small", "medium", "big"]))
    >>> declared_categories(nw.from_native(sizes, series_only=True))
    Declared(categories=('small', 'medium', 'big'), is_ordered=False)
    """
    dtype, native = series.dtype, series.to_native()
    if series.implementation.is_polars():
        return Declared(tuple(dtype.categories), True) if isinstance(dtype, nw.Enum) else None
    if not isinstance(dtype, nw.Categorical | nw.Enum):
        return None
    if hasattr(getattr(native, "dtype", None), "categories"):  # pandas' own; others of its dtypes wrap an Arrow type
        return Declared(tuple(native.dtype.categories.tolist()), bool(native.dtype.ordered))
    arrow: Any = series.to_arrow()
    known = (category for category in arrow.dictionary.to_pylist() if category is not None)
    return Declared(tuple(dict.fromkeys(known)), arrow.type.ordered)


def _read_integers(name: str, series: nw.Series) -> NumberColumn:
    """Checks integers as integers: a data frame's own conversion of nulls to NaN would round them."""
    if not series.null_count():
        return number_column(name, series.to_numpy())
    known = number_column(name, series.fill_null(0).to_numpy()).values
    return NumberColumn(name, np.where(series.is_null().to_numpy(), np.nan, known), True)
