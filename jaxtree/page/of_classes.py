"""How right probabilities of classes are: confusion matrix, ROC curves of each class against the rest, calibration."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float
from sklearn.metrics import auc, confusion_matrix, roc_curve

from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import Card, Chart, axis, card_of_tables, compacted, line, plot

NUM_BINS = 10
"""Bins of probabilities."""

LEAST_ROWS = 5
"""Rows of a bin that is drawn."""

UNKNOWN = "not seen in fit"

FEW_LINES = 7
"""Classes whose curves stand in one chart; of more, only the chosen one is drawn."""


def class_cards(answers: Answers, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with targets."""
    found = [
        card_of_tables(
            "confusion",
            "Confusion matrix",
            "Rows by their class and by the class that is predicted; at the right the share that is right.",
            [(table.name, confusion_chart(answers, table)) for table in tables],
        ),
        _by_class(answers, tables, "roc", "ROC", "How many rows of the class are found, by how many others are taken "
                  "for it, as the least probability falls.", _roc),
        _by_class(answers, tables, "calibration", "Calibration", "How often the class is true, by its predicted "
                  f"probability in tenths; tenths of less than {LEAST_ROWS} rows are left out.", _calibration),
    ]  # fmt: skip
    return [card for card in found if card is not None]


def confusion_chart(answers: Answers, table: PageTable) -> Chart:
    """Returns the confusion matrix; rows of classes that the model does not know stand in a last line."""
    labels, number = table.labels, len(answers.classes)
    predicted = table.predicted.argmax(axis=1)
    truth = np.where(labels < 0, number, labels)
    cells = confusion_matrix(truth, predicted, labels=np.arange(number + 1), sample_weight=table.weight)[:, :number]
    names = [*answers.classes, UNKNOWN]
    if not cells[number].any():
        cells, names = cells[:number], names[:number]
    right = float(table.weight[labels == predicted].sum() / table.weight.sum())
    return {
        "kind": "grid",
        "label": f"Confusion matrix of the {table.name} rows",
        "names": names,
        "columns": answers.classes,
        "cells": [compacted(row, 9) for row in cells],
        "caption": f"{right:.1%} of {len(labels):,} {table.name} rows are right.",
        "value": right,
    }


def _by_class(
    answers: Answers,
    tables: Sequence[PageTable],
    name: str,
    title: str,
    hint: str,
    chart_of: Callable[[Answers, PageTable, int], Chart],
) -> Card | None:
    """A card with a chart of every table and every class; of two classes only of the second."""
    classes = answers.classes
    shown = [1] if len(classes) == 2 else list(range(len(classes)))
    charts = {
        f"{number},{place}": chart_of(answers, table, label)
        for number, table in enumerate(tables)
        for place, label in enumerate(shown)
    }
    if not charts:
        return None
    rows = tuple(f"{table.name} rows" for table in tables)
    choices = (("Rows", rows), ("Class", tuple(classes[label] for label in shown)))
    return Card(name, title, hint, charts, choices, (len(rows) - 1, 0))


def roc_points(table: PageTable, label: int) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"], float]:
    """Returns false and true positive rates of a class, and the area below; no points if all rows are of one kind."""
    is_class = table.labels == label
    if is_class.all() or not is_class.any():
        return np.zeros(0), np.zeros(0), np.nan
    false, true, _ = roc_curve(is_class, table.predicted[:, label], sample_weight=table.weight)
    return false, true, float(auc(false, true))


def _roc(answers: Answers, table: PageTable, label: int) -> Chart:
    series, others = [], range(len(answers.classes))
    if len(answers.classes) in range(3, FEW_LINES + 1):
        for other in others:
            false, true, _ = roc_points(table, other)
            if other != label and len(false):
                series.append(line("", answers.colour(other), false, true, isFaint=True))
    false, true, area = roc_points(table, label)
    name = answers.classes[label]
    words = f"Area {area:z.4f}: {name} against the rest, {table.name} rows."
    if len(false):
        series.append(line("", answers.colour(label), false, true))
    else:
        words = f"No curve of {name}: the {table.name} rows are all of one kind."
    ends = {"low": 0, "high": 1}
    chart = plot(f"ROC curve. {words}", axis("false positive rate", **ends), axis("true positive rate", **ends), series)
    return chart | {"isDiagonal": True, "caption": words} | ({"value": area} if len(false) else {})


def shares_come_true(
    chance: Float[np.ndarray, " row"], is_true: Bool[np.ndarray, " row"], weight: Float[np.ndarray, " row"]
) -> tuple[Float[np.ndarray, " bin"], Float[np.ndarray, " bin"], Float[np.ndarray, " bin"]]:
    """Returns the mean probability, the share of true rows, and the number of rows in every tenth of probabilities.

    Means and shares of tenths with few rows are NaN.
    """
    place = np.clip((chance * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    rows = np.bincount(place, minlength=NUM_BINS).astype(np.float64)
    total = np.bincount(place, weight, minlength=NUM_BINS)
    sums = (np.bincount(place, weight * own, minlength=NUM_BINS) for own in (chance, is_true))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, share = (np.where(rows >= LEAST_ROWS, own / total, np.nan) for own in sums)
    return mean, share, rows


def calibration_chart(
    name: str,
    colour: str,
    chance: Float[np.ndarray, " row"],
    is_true: Bool[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
) -> Chart:
    """Returns the chart of one class."""
    mean, share, rows = shares_come_true(chance, is_true, weight)
    known = np.isfinite(mean)
    gap = float(np.sum(rows[known] * np.abs(mean - share)[known]) / max(rows[known].sum(), 1))
    series = [
        line("", colour, mean[known], share[known]),
        {**line("", colour, mean[known], share[known]), "kind": "dots"},
    ]
    below = {"edges": compacted(np.linspace(0, 1, NUM_BINS + 1)), "counts": compacted(rows)}
    words = f"{name}: off by {gap:z.3f} in the mean of the rows."
    ends = {"low": 0, "high": 1}
    x, y = axis("predicted probability; below, how many rows", **ends), axis(f"share of rows that are {name}", **ends)
    return plot(f"Calibration. {words}", x, y, series, isDiagonal=True, below=below, caption=words, value=gap)


def _calibration(answers: Answers, table: PageTable, label: int) -> Chart:
    name, colour = answers.classes[label], answers.colour(label)
    return calibration_chart(name, colour, table.predicted[:, label], table.labels == label, table.weight)
