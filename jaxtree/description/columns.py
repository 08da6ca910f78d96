"""Facts about one column: its kind, what is missing, its values and the most frequent of them."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, Shaped

from jaxtree.table.columns import TableColumn
from jaxtree.table.times import TimeScale
from jaxtree.table.words import value_in_words

KINDS = {
    "numeric": "number",
    "categorical": "words",
    "ordered": "ordered",
    "boolean": "boolean",
    "instant": "date",
    "utc": "date",
    "duration": "duration",
}
"""The words for kinds of columns."""

DIGITS = 5
"""Significant digits of a number that is shown."""

_DIGITS_OF_SUMS = 52
"""Binary digits of a sum of weights, as many as float64 has."""

Weight = Float64[np.ndarray, " row"] | None


class Distinct(NamedTuple):
    """The distinct values of a column in ascending order.

    Attributes:
        value: The values: numbers, NumPy's times, or the codes of categories.
        weight: The weight of the rows of each; their number without weights.
        num_rows: The number of the rows of each.
    """

    value: Shaped[np.ndarray, " value"]
    weight: Float64[np.ndarray, " value"]
    num_rows: Int64[np.ndarray, " value"]


@dataclass(frozen=True)
class ColumnFacts:
    """Facts about a column.

    Attributes:
        name: Its name.
        kind: "number", "words", "ordered" (categories with an order), "boolean", "date" or "duration".
        missing: The weight of the rows without a value; their number without weights.
        missing_share: Their share.
        unique: The number of different values.
        least: The least number, or date or duration in words; None of others, and of columns without a value.
        most: The greatest.
        top: The most frequent value, of several the first; None if there is none.
        top_share: The share of the rows that have it, of all rows.
    """

    name: str
    kind: str
    missing: float
    missing_share: float
    unique: int
    least: float | str | None
    most: float | str | None
    top: Any
    top_share: float

    @property
    def range_in_words(self) -> str:
        """The least and the greatest value, or "" where there are none."""
        return "" if self.least is None else f"{shown(self.least)} to {shown(self.most)}"


def shown(value: Any) -> str:
    """Returns a value in words, a number in few digits.

    >>> shown(0.123456789), shown(100000.0), shown("rain"), shown(None)
    ('0.12346', '100000', 'rain', '')
    """
    if value is None:
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value_in_words(float(f"{value:.{DIGITS}g}") if is_number and abs(value) < 10**DIGITS else value)


def is_known(column: TableColumn) -> Bool[np.ndarray, " row"]:
    """Returns which rows have a value."""
    values = np.asarray(column.values)
    return values != len(column.categories) if column.has_categories else ~np.isnan(values)


def taken(column: TableColumn, rows: Int64[np.ndarray, " taken"]) -> TableColumn:
    """Returns some rows of a column."""
    values = np.asarray(column.values)[rows]
    return replace(column, values=values, has_missing=bool((~is_known(replace(column, values=values))).any()))


def exact_weights(weight: Float64[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
    """Returns weights as multiples of a power of 2 that is so small that all their sums are exact, in any order.

    >>> exact_weights(np.array([0.5, 2.0])).tolist()
    [0.5, 2.0]
    """
    unit = 2.0 ** (np.ceil(np.log2(math.fsum(weight))) - _DIGITS_OF_SUMS)
    return np.round(weight / unit) * unit


def distinct_values(column: TableColumn, weight: Weight) -> Distinct:
    """Returns the distinct values of a column, with what the rows of each weigh.

    >>> from jaxtree.table.columns import column_of_values
    >>> distinct_values(column_of_values("x", [2.0, 1.0, None, 2.0]), None).num_rows.tolist()
    [1, 2]
    """
    known, values = is_known(column), np.asarray(column.values)
    if known.all():
        return distinct_of(values, weight)
    return distinct_of(values[known], None if weight is None else weight[known])


def distinct_of(values: Shaped[np.ndarray, " row"], weight: Weight) -> Distinct:
    """Returns the distinct ones of values of which none is missing."""
    if weight is None:
        ordered, weights = np.sort(values), None
    else:
        order = np.argsort(values, kind="stable")
        ordered, weights = values[order], weight[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    num_rows = np.diff(np.append(first, len(ordered)))
    if weights is None or not len(ordered):
        return Distinct(ordered[first], num_rows.astype(np.float64), num_rows)
    return Distinct(ordered[first], np.add.reduceat(weights, first), num_rows)


def facts_of_column(column: TableColumn, found: Distinct, total: float) -> ColumnFacts:
    """Returns the facts about a column.

    Args:
        column: The column.
        found: Its distinct values.
        total: The weight of all rows.
    """
    missing = total - float(found.weight.sum())
    place = int(found.weight.argmax()) if len(found.value) else 0
    has_values, is_ranged = len(found.value) > 0, not column.has_categories
    return ColumnFacts(
        name=column.name,
        kind=KINDS[column.kind],
        missing=missing,
        missing_share=missing / total,
        unique=len(found.value),
        least=_value(column, found.value[0]) if has_values and is_ranged else None,
        most=_value(column, found.value[-1]) if has_values and is_ranged else None,
        top=_value(column, found.value[place]) if has_values else None,
        top_share=float(found.weight[place]) / total if has_values else 0.0,
    )


def _value(column: TableColumn, value: Any) -> Any:
    """A value of the column as Python has it; a date or duration in words."""
    if column.has_categories:
        return column.categories[int(value)]
    if column.is_time:
        scale = TimeScale(column.kind, (0, 0))
        return scale.in_words(float(scale.numbers(np.array([value]))[0]))
    return float(value) + 0.0


def numbers_of(column: TableColumn) -> Float[np.ndarray, " row"]:
    """Returns the numbers, times or codes of a column as numbers, NaN where one is missing."""
    values = np.asarray(column.values)
    if column.is_time:
        return TimeScale(column.kind, (0, 0)).numbers(values)
    if column.has_categories:
        return np.where(is_known(column), values, np.nan)
    return values.astype(np.float64, copy=False)
