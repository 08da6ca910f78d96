"""A schema, learned from the columns of a table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.binning import Bins, fit_columns, widen_bins
from jaxtree.table.columns import MAX_CODES, NumberColumn, WordColumn, as_categorical, check_num_categories
from jaxtree.table.reading import Table
from jaxtree.table.schema import Column, Feature, Schema, value_in_words


def with_categorical(table: Table, categorical_features: Any) -> Table:
    """Returns the table with the columns that the user wants categorical made so.

    Args:
        table: Any table.
        categorical_features: "from_dtype" leaves the table as it is, and so does None, which refuses a table that has
            categorical columns. Otherwise a list of names, of positions, or of a truth value a column.

    Raises:
        InvalidInputError: If a name or position is not in the table.
        InvalidTypeError: If the option is anything else, or is None and there are categorical columns.
    """
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return table
    if categorical_features is None:
        _refuse_categorical(table)
        return table
    is_listed = _listed_columns(table.names, categorical_features)
    columns = (as_categorical(c) if listed else c for c, listed in zip(table.columns, is_listed, strict=True))
    return replace(table, columns=tuple(columns))


def _refuse_categorical(table: Table) -> None:
    for column in table.columns:
        if isinstance(column, WordColumn) and column.kind == "categorical":
            raise InvalidTypeError(
                f"column {column.name!r} is categorical, and categorical_features=None allows no such column: "
                "choose 'from_dtype', or pass numbers"
            )


def _listed_columns(names: tuple[str, ...], listed: Any) -> Bool[np.ndarray, " column"]:
    values = list(listed) if np.iterable(listed) and not isinstance(listed, str) else [listed]
    if all(isinstance(value, str) for value in values):
        return _among(values, names)
    if all(isinstance(value, bool | np.bool_) for value in values) and len(values) == len(names):
        return np.array(values, bool)
    if all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values):
        return _among(values, range(len(names)))
    raise InvalidTypeError(
        "categorical_features must be 'from_dtype', None, or a list of names, of positions, or of a truth value for "
        f"each of the {len(names)} columns, got {listed!r}"
    )


def _among(listed: list, columns: Sequence) -> Bool[np.ndarray, " column"]:
    unknown = [value for value in listed if value not in columns]
    if unknown:
        raise InvalidInputError(
            f"categorical_features must be 'from_dtype', None, or some of the table's columns {list(columns)}, "
            f"got {unknown}"
        )
    return np.array([column in listed for column in columns], bool)


def fit_schema(table: Table, *, onehot: bool, max_bins: int, max_categories: int = MAX_CODES) -> Schema:
    """Learns bins and categories.

    Args:
        table: The table to fit.
        onehot: Whether a categorical column becomes a feature for each category.
        max_bins: The most bins of a numeric column.
        max_categories: The most categories of a categorical column; an ordered one may have 65,535.

    Raises:
        InvalidInputError: If a column has more categories than that.
    """
    bins = iter(fit_columns([column for column in table.columns if isinstance(column, NumberColumn)], max_bins))
    columns = tuple(
        _numeric(column, next(bins)) if isinstance(column, NumberColumn) else _worded(column, max_categories)
        for column in table.columns
    )
    features = (
        feature for position, column in enumerate(columns) for feature in _features(position, column, onehot=onehot)
    )
    return Schema(columns, tuple(features))


def widen_schema(schema: Schema, table: Table, codes: UInt[np.ndarray, "feature row"]) -> Schema:
    """Returns the schema with every bin as wide as the rows of the fitted table make it; see `widen_bins`."""
    numeric = [(row, feature.column) for row, feature in enumerate(schema.features) if feature.kind == "numeric"]
    fitted: Any = [table.columns[column] for _, column in numeric]
    bins: Any = [schema.columns[column].bins for _, column in numeric]
    columns = list(schema.columns)
    for (_, column), widened in zip(numeric, widen_bins(fitted, bins, [codes[row] for row, _ in numeric]), strict=True):
        columns[column] = replace(columns[column], bins=widened)
    return replace(schema, columns=tuple(columns))


def _numeric(column: NumberColumn, bins: Bins) -> Column:
    return Column(column.name, "numeric", (), bins, column.has_missing)


def _worded(column: WordColumn, max_categories: int) -> Column:
    check_num_categories(column.name, len(column.words), max_categories if column.kind == "categorical" else MAX_CODES)
    return Column(column.name, column.kind, column.words, None, column.has_missing)


def _features(position: int, column: Column, *, onehot: bool) -> list[Feature]:
    if onehot and column.kind == "categorical" and column.categories:
        return [
            Feature(f"{column.name}={value_in_words(category)}", position, "onehot", category, 2, column.has_missing)
            for category in column.categories
        ]
    return [Feature(column.name, position, column.kind, None, column.num_values, column.has_missing)]
