"""Shapley values of some rows: how much columns count, and what each contributes to the prediction of a row."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.arrays import spread
from jaxtree.explain.dependence import column_values
from jaxtree.explain.shap import shap_values_of
from jaxtree.losses.predicted import PARAMETERS
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import ACCENT, Card, Chart, axis, compacted, with_places
from jaxtree.tree.link import Link

MOST_ROWS, FEWEST_ROWS = 200, 40
MOST_NUMBERS, MOST_VISITS = 300_000, 5 * 10**6
"""Rows of a table that are explained, at most; the most values that these have in all columns and scores; and the most
nodes that they are compared with, once a score. As many rows as the fewest are explained in any case."""

MOST_LINES = 12
"""Columns that a summary shows."""

NUM_TONES = 5
"""Parts of a column's values, from the lowest to the highest, that have a colour each."""

DOTS = 1200
"""Dots of a summary in all classes: the more classes, the fewer rows for each."""


class ExplainedRows(NamedTuple):
    """Rows that are explained.

    Attributes:
        rows: Their places in the table.
        values: The Shapley values.
        base: What they are added to.
        names: Of every output, what is explained: "score of yes", "probability of yes", or "prediction".
    """

    rows: Int[np.ndarray, " row"]
    values: Float[np.ndarray, "row column output"]
    base: Float[np.ndarray, " output"]
    names: list[str]

    @property
    def totals(self) -> Float[np.ndarray, "row output"]:
        """The sum of the values of a row."""
        return self.base + self.values.sum(axis=1)


def explained_rows(answers: Answers, tables: list[PageTable]) -> list[ExplainedRows | None]:
    """Returns the Shapley values of some rows of each table; None of models that are no sums or means over trees."""
    if hasattr(type(answers.estimator), "model_of_planes") or answers.is_ratio or not tables:
        return [None] * len(tables)
    names, num_columns, model = explained_names(answers), len(answers.schema.columns), answers.estimator.model_
    num_nodes = model.forest.nodes.feature.size
    most = min(MOST_ROWS, MOST_NUMBERS // (num_columns * len(names)), MOST_VISITS // (num_nodes * len(names)))
    rows = [spread(len(table.values), max(most, FEWEST_ROWS)) for table in tables]
    explained = shap_values_of(
        model, np.concatenate([table.values[own] for table, own in zip(tables, rows, strict=True)])
    )
    values = explained.values.reshape(len(explained.values), num_columns, -1)
    of_tables = np.split(values, np.cumsum([len(own) for own in rows])[:-1])
    base = np.ravel(explained.base)
    return [ExplainedRows(own, found, base, names) for own, found in zip(rows, of_tables, strict=True)]


def explained_names(answers: Answers) -> list[str]:
    """Returns what the Shapley values of every output add up to, in words."""
    link = answers.link
    if link is None:
        return [f"probability of {name}" for name in answers.classes] or ["prediction"]
    if link.kind == Link.LOGISTIC:
        return [f"score (log odds) of {answers.classes[1]}"]
    if answers.classes:
        return [f"score of {name}" for name in answers.classes]
    number, name = answers.estimator.start_.size, answers.estimator.loss_.name
    known = [own for own, _ in PARAMETERS.get(name, ())]
    if number > 1:
        return [
            f"score of the {known[place]}" if place < len(known) else f"score of {answers.name(place)}"
            for place in range(number)
        ]
    return ["prediction" if link.kind == Link.IDENTITY else "score"]


def summary_cards(answers: Answers, table: PageTable, explained: ExplainedRows) -> list[Card]:
    """Returns the cards of how much columns count: mean sizes, and every row's value."""
    size = np.abs(explained.values).mean(axis=0)
    number = len(explained.names)
    order = np.argsort(-size.mean(axis=1), kind="stable")
    order = order[size[order].max(axis=1) > 0][:MOST_LINES]
    if not len(order):
        return []
    columns = answers.schema.columns
    rows = f"{len(explained.rows):,} {table.name} rows"
    shown = [1] if number == 2 and not answers.adds_up else list(range(number))
    mean = size[:, shown].mean(axis=1)
    items = [
        {"name": columns[own].name, "bars": [[0, compacted([mean[own]])[0], ACCENT]], "words": words}
        for own, words in zip(order.tolist(), with_places(mean[order]), strict=True)
    ]
    of_all = (
        f" mean of all {'classes' if answers.classes else 'scores'}"
        if len(shown) > 2
        else f" {explained.names[shown[0]]}"
    )
    bars: Chart = {"kind": "list", "label": "Mean size of Shapley values", "items": items, "hasAxis": False}
    hint = f"Mean size of the Shapley values of {rows},{of_all}."
    swarms = {str(at): _swarm(answers, table, explained, output) for at, output in enumerate(shown)}
    options = tuple(explained.names[output] for output in shown)
    return [
        Card("shapley", "How much columns count", hint, {"": bars}),
        Card("swarm", "What values of columns do", f"A dot for each of {rows}: what its value adds to the prediction. "
             "Blue: a low value, orange: a high one, grey: missing or a category.", swarms,
             (("Of", options),), (0,)),
    ]  # fmt: skip


def _swarm(answers: Answers, table: PageTable, explained: ExplainedRows, output: int) -> Chart:
    worth = explained.values[:, :, output]
    kept = spread(len(explained.rows), max(30, min(MOST_ROWS, DOTS // len(explained.names))))
    order = np.argsort(-np.abs(worth).mean(axis=0), kind="stable")[:MOST_LINES].tolist()
    items = []
    for place in order:
        if not worth[:, place].any() and items:
            continue
        own = column_values(answers.schema, table.values, place)
        tone = _tones(answers, place, own)[explained.rows[kept]]
        told = [None if np.isnan(one) else int(one) for one in tone]
        swarm = {"x": compacted(worth[kept, place], 4), "tone": told}
        items.append({"name": answers.schema.columns[place].name, "swarm": swarm})
    label = f"Shapley values of the {explained.names[output]}"
    return {"kind": "list", "label": label, "x": axis(f"added to the {explained.names[output]}"), "items": items}


def _tones(answers: Answers, place: int, own: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """The part of its column that every value is in, from the lowest; NaN of categories and missing values."""
    known = np.isfinite(own)
    if answers.schema.columns[place].kind == "categorical" or not known.any():
        return np.full(len(own), np.nan)
    distinct = np.unique(own[known])
    if len(distinct) <= NUM_TONES:
        part = np.searchsorted(distinct, own) * ((NUM_TONES - 1) / max(len(distinct) - 1, 1))
    else:
        limits = np.quantile(own[known], np.linspace(0, 1, NUM_TONES + 1)[1:-1])
        part = np.searchsorted(limits, own, side="left")
    return np.where(known, np.round(part), np.nan)
