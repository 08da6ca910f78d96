"""Any table, read into columns: NumPy arrays, lists of rows, and every data frame that narwhals knows.

Whatever is wrong with a table itself is found here, before any work is done. Kinds of columns follow from their dtypes,
and for Python objects from the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Bool, Int, Num
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import (
    AnyColumn,
    CategoryColumn,
    Declared,
    NumberColumn,
    SparseVector,
    as_categorical,
    boolean_column,
    check_numbers,
    column_of_categories,
    column_of_values,
    number_column,
    sparse_vectors,
)
from jaxtree.table.sources import is_source
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
        return len(self.columns[0])


def read_table(X: Any) -> Table:
    """Reads a table.

    Args:
        X: A two-dimensional NumPy array (also masked), a structured array of one axis, whose fields are columns, a
            list of rows, a pandas, polars or pyarrow table, a sparse matrix or array of scipy in any format, or
            anything else that narwhals or `numpy.asarray` understands.

    Raises:
        InvalidInputError: If the shape is not (rows, columns), both at least 1, if names repeat, if a number is
            infinite or an integer beyond 2**53.
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
        return _read_frame(frame)
    if isinstance(frame, nw.Series):
        check_shape(frame.shape)
    if isinstance(X, list | tuple):
        return _read_rows(X)
    if _is_structured(X):
        return _read_structured(X)
    if hasattr(X, "__array__"):
        return _read_array(X)
    raise InvalidTypeError(f"X must be a two-dimensional array, a list of rows or a data frame, got {type(X).__name__}")


def with_categorical(table: Table, categorical_features: Any) -> Table:
    """Returns the table with the columns that the user wants categorical made so.

    Args:
        table: Any table.
        categorical_features: "from_dtype" leaves the table as it is, and so does None, which refuses a table that has
            categorical columns. Otherwise a list of names, of positions, or of a truth value a column.

    Raises:
        InvalidInputError: If a name or position is not in the table.
        InvalidTypeError: If the option is anything else, or is None and there are categorical columns.
    """
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return table
    if categorical_features is None:
        for column in table.columns:
            if isinstance(column, CategoryColumn) and column.kind == "categorical":
                raise InvalidTypeError(
                    f"column {column.name!r} is categorical, and categorical_features=None allows no such column: "
                    "choose 'from_dtype', or pass numbers"
                )
        return table
    is_listed = _listed_columns(table.names, categorical_features)
    columns = (as_categorical(c) if listed else c for c, listed in zip(table.columns, is_listed, strict=True))
    return replace(table, columns=tuple(columns))


def take_rows(X: Any, rows: Int[np.ndarray, " taken"], num_rows: int) -> Any:
    """Returns some rows of a table that `read_table` reads, as a table.

    Args:
        X: The table.
        rows: The rows that are taken.
        num_rows: How many rows the table should have, which is how many its target has.

    Raises:
        InvalidInputError: The table has another number of rows, or is one in parts, whose rows are not at hand.

    >>> take_rows([["a", 1], ["b", 2], ["c", 3]], np.array([2, 0]), 3)
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
        check_same_length(frame.shape[0], range(num_rows))
        return frame[rows.tolist()].to_native()
    if isinstance(X, list | tuple):
        check_same_length(len(X), range(num_rows))
        return [X[row] for row in rows]
    table = X.tocsr() if issparse(X) else np.asanyarray(X)
    check_same_length(table.shape[0] if table.ndim else 0, range(num_rows))
    return table[rows]


def check_same_length(num_rows: int, y: Any) -> None:
    """Raises InvalidInputError unless y has as many rows as the table.

    >>> check_same_length(2, ["yes", "no"])
    """
    num_targets = len(y) if hasattr(y, "__len__") else 0
    if num_targets != num_rows:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: [{num_rows}, {num_targets}]"
        )


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


def _read_array(X: Any) -> Table:
    X = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    check_shape(X.shape)
    names = default_names(X.shape[1])
    if isinstance(X, np.ma.MaskedArray):
        X = _fill_masked(X, names)
    if X.dtype.kind in "OUT":
        return Table(tuple(map(column_of_values, names, (x.tolist() for x in X.T))), False)
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
        return Table(tuple(map(boolean_column, names, sparse_vectors(X))), False)
    _check_numeric(X.dtype)
    return Table(tuple(map(_sparse_column, names, sparse_vectors(X))), False)


def _sparse_column(name: str, vector: SparseVector) -> NumberColumn:
    return NumberColumn(name, vector, len(vector.entry) > 0 and number_column(name, vector.entry).has_missing)


def _is_structured(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.names is not None


def _read_structured(X: np.ndarray) -> Table:
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
        (column,) = _read_array(X[name][:, None]).columns
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


def _read_rows(X: Sequence) -> Table:
    if not all(isinstance(row, _ROW_TYPES) for row in X):
        check_shape((len(X),))
    lengths = sorted({len(row) for row in X})
    if len(lengths) > 1:
        raise InvalidInputError(f"the rows of X must have one length, got rows of lengths {lengths}")
    check_shape((len(X), *lengths))
    if isinstance(X[0][0], _ROW_TYPES):
        check_shape((len(X), len(X[0]), len(X[0][0])))
    columns = list(map(list, zip(*X, strict=True)))
    return Table(tuple(map(column_of_values, default_names(len(columns)), columns)), False)


def _read_frame(frame: nw.DataFrame) -> Table:
    check_shape(frame.shape)
    names, is_named = tuple(frame.columns), True
    if not any(isinstance(name, str) for name in names):  # pandas numbers the columns of a bare array
        names, is_named = default_names(len(names)), False
    if not all(isinstance(name, str) for name in names):
        raise InvalidTypeError(f"the names of X's columns must all be strings, got {names}")
    return Table(tuple(map(_read_series, names, frame.iter_columns())), is_named)


def _read_series(name: str, series: nw.Series) -> AnyColumn:
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
        return column_of_categories(name, declared, series.to_list())
    column = column_of_values(name, series.to_list())
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


def _listed_columns(names: tuple[str, ...], listed: Any) -> Bool[np.ndarray, " column"]:
    values = list(listed) if np.iterable(listed) and not isinstance(listed, str) else [listed]
    if all(isinstance(value, str) for value in values):
        return _among(values, names)
    if all(isinstance(value, bool | np.bool_) for value in values) and len(values) == len(names):
        return np.array(values, bool)
    if all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values):
        return _among(values, range(len(names)))
    raise InvalidTypeError(
        "categorical_features must be 'from_dtype', None, or a list of names, of positions, or of a truth value for "
        f"each of the {len(names)} columns, got {listed!r}"
    )


def _among(listed: list, columns: Sequence) -> Bool[np.ndarray, " column"]:
    unknown = [value for value in listed if value not in columns]
    if unknown:
        raise InvalidInputError(
            f"categorical_features must be 'from_dtype', None, or some of the table's columns {list(columns)}, "
            f"got {unknown}"
        )
    return np.array([column in listed for column in columns], bool)
