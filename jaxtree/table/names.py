"""Names of columns as strings, whatever they are in a data frame, and which columns are no features.

A column is chosen by its name, or by its place, from 0. A number is a name where a table has columns that are named by
numbers, as the years of a pivoted table are, and a place where it has none: `column_place` is where all functions ask.

pandas writes an index into files as a column, and says in the file's metadata which one it is; of an index without a
name the column's name says so.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.lazy import DataFrame, nw

_INDEX = re.compile(r"__index_level_\d+__")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_MOST_SHOWN = 20

_MOST_ALIKE = 0.65
"""How alike a name must be to that of a column to be taken for it: 1 is the same."""


def name_in_words(name: Any) -> str:
    """Returns the name of a column as a string; the levels of a tuple stand one after the other.

    >>> [name_in_words(name) for name in ("pay", 5, ("pay", 5), ("age", ""))]
    ['pay', '5', 'pay, 5', 'age']
    """
    if isinstance(name, tuple):
        return ", ".join(level for level in map(str, name) if level)
    return str(name)


def column_place(given: Any, names: Sequence[str], parameter: str, noun: str = "column") -> int:
    """Returns the place of a column that a user names: by its name, as it was in the table, or by its place.

    A number is the name of a column where some are named by numbers, and else a place, from 0.

    Args:
        given: The name or the place.
        names: The names of the columns, as strings.
        parameter: The name of the parameter, for messages.
        noun: The word for one of those that have the names.

    Raises:
        InvalidInputError: There is no such column.

    >>> column_place(2, ["2", "1", "0"], "column"), column_place(2, ["age", "pay", "zip"], "column")
    (0, 2)
    >>> column_place(("pay", 5), ["age", "pay, 5"], "column")
    1
    """
    name, own = name_in_words(given), list(names)
    if name in own:
        return own.index(name)
    have_numbers = any(map(_NUMBER.fullmatch, own))
    is_number = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
    if is_number and have_numbers:
        equal = [place for place, one in enumerate(own) if _NUMBER.fullmatch(one) and float(one) == float(given)]
        if len(equal) == 1:
            return equal[0]
    if is_number and not have_numbers and isinstance(given, Integral) and 0 <= int(given) < len(own):
        return int(given)
    shown = ", ".join(map(repr, own[:_MOST_SHOWN])) + (", ..." if len(own) > _MOST_SHOWN else "")
    numbers = "numbers are names here" if have_numbers else f"a place from 0 to {len(own) - 1}"
    raise InvalidInputError(f"{parameter} must name a {noun}, one of {shown} ({numbers}), got {given!r}")


def hint_for_column(given: str, names: Iterable[str]) -> str:
    """Returns the hint of an error about a name of no column: the nearest one, or "" if none is near.

    >>> [hint_for_column(given, ["class", "doors"]) for given in ("Class", "clas", "age")]
    [": do you mean 'class'?", ": do you mean 'class'?", '']
    """
    of_plain = {name.strip().casefold(): name for name in names}
    close = difflib.get_close_matches(given.strip().casefold(), of_plain, 1, _MOST_ALIKE)
    return f": do you mean {of_plain[close[0]]!r}?" if close else ""


def are_places(names: Sequence) -> bool:
    """Returns whether names are 0, 1, ..., as pandas numbers the columns of a bare array.

    >>> are_places([0, 1]), are_places([1, 0]), are_places(["0", "1"]), are_places([False, True])
    (True, False, False, False)
    """
    have_words = any(issubclass(own, str | bool) for own in set(map(type, names)))
    return not have_words and list(names) == list(range(len(names)))


def are_shuffled_places(names: Sequence[str]) -> bool:
    """Returns whether names are the numbers 0, 1, ... in another order.

    >>> are_shuffled_places(["1", "0"]), are_shuffled_places(["0", "1"]), are_shuffled_places(["1", "2"])
    (True, False, False)
    """
    if not len(names) or not names[0].isdecimal():
        return False
    places = list(map(str, range(len(names))))
    return list(names) != places and sorted(names) == sorted(places)


def _are_strings(names: Iterable) -> bool:
    return all(issubclass(own, str) for own in set(map(type, names)))


def kept_names(names: Iterable, metadata: Mapping[str, Any] | None = None) -> dict:
    """Returns the names of a stored table's columns by their names in the store, without those of an index.

    Args:
        names: The names in the store, or in a data frame.
        metadata: The metadata of pandas, if it wrote the table.

    >>> kept_names(["a", "id"], {"index_columns": ["id"]}), kept_names(["a", "__index_level_0__"])
    ({'a': 'a'}, {'a': 'a'})
    >>> kept_names(["('pay', '5')"], {"column_indexes": [{}, {}]})
    {"('pay', '5')": 'pay, 5'}
    """
    described = metadata or {}
    index, num_levels = described.get("index_columns") or (), len(described.get("column_indexes") or ())
    # An index that is a range is described, and no column.
    index = {name for name in index if isinstance(name, str)}
    kept = list(names)
    if index or _INDEX.search("\n".join(map(str, kept))):
        kept = [name for name in kept if name not in index and not (isinstance(name, str) and _INDEX.fullmatch(name))]
    return {name: _name_of_levels(name) for name in kept} if num_levels > 1 else dict(zip(kept, kept, strict=True))


def _name_of_levels(name: str) -> str:
    """The name of a column of several levels, which pandas wrote as Python writes a tuple."""
    try:
        return name_in_words(ast.literal_eval(name))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name


def with_names_of_strings(frame: DataFrame) -> DataFrame:
    """Returns a data frame without a stored index, and with strings as names; 0, 1, ... of a bare array stay.

    Raises InvalidInputError if two columns have one name then.
    """
    native: Any = frame.to_native()
    metadata = getattr(getattr(native, "schema", None), "pandas_metadata", None)
    given = frame.columns
    if not metadata and set(map(type, given)) == {str} and not _INDEX.search("\n".join(given)):
        return frame
    kept = kept_names(given, metadata)
    names = list(kept.values())
    if not (_are_strings(names) or are_places(names)):
        names = [name_in_words(name) for name in names]
    if names == given:
        return frame
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"the names of X's columns must be unique, and {twice!r} appears twice")
    if len(kept) < len(frame.columns):
        frame = frame.drop([name for name in frame.columns if name not in kept])
    if names == frame.columns:
        return frame
    if _are_strings(frame.columns):
        return frame.rename(dict(zip(frame.columns, names, strict=True)))
    renamed: Any = frame.to_native()
    return nw.from_native(renamed.set_axis(names, axis=1), eager_only=True)
