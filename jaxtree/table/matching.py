"""A table's columns matched with those of the table that was fitted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import AnyColumn, CategoryColumn, NumberColumn, as_categorical, as_numbers
from jaxtree.table.reading import Table, default_names
from jaxtree.table.schema import KINDS_IN_WORDS, Column, Schema, value_in_words
from jaxtree.table.times import KINDS, TimeColumn

_NAMES_SHOWN = 5


def match_columns(table: Table, schema: Schema, *, unseen: str) -> Table:
    """Returns the table with its columns as the schema has them: numbers, or the schema's categories.

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
    return replace(table, columns=tuple(_match(column, fitted, unseen) for column, fitted in pairs))


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


def in_numbers(column: AnyColumn, fitted: Column) -> NumberColumn | CategoryColumn:
    """Returns a column of the fitted table, with numbers in the place of times."""
    if not isinstance(column, TimeColumn):
        return column
    if fitted.time is None:  # no time is known
        return _all_missing(column)
    return NumberColumn(column.name, fitted.time.numbers(column.values), column.has_missing)


def _all_missing(column: AnyColumn) -> NumberColumn:
    return NumberColumn(column.name, np.full(len(column), np.nan), True)


def _match(column: AnyColumn, fitted: Column, unseen: str) -> NumberColumn | CategoryColumn:
    if isinstance(column, TimeColumn) or fitted.time is not None:
        if isinstance(column, TimeColumn) and fitted.time is not None and column.kind == fitted.time.kind:
            return in_numbers(column, fitted)
        if fitted.num_values and (present := _known_in_words(column)) is not None:
            was = KINDS_IN_WORDS[fitted.kind if fitted.time is None else fitted.time.kind]
            raise InvalidTypeError(
                f"column {fitted.name!r} had {was} in fit, and now has {present}: turn them into what they were"
            )
        column = _all_missing(column)
    if fitted.kind != "numeric" or not fitted.num_values:
        return _match_categories(as_categorical(column), fitted, unseen)
    if isinstance(column, NumberColumn):
        return column
    if column.kind == "boolean":
        return NumberColumn(column.name, as_numbers(column), column.has_missing)
    if (present := _known_in_words(column)) is not None:
        raise InvalidTypeError(
            f"column {fitted.name!r} had numbers in fit, and now has {present}: turn them into numbers, or into NaN"
        )
    return _all_missing(column)


def _known_in_words(column: AnyColumn) -> str | None:
    """What a column has, in words; None if no value is known."""
    if isinstance(column, TimeColumn):
        return KINDS[column.kind] if column.is_known else None
    if isinstance(column, NumberColumn):
        known = np.asarray(column.values)
        known = known[~np.isnan(known)]
        return f"numbers such as {value_in_words(float(known[0]))}" if len(known) else None
    codes = np.asarray(column.codes)
    known = codes[codes < len(column.categories)]
    return f"words such as {column.categories[known[0]]!r}" if len(known) else None


def _match_categories(column: CategoryColumn, fitted: Column, unseen: str) -> CategoryColumn:
    own, wanted = column.categories, fitted.categories
    if own == wanted:
        return column
    if own and wanted and _has_strings(own) != _has_strings(wanted):
        raise InvalidTypeError(
            f"column {fitted.name!r} had values such as {wanted[0]!r} in fit, and now has values such as {own[0]!r}: "
            "turn them into what they were"
        )
    codes = np.asarray(column.codes)
    if unseen == "error":
        present = (own[code] for code in np.unique(codes) if code < len(own))
        refused = [value_in_words(category) for category in present if category not in wanted]
        if refused:
            shown = ", ".join(refused[:_NAMES_SHOWN]) + (", ..." if len(refused) > _NAMES_SHOWN else "")
            raise InvalidInputError(
                f"column {fitted.name!r} has values never seen in fit: {shown}; unseen='missing' reads them as missing"
            )
    position, missing = {category: code for code, category in enumerate(wanted)}, len(wanted)
    recode = np.array([*(position.get(category, missing) for category in own), missing], np.int32)
    return CategoryColumn(column.name, fitted.kind, wanted, recode[codes])


def _has_strings(categories: tuple) -> bool:
    return any(isinstance(category, str) for category in categories)
