"""The terms of an additive model: curves and surfaces with a row's own place, and its sum, which other values change.

The model is its tables, and they are small: the page's script has all of it, and adds up rows by itself.
"""

from typing import Any

import numpy as np
from jaxtyping import Int64

from jaxtree.additive.axes import codes_of_bins, codes_of_values, numbers_in_words
from jaxtree.additive.explanations import ExplainedTerm
from jaxtree.arrays import spread
from jaxtree.errors import present
from jaxtree.figures.terms import curve_of
from jaxtree.page.cards import compacted, ticks_of_times
from jaxtree.page.model import PageModel, PageTable
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree.link import Link

DIGITS = 9
"""Significant digits of what adds up."""

MOST_ROWS = 200
"""Rows that can be taken as a start."""


def terms_to_json(model: PageModel, tables: list[PageTable], bands: Any = None) -> dict[str, Any]:
    """Returns what the page's script is sent of a model's terms, the most important first, and of rows.

    A row is the code of each column; `bins` say in which bin of a term a code is, and are left out where they are the
    codes themselves. `low` and `high` are bands, or else pointwise intervals of 95 %, left out where none are known;
    `ends` says which.
    """
    estimator = model.estimator
    additive, explained = estimator.additive_, (estimator if bands is None else bands).explain_global()
    place = {name: term for term, name in enumerate(additive.term_names)}
    schema = additive.schema
    return {
        "unit": explained.unit,
        "labels": list(explained.labels),
        "ends": "95% intervals" if bands is None else f"bands of level {bands.level:g}",
        "classes": model.classes,
        "link": model.link.kind.value if model.link.kind != Link.OTHER else "other",
        "intercept": compacted(explained.intercept, DIGITS),
        "columns": [_column_to_json(schema, number) for number in range(schema.num_features)],
        "terms": [_term_to_json(schema, additive.layout, place[own.name], own) for own in explained],
        "rows": [_rows_to_json(schema, table) for table in tables if len(table.values)],
        "typical": [_typical(additive, feature) for feature in range(schema.num_features)],
        "edits": [str(edit) for edit in estimator.edits_],
    }


def _column_to_json(schema: Schema, feature: int) -> dict[str, Any]:
    column, number = schema.columns[feature], int(schema.num_values[feature])
    is_number = column.bins is not None
    labels = [
        numbers_in_words(column, np.array([code])) if is_number else value_in_words(column.categories[code])
        for code in range(number)
    ]
    return {"name": schema.column_names[feature], "isNumber": is_number, "labels": [*labels, "missing"]}


def _term_to_json(schema: Schema, layout: Any, term: int, own: ExplainedTerm) -> dict[str, Any]:
    features = [feature for feature in layout.features[term].tolist() if feature >= 0]
    bins = [layout.bins[term, side, : int(schema.num_values[feature]) + 1] for side, feature in enumerate(features)]
    num_scores = own.values.shape[-1]
    values = own.values.reshape(-1, num_scores).T
    sent: dict[str, Any] = {
        "name": own.name,
        "columns": features,
        "importance": compacted([own.importance])[0],
        "bins": [None if (one == np.arange(len(one))).all() else one.tolist() for one in bins],
        "labels": [list(axis.labels) for axis in own.axes],
        "values": [compacted(one, DIGITS) for one in values],
        "weight": compacted(own.weight.ravel()),
    }
    if own.is_pair:
        return sent
    curve = curve_of(own)
    if curve.low is not None and curve.high is not None:
        sent |= {"low": [compacted(one) for one in curve.low.T], "high": [compacted(one) for one in curve.high.T]}
    if len(curve.edges) > 1:
        column: Column = schema.columns[features[0]]
        sent["edges"], sent["density"] = compacted(curve.edges, 12), compacted(curve.density)
        ticks = ticks_of_times(column, float(curve.edges[0]), float(curve.edges[-1]))
        if ticks is not None:
            sent["ticks"] = ticks
        sent["at"] = compacted([_place_of_bin(column, own) for own in codes_of_bins(schema, layout, term, 0)], 12)
    return sent


def _place_of_bin(column: Column, codes: Int64[np.ndarray, " code"]) -> float:
    """Returns where a bin is marked: at the middle of its values."""
    bins = present(column.bins)
    return float(bins.low[codes[0]] / 2 + bins.high[codes[-1]] / 2)


def _rows_to_json(schema: Schema, table: PageTable) -> dict[str, Any]:
    rows = spread(len(table.values), MOST_ROWS)
    return {
        "name": table.name,
        "number": table.number[rows].tolist(),
        "codes": codes_of_values(schema, table.values[rows]).T.tolist(),
    }


def _typical(additive: Any, feature: int) -> int:
    """Returns the code in the middle of the rows of the fit, of categories the most frequent one."""
    layout, number = additive.layout, int(additive.schema.num_values[feature])
    own = np.flatnonzero((layout.features[:, 0] == feature) & (layout.features[:, 1] < 0))
    if not len(own) or not number:
        return number // 2
    weight = additive.weight[layout.places(int(own[0]))]
    if not weight[:-1].sum() > 0:
        return number
    middle = np.searchsorted(np.cumsum(weight[:-1]), weight[:-1].sum() / 2)
    is_ordered = not additive.schema.is_categorical[feature]
    chosen = int(middle if is_ordered else weight[:-1].argmax())
    return int(np.flatnonzero(layout.bins[int(own[0]), 0, :number] == chosen)[0])
