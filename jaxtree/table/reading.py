"""Any table, read into columns: NumPy arrays, lists of rows, and every data frame that narwhals reads.

Mistakes in a table itself are found here, before any work is done. Kinds of columns follow from their dtypes, and for
Python objects from the values.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Num, Shaped

from jaxtree.blocks import ROWS_AT_A_TIME, in_threads
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.lazy import DataFrame, Series, issparse, nw
from jaxtree.table.columns import (
    CELLS_AT_A_TIME,
    TableColumn,
    as_array,
    as_categorical,
    check_numbers,
    column_of_array,
    column_of_categories,
    column_of_values,
    recoded,
    sparse_vectors,
    spread,
)
from jaxtree.table.names import are_places, column_place, name_in_words
from jaxtree.table.sources import as_frame, is_source

_MOST_ROWS_OF_BLOCK = 1024  # of a frame of any size: a column is copied in less time than it takes to be read alone
_FEW_ROWS = 64
_ROW_TYPES = (list, tuple, np.ndarray)
_UNREADABLE = ("Int128", "UInt128", "Binary")
"""Types of narwhals by name."""
_KIND_OF_PANDAS = {np.dtype(own): own[0] for own in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")}


@dataclass(frozen=True, eq=False)
class NumberBlock:
    """Columns of numbers that lie in one array.

    Attributes:
        place: Their places in the table, in ascending order.
        matrix: The array.
        at: Their places in the array.
        has_missing: Whether any value of a column is missing.
    """

    place: Int[np.ndarray, " column"]
    matrix: Num[np.ndarray, "row _column"]
    at: Int[np.ndarray, " column"]
    has_missing: Bool[np.ndarray, " column"]

    def values(self, rows: slice = slice(None)) -> Num[np.ndarray, "row column"]:
        """Returns the numbers of some rows."""
        own = self.matrix[rows]
        return own if len(self.at) == own.shape[1] else own[:, self.at]

    def columns(self) -> Num[np.ndarray, "column row"] | list[Num[np.ndarray, " row"]]:
        """Returns the numbers of every column without a copy: in one array where these are all of the array."""
        columns = self.matrix.T
        return columns if len(self.at) == len(columns) else [columns[place] for place in self.at.tolist()]

    def where(self, is_kept: Bool[np.ndarray, " column"]) -> "tuple[NumberBlock, ...]":
        """Returns some of the columns as a block; none if there are none."""
        if is_kept.all():
            return (self,)
        kept = np.flatnonzero(is_kept)
        if not len(kept):
            return ()
        return (NumberBlock(self.place[kept], self.matrix, self.at[kept], self.has_missing[kept]),)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a table, all of the same length: those of numbers in blocks where they can be, each other alone.

    Attributes:
        names: Their names.
        is_named: Whether these came with the table.
        alone: The columns that are in no block, by their places.
        blocks: The columns that lie in arrays.
        is_numbered: Whether the names were 0, 1, ..., which pandas gives to the columns of a bare array.
    """

    names: tuple[str, ...]
    is_named: bool
    alone: Mapping[int, TableColumn]
    blocks: tuple[NumberBlock, ...] = ()
    is_numbered: bool = False

    @classmethod
    def of(cls, columns: Iterable[TableColumn], is_named: bool) -> "Table":
        """Returns a table of columns that do not lie in one array."""
        alone = dict(enumerate(columns))
        return cls(tuple(column.name for column in alone.values()), is_named, alone)

    @property
    def matrix(self) -> Num[np.ndarray, "row column"] | None:
        """The array whose columns are those of the table, if it is one of numbers."""
        if self.alone or len(self.blocks) != 1:
            return None
        (block,) = self.blocks
        return block.matrix if block.matrix.shape[1] == len(self.names) else None

    @cached_property
    def block_of(self) -> Int[np.ndarray, "column field"]:
        """The block of every column, -1 if it is in none, and its place in that one's array."""
        found = np.full((len(self.names), 2), -1)
        for number, block in enumerate(self.blocks):
            found[block.place, 0] = number
            found[block.place, 1] = np.arange(len(block.place))
        return found

    @property
    def columns(self) -> list[TableColumn]:
        """All columns."""
        return [self.column(place) for place in range(len(self.names))]

    def column(self, place: int) -> TableColumn:
        """Returns the column at a place; one that lies in a block is made where it is asked for."""
        if place in self.alone:
            return self.alone[place]
        number, own = self.block_of[place].tolist()
        block = self.blocks[number]
        return TableColumn(self.names[place], "numeric", block.matrix[:, block.at[own]], bool(block.has_missing[own]))

    def take(self, rows: Int[np.ndarray, " taken"]) -> "Table":
        """Returns some rows as a table of these alone: of categories that no dtype declares, those that they have.

        >>> table = read_table([["a", 1.0], ["b", 2.0], ["c", 3.0]]).take(np.array([2, 0]))
        >>> table.column(0).categories, table.column(1).values.tolist()
        (('a', 'c'), [3.0, 1.0])
        """
        blocks = []
        for block in self.blocks:
            values = block.values()[rows]
            lacks = np.any(np.isnan(values), axis=0)
            blocks.append(NumberBlock(block.place, values, np.arange(len(block.at)), lacks))
        alone = {place: _with_own_categories(spread(column, rows)) for place, column in self.alone.items()}
        return replace(self, alone=alone, blocks=tuple(blocks))

    def __len__(self) -> int:
        """The number of rows, at least one."""
        return len(self.blocks[0].matrix if self.blocks else self.alone[0])


def _with_own_categories(column: TableColumn) -> TableColumn:
    """Returns a column without the categories that no row has, where no dtype declares them."""
    if column.kind != "categorical" or column.is_declared:
        return column
    is_there = np.bincount(column.values, minlength=len(column.categories) + 1)[:-1] > 0
    return column if is_there.all() else recoded(column, tuple(itertools.compress(column.categories, is_there)))


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
        if X.shape[0] * X.shape[1] <= CELLS_AT_A_TIME:
            return _read_array(X.toarray(order="C"))
        names = default_names(X.shape[1])
        return Table.of(map(column_of_array, names, sparse_vectors(X)), False)
    frame = as_frame(X)
    if isinstance(frame, DataFrame):
        return _read_frame(frame)
    if isinstance(frame, Series):
        check_shape(frame.shape)
    if isinstance(X, list | tuple):
        return _read_records(X) if X and all(isinstance(row, Mapping) for row in X) else _read_rows(X)
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
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
        for column in table.alone.values():
            if column.kind == "categorical":
                raise InvalidTypeError(
                    f"column {column.name!r} is categorical, and categorical_features=None allows no such column: "
                    "choose 'from_dtype', or pass numbers"
                )
        return table
    is_listed = _is_listed(table.names, categorical_features)
    listed = {place: as_categorical(table.column(place)) for place in np.flatnonzero(is_listed).tolist()}
    return with_alone(table, listed)


def with_alone(table: Table, columns: Mapping[int, TableColumn]) -> Table:
    """Returns the table with other columns at some places, which lie in no array."""
    if not columns:
        return table
    is_replaced = np.zeros(len(table.names), bool)
    is_replaced[list(columns)] = True
    blocks = [own for block in table.blocks for own in block.where(~is_replaced[block.place])]
    return replace(table, alone={**table.alone, **columns}, blocks=tuple(blocks))


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
    if isinstance(X, Table):
        check_same_length(len(X), range(num_rows))
        return X.take(rows)
    frame = as_frame(X)
    is_frame = isinstance(frame, DataFrame)
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


@lru_cache(maxsize=4)
def default_names(num_columns: int) -> tuple[str, ...]:
    """Returns the names of columns that came without: x0, x1, ..."""
    return tuple([f"x{column}" for column in range(num_columns)])


def _read_array(X: Any, names: tuple[str, ...] | None = None) -> Table:
    values = as_array("X", X)
    check_shape(values.shape)
    names = names or default_names(values.shape[1])
    if values.dtype.kind in "OUTbmM":
        return Table.of(map(column_of_array, names, values.T), False)
    if isinstance(X, np.ma.MaskedArray):  # whose integers have become floats
        check_numbers(X.filled(0), names)
    return Table(names, False, {}, (_block_of(values, names, np.arange(len(names))),))


def _block_of(
    matrix: Shaped[np.ndarray, "row column"], names: Sequence[str], place: Int[np.ndarray, " column"]
) -> NumberBlock:
    """Returns the columns of an array, after checking its values.

    Args:
        matrix: The array.
        names: The names of its columns.
        place: Their places in the table.
    """
    return NumberBlock(place, matrix, np.arange(matrix.shape[1]), check_numbers(matrix, names))


def is_plain_array(X: Any) -> bool:
    """Returns whether something is an array of NumPy's own class, without fields."""
    return type(X) is np.ndarray and X.dtype.names is None


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
    return Table.of((_read_array(X[name][:, None], (name,)).column(0) for name in names), True)


def _read_records(X: Sequence[Mapping]) -> Table:
    """Reads rows that name their values; one that a row does not have is missing."""
    check_shape((len(X), len(X[0])))
    for place, row in enumerate(X):
        if not row.keys() <= X[0].keys():
            name = next(name for name in row if name not in X[0])
            raise InvalidInputError(f"row {place} of X has a value {name!r}, which the first row does not have")
    columns = {name_in_words(name): [row.get(name) for row in X] for name in X[0]}
    return Table.of(map(column_of_values, columns, columns.values()), True)


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
    return Table.of(map(column_of_values, default_names(len(columns)), columns), False)


def _read_frame(frame: DataFrame) -> Table:
    check_shape(frame.shape)
    names = tuple(frame.columns)
    is_numbered = names[0] == 0 and are_places(names)
    names = default_names(len(names)) if is_numbered else names
    of_type, is_alone, alone = _places_by_type(frame), np.ones(len(names), bool), {}
    blocks = tuple(_read_blocks(frame, names, of_type))
    for block in blocks:
        is_alone[block.place] = False
    if len(frame) <= _FEW_ROWS and frame.implementation.is_pandas():
        alone = _read_values(frame, names, of_type)
        is_alone[list(alone)] = False
    others = np.flatnonzero(is_alone).tolist()
    if len(frame) <= ROWS_AT_A_TIME:
        for place in others:
            alone[place] = _read_series(names[place], frame[:, place])
    else:
        series = [frame[:, place] for place in others]
        read = in_threads(_read_series, map(names.__getitem__, others), series)
        alone |= dict(zip(others, read, strict=True))
    return Table(names, not is_numbered, dict(sorted(alone.items())), blocks, is_numbered)


def _read_blocks(frame: DataFrame, names: tuple[str, ...], of_type: Mapping[Any, list[int]]) -> Iterator[NumberBlock]:
    """Reads the columns of numbers of one type together: one by one each takes a library tens of microseconds.

    Not of a large table, of which the library may make a copy, unless its columns are short.
    """
    if len(frame) > _MOST_ROWS_OF_BLOCK and len(names) * len(frame) > CELLS_AT_A_TIME:
        return
    for own, place in of_type.items():
        kind = _kind_of_numbers(own, frame, place[0]) if len(place) > 1 else ""
        if not kind:
            continue
        matrix = _matrix_of(frame, place)
        if matrix.dtype.kind == kind:  # unless it has integers of which some are missing
            yield _block_of(matrix, list(map(names.__getitem__, place)), np.array(place))


def _read_values(frame: DataFrame, names: tuple[str, ...], of_type: Mapping[Any, list[int]]) -> dict[int, TableColumn]:
    """Reads the columns of Python's values, such as words, of a few rows of pandas, by their places.

    To find out the distinct words takes pandas some hundred microseconds a column, however few rows there are.
    """
    columns = {}
    for own, place in of_type.items():
        if own.type in (str, np.object_):
            values = _matrix_of(frame, place).T.tolist()
            columns |= {number: column_of_values(names[number], own) for number, own in zip(place, values, strict=True)}
    return columns


def _matrix_of(frame: DataFrame, place: list[int]) -> Shaped[np.ndarray, "row column"]:
    """Returns some columns of one type as an array.

    NumPy's types in pandas are read by pandas: narwhals would look at every column in the time of a small fit.
    """
    is_whole = len(place) == frame.shape[1]
    if not frame.implementation.is_pandas():
        return (frame if is_whole else frame[:, place]).to_numpy()
    native: Any = frame.to_native()
    return (native if is_whole else native.take(place, axis=1)).to_numpy()


def _places_by_type(frame: DataFrame) -> dict[Any, list[int]]:
    """Returns the places of columns by their types.

    Types are told apart as the library has them: narwhals would look every one up by the column's name.
    """
    native: Any = frame.to_native()
    if frame.implementation.is_pandas():
        types = native.dtypes.tolist()
    elif frame.implementation.is_polars():
        types = list(map(type, native.dtypes))
    else:
        types = list(map(str, frame.schema.values()))
    number_of = {own: number for number, own in enumerate(dict.fromkeys(types))}
    number = np.fromiter(map(number_of.__getitem__, types), np.intp, len(types))
    groups = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    return dict(zip(number_of, (places.tolist() for places in groups), strict=True))


def _kind_of_numbers(own: Any, frame: DataFrame, place: int) -> str:
    """Returns NumPy's kind of the numbers of a column, given its type and its place; "" if it may have others."""
    if frame.implementation.is_pandas():
        return _KIND_OF_PANDAS.get(own, "")
    dtype = frame[:, place].dtype
    if dtype.is_float():
        return "f"
    if not dtype.is_integer() or type(dtype).__name__ in _UNREADABLE:
        return ""
    return "u" if dtype.is_unsigned_integer() else "i"


def _read_series(name: str, series: Series) -> TableColumn:
    dtype = series.dtype
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return _read_times(name, series)
    if dtype.is_temporal() or dtype.is_nested() or type(dtype).__name__ in _UNREADABLE:
        raise InvalidTypeError(
            f"column {name!r} has dtype {dtype}, which is not read: turn times of day into numbers (such as hours), "
            "wide integers into floats, anything else into strings"
        )
    if dtype.is_float() or ((dtype.is_integer() or dtype.is_boolean()) and not series.null_count()):
        return column_of_array(name, series.to_numpy())
    if dtype.is_integer():  # checked as integers: a data frame's own conversion of nulls to NaN would round them
        known = column_of_array(name, series.fill_null(0).to_numpy()).values
        return TableColumn(name, "numeric", np.where(series.is_null().to_numpy(), np.nan, known), True)
    if not isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return column_of_values(name, series.to_list())
    return read_words(name, series)


def read_words(name: str, series: Series) -> TableColumn:
    """Reads a series of strings, or of the categories of its dtype."""
    words, place = _factorized(series)
    declared = declared_categories(series)
    if declared is not None:
        column = column_of_categories(name, *declared, [*words, None], is_declared=True)
    elif set(map(type, words)) == {str}:
        column = column_of_categories(name, "categorical", tuple(sorted(words)), [*words, None])
    else:
        column = column_of_values(name, [*words, None])
        column = as_categorical(column) if isinstance(series.dtype, nw.Categorical) else column
    return spread(column, place)


def _factorized(series: Series) -> tuple[list, Int[np.ndarray, " row"]]:
    """Returns the dictionary of a series, of words or other categories, and every row's place in it, -1 if missing.

    The library that holds the series finds them: there are far fewer words than rows, which Python need not read.
    """
    native: Any = series.to_native()
    if series.implementation.is_polars():
        if isinstance(series.dtype, nw.Categorical):
            return _factorized_categorical(native)
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


def _factorized_categorical(native: Any) -> tuple[list, Int[np.ndarray, " row"]]:
    """Does what `_factorized` does for a Categorical of polars, by the numbers that stand for its words."""
    met = native.unique().drop_nulls()
    number_of_word, number = (own.to_physical().cast(int).fill_null(-1).to_numpy() for own in (met, native))
    place_of = np.full(number_of_word.max(initial=-1) + 2, -1)  # the last is that of a missing value
    place_of[number_of_word] = np.arange(len(number_of_word))
    return met.cast(str).to_list(), place_of[number]


def _read_times(name: str, series: Series) -> TableColumn:
    is_utc = isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None
    if is_utc:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    values = series.to_numpy()
    if values.dtype.kind == "O":  # so pandas has Arrow's dates
        values = column_of_values(name, series.to_list()).values
    return column_of_array(name, values, is_utc=is_utc)


def declared_categories(series: Series) -> tuple[str, tuple] | None:
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
