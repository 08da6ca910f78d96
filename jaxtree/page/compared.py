"""The page of a comparison: the verdict, differences from the best with intervals, scores on every fold, and times."""

from typing import Any

import numpy as np

from jaxtree.figures.comparisons import LEVEL
from jaxtree.files.pages import Page
from jaxtree.metrics.scorers import metric_in_words, shown_score
from jaxtree.page.cards import ACCENT, SOFT, Card, Chart, axis, bars_by_name, compacted
from jaxtree.page.page import Group, render
from jaxtree.table.numerals import decimal_near, score_in_words

DIFFERS = "#d55e00"
"""The colour of a model that is worse than the best beyond chance."""

FEW_DIGITS = 2
"""Significant digits of times."""


def compared_page(comparison: Any, *, title: str) -> Page:
    """Returns a page about models that were scored on the same folds; it needs no network.

    Args:
        comparison: A `jaxtree.resampling.Comparison`.
        title: The heading of the page.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    metrics = comparison.metrics
    first = [
        _card(metrics, "differences", "Differences from the best", "Mean over the folds, with its "
              f"{LEVEL:.0%} interval; orange where the interval excludes 0.",
              [_differences(comparison, own) for own in metrics]),
        _card(metrics, "scores", "Scores", "Grey: each fold; coloured: their mean.",
              [_scores(comparison, own) for own in metrics]),
        Card("times", "Times", "Mean seconds of a fit. Models that share a program share its time.",
             {"": _times(comparison)}),
    ]  # fmt: skip
    groups = [Group("models", first)]
    names, rows = comparison.cells()
    return render(
        "compared.html",
        {"cards": {card.id: card.to_json() for card in first}},
        title=title,
        heading=comparison.heading(),
        verdicts=[comparison.verdict(metric) for metric in metrics],
        failures=comparison.failures_in_words(),
        names=names,
        rows=rows,
        groups=groups,
    )


def _card(metrics: list[str], name: str, title: str, hint: str, charts: list[Chart]) -> Card:
    """A card with a chart of every metric."""
    if len(metrics) == 1:
        return Card(name, title, hint, {"": charts[0]})
    choices = (("Score", tuple(map(metric_in_words, metrics))),)
    return Card(name, title, hint, {str(place): chart for place, chart in enumerate(charts)}, choices, (0,))


def _axis(metric: str, what: str) -> dict[str, Any]:
    better = "lower" if metric.startswith("neg_") else "higher"
    return axis(f"{metric_in_words(metric)}{what}; {better} is better")


def _differences(comparison: Any, metric: str) -> Chart:
    items = []
    for row in comparison.rows(metric):
        mean, low, high = compacted(np.asarray(shown_score(metric, np.array(row.from_best))))
        bars = [] if low is None or high is None else [[min(low, high), max(low, high), SOFT]]
        words = "-" if mean is None else score_in_words(float(mean))
        colour = DIFFERS if row.from_best.is_clear else ACCENT
        items.append({"name": row.name, "bars": bars, "dots": [[mean, colour]], "words": words})
    label = f"Differences from the best by {metric_in_words(metric)}"
    return {"kind": "list", "label": label, "items": items, "x": _axis(metric, ", difference from the best")}


def _scores(comparison: Any, metric: str) -> Chart:
    names, items = list(comparison.estimators), []
    for row in comparison.rows(metric):
        shown = np.asarray(shown_score(metric, comparison.scores[metric][names.index(row.name)]), np.float64)
        mean = compacted([shown.mean()])[0]
        dots = [*([value, SOFT] for value in compacted(shown)), [mean, ACCENT]]
        words = "-" if mean is None else score_in_words(float(mean))
        items.append({"name": row.name, "dots": dots, "words": words})
    label = f"{metric_in_words(metric)} on every fold"
    return {"kind": "list", "label": label, "items": items, "x": _axis(metric, "")}


def _times(comparison: Any) -> Chart:
    named = [(row.name, row.fit_seconds) for row in comparison.rows() if np.isfinite(row.fit_seconds)]
    words = [f"{decimal_near(seconds, least_digits=FEW_DIGITS)} s" for _, seconds in named]
    return bars_by_name("Seconds of a fit", named, words)
