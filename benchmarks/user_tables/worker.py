"""The work of a child process: the first two fits of one library, or turns of both."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.contenders.base import Timing
from benchmarks.suite.memory import peak_mib
from benchmarks.suite.processes import answer
from benchmarks.suite.tables import Rows, read_rows
from benchmarks.suite.turns import Turns
from benchmarks.suite.worker import score
from benchmarks.user_tables.libraries import LIBRARIES, OURS, prepare

ROWS_PREDICTED = 5
"""Predictions of one row, of which the quickest counts."""


def main() -> None:
    """Does what the standard input orders."""
    order = json.load(sys.stdin)
    {"cold": _fit_twice, "warm": _take_turns}[order.pop("mode")](**order)


def _fit_twice(library: str, fit: str, place: str) -> None:
    rows = read_rows(Path(place), "train")
    prepared = prepare(library, fit, rows)
    X, before = prepared.as_given(rows.X), peak_mib()
    first, second = (_timed(lambda: prepared.fit(X, rows.y))[1] for _ in range(2))
    answer(
        {
            "cold_cpu": first.cpu,
            "cold_wall": first.together,
            "second_cpu": second.cpu,
            "second_wall": second.together,
            "peak_mib": peak_mib(),
            "mib_before": before,
        }
    )


def _take_turns(fit: str, place: str, repeats: int, seconds: float) -> None:
    train, test = (read_rows(Path(place), part) for part in ("train", "test"))
    models: dict[str, Any] = {}
    runs = {library: _run(library, fit, train, models) for library in LIBRARIES}
    turns = Turns(runs, warmed=[OURS])
    timings = turns.take(repeats, seconds)
    answer({library: _figures(timings[library]) | _scored(library, fit, models, test) for library in timings})
    if turns.errors:
        sys.exit("; ".join(turns.errors.values()))


def _run(library: str, fit: str, train: Rows, models: dict[str, Any]) -> Callable[[], Timing]:
    """The call that is timed; it leaves the model in `models`."""
    prepared = prepare(library, fit, train)
    X = prepared.as_given(train.X)

    def run() -> Timing:
        models.pop(library, None)
        models[library], timing = _timed(lambda: prepared.fit(X, train.y))
        return timing

    return run


def _figures(timings: list[Timing]) -> dict[str, Any]:
    return {
        "warm_cpu": min(timing.cpu for timing in timings if timing.cpu is not None),
        "warm_wall": min(timing.together for timing in timings),
        "turns": len(timings),
    }


def _scored(library: str, fit: str, models: dict[str, Any], test: Rows) -> dict[str, float]:
    X, model = prepare(library, fit, test).as_given(test.X), models[library]
    found = {"score": score(np.asarray(model.predict(X)), test.y)}
    model.predict(X[:1])
    timings = [_timed(lambda: model.predict(X[:1]))[1] for _ in range(ROWS_PREDICTED)]
    return found | {"row_cpu": min(timing.cpu for timing in timings if timing.cpu is not None)}


def _timed(call: Callable[[], Any]) -> tuple[Any, Timing]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, Timing(time.perf_counter() - wall, cpu=time.process_time() - cpu)


if __name__ == "__main__":
    main()
