"""Columns of a table: numbers, categories, or times (see `times`).

A *number column* keeps its numbers, NaN where one is missing. A *category column* (strings, declared categories, truth
values) holds its distinct categories and, for every row, the position of the row's category among them; the position
after the last one means missing. The values of a column of a sparse matrix are a *sparse vector*: what it does not
store is 0, not missing, and only the reader of a block holds zeros.
"""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Num, Shaped

from jaxtree.blocks import blocks_of, in_threads, threads_for
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.times import KINDS, TimeColumn, time_column_of_values

LARGEST_EXACT_INTEGER = 2**53  # float64 holds every integer up to here
MAX_CODES = 65_535  # a uint16 holds as many codes, and one for missing
CELLS_AT_A_TIME = 2**23
"""Numbers of a block of rows that is held with its zeros while rows are predicted: 64 MiB of float64."""

_INTEGERS = (int, np.integer)
_FLOATS = (float, np.floating)
_MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # by name, so that pandas need not be installed
_KINDS_OF_VALUES = {  # in this order: NumPy's durations are integers, and so are truth values
    "strings": str,
    "dates": (datetime.date, np.datetime64),
    "durations": (datetime.timedelta, np.timedelta64),
    "booleans": (bool, np.bool_),
    "integers": _INTEGERS,
    "numbers": _FLOATS,
}
_BEYOND_EXACT = (
    "column {} holds integers beyond 2**53, which float64 cannot tell apart: subtract an offset, or pass strings"
)


@dataclass(frozen=True, eq=False)
class SparseVector:
    """A vector that is 0 except for some entries.

    Attributes:
        place: Where these are, in ascending order.
        entry: What they are; some may be 0.
        size: The length of the vector.

    >>> vector = SparseVector(np.array([1, 3]), np.array([0.5, 2.0]), 5)
    >>> len(vector), vector[2:4], np.asarray(vector)
    (5, array([0., 2.]), array([0. , 0.5, 0. , 2. , 0. ]))
    """

    place: Int[np.ndarray, " entry"]
    entry: Num[np.ndarray, " entry"] | Bool[np.ndarray, " entry"]
    size: int

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the entries."""
        return self.entry.dtype

    def __len__(self) -> int:
        """The length of the vector, zeros included."""
        return self.size

    def __array__(self, dtype: Any = None, copy: Any = None) -> Shaped[np.ndarray, " row"]:
        """The vector with its zeros."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def __getitem__(self, block: slice) -> Shaped[np.ndarray, " block"]:
        """Some of the vector that follow one another, with zeros."""
        start, stop, _ = block.indices(self.size)
        first, last = np.searchsorted(self.place, (start, stop))
        values = np.zeros(stop - start, self.dtype)
        values[self.place[first:last] - start] = self.entry[first:last]
        return values

    def take(self, places: Int[np.ndarray, " taken"] | slice) -> "SparseVector":
        """Some of the vector, at ascending places, or all of it."""
        if isinstance(places, slice):
            return self
        at = np.searchsorted(self.place, places).clip(max=max(len(self.place) - 1, 0))
        is_stored = self.place[at] == places if len(self.place) else np.zeros(len(places), bool)
        return SparseVector(np.flatnonzero(is_stored), self.entry[at[is_stored]], len(places))

    def distinct_parts(self) -> Shaped[np.ndarray, " part"]:
        """The entries, with a 0 before them if any place has none."""
        zeros = np.zeros(int(self.size > len(self.entry)), self.dtype)
        return np.concatenate([zeros, self.entry])

    def spread(self, parts: Shaped[np.ndarray, " part"], out: Shaped[np.ndarray, " row"]) -> None:
        """Writes a vector, given what stands for each of the `distinct_parts`."""
        if self.size > len(self.entry):
            out[:] = parts[0]
        out[self.place] = parts[len(parts) - len(self.entry) :]


def sparse_vectors(X: Any) -> list[SparseVector]:
    """Returns the columns of a sparse matrix or array; entries of one place are added up, as `X.toarray()` does."""
    by_column = X.tocsc()
    if not by_column.has_canonical_format:
        by_column = by_column.copy() if by_column is X else by_column
        by_column.sum_duplicates()
    first, place, entry = by_column.indptr, by_column.indices, by_column.data
    blocks = (slice(start, stop) for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True))
    return [SparseVector(place[block], entry[block], X.shape[0]) for block in blocks]


def blocks_of_rows(X: Any) -> Iterator[Any]:
    """Yields the rows of a sparse matrix in blocks that are small with their zeros."""
    X = X.tocsr()
    for block in blocks_of(max(X.shape[0], 1), max(CELLS_AT_A_TIME // max(X.shape[1], 1), 1)):
        yield X[block]


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, NaN where one is missing."""

    name: str
    values: Num[np.ndarray, " row"] | SparseVector
    has_missing: bool

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.values)


@dataclass(frozen=True)
class CategoryColumn:
    """Categories, and for every row the position of its category; position `len(categories)` means missing."""

    name: str
    kind: str  # "categorical", "ordered" or "boolean"
    categories: tuple
    codes: Int32[np.ndarray, " row"] | SparseVector
    is_declared: bool = False  # whether the categories are those that a dtype declares, with or without rows

    @property
    def has_missing(self) -> bool:
        """Whether any row's category is missing."""
        return bool((np.asarray(self.codes) == len(self.categories)).any())

    @property
    def values(self) -> Shaped[np.ndarray, " row"]:
        """The category of every row, None where it is missing."""
        return np.array([*self.categories, None], object)[np.asarray(self.codes)]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.codes)


AnyColumn = NumberColumn | CategoryColumn | TimeColumn


class Declared(NamedTuple):
    """The categories that a dtype declares, in its order, with or without rows that have them."""

    categories: tuple
    is_ordered: bool


def check_numbers(X: Num[np.ndarray, "row column"], names: Sequence[str]) -> Bool[np.ndarray, " column"]:
    """Says which columns have missing values; raises InvalidInputError for numbers that a float64 cannot hold."""
    no_column = np.zeros(X.shape[1], bool)
    if X.dtype.kind == "f":
        sums = in_threads(partial(_sum_of_block, X), blocks_of(len(X)), num_threads=threads_for(len(X)))
        if np.isfinite(np.array(sums)).all():  # one cheap pass settles nearly every table
            return no_column
        _refuse(np.isinf(X), names, "Input X contains infinity in column {}: replace it, or make it NaN")
        return np.any(np.isnan(X), axis=0)
    if X.dtype.itemsize == 8 and (X.max() > LARGEST_EXACT_INTEGER or X.min() < -LARGEST_EXACT_INTEGER):
        _refuse((X > LARGEST_EXACT_INTEGER) | (X < -LARGEST_EXACT_INTEGER), names, _BEYOND_EXACT)
    return no_column


def _sum_of_block(X: Float[np.ndarray, "row column"], block: slice) -> np.floating:
    with np.errstate(over="ignore", invalid="ignore"):
        return X[block].sum()


def _refuse(is_wrong: Bool[np.ndarray, "row column"], names: Sequence[str], message: str) -> None:
    if is_wrong.any():
        column = np.flatnonzero(is_wrong.any(axis=0))[0]
        raise InvalidInputError(message.format(repr(names[column])))


def number_column(name: str, values: Num[np.ndarray, " row"]) -> NumberColumn:
    """Makes a column of numbers, after checking them."""
    return NumberColumn(name, values, bool(check_numbers(values[:, None], [name])[0]))


def boolean_column(name: str, values: Bool[np.ndarray, " row"] | SparseVector) -> CategoryColumn:
    """Makes a column of truth values."""
    is_sparse = isinstance(values, SparseVector)
    codes = replace(values, entry=values.entry.astype(np.int32)) if is_sparse else values.astype(np.int32)
    return CategoryColumn(name, "boolean", (False, True), codes)


def column_of_values(name: str, values: list) -> AnyColumn:
    """Makes a column of Python values that are, where not missing, all numbers or truth values, strings or times.

    A column without any known value is a number column. Strings become categories in ascending order.
    """
    kinds = _kinds_of_values(name, values)
    if kinds == {"strings"}:
        categories = {str(value) for value in set(values) if isinstance(value, str)}
        return _look_up(name, "categorical", tuple(sorted(categories)), values)
    if kinds in ({"dates"}, {"durations"}):
        known = [None if is_missing(value) else value for value in values]
        return time_column_of_values(name, known, are_instants=kinds == {"dates"})
    if kinds == {"booleans"}:
        return _look_up(name, "boolean", (False, True), values)
    if not kinds <= {"integers", "numbers"}:
        raise InvalidTypeError(
            f"column {name!r} mixes {' and '.join(sorted(kinds))}: make it all numbers, all booleans or all strings "
            "(or all dates, or all durations), where not missing"
        )
    if any(abs(int(value)) > LARGEST_EXACT_INTEGER for value in values if isinstance(value, _INTEGERS)):
        raise InvalidInputError(_BEYOND_EXACT.format(repr(name)))
    numbers = [value if isinstance(value, _INTEGERS + _FLOATS) else np.nan for value in values]
    return number_column(name, np.array(numbers, np.float64))


def column_of_categories(name: str, declared: Declared, values: list) -> CategoryColumn:
    """Makes a column of values that are categories or missing; it keeps all that are declared, in their order.

    Raises what `column_of_values` does if they are no strings or numbers.
    """
    if isinstance(column_of_values(name, list(declared.categories)), TimeColumn):
        raise InvalidTypeError(f"column {name!r} has dates or durations as categories: turn them into strings")
    column = _look_up(name, "ordered" if declared.is_ordered else "categorical", declared.categories, values)
    return replace(column, is_declared=True)


def check_num_categories(name: str, num_categories: int, max_categories: int | None) -> None:
    """Raises InvalidInputError if a column has more categories than allowed; None allows any number."""
    if max_categories is None or num_categories <= max_categories:
        return
    larger = "" if max_categories >= MAX_CODES else f"pass a larger max_categories (up to {MAX_CODES}), "
    raise InvalidInputError(
        f"column {name!r} has {num_categories} categories, more than the {max_categories} allowed: {larger}drop or "
        "hash the column, or encode it as numbers"
    )


def _kinds_of_values(name: str, values: list) -> set[str]:
    """Returns the kinds of the known values; NaN may stand for a missing value of any kind."""
    kinds = {_kind_of_type(name, value_type) for value_type in set(map(type, values))} - {"missing"}
    if len(kinds) > 1 and all(np.isnan(value) for value in values if isinstance(value, _FLOATS)):
        kinds.discard("numbers")
    return kinds


def _kind_of_type(name: str, value_type: type) -> str:
    if value_type.__name__ in _MISSING_TYPES:  # before the dates: pandas' NaT says that it is one
        return "missing"
    for kind, types in _KINDS_OF_VALUES.items():
        if issubclass(value_type, types):
            return kind
    raise InvalidTypeError(
        f"column {name!r}: each argument must be a string, a boolean or a number (or a date or duration), got a "
        f"{value_type.__name__}; turn it into a string"
    )


def is_missing(value: Any) -> bool:
    """Says whether a Python value stands for a missing one: None, NaN, NaT, or the likes of pandas.

    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    is_number = isinstance(value, (*_FLOATS, np.datetime64, np.timedelta64))
    return type(value).__name__ in _MISSING_TYPES or (is_number and bool(value != value))


def _look_up(name: str, kind: str, categories: tuple, values: list) -> CategoryColumn:
    """Finds every value among the categories; a value that is none must be missing."""
    position = {category: code for code, category in enumerate(categories)}
    codes = np.fromiter(map(position.get, values, repeat(len(categories))), np.int32, len(values))
    return CategoryColumn(name, kind, categories, codes)


def as_categorical(column: AnyColumn) -> CategoryColumn:
    """Reads a column as categories without order; distinct numbers, in ascending order, become categories.

    Raises InvalidTypeError of dates and durations.
    """
    if isinstance(column, TimeColumn):
        raise InvalidTypeError(
            f"column {column.name!r} has {KINDS[column.kind]}, which are numbers to a tree: turn them into strings to "
            "make them categories"
        )
    if isinstance(column, CategoryColumn):
        return replace(column, kind="categorical")
    distinct, codes = np.unique(np.asarray(column.values), return_inverse=True)  # NaN comes last, and once
    categories = distinct[~np.isnan(distinct)] + distinct.dtype.type(0)  # -0.0 becomes 0.0
    return CategoryColumn(column.name, "categorical", tuple(categories.tolist()), codes.astype(np.int32))


def as_numbers(column: NumberColumn | CategoryColumn) -> Num[np.ndarray, " row"] | SparseVector:
    """Reads a column of numbers or truth values (False is 0, True is 1) as numbers."""
    if isinstance(column, NumberColumn):
        return column.values
    return np.array([0.0, 1.0, np.nan])[np.asarray(column.codes)]
