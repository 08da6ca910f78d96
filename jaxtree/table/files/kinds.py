"""Columns of a file with the types that follow from their cells.

A column of text has numbers if all its known cells are numbers and none is an identifier as 01234, truth values if they
are true and false, dates if all are dates of ISO 8601, else words. polars' own inference would read 01234 as 1234, and
numbers in quotes, or with spaces around them, as words; so it gets columns of text, and converts them. Columns of a
file with types stay what they are.
"""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

from jaxtree.errors import InvalidTypeError
from jaxtree.lines import TextFormat
from jaxtree.table.files.read import Contents, read_contents
from jaxtree.table.files.text import IDENTIFIER

KINDS = {
    "words": "words",
    "numbers": "numbers",
    "whole": "whole numbers",
    "truth": "true and false",
    "instant": "dates, as 2020-01-31 or 2020-01-31 12:00:00",
    "utc": "dates with a time zone, as 2020-01-31T12:00:00Z",
    "duration": "durations",
}
"""How a column can be read, and how messages call its cells; dates and durations as in `jaxtree.table.times`."""

KINDS_OF_TARGETS = ("whole", "numbers", "truth")
KINDS_OF_FEATURES = (*KINDS_OF_TARGETS, "instant", "utc")
"""Kinds of columns of text; the first one that all cells are of is the column's, else it has words."""

_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_DATES = {"instant": rf"{_DATE})?$", "utc": rf"{_DATE}(Z|[+-]\d{{2}}(:?\d{{2}})?))$"}
"""Dates of ISO 8601 that can be read in one way alone: year, month, day; without a time zone, and with one."""

_WORDS = pd.Series([""]).dtype
"""The type of words in pandas: that of strings from version 3 on, before it that of Python's values."""

TRUTH = {"true": True, "false": False}
"""Words of truth values."""


def read_frame(path: Path, words: Set[str] = frozenset()) -> pd.DataFrame:
    """Returns the columns of a file, without an index that is saved in it.

    Args:
        path: The file.
        words: Names of columns that have words in a file of text, whatever their cells are.

    Raises:
        InvalidInputError: It is no such file, is damaged, has no rows, or names of columns repeat.
        InvalidTypeError: A column is of a type that is not read.
        OSError: It cannot be read.
    """
    contents = read_contents(str(path), TextFormat())
    names = [name for name in contents.frame.columns if name not in contents.index]
    kinds = {name: () if name in words else KINDS_OF_FEATURES for name in names}
    return in_pandas(contents, {name: typed_column(contents, name, kinds[name]) for name in names})


def typed_column(contents: Contents, name: str, kinds: Sequence[str]) -> pl.Series:
    """A column of the type that it has, or that its cells of text have; an identifier, as 01234, is no number."""
    series = contents.cells(name)
    dtype = series.dtype
    if contents.is_text:
        of_words = ("whole", "numbers") if series.str.contains(IDENTIFIER).any() else ()
        tried = (converted(series, kind) for kind in kinds if kind not in of_words)
        return next((column for column in tried if column.null_count() == series.null_count()), series)
    if dtype in (pl.String, pl.Categorical):
        return series.cast(pl.String)
    # NumPy has no whole numbers of 128 bits.
    is_whole = dtype.is_integer() and not str(dtype).endswith("128") and not series.has_nulls()
    if is_whole or dtype in (pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Duration):
        return series
    if dtype != pl.Null and not dtype.is_numeric():
        raise InvalidTypeError(
            f"column {name!r} of {contents.name} has type {dtype}, which trees do not read: leave it out, or turn it "
            "into numbers or words"
        )
    return converted(series, "numbers")


def converted(series: pl.Series, kind: str) -> pl.Series:
    """Returns cells as of a kind, null where one is not of it."""
    dtype = series.dtype
    if kind == "truth":
        if dtype != pl.String:
            return series.cast(pl.Boolean)
        return series.str.to_lowercase().replace_strict(TRUTH, default=None, return_dtype=pl.Boolean)
    if kind in _DATES and dtype == pl.String:
        cells = series.str.extract(_DATES[kind], 0)
        if cells.null_count() > series.null_count():
            return cells
        dates = pd.Series(cells.to_list(), dtype=object)
        found: Any = pd.to_datetime(dates, format="ISO8601", utc=kind == "utc", errors="coerce").dt.tz_localize(None)
        times = pl.Series(series.name, found.to_numpy())
        return times.dt.replace_time_zone("UTC") if kind == "utc" else times
    if kind in (*_DATES, "duration"):
        # A duration is written in no one way, so that no text is one.
        return series if dtype.is_temporal() else pl.repeat(None, len(series), dtype=pl.Float64, eager=True)
    cells = series if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null) else series.cast(pl.String)
    return cells.cast(pl.Int64 if kind == "whole" else pl.Float64, strict=False)


def words_of(series: pl.Series) -> pl.Series:
    """Returns values as words: text as it is written, whole numbers without a point.

    >>> words_of(pl.Series([1.0, None, 0.5])).to_list()
    ['1', None, '0.5']
    """
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    words = [None if own is None else str(own).removesuffix(".0") for own in series.to_list()]
    return pl.Series(series.name, words, pl.String)


def in_pandas(contents: Contents, columns: Mapping[str, pl.Series], of_numbers: Set[str] = frozenset()) -> pd.DataFrame:
    """Columns in pandas, with the categories that the file declares, except where they are to be numbers."""
    found = {}
    for name, series in columns.items():
        if name in contents.categories and name not in of_numbers:
            found[name] = pd.Categorical(series.to_list(), dtype=contents.categories[name])
        else:
            found[name] = _series_in_pandas(series)
    return pd.DataFrame(found)


def _series_in_pandas(series: pl.Series) -> pd.Series:
    """Does what `to_pandas` of polars does, which needs pyarrow."""
    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        places = series.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return pd.Series(pd.Categorical.from_codes(places, dtype.categories.to_list(), ordered=True))
    if dtype == pl.Boolean:
        return pd.Series(series.to_list(), dtype="boolean" if series.has_nulls() else bool)
    if not dtype.is_numeric() and not dtype.is_temporal():
        return pd.Series(series.to_list(), dtype=_WORDS)
    if dtype == pl.Date:
        series = series.cast(pl.Datetime("ms"))
    found: Any = pd.Series(series.to_numpy())
    zone = getattr(dtype, "time_zone", None)
    return found if zone is None else found.dt.tz_localize("UTC").dt.tz_convert(zone)
