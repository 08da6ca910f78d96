"""Why a model answers as it does: dependence on columns, Shapley values, and rows one by one."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.arrays import spread
from jaxtree.errors import present
from jaxtree.explain.hard_forms import has_no_sum
from jaxtree.explain.rows import explain_values
from jaxtree.explain.shap import ShapValues, of_solution, shap_values_of
from jaxtree.figures.dependence import FEW_VALUES, MOST_ROWS, Dependence, dependence_on, limits_on
from jaxtree.figures.importances import importances_of
from jaxtree.figures.numbers import COVERAGE, histogram_of
from jaxtree.figures.shapley import Explained, explained_by, of_class
from jaxtree.losses.predicted import PredictedDistribution
from jaxtree.losses.start import weighted_quantiles
from jaxtree.page.cards import (
    ACCENT,
    SOFT,
    Card,
    Chart,
    axis,
    bars_below,
    bars_by_name,
    compacted,
    line,
    plot,
    ticks_of_times,
    with_places,
)
from jaxtree.page.model import PageModel, PageTable, shifted_scores
from jaxtree.page.quality import UNKNOWN, times_of
from jaxtree.page.trees import plane_in_words
from jaxtree.table.numerals import decimal_near, decimals_together
from jaxtree.table.schema import Column
from jaxtree.table.words import value_in_words
from jaxtree.tree.kinds import ModelKind, Prediction

MOST_COLUMNS = 6
"""Columns whose dependence is drawn."""

MOST_IMPORTANT = 15
"""Terms or columns whose importances are drawn, the most important ones."""

FEW_CLASSES = 7
"""Classes that stand in one chart; of more, one is chosen."""


class _Curve(NamedTuple):
    """The dependence of an output.

    Attributes:
        name: The name of the class or output, empty where there is one.
        colour: Its colour.
        means: Its means at all values.
        ends: The lower and upper ends of their bands; None where none are known.
    """

    name: str
    colour: str
    means: Float[np.ndarray, " value"]
    ends: tuple[Float[np.ndarray, " value"], ...] | None


def dependence_cards(
    model: PageModel, table: PageTable, order: list[int] | None = None, *, bands: Any = None
) -> list[Card]:
    """Returns a card of each of the first columns of an order; if not given, of those that count most.

    Args:
        model: The model.
        table: The rows.
        order: The places of columns.
        bands: The bands of the model; None without any.
    """
    if order is None:
        found = importances_of(model.estimator)
        order = [place for place, value in zip(found.place, found.values, strict=True) if value > 0]
    rows, predict, cards = (model.schema, table.values), model.estimator.predict_values, []
    for place in order[:MOST_COLUMNS]:
        tried = dependence_on(*rows, place, predict, table.weight, limits_on(model.estimator, place))
        ends = None if bands is None else bands.dependence_of_values(place, table.values, table.weight).band[1:]
        cards.append(_dependence_card(model, table, place, (tried, ends)))
    return cards


_WithEnds = tuple[Dependence, tuple[Float[np.ndarray, "value output"], ...] | None]
"""A dependence, and the ends of its band, if they are known."""


def _dependence_card(model: PageModel, table: PageTable, place: int, found: _WithEnds) -> Card:
    tried, _ = found
    unit, rows, number = model.unit, min(len(table.values), MOST_ROWS), tried.means.shape[1]
    hint = f"Partial dependence: {unit} if all rows had this value, mean over {rows:,} {table.name} rows."
    name, title = f"dependence-{place}", model.schema.columns[place].name
    if len(model.classes) <= FEW_CLASSES:
        outputs = [1] if len(model.classes) == 2 else list(range(number))
        return Card(name, title, hint, {"": _dependence_chart(model, table, place, found, outputs)})
    classes = np.argsort(-np.ptp(tried.means, axis=0), kind="stable").tolist()
    charts = {str(at): _dependence_chart(model, table, place, found, [own]) for at, own in enumerate(classes)}
    return Card(name, title, hint, charts, (("Class", tuple(model.classes[own] for own in classes)),), (0,))


def _dependence_chart(model: PageModel, table: PageTable, place: int, found: _WithEnds, outputs: list[int]) -> Chart:
    tried, ends = found
    column, own = model.schema.columns[place], table.values[:, place]
    unit = f"{model.unit} of {model.in_target(outputs[0])}" if model.classes and len(outputs) == 1 else model.unit
    if model.predicts == Prediction.NUMBERS and model.target:
        unit = f"predicted {model.target}"
    curves = []
    for output in outputs:
        name, of_output = model.name(output) if len(outputs) > 1 else "", None
        if ends is not None:
            of_output = tuple(end[:, output] for end in ends)
        curves.append(_Curve(name, model.colour(output), tried.means[:, output], of_output))
    if column.bins is None:
        chart = _of_categories(column, own, tried, curves)
        return chart | {"x": axis(unit), "label": f"{unit}, by {column.name}"}
    return _of_numbers(column, (own, table.weight), tried, curves) | {
        "y": axis(unit), "label": f"{unit}, by {column.name}",
    }  # fmt: skip


def _of_numbers(column: Column, rows: tuple[Any, Any], tried: Dependence, curves: list[_Curve]) -> Chart:
    known = np.isfinite(tried.values)
    values, bands, kept = tried.values[known], [], np.flatnonzero(known)
    if tried.edges is not None:
        # The last step reaches to the last edge.
        values, kept = tried.edges, np.append(kept, kept[-1])
    for curve in curves:
        if curve.ends is not None:
            low, high = (end[kept] for end in curve.ends)
            is_steps = {} if tried.edges is None else {"isSteps": True}
            bands.append(line("", curve.colour, values, high, kind="band", y0=compacted(low, 7), **is_steps))
    kind = {} if tried.edges is None else {"kind": "steps"}
    series = [line(curve.name, curve.colour, values, curve.means[kept], **kind) for curve in curves]
    if tried.edges is None and len(values) <= FEW_VALUES:
        series += [own | {"kind": "dots", "name": ""} for own in series]
    low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 1.0)
    is_whole = bool(len(values)) and bool((np.rint(values) == values).all())
    unit = f" in {column.unit}" if column.unit and column.time is not None and column.time.kind == "duration" else ""
    ticks = ticks_of_times(column, low, high)
    x = axis(f"{column.name}{unit}; below: number of rows", isWhole=is_whole or None, ticks=ticks or None)
    x |= {"isTime": True} if ticks else {}
    scale = None if ticks else _scale_of_quantiles(rows)
    if scale is not None:
        numbers, places = scale
        x |= {"label": f"{column.name}{unit}; quantile scale; below: number of rows"}
        x["scale"] = [compacted(numbers, 7), places]
        x["ticks"] = [[number, decimal_near(float(number), least_digits=3)] for number in compacted(numbers, 3)]
    missing = ""
    if not known.all():
        means = [decimal_near(float(own.means[~known][0]), least_digits=3) for own in curves[:FEW_CLASSES]]
        missing = f"Missing in {tried.shares[~known][0]:.1%} of the rows: {', '.join(means)}."
    below = histogram_of(*rows) if scale is None else _histogram_on(scale[0], rows)
    return plot("", x, {}, [*bands, *series], missing, below=bars_below(below))


def _histogram_on(edges: Float[np.ndarray, " edge"], rows: tuple[Any, Any]) -> tuple[Any, Any]:
    """The histogram of rows between the quantiles of an axis."""
    known = np.isfinite(rows[0])
    return edges, np.histogram(rows[0][known], edges, weights=rows[1][known])[0]


LONG_TAIL = 8.0
"""An axis has quantiles where the range of a column is so many times that of nine tenths of its rows."""

NUM_QUANTILES = 11


def _scale_of_quantiles(rows: tuple[Any, Any]) -> tuple[Float[np.ndarray, " tick"], list[Any]] | None:
    """The quantiles of a column, different ones alone, and their places on an axis; None without a long tail."""
    own, weight = (np.asarray(part, np.float64) for part in rows)
    known = np.isfinite(own)
    levels = np.linspace(0, 1, NUM_QUANTILES)
    if not known.any():
        return None
    found = weighted_quantiles(own[known], weight[known], np.array([0.05, 0.95]))
    if not 0 < LONG_TAIL * (found[1] - found[0]) < np.ptp(own[known]):
        return None
    numbers, first = np.unique(weighted_quantiles(own[known], weight[known], levels), return_index=True)
    places = levels[first]
    return numbers, compacted((places - places[0]) / (places[-1] - places[0]))


def _of_categories(column: Column, own: Float[np.ndarray, " row"], tried: Dependence, curves: list[_Curve]) -> Chart:
    items: list[dict[str, Any]] = []
    for at, (value, share) in enumerate(zip(tried.values, tried.shares, strict=True)):
        name = "missing" if np.isnan(value) else value_in_words(column.categories[int(value)])
        dots = [[compacted([curve.means[at]])[0], curve.colour] for curve in curves]
        item: dict[str, Any] = {"name": name, "dots": dots, "words": f"{share:.1%}"}
        if len(curves) == 1 and curves[0].ends is not None:
            item["bars"] = [[*compacted([end[at] for end in curves[0].ends]), SOFT]]
        items.append(item)
    legend = [{"name": curve.name, "colour": curve.colour} for curve in curves]
    left = len(np.unique(own[np.isfinite(own)])) - np.isfinite(tried.values).sum()
    caption = "At the right: the share of the rows." + (f" {left} rarer categories are not shown." if left > 0 else "")
    return {"kind": "list", "items": items, "caption": caption, "end": "of the rows"} | (
        {"legend": legend} if len(curves) > 1 else {}
    )


def banded_importance_card(bands: Any) -> Card:
    """Returns the card of the importances of terms or columns with their bands, the most important first."""
    found, (noun, names, unit, meaning), items = bands.importances(), bands.importance_words(), []
    order = np.argsort(-found.center, kind="stable")
    for place in order[:MOST_IMPORTANT].tolist():
        ends = compacted([found.lower[place], found.upper[place]])
        dot = compacted([found.center[place]])[0]
        words = decimal_near(float(found.center[place]), least_digits=3)
        items.append({"name": names[place], "bars": [[*ends, SOFT]], "dots": [[dot, ACCENT]], "words": words})
    title = f"Importance of the {noun}s, with bands"
    chart: dict[str, Any] = {"kind": "list", "label": title, "items": items, "x": axis(unit)}
    if len(order) > MOST_IMPORTANT:
        chart["caption"] = f"{len(order) - MOST_IMPORTANT} less important {noun}s are not shown."
    return Card(f"{noun}-importances", title, f"{meaning}, with its band of level {bands.level:g}.", {"": chart})


MOST_EXPLAINED, FEWEST_EXPLAINED = 200, 40
MOST_NUMBERS, MOST_VISITS = 300_000, 5 * 10**6
"""Rows of a table that are explained, at most; the most values that these have in all columns and scores; and the most
nodes that they are compared with, once a score. As many rows as the fewest are explained in any case."""

NUM_TONES = 5
"""Parts of a column's values, from the lowest to the highest, that have a colour each."""

DOTS = 1200
"""Dots of a summary in all classes: the more classes, the fewer rows for each."""


class ExplainedRows(NamedTuple):
    """Rows that are explained.

    Attributes:
        rows: Their places in the table.
        found: Their Shapley values.
    """

    rows: Int[np.ndarray, " row"]
    found: Explained


def explained_rows(model: PageModel, tables: list[PageTable]) -> list[ExplainedRows | None]:
    """Returns the Shapley values of some rows of each table; None of models that are no sums or means over trees."""
    if has_no_sum(model.estimator) or not tables:
        return [None] * len(tables)
    fitted = model.estimator.model_
    num_columns, num_scores = len(model.schema.columns), fitted.node_value.shape[1]
    num_nodes = fitted.forest.nodes.feature.size
    most = min(MOST_EXPLAINED, MOST_NUMBERS // (num_columns * num_scores), MOST_VISITS // (num_nodes * num_scores))
    chosen = [spread(len(table.values), max(most, FEWEST_EXPLAINED)) for table in tables]
    rows = [table.values[own] for table, own in zip(tables, chosen, strict=True)]
    every = shap_values_of(fitted, np.concatenate(rows))
    if model.kind == ModelKind.MOMENT and fitted.link is not None:
        every = of_solution(fitted, every)
    parts = np.split(every.values, np.cumsum([*map(len, rows)])[:-1])
    return [
        ExplainedRows(at, explained_by(model.estimator, ShapValues(part, every.base), own, table.weight[at]))
        for table, at, own, part in zip(tables, chosen, rows, parts, strict=True)
    ]


def _with_target(model: PageModel, found: Explained) -> Explained:
    """The values with the target's name at that of each class."""
    named = {name: model.in_target(place) for place, name in enumerate(model.classes)}
    return found._replace(labels=[named.get(label, label) for label in found.labels])


def summary_cards(model: PageModel, table: PageTable, explained: ExplainedRows) -> list[Card]:
    """Returns the cards of how much columns count: mean sizes, and every row's value."""
    found = explained.found
    shown = _with_target(model, of_class(found, model.classes, None))
    sizes, order = shown.sizes, [own for own in shown.order() if shown.sizes[own].any()]
    if not order:
        return []
    mean, rows = sizes.mean(axis=1), f"{len(explained.rows):,} {table.name} rows"
    names = [model.schema.columns[own].name for own in order]
    named = [*zip(names, mean[order].tolist(), strict=True)]
    bars = bars_by_name("Mean absolute Shapley values", named, with_places(mean[order]))
    number, all_of = len(shown.labels), "classes" if model.classes else "scores"
    of_all = f" mean of all {all_of}" if number > 2 else f" {shown.of_what[0]}"
    hint = f"Mean absolute Shapley value over {rows},{of_all}."
    swarms = {
        str(at): _swarm(shown.only(at), DOTS // number, table.number[explained.rows]) | {"table": table.name}
        for at in range(number)
    }
    return [
        Card("shapley", "Importance by Shapley values", hint, {"": bars}),
        Card("swarm", "Shapley values by value", f"One dot for each of {rows}: how much its value adds to the "
             "prediction. Blue: a low value; orange: a high one; grey: missing or a category.", swarms,
             (("Of", tuple(shown.of_what)),), (0,)),
    ]  # fmt: skip


def _swarm(found: Explained, most: int, number: Int[np.ndarray, " row"]) -> Chart:
    """The chart of one class or score; rows have their numbers in the given table."""
    worth, kept = found.values[:, :, 0], spread(len(found.rows), max(30, min(MOST_EXPLAINED, most)))
    items = []
    for place in found.order():
        if not worth[:, place].any() and items:
            continue
        tones = np.round(found.ranks(place)[kept] * (NUM_TONES - 1))
        sent = [None if np.isnan(one) else int(one) for one in tones]
        swarm = {"x": compacted(worth[kept, place], 4), "tone": sent, "column": int(place)}
        items.append({"name": found.schema.columns[place].name, "swarm": swarm})
    label, words = f"Shapley values of the {found.of_what[0]}", f"added to the {found.of_what[0]}"
    return {"kind": "list", "label": label, "x": axis(words), "items": items, "rows": number[kept].tolist()}


DIGITS = 9
"""Significant digits of what adds up."""

MOST_LISTED, MOST_CELLS = 200, 40_000
"""Rows that are listed where none are explained, and the most values that they have in all."""


def listed_rows(model: PageModel, table: PageTable, explained: ExplainedRows | None) -> dict[str, Any]:
    """Returns rows as the page's script lists them.

    `number`, `truth` and `said` are those of every row; `off` is how far a prediction is off, of classes the
    probability that others have; `cells` are the values of every column in words. Explained rows have `values`, the
    Shapley values of the output `of`, which add up from its `base` to `total`, `isLogOdds` if these are those of the
    second of two classes, and `sentences`, what `explain_row` says first; predicted distributions have `interval`, the
    ends in words; rows of a tree of planes have `paths`, the conditions of the planes above their leaf.
    """
    columns = model.schema.columns
    most = max(10, min(MOST_LISTED, MOST_CELLS // len(columns)))
    rows = spread(len(table.values), most) if explained is None else explained.rows
    sent: dict[str, Any] = {
        "name": table.name,
        "size": len(table.values),
        "number": table.number[rows].tolist(),
        "columns": [column.name for column in columns],
        "cells": [
            [column.in_words(float(cell)) for cell in table.values[rows, place]] for place, column in enumerate(columns)
        ],
        **_predictions(model, table, rows),
    }
    if model.kind == ModelKind.PLANES:
        sent["paths"] = _paths(model, table, rows)
    if explained is not None:
        sent |= _contributions(model, table, explained)
        if "offset" not in table.fields:
            sent["sentences"] = _sentences(model, explained, list(zip(*sent["cells"], strict=True)))
    return sent


def _predictions(model: PageModel, table: PageTable, rows: Int[np.ndarray, " row"]) -> dict[str, Any]:
    predicted = table.predicted[rows]
    if not model.classes:
        said = decimals_together(predicted[:, 0].tolist(), 4)
        sent: dict[str, Any] = {"said": said, "unit": model.unit}
        if table.target is not None:
            target = table.truth[rows, 0]
            sent["truth"] = decimals_together(target.astype(float).tolist(), 4)
            if model.predicts in (Prediction.RISKS, Prediction.TIMES):
                sent["truth"] = _times_in_words(model, table, rows, sent["truth"])
            if model.predicts in (Prediction.NUMBERS, Prediction.DISTRIBUTIONS):
                sent["off"] = compacted(target - predicted[:, 0])
        if model.predicts == Prediction.DISTRIBUTIONS and table.scores is not None:
            sent["interval"] = _intervals_in_words(model, table, rows)
        return sent
    label = present(table.said)[rows]
    chance = predicted[np.arange(len(rows)), label]
    sent = {"said": [model.classes[own] for own in label], "chance": compacted(chance), "unit": model.unit}
    if table.target is not None:
        truth = table.labels[rows]
        own = np.where(truth < 0, 0.0, predicted[np.arange(len(rows)), np.maximum(truth, 0)])
        sent["truth"] = [UNKNOWN if one < 0 else model.classes[one] for one in truth]
        sent["off"], sent["isWrong"] = compacted(1 - own), (truth != label).tolist()
    return sent


def _intervals_in_words(model: PageModel, table: PageTable, rows: Int[np.ndarray, " row"]) -> list[str]:
    """The predicted interval of every row."""
    found = PredictedDistribution(model.estimator.loss_, shifted_scores(model, table)[rows]).interval(COVERAGE)
    low, high = (decimals_together(own.tolist(), 4) for own in np.asarray(found, np.float64).T)
    return [f"{least} to {most}" for least, most in zip(low, high, strict=True)]


def _times_in_words(model: PageModel, table: PageTable, rows: Int[np.ndarray, " row"], words: list[str]) -> list[str]:
    """Times with what is known of them: the event, or that it comes later if at all."""
    times = times_of(model, table)
    if times is None:
        return words
    return [
        f"{one}, event" if is_event else f"{one} or later"
        for one, is_event in zip(words, times.is_event[rows].tolist(), strict=True)
    ]


def _contributions(model: PageModel, table: PageTable, explained: ExplainedRows) -> dict[str, Any]:
    """The values of the predicted class, of two classes of the second, of others of the first score."""
    found, number = explained.found, len(explained.found.labels)
    output = np.zeros(len(explained.rows), np.int64)
    if model.classes and number > 1:
        output = present(table.said)[explained.rows]
    every = np.arange(len(explained.rows))
    return {
        "isLogOdds": len(model.classes) == 2 and number == 1 and found.unit == "log odds",
        "outputs": _with_target(model, found).of_what,
        "of": output.tolist(),
        "base": compacted(found.base, DIGITS),
        "total": compacted(found.totals[every, output], DIGITS),
        "values": [compacted(row, DIGITS) for row in found.values[every, :, output]],
    }


def _sentences(model: PageModel, explained: ExplainedRows, words: list[tuple[str, ...]]) -> list[str]:
    """The sentence of every row: its prediction, and what speaks for and against it."""
    found = explained.found
    of_rows = [ShapValues(found.values[[row]], found.base) for row in range(len(words))]
    return [
        explain_values(model.estimator, found.rows[[row]], list(own), of_rows[row], has_steps=False).sentence
        for row, own in enumerate(words)
    ]


def _paths(model: PageModel, table: PageTable, rows: Int[np.ndarray, " row"]) -> list[list[str]]:
    """The planes on the path of every row, in words."""
    tree = model.estimator.tree_
    found = []
    for node in tree.apply(table.values[rows]).tolist():
        path = []
        while node:
            path.append(plane_in_words(tree, node))
            node = int(tree.parent[node])
        found.append(path[::-1])
    return found
