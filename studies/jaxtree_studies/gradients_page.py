"""The report of the comparison of ensembles trained by gradients: its figures and its page."""

import os
from pathlib import Path
from typing import Any

from jaxtree_studies import rank_figure, report
from jaxtree_studies.gradients import BOOSTING, CHOSEN_ON, FIGURES, FOREST, GRADIENTS, KEPT, OBLIQUE, Results
from jaxtree_studies.gradients_verdict import NAMES, difference_in_words, median_seconds, verdict, worst_ratio
from jaxtree_studies.ranks import SAME
from jaxtree_studies.report import BLUE, GREEN, INK, SKY, VERMILLION

COLORS = {GRADIENTS: VERMILLION, OBLIQUE: SKY, BOOSTING: BLUE, FOREST: GREEN}
"""The colour of every way; another library has that of the ink."""

BOOSTING_CHOSEN_ON = [
    *("transfusion", "wdbc", "heart-failure", "heart-cleveland"),
    *("hepatitis", "horse-colic", "dermatology"),
]
"""Kept tables among those on which the defaults of boosting were chosen, see `benchmarks/defaults.py`."""

TRIED = (
    ("32 trees a fold, and noise of inputs", "1.02 to 1.05"),
    ("a mean of oblique trees", "1.21"),
    ("oblique trees whose scores add up: better on numbers, such as Pima Diabetes and Balance Scale, and worse on "
     "Ionosphere and Congressional Voting", "1.09"),
    ("labels smoothed by 0.05", "1.08"),
    ("0.3 of the columns for each tree", "1.005"),
    ("0.8 of the columns for each tree", "1.036"),
    ("depth 6, at three times the time", "1.006"),
    ("depth 3", "1.004"),
    ("rate of leaves 0.1", "1.000"),
    ("rate of leaves 0.02", "1.02"),
    ("twice as many trees, at twice the time", "0.994"),
    ("30 % of the trees dropped, or 70 % of the rows for each tree; validation rows in place of folds", "1.01 to 1.04"),
    ("standard scaling in place of quantiles; validation rows in place of folds", "1.04"),
)  # fmt: skip
"""Changes of the defaults of ensembles of hard trees, and the ratio of their log loss to that of the defaults."""


def write_report(results: Results, out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    sentences = verdict(results)
    values = {
        **results,
        "verdict": sentences,
        "names": NAMES,
        "rows": {figure: score_rows(results, figure) for figure in FIGURES},
        "compared": [{**row, "words": difference_in_words(row)} for row in results["differences"]],
        "costs": [_costs(results, way) for way in results["ways"]],
        "reasons": _reasons(results),
        "tried": TRIED,
        "chosen_on": list(CHOSEN_ON.values()),
        "boosting_chosen_on": [KEPT[name] for name in BOOSTING_CHOSEN_ON],
    }
    colors = {way: COLORS.get(way, INK) for way in results["ways"]}
    figures = {f"ranks_{figure}": rank_figure.draw(found, colors) for figure, found in results["ranks"].items()}
    return report.write_report(out_dir, "gradients.html", values, {**results, "verdict": sentences}, figures)


def score_rows(results: Results, figure: str) -> list[dict[str, Any]]:
    """Returns a row for each table, with a cell for each way, None where a way has none; the best are marked."""
    rows = []
    for table in results["tables"]:
        means = results["means"][table["name"]]
        found = {way: means[way][figure] for way in means}
        best = min(found.values(), default=0.0) if figure == "log_loss" else max(found.values(), default=0.0)
        cells = [
            {"figure": found.get(way), "is_best": way in found and abs(found[way] - best) <= SAME}
            for way in results["ways"]
        ]
        rows.append({**table, "cells": cells})
    return rows


def _costs(results: Results, way: str) -> dict[str, Any]:
    own = [row[way] for row in results["means"].values() if way in row]
    ratio, title = worst_ratio(results, way)
    seconds = [figures["cpu_seconds"] for figures in own]
    return {
        "way": way,
        "median": median_seconds(results, way),
        "most": max(seconds),
        "in_all": sum(seconds) * results["plan"]["seeds"],
        "ratio": ratio,
        "title": title,
    }


def _reasons(results: Results) -> list[str]:
    """Why the peer has no figures, each reason once."""
    return list(dict.fromkeys(failure["reason"] for failure in results["failed"]))
