"""A table's columns matched with those of the table that was fitted."""

from collections.abc import Sequence

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import NumberColumn, WordColumn, as_categorical, as_numbers
from jaxtree.table.reading import Table, default_names
from jaxtree.table.schema import Column, Schema, value_in_words

_NAMES_SHOWN = 5


def match_columns(table: Table, schema: Schema, *, unseen: str) -> tuple[NumberColumn | WordColumn, ...]:
    """Returns the table's columns as the schema has them: numbers, or words that are the schema's categories.

    Args:
        table: A table with the columns of the fitted one.
        schema: What was learned in fit.
        unseen: What a category that is not in the schema becomes: "missing", or an "error".

    Raises:
        InvalidInputError: If the table has other columns than the schema, or an unseen category that is an error.
        InvalidTypeError: If a column has words where there were numbers in fit, or numbers where there were words.
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


def _match(column: NumberColumn | WordColumn, fitted: Column, unseen: str) -> NumberColumn | WordColumn:
    if fitted.kind != "numeric" or not fitted.num_values:
        return _match_words(as_categorical(column), fitted, unseen)
    if isinstance(column, NumberColumn):
        return column
    if column.kind == "boolean":
        return NumberColumn(column.name, as_numbers(column), column.has_missing)
    is_known = column.codes < len(column.words)
    if is_known.any():
        raise InvalidTypeError(
            f"column {fitted.name!r} had numbers in fit, and now has words such as "
            f"{column.words[column.codes[is_known.argmax()]]!r}: turn them into numbers, or into NaN"
        )
    return NumberColumn(column.name, np.full(len(column.codes), np.nan), True)


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
    return WordColumn(column.name, fitted.kind, fitted.categories, recode[column.codes])


def _has_strings(words: tuple) -> bool:
    return any(isinstance(word, str) for word in words)


def _refuse_unseen(column: WordColumn, fitted: Column) -> None:
    present = (column.words[code] for code in np.unique(column.codes) if code < len(column.words))
    unseen = [value_in_words(word) for word in present if word not in fitted.categories]
    if unseen:
        shown = ", ".join(unseen[:_NAMES_SHOWN]) + (", ..." if len(unseen) > _NAMES_SHOWN else "")
        raise InvalidInputError(
            f"column {fitted.name!r} has values never seen in fit: {shown}; unseen='missing' reads them as missing"
        )
