"""The report of the comparison: one page that needs no network, the figures as files, and the figures as JSON."""

import os
from pathlib import Path
from typing import Any

from jaxtree.study.figures import render_png
from jaxtree.study.page import render
from jaxtree.study.prunings import figures
from jaxtree.study.prunings.methods import FOREST, UNPRUNED
from jaxtree.study.prunings.ranks import SAME
from jaxtree.study.prunings.verdict import verdict
from jaxtree.study.writing import embed, write_files

_FIGURES = {"ranks": figures.figure_ranks, "gains": figures.figure_gains, "costs": figures.figure_costs}


def write_report(results: dict[str, Any], out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    pictures = {name: render_png(draw(results)) for name, draw in _FIGURES.items()}
    return write_files(out_dir, _page(results, pictures), {**results, "verdict": verdict(results)}, pictures)


def accuracy_rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns a row of cells for each method, in the order of the mean ranks; the best of each data set is marked."""
    best = {table["name"]: max(table["accuracy"].values()) for table in results["data"]}
    rows = []
    for method in by_rank(results):
        cells = []
        for table in results["data"]:
            accuracy = table["accuracy"][method["name"]]
            cells.append({"accuracy": accuracy, "is_best": accuracy >= best[table["name"]] - SAME})
        rows.append({**method, "rank": results["ranks"]["mean"][method["name"]], "cells": cells})
    return rows


def by_rank(results: dict[str, Any]) -> list[dict[str, str]]:
    """Returns the methods in the order of their mean ranks."""
    return sorted(results["methods"], key=lambda method: results["ranks"]["mean"][method["name"]])


def _page(results: dict[str, Any], pictures: dict[str, bytes]) -> str:
    return render(
        "prunings.html",
        **results,
        verdict=verdict(results),
        rows=accuracy_rows(results),
        cost_rows=_cost_rows(results),
        choices=_choices(results),
        searches={table["name"]: results["seconds"][table["name"]] for table in results["data"]},
        unpruned=UNPRUNED,
        forest=FOREST,
        pictures={name: embed(picture) for name, picture in pictures.items()},
    )


def _cost_rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Leaves and seconds of a fit for each method and data set."""
    rows = []
    for method in by_rank(results):
        name = method["name"]
        cells = [
            {"leaves": table["leaves"][name], "seconds": results["seconds"][table["name"]][name]}
            for table in results["data"]
        ]
        rows.append({**method, "cells": cells})
    return rows


def _choices(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What each method with a choice chose on the outer folds of each data set."""
    rows = []
    for method in results["methods"]:
        cells = [
            [_as_words(fold["methods"][method["name"]]["chosen"]) for fold in table["folds"]]
            for table in results["data"]
        ]
        if any(words for cell in cells for words in cell):
            rows.append({**method, "cells": cells})
    return rows


def _as_words(chosen: dict[str, Any]) -> str:
    """A setting's numbers, such as "0.1, 0.5"; what is the same in every fold is left out."""
    fixed = ("draws", "z", "rule", "folds", "cost", "validation_fraction", "standard_errors")
    numbers = [value for name, value in chosen.items() if name not in fixed]
    return ", ".join("no limit" if value is None else f"{value:.3g}" for value in numbers)
