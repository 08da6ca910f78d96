"""Rows one by one: their truth and prediction, their values in words, and what each column contributes."""

from typing import Any

import numpy as np
from jaxtyping import Int

from jaxtree.arrays import spread
from jaxtree.explain.dependence import column_values
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import compacted
from jaxtree.page.of_classes import UNKNOWN
from jaxtree.page.of_survival import times_of
from jaxtree.page.outlines import plane_in_words
from jaxtree.page.shapley import ExplainedRows
from jaxtree.table.numerals import decimals_together

DIGITS = 9
"""Significant digits of what adds up."""

MOST_ROWS, MOST_CELLS = 200, 40_000
"""Rows that are listed where none are explained, and the most values that they have in all."""


def listed_rows(answers: Answers, table: PageTable, explained: ExplainedRows | None) -> dict[str, Any]:
    """Returns rows as the page's script lists them.

    `number`, `truth` and `said` are those of every row; `off` is how far a prediction is off, of classes the
    probability that others have; `cells` are the values of every column in words. Of explained rows `values` are the
    Shapley values of the output `of`, which add up from its `base` to `total`; of a tree of planes `paths` has what the
    planes above the row's leaf say of it.
    """
    columns = answers.schema.columns
    most = max(10, min(MOST_ROWS, MOST_CELLS // len(columns)))
    rows = spread(len(table.values), most) if explained is None else explained.rows
    told: dict[str, Any] = {
        "name": table.name,
        "size": len(table.values),
        "number": table.number[rows].tolist(),
        "columns": [column.name for column in columns],
        "cells": [
            [column.in_words(float(cell)) for cell in column_values(answers.schema, table.values[rows], place)]
            for place, column in enumerate(columns)
        ],
        **_predictions(answers, table, rows),
    }
    if hasattr(type(answers.estimator), "model_of_planes"):
        told["paths"] = _paths(answers, table, rows)
    if explained is not None:
        told |= _contributions(answers, table, explained)
    return told


def _predictions(answers: Answers, table: PageTable, rows: Int[np.ndarray, " row"]) -> dict[str, Any]:
    predicted = table.predicted[rows]
    if not answers.classes:
        said = decimals_together(predicted[:, 0].tolist(), 4)
        told: dict[str, Any] = {"said": said, "unit": answers.unit}
        if table.target is not None:
            target = table.truth[rows, 0]
            told["truth"] = decimals_together(target.astype(float).tolist(), 4)
            if answers.kind == "survival":
                told["truth"] = _times_in_words(answers, table, rows, told["truth"])
            if answers.kind in ("numbers", "distributions"):
                told["off"] = compacted(target - predicted[:, 0])
        return told
    label = predicted.argmax(axis=1)
    chance = predicted[np.arange(len(rows)), label]
    told = {"said": [answers.classes[own] for own in label], "chance": compacted(chance), "unit": answers.unit}
    if table.target is not None:
        truth = table.labels[rows]
        own = np.where(truth < 0, 0.0, predicted[np.arange(len(rows)), np.maximum(truth, 0)])
        told["truth"] = [UNKNOWN if one < 0 else answers.classes[one] for one in truth]
        told["off"], told["isWrong"] = compacted(1 - own), (truth != label).tolist()
    return told


def _times_in_words(answers: Answers, table: PageTable, rows: Int[np.ndarray, " row"], words: list[str]) -> list[str]:
    """Times with what is known of them: the event, or that it comes later if at all."""
    times = times_of(answers, table)
    if times is None:
        return words
    return [
        f"{one}, event" if is_event else f"{one} or later"
        for one, is_event in zip(words, times.is_event[rows].tolist(), strict=True)
    ]


def _contributions(answers: Answers, table: PageTable, explained: ExplainedRows) -> dict[str, Any]:
    """The values of the predicted class, of two classes of the second, of others of the first score."""
    number = len(explained.names)
    output = np.zeros(len(explained.rows), np.int64)
    if answers.classes and number > 1:
        output = table.predicted[explained.rows].argmax(axis=1)
    every = np.arange(len(explained.rows))
    return {
        "outputs": explained.names,
        "of": output.tolist(),
        "base": compacted(explained.base, DIGITS),
        "total": compacted(explained.totals[every, output], DIGITS),
        "values": [compacted(row, DIGITS) for row in explained.values[every, :, output]],
    }


def _paths(answers: Answers, table: PageTable, rows: Int[np.ndarray, " row"]) -> list[list[str]]:
    """The planes on the path of every row, in words."""
    tree = answers.estimator.tree_
    found = []
    for node in tree.apply(table.values[rows]).tolist():
        path = []
        while node:
            path.append(plane_in_words(tree, node))
            node = int(tree.parent[node])
        found.append(path[::-1])
    return found
