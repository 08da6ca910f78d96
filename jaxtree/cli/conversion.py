"""Cells as values of a kind: numbers, truth values, dates, words, declared categories.

Text becomes the values that it is written as; values of a file with types are cast, or become their words.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import polars as pl

from jaxtree.cli.disguised import remark_on
from jaxtree.cli.lines import COMMA_DECIMAL, IDENTIFIER, has_cells_for_names
from jaxtree.cli.reading import Contents
from jaxtree.cli.session import listed
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.cells import is_scalar_word, word_of
from jaxtree.table.columns import BEYOND_EXACT, LARGEST_EXACT_INTEGER

KINDS = {
    "words": "words",
    "categories": "its declared categories",
    "numbers": "numbers",
    "whole": "whole numbers",
    "truth": "true and false",
    "instant": "dates, as 2020-01-31 or 2020-01-31 12:00:00",
    "utc": "dates with a time zone, as 2020-01-31T12:00:00Z",
    "duration": "durations",
}
"""How a column can be read, and how messages call its cells; dates and durations as in `jaxtree.table.times`."""

_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?"
_DATES = {"instant": rf"{_DATE})?$", "utc": rf"{_DATE}(Z|[+-]\d{{2}}(:?\d{{2}})?))$"}
"""Dates of ISO 8601 that can be read in one way alone: year, month, day; without a time zone, and with one."""
_TRUTH = {"true": True, "false": False}
_TWINS = {"numbers": {"true": "1", "false": "0"}, "truth": {"1": "true", "1.0": "true", "0": "false", "0.0": "false"}}
_WHOLE = r"^[+-]?\d+$"


def converted_or_none(series: pl.Series, kind: str, *, is_forced: bool) -> pl.Series | None:
    """Returns cells of text as of a kind; None if one is of another.

    An identifier, as 01234, is a number only if the column is forced to have numbers.
    """
    if kind in ("whole", "numbers") and not is_forced and series.str.contains(IDENTIFIER).any():
        return None
    column = converted(series, kind)
    return column if column.null_count() == series.null_count() else None


def cast(contents: Contents, name: str, kind: str) -> pl.Series:
    """Returns a column as of a kind.

    Raises:
        InvalidInputError: A cell is not of it.
        InvalidTypeError: The column's type is not.
    """
    series, declared = contents.cells(name), contents.declared.get(name, ())
    try:
        column = converted(series, kind, declared)
    except pl.exceptions.PolarsError:
        raise InvalidTypeError(
            f"column {name!r} of {contents.name} has type {series.dtype} instead of {KINDS[kind]}"
        ) from None
    wrong = (column.is_null() & series.is_not_null()).arg_true()
    if len(wrong):
        allowed = f" {listed(declared)}" if kind == "categories" else ""
        hint = "--missing names words that mean that a value is missing"
        said = remark_on(series) if kind == "numbers" and series.dtype == pl.String else ""
        if "--decimal" in said or re.fullmatch(COMMA_DECIMAL, str(series[wrong[0]])):
            hint = "--decimal , reads decimal commas; write numbers without commas between thousands"
        elif said.startswith("words that are"):
            hint = said.removeprefix("words that are ")
        raise InvalidInputError(
            f"column {name!r} of {contents.name} must have {KINDS[kind]}{allowed}, and has {series[wrong[0]]!r} in "
            f"row {contents.row(wrong[0])} ({hint})"
        )
    return column


def check_columns(contents: Contents, names: Iterable[str]) -> None:
    """Raises InvalidInputError for a name of no column."""
    columns = contents.frame.columns
    for name in names:
        if name not in columns:
            is_row = contents.missing and has_cells_for_names(contents.frame)
            hint = " (--no-header reads the first line as a row, and calls the columns x0, x1, ...)" if is_row else ""
            if contents.missing and len(columns) == 1:
                hint = f"{hint} (--separator names the character between cells)"
            raise InvalidInputError(f"{contents.name} has no column {name!r}; its columns are {listed(columns)}{hint}")


def are_large(numbers: pl.Series) -> bool:
    """Returns whether a number may be an integer that float64 cannot tell from others."""
    ends: list[Any] = [end for end in (numbers.min(), numbers.max()) if end is not None]
    return any(not abs(float(end)) < LARGEST_EXACT_INTEGER for end in ends)


def check_exact(series: pl.Series, name: str) -> None:
    """Raises InvalidInputError if cells that are to be numbers are integers that float64 cannot tell apart."""
    if series.dtype == pl.String:
        series = series.filter(series.str.contains(_WHOLE).fill_null(False))
    elif not (series.dtype.is_integer() or series.dtype.is_decimal()):
        return
    is_large = series.cast(pl.Float64, strict=False).abs() >= LARGEST_EXACT_INTEGER
    if any(map(_is_beyond, series.filter(is_large).to_list())):
        raise InvalidInputError(
            f"{BEYOND_EXACT.format(repr(name))} (--categorical {name} reads it as words, --ignore {name} leaves it out)"
        )


def _is_beyond(integer: object) -> bool:
    digits = str(integer).partition(".")[0].lstrip("+-0")
    return len(digits) > len(str(LARGEST_EXACT_INTEGER)) or int(digits) > LARGEST_EXACT_INTEGER


def converted(series: pl.Series, kind: str, categories: Sequence[str] = ()) -> pl.Series:
    """Returns cells as of a kind, null where one is not of it."""
    dtype = series.dtype
    if kind == "categories":
        return series.cast(pl.String).cast(pl.Enum(categories), strict=False)
    if kind == "words":
        return _as_words(series)
    if kind == "truth":
        if dtype != pl.String:
            return series.cast(pl.Boolean)
        return series.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    if kind in _DATES and dtype == pl.String:
        cells = series.str.extract(_DATES[kind], 0)
        if cells.null_count() > series.null_count():
            return cells
        dates = pd.Series(cells.to_list(), dtype=object)
        return pl.from_pandas(pd.to_datetime(dates, format="ISO8601", utc=kind == "utc", errors="coerce"))
    if kind in (*_DATES, "duration"):
        # A duration is written in no one way, so that no text is one.
        return series if dtype.is_temporal() else pl.repeat(None, len(series), dtype=pl.Float64, eager=True)
    cells = series if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null) else series.cast(pl.String)
    return cells.cast(pl.Int64 if kind == "whole" else pl.Float64, strict=False)


def with_twins(series: pl.Series, kind: str) -> pl.Series:
    """Returns cells for a column that had numbers or truth values in fit: there 1 and true are one value, 0 and false.

    >>> with_twins(pl.Series(["true", "2", "FALSE"]), "numbers").to_list()
    ['1', '2', '0']
    >>> with_twins(pl.Series([1.0, None, 0.0]), "truth").to_list()
    [True, None, False]
    """
    if series.dtype == pl.String and kind in _TWINS:
        return series.str.to_lowercase().replace(_TWINS[kind])
    if series.dtype.is_numeric() and kind == "truth":
        return pl.select(pl.when((series == 0) | (series == 1)).then(series == 1)).to_series()
    return series


def _as_words(series: pl.Series) -> pl.Series:
    """The words of values; text is as it is written, unless all of it is words of numbers, or of truth values."""
    values = series.cast(pl.String) if series.dtype in (pl.Categorical, pl.Enum) else series
    distinct = values.unique().drop_nulls().to_list()
    if values.dtype == pl.String and not all(map(is_scalar_word, distinct)):
        return values
    words = [word_of(value) for value in distinct]
    return (
        values.replace_strict(distinct, words, default=None, return_dtype=pl.String)
        if distinct
        else values.cast(pl.String)
    )


def are_whole(numbers: pl.Series) -> pl.Series:
    """Returns which numbers are whole ones below 2**53, of which float64 has every one."""
    return (numbers % 1 == 0) & (numbers.abs() < LARGEST_EXACT_INTEGER)
