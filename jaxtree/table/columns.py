"""A column of a table: numbers or words.

A *number column* keeps its numbers, NaN where one is missing. A *word column* (strings, categories, truth values) holds
its distinct words and, for every row, the position of the row's word among them; the position after the last word means
missing.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int32, Num

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.sparse import SparseVector
from jaxtree.table.threads import ROWS_AT_A_TIME, block_starts, map_in_threads
from jaxtree.table.times import KINDS, TimeColumn, time_column_of_values

LARGEST_EXACT_INTEGER = 2**53  # float64 holds every integer up to here
MAX_CODES = 65_535  # a uint16 holds as many codes, and one for missing

_BOOLEANS = (bool, np.bool_)
_INTEGERS = (int, np.integer)
_FLOATS = (float, np.floating)
_INSTANTS = (datetime.date, np.datetime64)
_DURATIONS = (datetime.timedelta, np.timedelta64)
_MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # by name, so that pandas need not be installed

_BEYOND_EXACT = (
    "column {} holds integers beyond 2**53, which float64 cannot tell apart: subtract an offset, or pass strings"
)


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, NaN where one is missing."""

    name: str
    values: Num[np.ndarray, " row"] | SparseVector
    has_missing: bool


@dataclass(frozen=True)
class WordColumn:
    """Words, and for every row the position of its word; position `len(words)` means missing."""

    name: str
    kind: str  # "categorical", "ordered" or "boolean"
    words: tuple
    codes: Int32[np.ndarray, " row"] | SparseVector
    is_declared: bool = False  # whether the words are those that a dtype declares, with or without rows

    @property
    def has_missing(self) -> bool:
        """Whether any row's word is missing."""
        return bool((np.asarray(self.codes) == len(self.words)).any())


class Declared(NamedTuple):
    """The categories that a dtype declares, in its order, with or without rows that have them."""

    categories: tuple
    is_ordered: bool


def check_numbers(X: Num[np.ndarray, "row column"], names: Sequence[str]) -> Bool[np.ndarray, " column"]:
    """Says which columns have missing values; raises InvalidInputError for numbers that a float64 cannot hold."""
    no_column = np.zeros(X.shape[1], bool)
    if X.dtype.kind == "f":
        sums = map_in_threads(partial(_sum_of_block, X), block_starts(len(X)), num_rows=len(X))
        if np.isfinite(sums).all():  # one cheap pass settles nearly every table
            return no_column
        _refuse(np.isinf(X), names, "Input X contains infinity in column {}: replace it, or make it NaN")
        return np.any(np.isnan(X), axis=0)
    if X.dtype.itemsize == 8 and (X.max() > LARGEST_EXACT_INTEGER or X.min() < -LARGEST_EXACT_INTEGER):
        _refuse((X > LARGEST_EXACT_INTEGER) | (X < -LARGEST_EXACT_INTEGER), names, _BEYOND_EXACT)
    return no_column


def _sum_of_block(X: Float[np.ndarray, "row column"], start: int) -> np.floating:
    with np.errstate(over="ignore", invalid="ignore"):
        return X[start : start + ROWS_AT_A_TIME].sum()


def _refuse(is_wrong: Bool[np.ndarray, "row column"], names: Sequence[str], message: str) -> None:
    if is_wrong.any():
        column = np.flatnonzero(is_wrong.any(axis=0))[0]
        raise InvalidInputError(message.format(repr(names[column])))


def number_column(name: str, values: Num[np.ndarray, " row"]) -> NumberColumn:
    """Makes a column of numbers, after checking them."""
    return NumberColumn(name, values, bool(check_numbers(values[:, None], [name])[0]))


def boolean_column(name: str, values: Bool[np.ndarray, " row"]) -> WordColumn:
    """Makes a column of truth values."""
    return WordColumn(name, "boolean", (False, True), values.astype(np.int32))


AnyColumn = NumberColumn | WordColumn | TimeColumn


def column_of_values(name: str, values: list, max_categories: int | None = None) -> AnyColumn:
    """Makes a column of Python values that are, where not missing, all numbers or truth values, strings or times.

    A column without any known value is a number column. Strings become categories in ascending order; InvalidInputError
    is raised if they are more than `max_categories`, before anything else is done with them.
    """
    kinds = _kinds_of_values(name, values)
    if kinds == {"strings"}:
        words = {str(word) for word in set(values) if isinstance(word, str)}
        check_num_categories(name, len(words), max_categories)
        return _look_up(name, "categorical", tuple(sorted(words)), values)
    if kinds in ({"dates"}, {"durations"}):
        return time_column_of_values(name, values, are_instants=kinds == {"dates"})
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


def column_of_categories(name: str, declared: Declared, values: list, max_categories: int | None = None) -> WordColumn:
    """Makes a column of values that are categories or missing; it keeps all that are declared, in their order.

    Raises InvalidInputError if they have no order and are more than `max_categories`, and whatever `column_of_values`
    does if they are no words or numbers.
    """
    if not declared.is_ordered:
        check_num_categories(name, len(declared.categories), max_categories)
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
    if issubclass(value_type, str):
        return "strings"
    if issubclass(value_type, _INSTANTS):
        return "dates"
    if issubclass(value_type, _DURATIONS):  # before the integers: NumPy's are such
        return "durations"
    if issubclass(value_type, _BOOLEANS):  # before the integers: a bool is an int
        return "booleans"
    if issubclass(value_type, _INTEGERS):
        return "integers"
    if issubclass(value_type, _FLOATS):
        return "numbers"
    raise InvalidTypeError(
        f"column {name!r}: each argument must be a string, a boolean or a number (or a date or duration), got a "
        f"{value_type.__name__}; turn it into a string"
    )


def is_missing(value: Any) -> bool:
    """Says whether a Python value stands for a missing one: None, NaN, or the likes of pandas.

    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, _FLOATS) and bool(np.isnan(value)))


def _look_up(name: str, kind: str, words: tuple, values: list) -> WordColumn:
    """Finds every value among the words; a value that is no word must be missing."""
    position = {word: code for code, word in enumerate(words)}
    codes = np.fromiter(map(position.get, values, repeat(len(words))), np.int32, len(values))
    return WordColumn(name, kind, words, codes)


def as_categorical(column: AnyColumn) -> WordColumn:
    """Reads a column as categories without order; distinct numbers, in ascending order, become words.

    Raises InvalidTypeError of dates and durations.
    """
    if isinstance(column, TimeColumn):
        raise InvalidTypeError(
            f"column {column.name!r} has {KINDS[column.kind]}, which are numbers to a tree: turn them into strings to "
            "make them categories"
        )
    if isinstance(column, WordColumn):
        return replace(column, kind="categorical")
    distinct, codes = np.unique(np.asarray(column.values), return_inverse=True)  # NaN comes last, and once
    words = distinct[~np.isnan(distinct)] + distinct.dtype.type(0)  # -0.0 becomes 0.0
    return WordColumn(column.name, "categorical", tuple(words.tolist()), codes.astype(np.int32))


def as_numbers(column: NumberColumn | WordColumn) -> Num[np.ndarray, " row"] | SparseVector:
    """Reads a column of numbers or truth values (False is 0, True is 1) as numbers."""
    if isinstance(column, NumberColumn):
        return column.values
    return np.array([0.0, 1.0, np.nan])[np.asarray(column.codes)]
