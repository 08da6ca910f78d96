"""A schema, learned from the summary of a table."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Num

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.binning import Bins, comparison_dtype, fit_bins
from jaxtree.table.columns import MAX_CODES, WordColumn, as_categorical, check_num_categories
from jaxtree.table.reading import Table
from jaxtree.table.schema import Column, Feature, Schema, value_in_words
from jaxtree.table.sparse import SparseVector
from jaxtree.table.summary import ColumnSummary, Summary
from jaxtree.table.threads import map_in_threads
from jaxtree.table.times import KINDS


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


def fit_schema(summary: Summary, *, onehot: bool, max_bins: int, max_categories: int = MAX_CODES) -> Schema:
    """Learns bins and categories.

    Args:
        summary: What is known of the table to fit.
        onehot: Whether a categorical column becomes a feature for each category.
        max_bins: The most bins of a numeric column.
        max_categories: The most categories of a categorical column; an ordered one may have 65,535.

    Raises:
        InvalidInputError: If a column has more categories than that, or there are no rows.
    """
    if not summary.num_rows:
        raise InvalidInputError("X has no rows in any of its parts, while a minimum of 1 is required")
    values = [_numbers(column) for column in summary.columns if column.kind == "numeric" or column.kind in KINDS]
    fit = partial(_fit_values, max_bins=max_bins)
    bins = iter(map_in_threads(fit, values, num_rows=len(summary.rows)))
    columns = tuple(
        Column(column.name, "numeric", (), next(bins), column.has_missing, column.time)
        if column.kind == "numeric" or column.kind in KINDS
        else _worded(column, max_categories)
        for column in summary.columns
    )
    return make_schema(columns, onehot=onehot)


def make_schema(columns: tuple[Column, ...], *, onehot: bool) -> Schema:
    """Returns the schema of some columns.

    Args:
        columns: What was learned of every column.
        onehot: Whether a categorical column becomes a feature for each category.
    """
    features = (
        feature for position, column in enumerate(columns) for feature in _features(position, column, onehot=onehot)
    )
    return Schema(columns, tuple(features))


def with_bins(schema: Schema, bins: Sequence[Bins]) -> Schema:
    """Returns the schema with other bins of its numeric columns, in their order."""
    new = iter(bins)
    columns = (column if column.bins is None else replace(column, bins=next(new)) for column in schema.columns)
    return replace(schema, columns=tuple(columns))


def bin_ranges(schema: Schema) -> Float64[np.ndarray, "end bin"]:
    """Returns the lowest value (end 0) and the highest (end 1) of the bins of all numeric columns, side by side."""
    bins = [column.bins for column in schema.columns if column.bins is not None]
    return np.concatenate([np.zeros((2, 0)), *(np.stack([b.low, b.high]) for b in bins)], axis=1)


def widen_to(schema: Schema, ranges: Sequence[Float64[np.ndarray, "end _bin"]]) -> Schema:
    """Returns the schema with every bin widened to the ranges of the same bins elsewhere.

    Raises:
        InvalidInputError: If ranges are those of other bins.
    """
    own = bin_ranges(schema)
    if any(other.shape != own.shape for other in ranges):
        shapes = [other.shape for other in ranges]
        raise InvalidInputError(f"ranges must be of the schema's {own.shape[1]} bins, got shapes {shapes}")
    low = np.min([own[0], *(other[0] for other in ranges)], axis=0)
    high = np.max([own[1], *(other[1] for other in ranges)], axis=0)
    present = [column.bins for column in schema.columns if column.bins is not None]
    ends = np.cumsum([bins.num_bins for bins in present])[:-1]
    widened = zip(present, np.split(low, ends), np.split(high, ends), strict=True)
    return with_bins(schema, [Bins(low, high, bins.edges, np.array_equal(low, high)) for bins, low, high in widened])


def _numbers(column: ColumnSummary) -> Num[np.ndarray, " row"] | SparseVector:
    return column.values if column.time is None else column.time.numbers(np.asarray(column.values))


def _fit_values(values: Num[np.ndarray, " row"] | SparseVector, max_bins: int) -> Bins:
    values = np.asarray(values)
    return fit_bins(values.astype(comparison_dtype(values.dtype), copy=False), max_bins)


def _worded(column: ColumnSummary, max_categories: int) -> Column:
    words = column.ordered_words
    check_num_categories(column.name, len(words), max_categories if column.kind == "categorical" else MAX_CODES)
    return Column(column.name, column.kind, words, None, column.has_missing)


def _features(position: int, column: Column, *, onehot: bool) -> list[Feature]:
    if onehot and column.kind == "categorical" and column.categories:
        return [
            Feature(f"{column.name}={value_in_words(category)}", position, "onehot", category, 2, column.has_missing)
            for category in column.categories
        ]
    return [Feature(column.name, position, column.kind, None, column.num_values, column.has_missing)]
