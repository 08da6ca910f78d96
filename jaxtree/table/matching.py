"""A table's columns matched with those of the table that was fitted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import AnyColumn, NumberColumn, WordColumn, as_categorical, as_numbers
from jaxtree.table.reading import Table, default_names
from jaxtree.table.schema import Column, Schema, value_in_words
from jaxtree.table.times import KINDS, TimeColumn

_NAMES_SHOWN = 5
_KINDS_IN_WORDS = {
    "numeric": "numbers",
    "boolean": "truth values",
    "categorical": "categories",
    "ordered": "ordered categories",
}


def match_columns(table: Table, schema: Schema, *, unseen: str) -> tuple[NumberColumn | WordColumn, ...]:
    """Returns the table's columns as the schema has them: numbers, or words that are the schema's categories.

    Args:
        table: A table with the columns of the fitted one.
        schema: What was learned in fit.
        unseen: What a category that is not in the schema becomes: "missing", or an "error".

    Raises:
        InvalidInputError: If the table has other columns than the schema, or an unseen category that is an error.
        InvalidTypeError: If a column has words where there were numbers in fit, or numbers where there were words; or
            times where there were none, of another kind, or none where there were some.
    """
    _check_names(table, schema.column_names)
    pairs = zip(table.columns, schema.columns, strict=True)
    return tuple(_match(column, fitted, unseen) for column, fitted in pairs)


def _check_names(table: Table, fitted: tuple[str, ...]) -> None:
    """Compares the names where both tables have some, else the number of columns; scikit-learn's words for both."""
    if table.is_named and fitted != default_names(len(fitted)) and table.names != fitted:
        unseen, lost = sorted(set(table.names) - set(fitted)), sorted(set(fitted) - set(table.names))
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += f"Feature names unseen at fit time:\n{_list_names(unseen)}"
        if lost:
            message += f"Feature names seen at fit time, yet now missing:\n{_list_names(lost)}"
        if not unseen and not lost:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise InvalidInputError(message)
    if len(table.columns) != len(fitted):
        raise InvalidInputError(
            f"X has {len(table.columns)} features, but Encoder is expecting {len(fitted)} features as input."
        )


def _list_names(names: Sequence[str]) -> str:
    shown = [*names[:_NAMES_SHOWN], "..."] if len(names) > _NAMES_SHOWN else names
    return "".join(f"- {name}\n" for name in shown)


def in_numbers(column: AnyColumn, fitted: Column) -> NumberColumn | WordColumn:
    """Returns a column of the fitted table, with numbers in the place of times."""
    if not isinstance(column, TimeColumn):
        return column
    if fitted.time is None:  # no time is known
        return _all_missing(column.name, len(column.values))
    return NumberColumn(column.name, fitted.time.numbers(column.values), column.has_missing)


def _all_missing(name: str, num_rows: int) -> NumberColumn:
    return NumberColumn(name, np.full(num_rows, np.nan), True)


def _match(column: AnyColumn, fitted: Column, unseen: str) -> NumberColumn | WordColumn:
    if isinstance(column, TimeColumn) or fitted.time is not None:
        return _match_times(column, fitted, unseen)
    if fitted.kind != "numeric" or not fitted.num_values:
        return _match_words(as_categorical(column), fitted, unseen)
    if isinstance(column, NumberColumn):
        return column
    if column.kind == "boolean":
        return NumberColumn(column.name, as_numbers(column), column.has_missing)
    codes = np.asarray(column.codes)
    is_known = codes < len(column.words)
    if is_known.any():
        raise InvalidTypeError(
            f"column {fitted.name!r} had numbers in fit, and now has words such as "
            f"{column.words[codes[is_known.argmax()]]!r}: turn them into numbers, or into NaN"
        )
    return _all_missing(column.name, len(column.codes))


def _match_times(column: AnyColumn, fitted: Column, unseen: str) -> NumberColumn | WordColumn:
    """Matches a column where the fitted one had times, or this one has."""
    values = column.codes if isinstance(column, WordColumn) else column.values
    if isinstance(column, TimeColumn) and fitted.time is not None and column.kind == fitted.time.kind:
        return in_numbers(column, fitted)
    was_known = fitted.num_values > 0
    if was_known and (present := _known_in_words(column)) is not None:
        was = KINDS[fitted.time.kind] if fitted.time is not None else _KINDS_IN_WORDS[fitted.kind]
        raise InvalidTypeError(
            f"column {fitted.name!r} had {was} in fit, and now has {present}: turn them into what they were"
        )
    return _match(_all_missing(column.name, len(values)), replace(fitted, time=None), unseen)


def _known_in_words(column: AnyColumn) -> str | None:
    """What a column has, in words; None if no value is known."""
    if isinstance(column, TimeColumn):
        return KINDS[column.kind] if column.is_known else None
    if isinstance(column, NumberColumn):
        known = np.asarray(column.values)
        known = known[~np.isnan(known)]
        return f"numbers such as {value_in_words(float(known[0]))}" if len(known) else None
    codes = np.asarray(column.codes)
    known = codes[codes < len(column.words)]
    return f"words such as {column.words[known[0]]!r}" if len(known) else None


def _match_words(column: WordColumn, fitted: Column, unseen: str) -> WordColumn:
    if column.words == fitted.categories:
        return column
    if column.words and fitted.categories and _has_strings(column.words) != _has_strings(fitted.categories):
        raise InvalidTypeError(
            f"column {fitted.name!r} had values such as {fitted.categories[0]!r} in fit, and now has values such as "
            f"{column.words[0]!r}: turn them into what they were"
        )
    position = {category: code for code, category in enumerate(fitted.categories)}
    if unseen == "error":
        _refuse_unseen(column, fitted)
    missing = len(fitted.categories)
    recode = np.array([*(position.get(word, missing) for word in column.words), missing], np.int32)
    return WordColumn(column.name, fitted.kind, fitted.categories, recode[np.asarray(column.codes)])


def _has_strings(words: tuple) -> bool:
    return any(isinstance(word, str) for word in words)


def _refuse_unseen(column: WordColumn, fitted: Column) -> None:
    present = (column.words[code] for code in np.unique(np.asarray(column.codes)) if code < len(column.words))
    unseen = [value_in_words(word) for word in present if word not in fitted.categories]
    if unseen:
        shown = ", ".join(unseen[:_NAMES_SHOWN]) + (", ..." if len(unseen) > _NAMES_SHOWN else "")
        raise InvalidInputError(
            f"column {fitted.name!r} has values never seen in fit: {shown}; unseen='missing' reads them as missing"
        )
