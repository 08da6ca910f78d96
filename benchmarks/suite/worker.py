"""The work of a child process: one fit as a new process, or turns of all contenders on the points of a case."""

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.contenders import is_ours, make_contender
from benchmarks.suite.contenders.base import Contender, Timing, timed
from benchmarks.suite.memory import peak_mib
from benchmarks.suite.processes import answer
from benchmarks.suite.tables import Split, read_rows
from benchmarks.suite.tasks import Task
from benchmarks.suite.turns import Turns

FEWEST_SCORED = 100
"""With fewer test rows a score says nothing."""


def main() -> None:
    """Does what the standard input orders."""
    order = json.load(sys.stdin)
    {"once": _once, "turns": _turns}[order.pop("mode")](**order)


def _once(contender: str, task: dict[str, Any], place: str) -> None:
    """Loads the rows and fits once."""
    chosen = make_contender(contender, Task(**task))
    rows = read_rows(Path(place), "train")
    seconds = timed(lambda: chosen.fit(*rows))[1]
    answer({"fit": seconds, "peak_mib": peak_mib()})


def _turns(points: list[dict[str, Any]], repeats: int, seconds: float | None) -> None:
    """Measures the points one after the other; each may use its part of the seconds that are left."""
    begin = time.perf_counter()
    for number, point in enumerate(points):
        left = math.inf if seconds is None else seconds - (time.perf_counter() - begin)
        answer(_measure(**point, repeats=repeats, seconds=left / (len(points) - number)))


def _measure(contenders: list[str], task: dict[str, Any], place: str, repeats: int, seconds: float) -> dict[str, Any]:
    split = Split(*(read_rows(Path(place), part) for part in Split._fields))
    models: dict[str, Any] = {}
    made: dict[str, Contender] = {}
    errors: dict[str, str] = {}
    for name in contenders:
        try:
            made[name] = make_contender(name, Task(**task))
        except ImportError as error:
            errors[name] = f"cannot be imported: {error.name}"
    runs = {name: _run(name, contender, split, models) for name, contender in made.items()}
    turns = Turns(runs, warmed=[name for name in runs if is_ours(name)])
    timings = turns.take(repeats, seconds)
    figures = {name: _figures(timings[name]) for name in timings}
    if len(split.test.y) >= FEWEST_SCORED:
        for name, found in figures.items():
            found["score"] = score(made[name].predict(models[name], split.test.X), split.test.y)
    return {"contenders": figures | {name: {"error": e} for name, e in (errors | turns.errors).items()}}


def _run(name: str, contender: Contender, split: Split, models: dict[str, Any]) -> Callable[[], Timing]:
    """The call that is timed; it leaves the model in `models`."""

    def fit() -> Timing:
        models.pop(name, None)
        models[name], timing = contender.timed_fit(*split.train)
        return timing

    def predict() -> Timing:
        if name not in models:
            models[name] = contender.fit(*split.train)
        return Timing(timed(lambda: contender.predict(models[name], split.test.X))[1])

    return predict if contender.task.operation == "predict" else fit


def _figures(timings: list[Timing]) -> dict[str, Any]:
    """The seconds of every part that could be told apart."""
    parts = {part: [getattr(timing, part) for timing in timings] for part in Timing._fields}
    return {part: seconds for part, seconds in parts.items() if None not in seconds}


def score(said: np.ndarray, truth: np.ndarray) -> float:
    """Accuracy of classes, or R² of numbers."""
    if truth.dtype.kind != "f":
        return float((said == truth).mean())
    return float(1 - ((said - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


if __name__ == "__main__":
    main()
