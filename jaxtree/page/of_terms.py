"""The terms of an additive model: curves and surfaces with a row's own place, and its sum, which other values change.

The model is its tables, and they are small: the page's script has all of it, and adds up rows by itself.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int64

from jaxtree.additive.axes import codes_of_bins, numbers_in_words
from jaxtree.additive.explanations import ExplainedTerm
from jaxtree.arrays import spread
from jaxtree.errors import present
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import compacted, ticks_of_times
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree.link import Link

DIGITS = 9
"""Significant digits of what adds up."""

MOST_ROWS = 200
"""Rows that can be taken as a start."""

HIGHEST = 0.98
"""The quantile of densities that has the highest bar: one frequent value would hide all others."""


def told_terms(answers: Answers, tables: list[PageTable]) -> dict[str, Any]:
    """Returns what the page's script is told of a model's terms, the most important first, and of rows.

    A row is the code of each column; `bins` say in which bin of a term a code is, and are left out where they are the
    codes themselves. `low` and `high` are pointwise intervals of 95 %, left out where none are known.
    """
    estimator = answers.estimator
    model, explained = estimator.additive_, estimator.explain_global()
    place = {name: term for term, name in enumerate(model.term_names)}
    schema = model.schema
    return {
        "unit": explained.unit,
        "labels": list(explained.labels),
        "classes": answers.classes,
        "link": answers.link.kind.value if answers.link.kind != Link.OTHER else "other",
        "intercept": compacted(explained.intercept, DIGITS),
        "columns": [_told_column(schema, number) for number in range(schema.num_features)],
        "terms": [_told_term(schema, model.layout, place[own.name], own) for own in explained],
        "rows": [_told_rows(schema, table) for table in tables if len(table.values)],
        "typical": [_typical(model, feature) for feature in range(schema.num_features)],
        "edits": [str(edit) for edit in estimator.edits_],
    }


def _told_column(schema: Schema, feature: int) -> dict[str, Any]:
    column, number = schema.columns[schema.features[feature].column], int(schema.num_values[feature])
    is_number = column.bins is not None
    labels = [
        numbers_in_words(column, np.array([code])) if is_number else value_in_words(column.categories[code])
        for code in range(number)
    ]
    return {"name": schema.features[feature].name, "isNumber": is_number, "labels": [*labels, "missing"]}


def _told_term(schema: Schema, layout: Any, term: int, own: ExplainedTerm) -> dict[str, Any]:
    features = [feature for feature in layout.features[term].tolist() if feature >= 0]
    bins = [layout.bins[term, side, : int(schema.num_values[feature]) + 1] for side, feature in enumerate(features)]
    num_scores = own.values.shape[-1]
    values = own.values.reshape(-1, num_scores).T
    told: dict[str, Any] = {
        "name": own.name,
        "columns": features,
        "importance": compacted([own.importance])[0],
        "bins": [None if (one == np.arange(len(one))).all() else one.tolist() for one in bins],
        "labels": [list(axis.labels) for axis in own.axes],
        "values": [compacted(one, DIGITS) for one in values],
        "weight": compacted(own.weight.ravel()),
    }
    if own.is_pair:
        return told
    low, high = (ends.T for ends in own.interval())
    if np.isfinite(low).all():
        told |= {"low": [compacted(one) for one in low], "high": [compacted(one) for one in high]}
    edges = own.axes[0].edges
    if len(edges) > 1:
        column: Column = schema.columns[schema.features[features[0]].column]
        ends = edges if edges[0] < edges[-1] else edges + np.array([-0.5, 0.5])
        told["edges"] = compacted(ends, 12)
        told["density"] = compacted(_densities(ends, own.weight[:-1]))
        ticks = ticks_of_times(column, float(ends[0]), float(ends[-1]))
        if ticks is not None:
            told["ticks"] = ticks
        told["at"] = compacted([_place_of_bin(column, own) for own in codes_of_bins(schema, layout, term, 0)], 12)
    return told


def _densities(edges: Float[np.ndarray, " edge"], weight: Float[np.ndarray, " bin"]) -> Float[np.ndarray, " bin"]:
    """Returns the weight by the width of every bin, cut at a height that few have."""
    width = np.diff(edges)
    density = np.divide(weight, width, out=np.zeros_like(weight), where=width > 0)
    most = float(np.quantile(density, HIGHEST)) or float(density.max(initial=0.0))
    return np.minimum(density, most)


def _place_of_bin(column: Column, codes: Int64[np.ndarray, " code"]) -> float:
    """Returns where a bin is marked: at the middle of its values."""
    bins = present(column.bins)
    return float(bins.low[codes[0]] / 2 + bins.high[codes[-1]] / 2)


def _told_rows(schema: Schema, table: PageTable) -> dict[str, Any]:
    rows = spread(len(table.values), MOST_ROWS)
    codes = [_codes(schema, feature, table.values[rows, feature]) for feature in range(schema.num_features)]
    return {
        "name": table.name,
        "number": table.number[rows].tolist(),
        "codes": np.stack(codes, axis=1).tolist() if codes else [],
    }


def _codes(schema: Schema, feature: int, values: Float[np.ndarray, " row"]) -> Int64[np.ndarray, " row"]:
    """Returns the codes of values as `encoder_.values` has encoded them."""
    bins, missing = schema.columns[schema.features[feature].column].bins, int(schema.num_values[feature])
    known = np.where(np.isnan(values), 0.0, values)
    found = known.astype(np.int64) if bins is None else np.searchsorted(bins.edges, known)
    return np.where(np.isnan(values), missing, found).astype(np.int64)


def _typical(model: Any, feature: int) -> int:
    """Returns the code in the middle of the rows of the fit, of categories the most frequent one."""
    layout, number = model.layout, int(model.schema.num_values[feature])
    own = np.flatnonzero((layout.features[:, 0] == feature) & (layout.features[:, 1] < 0))
    if not len(own) or not number:
        return number // 2
    weight = model.weight[layout.places(int(own[0]))]
    if not weight[:-1].sum() > 0:
        return number
    middle = np.searchsorted(np.cumsum(weight[:-1]), weight[:-1].sum() / 2)
    is_ordered = not model.schema.is_categorical[feature]
    chosen = int(middle if is_ordered else weight[:-1].argmax())
    return int(np.flatnonzero(layout.bins[int(own[0]), 0, :number] == chosen)[0])
