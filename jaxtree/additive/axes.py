"""The bins of terms in the units of the table: edges of numbers, categories, and words for each."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64, UInt32

from jaxtree.errors import present
from jaxtree.kernels.layout import Layout
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words

MOST_CATEGORIES = 4
"""Categories of one bin that are written out."""


@dataclasses.dataclass(frozen=True, eq=False)
class TermAxis:
    """The bins of one column in a term; the last of all is that of missing values.

    Attributes:
        column: The name of the column.
        kind: "numeric", "ordered", "categorical" or "boolean".
        edges: The limits of the bins of a numeric column, in its units (see `unit`), from its least value in fit to its
            greatest; none of other columns.
        unit: The unit of dates and durations, such as "days since 2020-01-01"; else None.
        categories: The categories of every bin; none of numeric columns.
        labels: The contents of every bin, in words; the bin of missing values has a label, too.
    """

    column: str
    kind: str
    edges: Float64[np.ndarray, " edge"]
    unit: str | None
    categories: tuple[tuple[Any, ...], ...]
    labels: tuple[str, ...]

    @property
    def is_numeric(self) -> bool:
        """Whether it is a column of numbers, dates or durations."""
        return self.kind == "numeric"

    @property
    def num_known(self) -> int:
        """The number of bins without that of missing values."""
        return len(self.labels) - 1


def axes_of_term(schema: Schema, layout: Layout, term: int) -> tuple[TermAxis, ...]:
    """Returns the axes of a term: one, or two of a pair."""
    places = layout.features[term].tolist()
    return tuple(_axis(schema, layout, term, side) for side, feature in enumerate(places) if feature >= 0)


def codes_of_bins(schema: Schema, layout: Layout, term: int, side: int) -> list[Int64[np.ndarray, " _code"]]:
    """Returns the codes of known values in every bin on an axis of a term but the last."""
    feature = int(layout.features[term, side])
    bins = layout.bins[term, side, : int(schema.num_values[feature])]
    return [np.flatnonzero(bins == own) for own in range(int(layout.num_bins[term, side]) - 1)]


def codes_of_values(schema: Schema, values: Float[np.ndarray, "row feature"]) -> UInt32[np.ndarray, "feature row"]:
    """Returns the codes of rows that an encoder's `values` has encoded."""
    return np.stack([_codes(schema, feature, own) for feature, own in enumerate(values.T)])


def _codes(schema: Schema, feature: int, values: Float[np.ndarray, " row"]) -> UInt32[np.ndarray, " row"]:
    bins, missing = schema.columns[feature].bins, int(schema.num_values[feature])
    known = np.where(np.isnan(values), 0.0, values)
    found = known.astype(np.int64) if bins is None else np.searchsorted(bins.edges, known)
    return np.where(np.isnan(values), missing, found).astype(np.uint32)


def _axis(schema: Schema, layout: Layout, term: int, side: int) -> TermAxis:
    feature = int(layout.features[term, side])
    column = schema.columns[feature]
    codes = codes_of_bins(schema, layout, term, side)
    if column.bins is None:
        categories = tuple(tuple(column.categories[code] for code in own.tolist()) for own in codes)
        labels = tuple(_categories_in_words(own) for own in categories)
        return TermAxis(column.name, column.kind, np.zeros(0), None, categories, (*labels, "missing"))
    last = np.array([own[-1] for own in codes], np.int64)
    ends = (column.bins.low[:1], column.bins.edges[last[:-1]], column.bins.high[-1:]) if codes else ()
    labels = tuple(numbers_in_words(column, own) for own in codes)
    return TermAxis(column.name, column.kind, np.concatenate([[], *ends]), column.unit, (), (*labels, "missing"))


def _categories_in_words(categories: tuple[Any, ...]) -> str:
    words = [value_in_words(own) for own in categories]
    rest = len(words) - MOST_CATEGORIES
    return ", ".join(words[:MOST_CATEGORIES]) + (f" and {rest} more" if rest > 0 else "")


def numbers_in_words(column: Column, codes: Int64[np.ndarray, " code"]) -> str:
    """Returns a number, or the range of the bins of codes that follow each other, as "0.35 to 0.41"."""
    bins = present(column.bins)
    first, last = int(codes[0]), int(codes[-1])
    if bins.exact and first == last:
        return column.in_words(float(bins.low[first]))
    above = None if first == 0 else column.limit(float(bins.edges[first - 1])).words
    upto = None if last == bins.num_bins - 1 else column.limit(float(bins.edges[last])).words
    if above is None:
        return "any number" if upto is None else f"up to {upto}"
    return f"above {above}" if upto is None else f"{above} to {upto}"
