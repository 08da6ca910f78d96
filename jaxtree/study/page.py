"""The report of the dropout study: one page that needs no network, the figures as files, and the numbers as JSON.

`results` is a plain dictionary of the study's numbers, `draws` the test and training accuracies of every draw.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxtree.errors import MissingExtraError
from jaxtree.study import figures
from jaxtree.study.verdict import verdict
from jaxtree.study.writing import duration, embed, typeset, write_files

try:
    import jinja2
except ImportError as error:
    raise MissingExtraError('the report needs jinja2: pip install "jaxtree[cli,plot]"') from error

# The paper prints its accuracies with six digits.
_PRINTED = 5e-7


def write_report(results: dict[str, Any], draws: dict[str, np.ndarray], out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before. The same results give the same bytes, but for the
    times, which stand under `seconds`.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    pictures = {name: figures.render_png(draw(results, draws)) for name, draw in _FIGURES.items()}
    return write_files(out_dir, _page(results, draws, pictures), _stated(results), pictures)


def render(template: str, **values: Any) -> str:
    """Returns a page made from a template and its values."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": duration, "typeset": typeset}
    return environment.get_template(template).render(**values)


_FIGURES: dict[str, Callable[[dict, dict], figures.Figure]] = {
    "figure2": lambda results, draws: figures.figure_roc(results),
    "figure3": figures.figure_p_alone,
    "figure4": lambda results, draws: figures.figure_p_and_q(results, draws, "test"),
    "figure5": lambda results, draws: figures.figure_p_and_q(results, draws, "train"),
    "figure6": lambda results, draws: figures.figure_shuffled(results),
    "share_above_classic": lambda results, draws: figures.figure_share_above(results),
}


def _page(results: dict[str, Any], draws: dict[str, np.ndarray], pictures: dict[str, bytes]) -> str:
    test, train = draws["test"], draws["train"]
    return render(
        "report.html",
        **results,
        verdict=verdict(results),
        table2_rows=_table2_rows(results["table2"]),
        num_settings=test.shape[0] * test.shape[1],
        draws_per_setting=test.shape[2],
        num_values={"test": _num_values(test), "train": _num_values(train)},
        lowest_draw=test.min(),
        highest_draw=test.max(),
        points_per_setting=figures.POINTS_PER_SETTING,
        pictures={name: embed(picture) for name, picture in pictures.items()},
    )


def _table2_rows(table2: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Table 2 with a row for each criterion; each cell says by how much it misses the nearest printed value."""
    rows: dict[str, list] = {}
    for entry in table2:
        nearest = min(entry["paper"], key=lambda printed: abs(entry["accuracy"] - printed))
        difference = entry["accuracy"] - nearest
        cell = {**entry, "nearest": nearest, "difference": difference, "same": abs(difference) <= _PRINTED}
        rows.setdefault(entry["criterion"], []).append(cell)
    return [{"criterion": criterion, "cells": cells} for criterion, cells in rows.items()]


def _num_values(accuracy: np.ndarray) -> int:
    """How many accuracies differ by at least a row; five digits tell 1296 rows apart."""
    return len(np.unique(np.round(accuracy, 5)))


def _stated(results: dict[str, Any]) -> dict[str, Any]:
    """The results with every measured time under `seconds`, so that all the rest repeats byte for byte."""
    cost = dict(results["cost"])
    seconds = {**results["seconds"], "our_seconds_sweep": cost.pop("our_seconds_sweep")}
    return {**results, "cost": cost, "seconds": seconds}
