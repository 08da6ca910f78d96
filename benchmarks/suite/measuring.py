"""A case in child processes, so that contenders share nothing but the machine and a failure costs one case."""

import dataclasses
import math
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.suite.contenders import is_ours
from benchmarks.suite.figures import LIKE, PARTS, bytes_a_row, compare, exponents, summarise
from benchmarks.suite.processes import Answered, ask
from benchmarks.suite.tables import read_rows, write_table
from benchmarks.suite.tasks import Case, Point

MIB = 2**20


class Settings(NamedTuple):
    """How a run measures.

    Attributes:
        data: The folder of the real data sets.
        tables: Where tables are written; read by all processes.
        repeats: Turns that count.
        cache: A compilation cache for all cases; None is one a case, empty at first.
    """

    data: Path
    tables: Path
    repeats: int
    cache: Path | None


def measure(case: Case, settings: Settings, seconds: float | None) -> dict[str, Any]:
    """All figures of a case, in as many seconds if the case can do with them.

    Raises:
        FileNotFoundError: A real data set is absent.
    """
    places = [write_table(point.table, settings.tables, settings.data) for point in case.points]
    begin = time.perf_counter()
    with TemporaryDirectory() as folder:
        cache = settings.cache or Path(folder)
        if case.by_rows:
            return _heading(case) | {"points": [], "memory": _memory_of_rows(case, places, cache)}
        cold = _in_new_processes(case, places, cache)
        left = None if seconds is None else seconds - (time.perf_counter() - begin)
        points = list(_in_turns(case, places, settings.repeats, cache, left))
    for name, figures in cold.items():
        points[case.cold_point or 0]["contenders"][name].update(figures)
    for point in points:
        # How good the models are is no matter of prediction.
        like = math.inf if point["task"]["operation"] == "predict" else LIKE
        point["ratios"] = compare(point["contenders"], like)
    result = _heading(case) | {"points": points}
    return result | ({"exponents": exponents(points)} if case.axis else {})


def _heading(case: Case) -> dict[str, Any]:
    return {"name": case.name, "title": case.title, "axis": case.axis}


def _contenders(case: Case, point: Point) -> list[str]:
    return [name for name in case.contenders if name not in point.left_out]


def _in_turns(
    case: Case, places: Sequence[Path], repeats: int, cache: Path, seconds: float | None
) -> Iterator[dict[str, Any]]:
    """The figures of every point; of those that a process did not live to measure, its error."""
    orders = [
        {"contenders": _contenders(case, point), "task": dataclasses.asdict(point.task), "place": str(place)}
        for point, place in zip(case.points, places, strict=True)
    ]
    answers, _, error = _ask({"mode": "turns", "points": orders, "repeats": repeats, "seconds": seconds}, cache)
    for number, (point, place) in enumerate(zip(case.points, places, strict=True)):
        if number < len(answers):
            contenders: dict[str, dict[str, Any]] = answers[number]["contenders"]
        else:
            contenders = {name: {"error": error} for name in _contenders(case, point)}
        for figures in contenders.values():
            figures |= {part: summarise(figures[part]) for part in PARTS if part in figures}
        yield _point(point, place) | {"contenders": contenders}


def _point(point: Point, place: Path) -> dict[str, Any]:
    rows = read_rows(place, "train")
    size = rows.X.nbytes if hasattr(rows.X, "nbytes") else int(rows.X.memory_usage(index=False).sum())
    shape = {"rows": rows.X.shape[0], "columns": rows.X.shape[1], "table_mib": size / MIB}
    metric = "r2" if point.task.num_classes == 0 else "accuracy"
    return {
        "label": point.label,
        "value": point.value,
        "metric": metric,
        "task": dataclasses.asdict(point.task),
    } | shape


def _in_new_processes(case: Case, places: Sequence[Path], cache: Path) -> dict[str, dict[str, Any]]:
    """One fit of every contender in a process of its own; ours twice, since the first fills the compilation cache."""
    if case.cold_point is None:
        return {}
    point, place = case.points[case.cold_point], places[case.cold_point]
    figures = {}
    for name in _contenders(case, point):
        cold, seconds, error = _fit_once(name, point, place, cache)
        if error:
            figures[name] = {"error": error}
            continue
        cached = cold
        if is_ours(name):
            cached, seconds, _ = _fit_once(name, point, place, cache)
        figures[name] = {
            "cold": cold["fit"],
            "cached": cached["fit"],
            "new_process": seconds,
            "peak_mib": cached["peak_mib"],
        }
    return figures


def _memory_of_rows(case: Case, places: Sequence[Path], cache: Path) -> list[dict[str, Any]]:
    """Bytes that a row costs at every depth, by the peaks of two tables; pairs of points are neighbours."""
    pairs = zip(case.points, places, strict=True)
    return [_memory_of_a_row(case.contenders[0], pair, cache) for pair in zip(pairs, pairs, strict=True)]


def _memory_of_a_row(name: str, pair: Sequence[tuple[Point, Path]], cache: Path) -> dict[str, Any]:
    task, num_columns = pair[0][0].task, pair[0][0].table.num_columns
    peaks = []
    for point, place in pair:
        # The first process compiles, which takes memory of its own.
        _fit_once(name, point, place, cache)
        answer, _, error = _fit_once(name, point, place, cache)
        if error:
            return {"max_depth": task.max_depth, "error": error}
        peaks.append((point.table.num_rows, answer["peak_mib"]))
    of_a_row = bytes_a_row(*peaks)
    return {
        "max_depth": task.max_depth,
        "peaks_mib": peaks,
        "bytes_a_row": of_a_row,
        "of_the_table": 4 * num_columns,
        "of_the_codes": num_columns,
        "beside": of_a_row - 5 * num_columns,
    }


def _fit_once(name: str, point: Point, place: Path, cache: Path) -> tuple[dict[str, Any], float, str]:
    order = {"mode": "once", "contender": name, "task": dataclasses.asdict(point.task), "place": str(place)}
    answers, seconds, error = _ask(order, cache)
    return (answers[0] if answers else {}), seconds, error


def _ask(order: dict[str, Any], cache: Path) -> Answered:
    """Has a worker do an order, with a compilation cache."""
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    return ask("benchmarks.suite.worker", order, environment)
