"""The report of the dropout study: one page that needs no network, the figures as files, and the numbers as JSON.

`results` is a plain dictionary of the study's numbers, `draws` the test and training accuracies of every draw.
"""

import base64
import json
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree.study import figures
from jaxtree.study.verdict import verdict

try:
    import jinja2
except ImportError as error:
    raise MissingExtraError('the report needs jinja2: pip install "jaxtree[cli,plot]"') from error

# The paper prints its accuracies with six digits.
_PRINTED = 5e-7


def check_output_dir(out_dir: str | os.PathLike) -> Path:
    """Returns the folder for the report, made if it was missing; to be called before the long work.

    Raises `InvalidInputError` if it, or the folder `figures` in it, cannot be made or written to.
    """
    folder = Path(out_dir)
    try:
        for place in (folder, folder / "figures"):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                pass
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInputError(
            f"out_dir must be a folder that can be written to, got {str(folder)!r}: {reason}"
        ) from error
    return folder


def write_report(results: dict[str, Any], draws: dict[str, np.ndarray], out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before. The same results give the same bytes, but for the
    times, which stand under `seconds`.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    folder = check_output_dir(out_dir)
    pictures = {name: figures.render_png(draw(results, draws)) for name, draw in _FIGURES.items()}
    files = {folder / "report.html": _page(results, draws, pictures).encode()}
    files[folder / "report.json"] = _json(results).encode()
    files |= {folder / "figures" / f"{name}.png": picture for name, picture in pictures.items()}
    for path, content in files.items():
        _write_atomically(path, content)
    return list(files)


_FIGURES: dict[str, Callable[[dict, dict], figures.Figure]] = {
    "figure2": lambda results, draws: figures.figure_roc(results),
    "figure3": figures.figure_p_alone,
    "figure4": lambda results, draws: figures.figure_p_and_q(results, draws, "test"),
    "figure5": lambda results, draws: figures.figure_p_and_q(results, draws, "train"),
    "figure6": lambda results, draws: figures.figure_shuffled(results),
    "share_above_classic": lambda results, draws: figures.figure_share_above(results),
}


def _page(results: dict[str, Any], draws: dict[str, np.ndarray], pictures: dict[str, bytes]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": _duration, "typeset": _typeset}
    test, train = draws["test"], draws["train"]
    return environment.get_template("report.html").render(
        **results,
        verdict=verdict(results),
        table2_rows=_table2_rows(results["table2"]),
        num_settings=test.shape[0] * test.shape[1],
        draws_per_setting=test.shape[2],
        num_values={"test": _num_values(test), "train": _num_values(train)},
        lowest_draw=test.min(),
        highest_draw=test.max(),
        points_per_setting=figures.POINTS_PER_SETTING,
        pictures={name: _embed(picture) for name, picture in pictures.items()},
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


def _embed(picture: bytes) -> dict[str, Any]:
    """A PNG as a data address, with the size that its header states, so that the page does not jump while loading."""
    width, height = struct.unpack(">II", picture[16:24])
    return {"address": f"data:image/png;base64,{base64.b64encode(picture).decode()}", "width": width, "height": height}


def _num_values(accuracy: np.ndarray) -> int:
    """How many accuracies differ by at least a row; five digits tell 1296 rows apart."""
    return len(np.unique(np.round(accuracy, 5)))


def _typeset(sentence: str) -> str:
    """Keeps "q = 1" and "5 %" on one line, and curls the apostrophes."""
    for loose, tight in [(" = ", "\xa0=\xa0"), (" > ", "\xa0>\xa0"), (" %", "\xa0%"), ("'", "’")]:
        sentence = sentence.replace(loose, tight)
    return sentence


def _duration(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} hours"
    if seconds >= 120:
        return f"{seconds / 60:.1f} minutes"
    return f"{seconds:.2f} seconds"


def _json(results: dict[str, Any]) -> str:
    """The results with every measured time under `seconds`, so that all the rest repeats byte for byte."""
    cost = dict(results["cost"])
    seconds = {**results["seconds"], "our_seconds_sweep": cost.pop("our_seconds_sweep")}
    stated = {**results, "cost": cost, "seconds": seconds}
    return json.dumps(stated, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _write_atomically(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
