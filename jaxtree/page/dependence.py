"""How the answer depends on each column, see `jaxtree.explain.dependence`.

The histogram of the column shows where rows are, so that what lies elsewhere is not believed.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.explain.dependence import MOST_ROWS, Dependence, column_values, dependence_on
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import Card, Chart, axis, compacted, histogram, line, plot, ticks_of_times
from jaxtree.table.numerals import decimal_near
from jaxtree.table.schema import Column
from jaxtree.table.words import value_in_words

MOST_COLUMNS = 6
"""Columns whose dependence is drawn."""

FEW_VALUES = 12
"""Numbers that have a dot each on the line between them."""

FEW_CLASSES = 7
"""Classes that stand in one chart; of more, one is chosen."""


class _Column(NamedTuple):
    """A column with its values.

    Attributes:
        column: The column.
        values: The numbers or the codes of categories of rows; NaN where one is missing.
        weight: The weights of the rows.
    """

    column: Column
    values: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]


def dependence_cards(answers: Answers, table: PageTable, order: list[int]) -> list[Card]:
    """Returns a card of each of the first columns of an order."""
    rows = answers.schema, table.values
    return [
        _card(answers, table, place, dependence_on(*rows, place, answers.answer, table.weight))
        for place in order[:MOST_COLUMNS]
    ]


def order_of_columns(answers: Answers) -> list[int]:
    """Returns the columns that count, the most important first.

    Of planes those of the greatest weights, and of trees with weights of leaves those whose splits part the most rows.
    """
    importances = getattr(answers.estimator, "feature_importances_", None)
    if importances is None:
        importances = _rows_parted(answers) if answers.is_ratio else _weights_in_planes(answers)
    kept = np.argsort(-np.asarray(importances), kind="stable")
    return [int(place) for place in kept if importances[place] > 0]


def _rows_parted(answers: Answers) -> Float[np.ndarray, " column"]:
    """The weight of the rows that all splits on a column part."""
    nodes, schema = answers.estimator.forest_.nodes, answers.schema
    inner = np.flatnonzero(~np.asarray(nodes.is_leaf))
    column = np.array([feature.column for feature in schema.features])[nodes.feature[inner]]
    return np.bincount(column, nodes.weight[inner], minlength=len(schema.columns))


def _weights_in_planes(answers: Answers) -> Float[np.ndarray, " column"]:
    """The sum of the sizes of a column's weights in all planes of a hardened tree, times the rows that each parts."""
    tree, schema = answers.estimator.tree_, answers.schema
    size = (np.abs(tree.normal) * tree.weight[:, None]).sum(axis=0)
    found = np.zeros(len(schema.columns))
    for number, feature in enumerate(schema.features):
        found[feature.column] += size[tree.inputs.columns_of(number)].sum()
    return found


def _card(answers: Answers, table: PageTable, place: int, tried: Dependence) -> Card:
    column = answers.schema.columns[place]
    own = _Column(column, column_values(answers.schema, table.values, place), table.weight)
    unit, rows = answers.unit, min(len(table.values), MOST_ROWS)
    hint = f"{unit[0].upper()}{unit[1:]} if all rows had this value: mean of {rows:,} {table.name} rows."
    name = f"dependence-{place}"
    number = tried.means.shape[1]
    if len(answers.classes) == 2:
        charts = [_chart(answers, own, tried, [1])]
    elif len(answers.classes) > FEW_CLASSES:
        classes = np.argsort(-np.ptp(tried.means, axis=0), kind="stable").tolist()
        made = {str(at): _chart(answers, own, tried, [label]) for at, label in enumerate(classes)}
        options = tuple(answers.classes[label] for label in classes)
        return Card(name, column.name, hint, made, (("Class", options),), (0,))
    else:
        charts = [_chart(answers, own, tried, list(range(number)))]
    return Card(name, column.name, hint, {"": charts[0]})


def _chart(answers: Answers, own: _Column, tried: Dependence, outputs: list[int]) -> Chart:
    names = _names(answers, outputs)
    label = f"{answers.unit} of {names[0]}" if len(outputs) == 1 and answers.classes else answers.unit
    drawn = _of_categories if own.column.bins is None else _of_numbers
    return drawn(answers, own, tried, outputs) | {"label": f"{label}, by {own.column.name}"}


def _names(answers: Answers, outputs: list[int]) -> list[str]:
    is_one = len(outputs) == 1 and not answers.classes
    return [answers.unit if is_one else answers.name(place) for place in outputs]


def _label(answers: Answers, outputs: list[int]) -> str:
    of_class = f" of {answers.classes[outputs[0]]}" if answers.classes and len(outputs) == 1 else ""
    return answers.unit + of_class


def _of_numbers(answers: Answers, own: _Column, tried: Dependence, outputs: list[int]) -> Chart:
    column, known = own.column, np.isfinite(tried.values)
    values, names = tried.values[known], _names(answers, outputs)
    series = [
        line(names[at] if len(outputs) > 1 else "", answers.colour(place), values, tried.means[known, place])
        for at, place in enumerate(outputs)
    ]
    if len(values) <= FEW_VALUES:
        series += [own_series | {"kind": "dots", "name": ""} for own_series in series]
    edges, counts = histogram(own.values, own.weight)
    low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 1.0)
    is_whole = bool(len(values)) and bool((np.rint(values) == values).all())
    unit = column.unit if column.time is not None and column.time.kind == "duration" else ""
    x = axis(f"{unit + '; ' if unit else ''}below, how many rows", isWhole=is_whole or None)
    x |= {"ticks": ticks} if (ticks := ticks_of_times(column, low, high)) else {}
    below = {"edges": compacted(edges, 7), "counts": compacted(counts)}
    missing = ""
    if not known.all():
        told = ", ".join(
            decimal_near(float(tried.means[~known, place][0]), least_digits=3) for place in outputs[:FEW_CLASSES]
        )
        missing = f"Missing in {tried.shares[~known][0]:.1%} of the rows: {told}."
    return plot("", x, axis(_label(answers, outputs)), series, below=below) | ({"caption": missing} if missing else {})


def _of_categories(answers: Answers, own: _Column, tried: Dependence, outputs: list[int]) -> Chart:
    items: list[dict[str, Any]] = []
    for value, found, share in zip(tried.values, tried.means, tried.shares, strict=True):
        name = "missing" if np.isnan(value) else value_in_words(own.column.categories[int(value)])
        dots = [[compacted([found[place]])[0], answers.colour(place)] for place in outputs]
        items.append({"name": name, "dots": dots, "words": f"{share:.1%}"})
    names = _names(answers, outputs)
    legend = [{"name": name, "colour": answers.colour(place)} for name, place in zip(names, outputs, strict=True)]
    left = len(np.unique(own.values[np.isfinite(own.values)])) - np.isfinite(tried.values).sum()
    caption = "At the right, the share of the rows." + (f" {left} rarer categories are left out." if left > 0 else "")
    chart: Chart = {"kind": "list", "x": axis(_label(answers, outputs)), "items": items, "caption": caption}
    return chart | ({"legend": legend} if len(outputs) > 1 else {})
