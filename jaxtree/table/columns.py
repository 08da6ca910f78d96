"""Columns of a table as it was read: numbers, categories, or times (see `times`).

The values of a column of a sparse matrix are a *sparse vector*: a value that it does not store is 0, not missing, and
only the reader of a block holds zeros.
"""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int64, Num, Shaped

from jaxtree.blocks import blocks_of, by_blocks
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.rare_words import RareWords
from jaxtree.table.times import KINDS, TimeScale, as_times, in_ticks, origin_of

KINDS_IN_WORDS = {
    "numeric": "numbers",
    "boolean": "truth values",
    "categorical": "categories",
    "ordered": "ordered categories",
    **KINDS,
}
LARGEST_EXACT_INTEGER = 2**53  # float64 holds every integer up to here
MAX_CODES = 65_535  # a uint16 holds as many codes, and one for missing
CELLS_AT_A_TIME = 2**23
"""Numbers of a block of rows that is held with its zeros while rows are predicted: 64 MiB of float64."""

_INTEGERS = (int, np.integer)
_FLOATS = (float, np.floating)
_EXACT = (Decimal, Fraction)
_MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # by name, so that pandas need not be installed
_KINDS_OF_VALUES = {  # in this order: NumPy's durations are integers, and so are truth values
    "strings": str,
    "dates": (datetime.date, np.datetime64),
    "durations": (datetime.timedelta, np.timedelta64),
    "booleans": (bool, np.bool_),
    "integers": _INTEGERS,
    "numbers": _FLOATS + _EXACT,
}
BEYOND_EXACT = (
    "column {} holds integers beyond 2**53, which float64 cannot tell apart: subtract an offset, or pass strings"
)


@dataclass(frozen=True, eq=False)
class SparseVector:
    """A vector that is 0 except for some entries.

    Attributes:
        place: The places of the entries, in ascending order.
        entry: The entries; some may be 0.
        size: The length of the vector.

    >>> vector = SparseVector(np.array([1, 3]), np.array([0.5, 2.0]), 5)
    >>> len(vector), vector[2:4], np.asarray(vector)
    (5, array([0., 2.]), array([0. , 0.5, 0. , 2. , 0. ]))
    """

    place: Int[np.ndarray, " entry"]
    entry: Shaped[np.ndarray, " entry"]
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
        """Returns values that follow one another, with zeros."""
        start, stop, _ = block.indices(self.size)
        first, last = np.searchsorted(self.place, (start, stop))
        values = np.zeros(stop - start, self.dtype)
        values[self.place[first:last] - start] = self.entry[first:last]
        return values

    def take(self, places: Int[np.ndarray, " taken"]) -> "SparseVector":
        """Returns the values at ascending places."""
        is_stored = np.isin(places, self.place)
        entry = self.entry[np.searchsorted(self.place, places[is_stored])]
        return SparseVector(np.flatnonzero(is_stored), entry, len(places))

    def distinct_parts(self) -> Shaped[np.ndarray, " part"]:
        """Returns the entries, with a 0 before them if any place has none."""
        return np.append(np.zeros(int(self.size > len(self.entry)), self.dtype), self.entry)

    def spread(self, parts: Shaped[np.ndarray, " part"], out: Shaped[np.ndarray, " row"]) -> None:
        """Writes a vector, given a value for each of the `distinct_parts`."""
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


class ColumnStatistics(NamedTuple):
    """Facts about all rows of a column, where it holds the values of sampled rows.

    Attributes:
        is_known: Whether any value is known, or its dtype declares its kind; else it may turn out to be of any.
        num_rows: The number of the rows of every category.
        first_row: The number of the first row of the part that first has every category.
        origin: The first date, see `TimeScale`; (0, 0) for all other columns.
    """

    is_known: bool = True
    num_rows: tuple[int, ...] = ()
    first_row: tuple[int, ...] = ()
    origin: tuple[int, int] = (0, 0)


NO_STATISTICS = ColumnStatistics()
"""The statistics of numbers, of which some are known."""


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of a table, or of a part of it.

    Bins and categories are learned from columns of *sampled* rows, see `jaxtree.table.summary`: such a column has the
    numbers or times of these, no values of categories, and statistics of all rows. Such columns of parts are merged.

    Attributes:
        name: Its name.
        kind: "numeric"; "categorical", "ordered" or "boolean"; "instant", "utc" or "duration" (see `TimeScale`).
        values: Numbers, NaN where one is missing; the position of every row's category, that after the last where it is
            missing; or NumPy's times in one of the units that `in_ticks` returns, NaT where one is missing.
        has_missing: Whether any value is missing.
        categories: The distinct categories; none of numbers and times.
        is_declared: Whether the categories are those that a dtype declares, in its order, with or without rows.
        statistics: Facts about all rows, where the values are those of sampled ones.
    """

    name: str
    kind: str
    values: Shaped[np.ndarray, " row"] | SparseVector
    has_missing: bool
    categories: tuple = ()
    is_declared: bool = False
    statistics: ColumnStatistics = NO_STATISTICS

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def is_time(self) -> bool:
        """Whether it has dates or durations."""
        return self.kind in KINDS

    @property
    def has_categories(self) -> bool:
        """Whether it has categories, or truth values."""
        return self.kind in ("categorical", "ordered", "boolean")

    def items(self) -> Shaped[np.ndarray, " row"]:
        """Returns the number, time or category of every row, None for a missing category."""
        values = np.asarray(self.values)
        return np.array([*self.categories, None], object)[values] if self.has_categories else values

    def known(self) -> Shaped[np.ndarray, " known"]:
        """Returns the values that are not missing."""
        values = np.asarray(self.values)
        return values[values != len(self.categories) if self.has_categories else ~np.isnan(values)]

    def numbers(self) -> Num[np.ndarray, " row"] | SparseVector:
        """Returns numbers; of truth values these are 0 and 1."""
        return np.array([0.0, 1.0, np.nan])[np.asarray(self.values)] if self.kind == "boolean" else self.values

    @property
    def time(self) -> TimeScale | None:
        """How times become numbers, in a column of sampled rows; None if it has none."""
        return TimeScale(self.kind, self.statistics.origin) if self.is_time else None

    def sampled(self, values: Shaped[np.ndarray, " sampled"] | SparseVector, first_row: int = 0) -> "TableColumn":
        """Returns the column of sampled rows.

        Args:
            values: Their values.
            first_row: The number of the column's first row in the whole table.
        """
        if self.has_categories:
            num_rows = np.bincount(np.asarray(self.values), minlength=len(self.categories) + 1)[:-1].tolist()
            statistics = ColumnStatistics(True, tuple(num_rows), (first_row,) * len(num_rows))
            return replace(self, values=np.zeros(0, np.int32), statistics=statistics)
        if self.has_missing and self._lacks_all():  # other parts may have anything
            missing = np.full(len(values), np.nan)
            return TableColumn(self.name, "numeric", missing, True, statistics=ColumnStatistics(is_known=False))
        if self.kind not in ("instant", "utc"):
            return replace(self, values=values)
        return replace(self, values=values, statistics=ColumnStatistics(origin=origin_of(np.asarray(self.values))))

    def _lacks_all(self) -> bool:
        """Whether every number or time is missing."""
        values = self.values.distinct_parts() if isinstance(self.values, SparseVector) else self.values
        return bool(np.isnan(values).all())

    @staticmethod
    def merged(parts: Sequence[tuple[str, "TableColumn"]], order: Int64[np.ndarray, " sampled"]) -> "TableColumn":
        """Returns the column of the sampled rows of all parts.

        Args:
            parts: The column of sampled rows of every part, after the part's name in messages.
            order: The places of sampled rows, of those of all parts one after the other, in the order of the rows.

        Raises:
            InvalidInputError: Parts differ in the kind of the column.
        """
        known = [part for part in parts if part[1].statistics.is_known] or [parts[0]]
        first = known[0][1]
        found: dict[Any, tuple[tuple[int, int], int]] = {}
        for part in known:
            _check_alike(known[0], part)
            of_part = part[1].statistics
            rows = zip(part[1].categories, of_part.first_row, of_part.num_rows, strict=True)
            for place, (category, first_row, num_rows) in enumerate(rows):
                earlier, before = found.get(category, ((first_row, place), 0))
                found[category] = min((first_row, place), earlier), before + num_rows
        values = first.values
        if not first.has_categories:
            of_parts = [np.asarray(column.values) for _, column in parts]
            if first.is_time:
                of_parts = [np.full(len(v), "NaT", first.values.dtype) if v.dtype.kind == "f" else v for v in of_parts]
            values = np.concatenate(of_parts)[order]
        categories = tuple(sorted(found, key=found.__getitem__ if first.is_declared else None))
        statistics = ColumnStatistics(
            is_known=first.statistics.is_known,
            num_rows=tuple(found[own][1] for own in categories),
            first_row=tuple(found[own][0][0] for own in categories),
            origin=min(column.statistics.origin for _, column in known),
        )
        has_missing = any(column.has_missing for _, column in parts)
        return TableColumn(first.name, first.kind, values, has_missing, categories, first.is_declared, statistics)


def _check_alike(first: tuple[str, TableColumn], other: tuple[str, TableColumn]) -> None:
    """Raises InvalidInputError if the columns of two parts differ in kind."""
    (first_label, own), (label, column) = first, other
    name = f"the parts of a table must have the same columns: column {column.name!r} "
    if own.kind != column.kind:
        raise InvalidInputError(
            f"{name}has {KINDS_IN_WORDS[column.kind]} in {label}, and {KINDS_IN_WORDS[own.kind]} in {first_label}"
        )
    if own.is_declared != column.is_declared:
        declaring, rest = (first_label, label) if own.is_declared else (label, first_label)
        raise InvalidInputError(f"{name}declares its categories in {declaring}, and none in {rest}")
    if own.kind == "ordered" and own.categories != column.categories:
        raise InvalidInputError(
            f"{name}has the ordered categories {list(column.categories)} in {label}, and {list(own.categories)} in "
            f"{first_label}"
        )


def check_numbers(X: Shaped[np.ndarray, "row column"], names: Sequence[str]) -> Bool[np.ndarray, " column"]:
    """Returns which columns have missing values.

    Raises:
        InvalidInputError: If a number is infinite, or an integer that float64 cannot hold.
        InvalidTypeError: If the dtype is not one of numbers that float64 can hold.
    """
    kind, no_column = X.dtype.kind, np.zeros(X.shape[1], bool)
    if kind == "c":
        raise InvalidInputError(f"Complex data not supported: X has dtype {X.dtype}; pass real and imaginary parts.")
    if kind not in "iuf" or X.dtype.itemsize > 8:
        raise InvalidTypeError(
            f"X has dtype {X.dtype}; allowed are numbers of up to 64 bits, booleans, strings, dates, durations and "
            "objects."
        )
    if kind == "f":
        if np.isfinite(by_blocks(partial(_sum_of_block, X), len(X))).all():  # one cheap pass settles nearly every table
            return no_column
        _refuse(np.isinf(X), names, "Input X contains infinity in column {}: replace it, or make it NaN")
        return np.any(np.isnan(X), axis=0)
    if X.size and X.dtype.itemsize == 8 and (X.max() > LARGEST_EXACT_INTEGER or X.min() < -LARGEST_EXACT_INTEGER):
        _refuse((X > LARGEST_EXACT_INTEGER) | (X < -LARGEST_EXACT_INTEGER), names, BEYOND_EXACT)
    return no_column


def _sum_of_block(X: Float[np.ndarray, "row column"], block: slice) -> np.floating:
    with np.errstate(over="ignore", invalid="ignore"):
        return X[block].sum()


def _refuse(is_wrong: Bool[np.ndarray, "row column"], names: Sequence[str], message: str) -> None:
    if is_wrong.any():
        column = np.flatnonzero(is_wrong.any(axis=0))[0]
        raise InvalidInputError(message.format(repr(names[column])))


def column_of_array(
    name: str, values: Shaped[np.ndarray, " row"] | SparseVector, *, is_utc: bool = False
) -> TableColumn:
    """Makes a column of an array of any dtype, after checking its values.

    Args:
        name: The name of the column.
        values: Its values.
        is_utc: Whether they are dates that had a time zone.
    """
    present = values.entry if isinstance(values, SparseVector) else values
    kind = present.dtype.kind
    if kind == "b":
        codes = present.astype(np.int32)
        codes = replace(values, entry=codes) if isinstance(values, SparseVector) else codes
        return TableColumn(name, "boolean", codes, False, (False, True))
    if kind in "mM":
        times = in_ticks(name, present)
        time_kind = "duration" if kind == "m" else "utc" if is_utc else "instant"
        return TableColumn(name, time_kind, times, bool(np.isnat(times).any()))
    if kind in "OUT" and present is values:
        return column_of_values(name, present.tolist())
    return TableColumn(name, "numeric", values, bool(check_numbers(present[:, None], [name])[0]))


def column_of_values(name: str, values: list) -> TableColumn:
    """Makes a column of Python values that are, where not missing, all numbers or truth values, strings or times.

    A column without any known value is one of numbers. Strings become categories in ascending order.
    """
    kinds = {_kind_of_type(name, value_type) for value_type in set(map(type, values))} - {"missing"}
    if len(kinds) > 1 and all(value != value for value in values if isinstance(value, _FLOATS + _EXACT)):
        kinds.discard("numbers")  # NaN may stand for a missing value of any kind
    if kinds == {"strings"}:
        categories = {str(value) for value in set(values) if isinstance(value, str)}
        return column_of_categories(name, "categorical", tuple(sorted(categories)), values)
    if kinds == {"booleans"}:
        return column_of_categories(name, "boolean", (False, True), values)
    if kinds in ({"dates"}, {"durations"}):
        known = [None if is_missing(value) else value for value in values]
        times, is_utc = as_times(name, known)
        return column_of_array(name, times, is_utc=is_utc)
    if not kinds <= {"integers", "numbers"}:
        raise InvalidTypeError(
            f"column {name!r} mixes {' and '.join(sorted(kinds))}: make it all numbers, all booleans or all strings "
            "(or all dates, or all durations), where not missing"
        )
    if any(_is_beyond_exact(value) for value in values if isinstance(value, _INTEGERS + _EXACT)):
        raise InvalidInputError(BEYOND_EXACT.format(repr(name)))
    numbers = [float(value) if isinstance(value, _INTEGERS + _FLOATS + _EXACT) else np.nan for value in values]
    return column_of_array(name, np.array(numbers, np.float64))


def _is_beyond_exact(value: Any) -> bool:
    """Whether an integer, Decimal or Fraction is a whole number that float64 cannot tell from others."""
    is_finite = value.is_finite() if isinstance(value, Decimal) else True
    return bool(is_finite and abs(value) > LARGEST_EXACT_INTEGER and value == int(value))


def _kind_of_type(name: str, value_type: type) -> str:
    if value_type.__name__ in _MISSING_TYPES:  # before the dates: pandas' NaT is an instance of one
        return "missing"
    for kind, types in _KINDS_OF_VALUES.items():
        if issubclass(value_type, types):
            return kind
    raise InvalidTypeError(
        f"column {name!r}: each argument must be a string, a boolean or a number (or a date or duration), got a "
        f"{value_type.__name__}; turn it into a string"
    )


def is_missing(value: Any) -> bool:
    """Returns whether a Python value stands for a missing one: None, NaN, NaT, or the likes of pandas.

    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    is_number = isinstance(value, (*_FLOATS, Decimal, np.datetime64, np.timedelta64))
    return type(value).__name__ in _MISSING_TYPES or (is_number and bool(value != value))


def column_of_categories(
    name: str, kind: str, categories: tuple, values: list, *, is_declared: bool = False
) -> TableColumn:
    """Makes a column of values that are among the categories; one that is not is missing.

    Raises the errors of `column_of_values` if declared categories are no strings or numbers.
    """
    are_words = set(map(type, categories)) == {str}
    if is_declared and not are_words and column_of_values(name, list(categories)).is_time:
        raise InvalidTypeError(f"column {name!r} has dates or durations as categories: turn them into strings")
    position = dict(zip(categories, range(len(categories)), strict=True))
    codes = np.fromiter(map(position.get, values, repeat(len(categories))), np.int32, len(values))
    return TableColumn(name, kind, codes, bool((codes == len(categories)).any()), categories, is_declared)


def spread(column: TableColumn, place: Int[np.ndarray, " row"]) -> TableColumn:
    """Makes a column whose rows are rows of another: of its distinct values, say, and a missing one behind these.

    >>> words = column_of_values("x", ["rain", "sunny", None])
    >>> spread(words, np.array([1, 1, 0, -1])).items().tolist()
    ['sunny', 'sunny', 'rain', None]
    """
    values = np.asarray(column.values)[place]
    lacks = values == len(column.categories) if column.has_categories else np.isnan(values)
    return replace(column, values=values, has_missing=bool(lacks.any()))


def as_categorical(column: TableColumn) -> TableColumn:
    """Reads a column as categories without order; distinct numbers, in ascending order, become categories.

    Raises InvalidTypeError of dates and durations.
    """
    if column.is_time:
        raise InvalidTypeError(
            f"column {column.name!r} has {KINDS[column.kind]}, which are numbers to a tree: turn them into strings to "
            "make them categories"
        )
    if column.has_categories:
        return replace(column, kind="categorical")
    distinct, codes = np.unique(np.asarray(column.values), return_inverse=True)  # NaN comes last, and once
    categories = distinct[~np.isnan(distinct)] + distinct.dtype.type(0)  # -0.0 becomes 0.0
    return TableColumn(
        column.name, "categorical", codes.astype(np.int32), column.has_missing, tuple(categories.tolist())
    )


def recoded(column: TableColumn, categories: tuple) -> TableColumn:
    """Returns a column of categories as one of other categories.

    A value that is none of them is one of their `RareWords`, and missing if they have none.
    """
    missing = len(categories)
    rest = missing - 1 if categories and isinstance(categories[-1], RareWords) else missing
    place = {category: place for place, category in enumerate(categories)}
    code_of = np.array([*(place.get(own, rest) for own in column.categories), missing], np.int32)
    codes = code_of[np.asarray(column.values)]
    return replace(column, values=codes, has_missing=bool((codes == missing).any()), categories=categories)


def as_float(data: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Returns numbers of a type that NumPy does not have itself, such as bfloat16, in 32 bits; others as they are."""
    is_foreign = data.dtype.kind == "V" and data.dtype.names is None and np.can_cast(data.dtype, np.float32)
    return data.astype(np.float32) if is_foreign else data


def as_array(name: str, values: Any) -> Shaped[np.ndarray, "..."]:
    """Returns values that NumPy understands as an array; a masked value becomes NaN, NaT or None.

    Raises InvalidInputError if rows differ in length.
    """
    if hasattr(values, "to_pylist"):  # NumPy misreads a dictionary array of pyarrow that has nulls
        values = values.to_pylist()
    try:
        data = as_float(np.asarray(np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else values))
    except ValueError as error:
        raise InvalidInputError(f"{name} must be a vector, or rows of one length: {error}") from error
    is_masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.False_
    if not is_masked.any():
        return data
    kind = data.dtype.kind
    missing: Any = np.array("NaT", data.dtype) if kind in "mM" else np.nan if kind in "iuf" else None
    return np.where(is_masked, missing, data if kind in "mMiuf" else data.astype(object))
