"""Another table than the fitted one: its columns as the schema has them.

Names are compared where both tables have some, kinds of values always. The values of a categorical column become the
categories of the schema.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.cells import RareWords
from jaxtree.table.columns import KINDS_IN_WORDS, TableColumn, as_categorical, recoded
from jaxtree.table.names import are_shuffled_places
from jaxtree.table.reading import Table, default_names
from jaxtree.table.schema import Column, Schema, value_in_words

_NAMES_SHOWN = 5


def match_columns(table: Table, schema: Schema, *, unseen: str) -> Table:
    """Returns the table with its columns as the schema has them: numbers, or the schema's categories.

    Args:
        table: A table with the columns of the fitted one.
        schema: The schema of the fitted table.
        unseen: The fate of a category that is not in the schema: "missing", or an "error".

    Raises InvalidInputError if the table has other columns than the schema, or an unseen category that is an error, and
    InvalidTypeError if a column has values of another kind than in fit.
    """
    _check_names(table, schema.column_names)
    return replace(table, columns=tuple(map(partial(_match, unseen=unseen), table.columns, schema.columns)))


def _check_names(table: Table, fitted: tuple[str, ...]) -> None:
    """Compares the names where both tables have some, else the number of columns; scikit-learn's words for both.

    The numbers that pandas gives to the columns of a bare array are names where the other table has them in disorder.
    """
    places = tuple(map(str, range(len(fitted))))
    names = places if table.is_numbered and are_shuffled_places(fitted) else table.names
    have_names = table.is_named and fitted != default_names(len(fitted))
    if table.is_named and are_shuffled_places(names) and not have_names:
        fitted, have_names = places, True
    if (have_names or names is places) and names != fitted:
        unseen, lost = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
        raise InvalidInputError(
            "The feature names should match those that were passed during fit.\n"
            + (f"Feature names unseen at fit time:\n{_list_names(unseen)}" if unseen else "")
            + (f"Feature names seen at fit time, yet now missing:\n{_list_names(lost)}" if lost else "")
            + ("" if unseen or lost else "Feature names must be in the same order as they were in fit.\n")
        )
    if len(table.columns) != len(fitted):
        raise InvalidInputError(
            f"X has {len(table.columns)} features, but Encoder is expecting {len(fitted)} features as input."
        )


def _list_names(names: Sequence[str]) -> str:
    return "".join(f"- {name}\n" for name in _first_few(names))


def _first_few(names: Sequence[str]) -> list[str]:
    return [*names[:_NAMES_SHOWN], *(["..."] if len(names) > _NAMES_SHOWN else [])]


def _match(column: TableColumn, fitted: Column, unseen: str) -> TableColumn:
    kind = fitted.kind if fitted.time is None else fitted.time.kind
    if fitted.bins is None or not fitted.num_values:
        if column.is_time:
            _refuse_values(column, fitted, kind)
            column = _all_missing(column)
        return _match_categories(column, fitted, unseen)
    if fitted.time is not None and column.kind == kind:
        return TableColumn(column.name, "numeric", fitted.time.numbers(np.asarray(column.values)), column.has_missing)
    if fitted.time is None and column.kind in ("numeric", "boolean"):
        is_number = column.kind == "numeric"
        return column if is_number else TableColumn(column.name, "numeric", column.numbers(), column.has_missing)
    _refuse_values(column, fitted, kind)
    return _all_missing(column)


def _all_missing(column: TableColumn) -> TableColumn:
    return TableColumn(column.name, "numeric", np.full(len(column), np.nan), True)


def _refuse_values(column: TableColumn, fitted: Column, kind: str) -> None:
    """Raises InvalidTypeError if the fitted column has values, and this one has some, which are of another kind."""
    known = column.known()
    if not len(known) or not fitted.num_values:
        return
    had = KINDS_IN_WORDS[kind] + (f" such as {_word(fitted.categories[0])!r}" if fitted.categories else "")
    has = KINDS_IN_WORDS[column.kind]
    if not column.is_time:
        has += f" such as {column.categories[known[0]] if column.categories else float(known[0])!r}"
    raise InvalidTypeError(f"column {fitted.name!r} had {had} in fit, and now has {has}: turn them into what they were")


def _match_categories(column: TableColumn, fitted: Column, unseen: str) -> TableColumn:
    found, wanted = as_categorical(column), fitted.categories
    own = found.categories
    if own == wanted:
        return found
    if own and wanted and fitted.cells is None and _has_strings(own) != _has_strings(wanted):
        _refuse_values(column, fitted, fitted.kind)
    matched = recoded(found, wanted, fitted.cells)
    if unseen == "error":
        is_refused = (np.asarray(matched.values) == len(wanted)) & (np.asarray(found.values) < len(own))
        refused = [value_in_words(own[code]) for code in np.unique(np.asarray(found.values)[is_refused])]
        if refused:
            raise InvalidInputError(
                f"column {fitted.name!r} has values never seen in fit: {', '.join(_first_few(refused))}; "
                "unseen='missing' reads them as missing"
            )
    return matched


def _has_strings(categories: tuple) -> bool:
    return any(isinstance(_word(category), str) for category in categories)


def _word(category: Any) -> Any:
    return category.example if isinstance(category, RareWords) else category
