"""How the answer depends on each column: the mean answer of some rows if the column had one value in all of them.

That is the partial dependence of Friedman (*Greedy function approximation*, 2001, section 8.2), of probabilities and
means and not of scores. The histogram of the column shows where rows are, so that what lies elsewhere is not believed.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.export.conditions import features_of
from jaxtree.page.answers import Answers, PageTable, Values
from jaxtree.page.cards import Card, Chart, axis, compacted, histogram, line, plot, spread, ticks_of_times
from jaxtree.table.numerals import decimal_near
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words

MOST_COLUMNS = 6
"""Columns whose dependence is drawn."""

MOST_VALUES = 24
MOST_CATEGORIES = 12
"""Values of a column that are tried."""

MOST_ROWS = 200
"""Rows of which the mean is made, spread over the table."""

ROWS_AT_A_TIME = 512
"""Rows that are answered in one call: so few that nothing is compiled for it."""

FEW_VALUES = 12
"""Numbers that have a dot each on the line between them."""

FEW_CLASSES = 7
"""Classes that stand in one chart; of more, one is chosen."""

FAR = 0.005
"""The share of rows at each end beyond which no value is tried but the outermost."""


class Dependence(NamedTuple):
    """The values of a column that were tried.

    Attributes:
        values: Numbers, or the codes of categories; NaN is a missing value.
        answers: The mean answers.
        shares: The share of the rows with each category, or with a missing value; NaN of other numbers.
    """

    values: Float[np.ndarray, " value"]
    answers: Float[np.ndarray, "value output"]
    shares: Float[np.ndarray, " value"]


def dependence_cards(answers: Answers, table: PageTable, order: list[int]) -> list[Card]:
    """Returns a card of each of the first columns of an order."""
    places = order[:MOST_COLUMNS]
    found = try_values(answers, table, places)
    return [_card(answers, table, place, tried) for place, tried in zip(places, found, strict=True)]


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


def try_values(answers: Answers, table: PageTable, places: list[int]) -> list[Dependence]:
    """Returns, for each of some columns, the mean answers of some rows if it had each of some values in all of them."""
    rows = table.values[spread(len(table.values), MOST_ROWS)]
    parts, tables = [], []
    for place in places:
        own = column_values(answers.schema, table.values, place)
        parts.append(_values_to_try(answers.schema.columns[place], own))
        changed = np.tile(rows, (len(parts[-1][0]), 1))
        set_column(answers.schema, changed, place, np.repeat(parts[-1][0], len(rows)))
        tables.append(changed)
    if not tables:
        return []
    every = np.concatenate(tables)
    blocks = [every[first : first + ROWS_AT_A_TIME] for first in range(0, len(every), ROWS_AT_A_TIME)]
    found = np.concatenate([np.asarray(answers.answer(block), np.float64) for block in blocks])
    means = found.reshape(-1, len(rows), found.shape[1]).mean(axis=1)
    ends = np.cumsum([len(values) for values, _ in parts])[:-1]
    return [Dependence(values, own, shares) for (values, shares), own in zip(parts, np.split(means, ends), strict=True)]


def column_values(schema: Schema, values: Values, place: int) -> Float[np.ndarray, " row"]:
    """Returns the numbers of a column, or the codes of its categories; NaN where a value is missing."""
    own = features_of(schema, place)
    if schema.features[own[0]].kind != "onehot":
        return values[:, own[0]]
    is_category = values[:, own] == 1
    codes = [schema.columns[place].categories.index(schema.features[feature].category) for feature in own]
    return np.where(is_category.any(axis=1), np.array(codes)[is_category.argmax(axis=1)], np.nan)


def set_column(schema: Schema, values: Values, place: int, numbers: Float[np.ndarray, " row"]) -> None:
    """Sets a column of encoded rows to numbers, or to the codes of categories."""
    for feature in features_of(schema, place):
        described = schema.features[feature]
        if described.kind != "onehot":
            values[:, feature] = numbers
            continue
        code = schema.columns[place].categories.index(described.category)
        values[:, feature] = np.where(np.isnan(numbers), np.nan, numbers == code)


def _values_to_try(
    column: Column, own: Float[np.ndarray, " row"]
) -> tuple[Float[np.ndarray, " value"], Float[np.ndarray, " value"]]:
    missing = np.isnan(own).mean()
    known = own[np.isfinite(own)]
    if column.bins is None:
        codes, counts = np.unique(known, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        most = np.sort(most) if column.kind == "ordered" else most
        values, shares = codes[most], counts[most] / max(len(own), 1)
    else:
        distinct = np.unique(known)
        if len(distinct) > MOST_VALUES:
            inside = np.linspace(FAR, 1 - FAR, MOST_VALUES - 2)
            even = np.linspace(distinct[0], distinct[-1], MOST_VALUES // 2)
            distinct = np.unique([*even, *np.quantile(known, inside, method="nearest")])
        values, shares = distinct, np.full(len(distinct), np.nan)
    if missing or not len(values):
        values, shares = np.append(values, np.nan), np.append(shares, missing)
    return values, shares


def _card(answers: Answers, table: PageTable, place: int, tried: Dependence) -> Card:
    column = answers.schema.columns[place]
    own = column_values(answers.schema, table.values, place)
    unit, rows = answers.unit, min(len(table.values), MOST_ROWS)
    hint = f"{unit[0].upper()}{unit[1:]} if all rows had this value: mean of {rows:,} {table.name} rows."
    name = f"dependence-{place}"
    number = tried.answers.shape[1]
    if len(answers.classes) == 2:
        charts = [_chart(answers, column, own, tried, [1])]
    elif len(answers.classes) > FEW_CLASSES:
        classes = np.argsort(-np.ptp(tried.answers, axis=0), kind="stable").tolist()
        made = {str(at): _chart(answers, column, own, tried, [label]) for at, label in enumerate(classes)}
        options = tuple(answers.classes[label] for label in classes)
        return Card(name, column.name, hint, made, (("Class", options),), (0,))
    else:
        charts = [_chart(answers, column, own, tried, list(range(number)))]
    return Card(name, column.name, hint, {"": charts[0]})


def _chart(
    answers: Answers, column: Column, own: Float[np.ndarray, " row"], tried: Dependence, outputs: list[int]
) -> Chart:
    names = _names(answers, outputs)
    label = f"{answers.unit} of {names[0]}" if len(outputs) == 1 and answers.classes else answers.unit
    drawn = _of_categories if column.bins is None else _of_numbers
    return drawn(answers, column, own, tried, outputs) | {"label": f"{label}, by {column.name}"}


def _names(answers: Answers, outputs: list[int]) -> list[str]:
    is_one = len(outputs) == 1 and not answers.classes
    return [answers.unit if is_one else answers.name(place) for place in outputs]


def _label(answers: Answers, outputs: list[int]) -> str:
    of_class = f" of {answers.classes[outputs[0]]}" if answers.classes and len(outputs) == 1 else ""
    return answers.unit + of_class


def _of_numbers(
    answers: Answers, column: Column, own: Float[np.ndarray, " row"], tried: Dependence, outputs: list[int]
) -> Chart:
    known = np.isfinite(tried.values)
    values, names = tried.values[known], _names(answers, outputs)
    series = [
        line(names[at] if len(outputs) > 1 else "", answers.colour(place), values, tried.answers[known, place])
        for at, place in enumerate(outputs)
    ]
    if len(values) <= FEW_VALUES:
        series += [own_series | {"kind": "dots", "name": ""} for own_series in series]
    edges, counts = histogram(own)
    low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 1.0)
    is_whole = bool(len(values)) and bool((np.rint(values) == values).all())
    unit = column.unit if column.time is not None and column.time.kind == "duration" else ""
    x = axis(f"{unit + '; ' if unit else ''}below, how many rows", isWhole=is_whole or None)
    x |= {"ticks": ticks} if (ticks := ticks_of_times(column, low, high)) else {}
    below = {"edges": compacted(edges, 7), "counts": compacted(counts)}
    missing = ""
    if not known.all():
        told = ", ".join(
            decimal_near(float(tried.answers[~known, place][0]), least_digits=3) for place in outputs[:FEW_CLASSES]
        )
        missing = f"Missing in {tried.shares[~known][0]:.1%} of the rows: {told}."
    return plot("", x, axis(_label(answers, outputs)), series, below=below) | ({"caption": missing} if missing else {})


def _of_categories(
    answers: Answers, column: Column, own: Float[np.ndarray, " row"], tried: Dependence, outputs: list[int]
) -> Chart:
    items: list[dict[str, Any]] = []
    for value, found, share in zip(tried.values, tried.answers, tried.shares, strict=True):
        name = "missing" if np.isnan(value) else value_in_words(column.categories[int(value)])
        dots = [[compacted([found[place]])[0], answers.colour(place)] for place in outputs]
        items.append({"name": name, "dots": dots, "words": f"{share:.1%}"})
    names = _names(answers, outputs)
    legend = [{"name": name, "colour": answers.colour(place)} for name, place in zip(names, outputs, strict=True)]
    left = len(np.unique(own[np.isfinite(own)])) - np.isfinite(tried.values).sum()
    caption = "At the right, the share of the rows." + (f" {left} rarer categories are left out." if left > 0 else "")
    chart: Chart = {"kind": "list", "x": axis(_label(answers, outputs)), "items": items, "caption": caption}
    return chart | ({"legend": legend} if len(outputs) > 1 else {})
