"""Any table, read into columns: NumPy arrays, lists of rows, and every data frame that narwhals reads.

Mistakes in a table itself are found here, before any work is done. Kinds of columns follow from their dtypes, and for
Python objects from the values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Int, Num, Shaped
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import (
    CELLS_AT_A_TIME,
    TableColumn,
    as_array,
    as_categorical,
    check_numbers,
    column_of_array,
    column_of_categories,
    column_of_values,
    sparse_vectors,
    spread,
)
from jaxtree.table.names import are_places, column_place, kept_names, name_in_words
from jaxtree.table.sources import as_frame, is_source

_ROW_TYPES = (list, tuple, np.ndarray)
_UNREADABLE = (nw.Int128, nw.UInt128, nw.Binary)
_KIND_OF_PANDAS = {np.dtype(own): own[0] for own in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")}


@dataclass(frozen=True)
class Table:
    """The columns of a table, all of the same length."""

    columns: tuple[TableColumn, ...]
    is_named: bool  # the names came with the table
    matrix: Num[np.ndarray, "row column"] | None = None  # the array that was read, if it was one of numbers
    is_numbered: bool = False  # the names were 0, 1, ..., which pandas gives to the columns of a bare array

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        """The number of rows, at least one."""
        return len(self.columns[0])


def read_table(X: Any) -> Table:
    """Reads a table.

    Args:
        X: A two-dimensional NumPy array (also masked), a structured array of one axis, whose fields are columns, a
            list of rows, which may be dicts from names to values, a pandas, polars or pyarrow table, a sparse matrix or
            array of scipy in any format, or anything else that narwhals or `numpy.asarray` understands. An index that
            pandas has stored is no column, and names that are no strings become strings.

    Raises:
        InvalidInputError: If the shape is not (rows, columns), both at least 1, if names repeat, if a number is
            infinite or an integer beyond 2**53.
        InvalidTypeError: If a column is of a type that has no meaning for a tree, or mixes types.
    """
    if isinstance(X, Table):
        return X
    if is_plain_array(X):
        return _read_array(X)
    if issparse(X):
        check_shape(X.shape)
        names = default_names(X.shape[1])
        return Table(tuple(map(column_of_array, names, sparse_vectors(X))), False)
    frame = as_frame(X)
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)
    if isinstance(frame, nw.Series):
        check_shape(frame.shape)
    if _are_records(X):
        return _read_records(X)
    if isinstance(X, list | tuple):
        return _read_rows(X)
    if _is_structured(X):
        return _read_structured(X)
    if hasattr(X, "__array__"):
        return _read_array(X)
    raise InvalidTypeError(f"X must be a two-dimensional array, a list of rows or a data frame, got {type(X).__name__}")


def with_categorical(table: Table, categorical_features: Any) -> Table:
    """Returns the table with the columns that the user wants categorical made so.

    These are a list of names, of places, or of a truth value a column. "from_dtype" leaves the table as it is, and
    so does None, which refuses a table that has categorical columns.

    Raises InvalidInputError if a name or place is not in the table, and InvalidTypeError if there are more or fewer
    truth values than columns, or the option is None and there are categorical columns.
    """
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return table
    if categorical_features is None:
        for column in table.columns:
            if column.kind == "categorical":
                raise InvalidTypeError(
                    f"column {column.name!r} is categorical, and categorical_features=None allows no such column: "
                    "choose 'from_dtype', or pass numbers"
                )
        return table
    is_listed = _is_listed(table.names, categorical_features)
    columns = (as_categorical(c) if listed else c for c, listed in zip(table.columns, is_listed, strict=True))
    return replace(table, columns=tuple(columns))


def take_rows(X: Any, rows: Int[np.ndarray, " taken"], num_rows: int) -> Any:
    """Returns some rows of a table that `read_table` reads, as a table.

    Raises InvalidInputError if the table has another number of rows than `num_rows`, which its target has, or is one in
    parts, whose rows are not at hand.

    >>> take_rows([["a", 1], ["b", 2], ["c", 3]], np.array([2, 0]), 3)
    [['c', 3], ['a', 1]]
    """
    if is_source(X):
        raise InvalidInputError(
            "X is a table in parts, whose rows are not at hand: write it without rows of weight 0, and give rows to "
            "prune with as X_val and y_val"
        )
    if isinstance(X, list | tuple):
        check_same_length(len(X), range(num_rows))
        return [X[row] for row in rows]
    frame = as_frame(X)
    is_frame = isinstance(frame, nw.DataFrame)
    table = frame if is_frame else X.tocsr() if issparse(X) else np.asanyarray(X)
    check_same_length(table.shape[0] if table.shape else 0, range(num_rows))
    return table[rows.tolist()].to_native() if is_frame else table[rows]


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
    """Returns the names of the columns of a table if scikit-learn sees others, or none; None for any other table.

    >>> names_apart(np.zeros(2, [("age", float), ("size", float)])), names_apart(np.zeros((2, 2)))
    (('age', 'size'), None)
    """
    if _is_structured(X):
        return X.dtype.names
    if isinstance(X, np.ndarray):
        return None
    if _are_records(X):
        return tuple(map(name_in_words, X[0]))
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return tuple(kept_names(frame.collect_schema().names()))
    if not isinstance(frame, nw.DataFrame) or are_places(frame.columns):
        return None
    names = tuple(as_frame(X).columns)
    return None if names == tuple(frame.columns) else names


def check_shape(shape: tuple[int, ...]) -> None:
    """Raises InvalidInputError unless the shape is that of a table with at least one row and one column."""
    if len(shape) < 2:
        raise InvalidInputError(
            f"Expected 2D array, got {'1D' if shape else 'scalar'} array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it is a single column or array.reshape(1, -1) if it is a single row."
        )
    if len(shape) > 2:
        raise InvalidInputError(f"Found array with dim {len(shape)}, while dim 2 (rows and columns) is required.")
    for size, name in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise InvalidInputError(f"Found array with 0 {name}(s) (shape={shape}) while a minimum of 1 is required.")


def default_names(num_columns: int) -> tuple[str, ...]:
    """Returns the names of columns that came without: x0, x1, ..."""
    return tuple(f"x{column}" for column in range(num_columns))


def _read_array(X: Any, names: tuple[str, ...] | None = None) -> Table:
    values = as_array("X", X)
    check_shape(values.shape)
    names = names or default_names(values.shape[1])
    if values.dtype.kind in "OUTbmM":
        return Table(tuple(map(column_of_array, names, values.T)), False)
    if isinstance(X, np.ma.MaskedArray):  # whose integers have become floats
        check_numbers(X.filled(0), names)
    return Table(_columns_of_matrix(values, names), False, matrix=values)


def _columns_of_matrix(values: Shaped[np.ndarray, "row column"], names: Sequence[str]) -> tuple[TableColumn, ...]:
    has_missing = check_numbers(values, names).tolist()
    return tuple(TableColumn(name, "numeric", x, m) for name, x, m in zip(names, values.T, has_missing, strict=True))


def is_plain_array(X: Any) -> bool:
    """Returns whether something is an array of NumPy's own class, without fields."""
    return type(X) is np.ndarray and X.dtype.names is None


def _is_structured(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.names is not None


def _read_structured(X: np.ndarray) -> Table:
    """Reads an array of one axis whose fields are columns, each by its own type."""
    names = X.dtype.names or ()
    check_shape((*X.shape, len(names)))
    for name in names:
        if X[name].ndim != 1:
            raise InvalidTypeError(
                f"field {name!r} of the structured array has axes of its own, of shape {X.dtype[name].shape}: make "
                "every number a field"
            )
    return Table(tuple(_read_array(X[name][:, None], (name,)).columns[0] for name in names), True)


def _are_records(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(row, Mapping) for row in X)


def _read_records(X: Sequence[Mapping]) -> Table:
    """Reads rows that name their values; one that a row does not have is missing."""
    check_shape((len(X), len(X[0])))
    for place, row in enumerate(X):
        if not row.keys() <= X[0].keys():
            name = next(name for name in row if name not in X[0])
            raise InvalidInputError(f"row {place} of X has a value {name!r}, which the first row does not have")
    columns = {name_in_words(name): [row.get(name) for row in X] for name in X[0]}
    return Table(tuple(map(column_of_values, columns, columns.values())), True)


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
    names, is_numbered = tuple(frame.columns), are_places(frame.columns)
    names = default_names(len(names)) if is_numbered else names
    columns, matrix = _read_numbers_at_once(frame, names)
    for place, name in enumerate(names):
        if place not in columns:
            columns[place] = _read_series(name, frame[:, place])
    in_order = tuple(map(columns.__getitem__, range(len(names))))
    return Table(in_order, not is_numbered, matrix, is_numbered)


def _read_numbers_at_once(
    frame: nw.DataFrame, names: tuple[str, ...]
) -> tuple[dict[int, TableColumn], Num[np.ndarray, "row column"] | None]:
    """Reads the columns of numbers of one type together: one by one each takes a library tens of microseconds.

    Not of a large table, of which the library may make a copy.

    Returns:
        The columns by their places, and the array of them if all columns are of one type.
    """
    columns: dict[int, TableColumn] = {}
    if len(names) * len(frame) > CELLS_AT_A_TIME:
        return columns, None
    types, kind_of = _types_of_columns(frame)
    places: dict[Any, list[int]] = {}
    for place, own in enumerate(types):
        if kind_of[own]:
            places.setdefault(own, []).append(place)
    for dtype, alike in places.items():
        if len(alike) == 1:
            continue
        matrix = (frame if len(alike) == len(names) else frame[:, alike]).to_numpy()
        if matrix.dtype.kind != kind_of[dtype]:  # integers of which some are missing
            continue
        of_matrix = _columns_of_matrix(matrix, tuple(map(names.__getitem__, alike)))
        if len(alike) == len(names):
            return dict(enumerate(of_matrix)), matrix
        columns.update(zip(alike, of_matrix, strict=True))
    return columns, None


def _types_of_columns(frame: nw.DataFrame) -> tuple[list[Any], dict[Any, str]]:
    """Returns the type of every column, and NumPy's kind of those that are of numbers, "" for others."""
    if frame.implementation.is_pandas():  # narwhals would look every type up by the column's name
        native: Any = frame.to_native()
        types = native.dtypes.tolist()
        return types, {**dict.fromkeys(types, ""), **_KIND_OF_PANDAS}
    types, kind_of = list(frame.schema.values()), {}
    for own in set(types):
        kind_of[own] = "f" if own.is_float() else _kind_of_integer(own)
    return types, kind_of


def _kind_of_integer(dtype: Any) -> str:
    if not dtype.is_integer() or dtype in _UNREADABLE:
        return ""
    return "u" if dtype.is_unsigned_integer() else "i"


def _read_series(name: str, series: nw.Series) -> TableColumn:
    dtype, is_whole = series.dtype, not series.null_count()
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return _read_times(name, series)
    if dtype.is_temporal() or dtype.is_nested() or dtype in _UNREADABLE:
        raise InvalidTypeError(
            f"column {name!r} has dtype {dtype}, which is not read: turn times of day into numbers (such as hours), "
            "wide integers into floats, anything else into strings"
        )
    if dtype.is_float() or (is_whole and (dtype.is_integer() or dtype.is_boolean())):
        return column_of_array(name, series.to_numpy())
    if dtype.is_integer():  # checked as integers: a data frame's own conversion of nulls to NaN would round them
        known = column_of_array(name, series.fill_null(0).to_numpy()).values
        return TableColumn(name, "numeric", np.where(series.is_null().to_numpy(), np.nan, known), True)
    if not isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return column_of_values(name, series.to_list())
    words, place = _factorized(series)
    declared = declared_categories(series)
    if declared is not None:
        return spread(column_of_categories(name, *declared, [*words, None], is_declared=True), place)
    column = spread(column_of_values(name, [*words, None]), place)
    return as_categorical(column) if isinstance(dtype, nw.Categorical) else column


def _factorized(series: nw.Series) -> tuple[list, Int[np.ndarray, " row"]]:
    """Returns the dictionary of a series, of words or other categories, and every row's place in it, -1 if missing.

    The library that holds the series finds them: there are far fewer words than rows, which Python need not read.
    """
    native: Any = series.to_native()
    if series.implementation.is_polars():
        text = series.cast(nw.String)
        words = text.unique().drop_nulls().to_list()
        coded: Any = text.cast(nw.Enum(words)).to_native()
        return words, coded.to_physical().cast(int).fill_null(-1).to_numpy()
    if series.implementation.is_pandas() or series.implementation.is_modin():
        if hasattr(native.dtype, "categories"):
            return native.dtype.categories.tolist(), native.cat.codes.to_numpy()
        place, distinct = native.factorize()
        return distinct.tolist(), place
    column: Any = series.to_frame().to_arrow().column(0)
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    return encoded.dictionary.to_pylist(), encoded.indices.cast("int64").fill_null(-1).to_numpy()


def _read_times(name: str, series: nw.Series) -> TableColumn:
    is_utc = isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None
    if is_utc:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    values = series.to_numpy()
    if values.dtype.kind == "O":  # so pandas has Arrow's dates
        values = column_of_values(name, series.to_list()).values
    return column_of_array(name, values, is_utc=is_utc)


def declared_categories(series: nw.Series) -> tuple[str, tuple] | None:
    """Returns the kind of column and the categories that the dtype of a series declares; None if it declares none.

    A Categorical of polars has those that were met so far, in that order: they declare nothing of the series.

    >>> import pandas as pd
    >>> sizes = pd.Series(["big", "small"], dtype=pd.CategoricalDtype(["small", "medium", "big"]))
    >>> declared_categories(nw.from_native(sizes, series_only=True))
    ('categorical', ('small', 'medium', 'big'))
    """
    dtype, native = series.dtype, series.to_native()
    if series.implementation.is_polars():
        return ("ordered", tuple(dtype.categories)) if isinstance(dtype, nw.Enum) else None
    if not isinstance(dtype, nw.Categorical | nw.Enum):
        return None
    if hasattr(getattr(native, "dtype", None), "categories"):  # pandas' own; others of its dtypes wrap an Arrow type
        is_ordered, categories = native.dtype.ordered, native.dtype.categories.tolist()
    else:
        arrow: Any = series.to_arrow()
        is_ordered, categories = arrow.type.ordered, arrow.dictionary.to_pylist()
    known = (category for category in categories if category is not None)
    return "ordered" if is_ordered else "categorical", tuple(dict.fromkeys(known))


def _is_listed(names: tuple[str, ...], listed: Any) -> list[bool]:
    """Returns which columns the user lists."""
    values = list(listed) if np.iterable(listed) and not isinstance(listed, str) else [listed]
    if len(values) == len(names) and all(isinstance(value, bool | np.bool_) for value in values):
        return [bool(value) for value in values]
    if any(isinstance(value, bool | np.bool_) and str(value) not in names for value in values):
        raise InvalidTypeError(
            f"categorical_features must have a truth value for each of the {len(names)} columns, got {listed!r}"
        )
    parameter = "categorical_features, unless it is 'from_dtype' or None,"
    places = {column_place(value, names, parameter) for value in values}
    return [place in places for place in range(len(names))]
