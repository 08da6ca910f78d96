"""A cell in three child processes: each library alone and new, and both in turns."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.suite.processes import ask
from benchmarks.suite.tables import read_rows, write_table
from benchmarks.user_tables.cells import TABLES, Cell
from benchmarks.user_tables.libraries import LIBRARIES, OURS, PEER

WORKER = "benchmarks.user_tables.worker"
RATIOS = {"cpu": "warm_cpu", "wall": "warm_wall", "cold_cpu": "cold_cpu", "row": "row_cpu", "memory": "peak_mib"}
"""Figures of which there are ratios, ours over scikit-learn's."""


class Settings(NamedTuple):
    """How a run measures.

    Attributes:
        data: The folder of the real data sets.
        tables: Where tables are written; read by all processes.
        repeats: Turns that count, at most.
        limit: Seconds after which a process is ended.
        with_kernel: Whether the kernel in C++ may be used.
    """

    data: Path
    tables: Path
    repeats: int
    limit: float
    with_kernel: bool


def measure(cell: Cell, settings: Settings) -> dict[str, Any]:
    """All figures of a cell; what a process died of is in their place.

    Raises:
        FileNotFoundError: A real data set is absent.
    """
    place = write_table(TABLES[cell.table], settings.tables, settings.data)
    rows = read_rows(place, "train")
    result: dict[str, Any] = {
        "table": cell.table,
        "fit": cell.fit,
        "rows": rows.X.shape[0],
        "columns": rows.X.shape[1],
        "metric": "r2" if rows.y.dtype.kind == "f" else "accuracy",
    }
    order = {"fit": cell.fit, "place": str(place)}
    # scikit-learn goes first: where it takes too long, the cell is not worth as much time again.
    for library in (PEER, OURS):
        result[library], error = _ask({"mode": "cold", "library": library} | order, settings)
        if error:
            return result | {"error": f"{library}: {error}"}
    turns = {"mode": "warm", "repeats": settings.repeats, "seconds": settings.limit / 2}
    warm, error = _ask(turns | order, settings)
    if error:
        return result | {"error": f"turns: {error}"}
    for library in LIBRARIES:
        result[library] |= warm[library]
    return result | {"ratios": _ratios(result), "cold_minus_warm_cpu": _cold_minus_warm(result[OURS])}


def _ratios(result: dict[str, Any]) -> dict[str, float]:
    return {name: result[OURS][figure] / result[PEER][figure] for name, figure in RATIOS.items()}


def _cold_minus_warm(ours: dict[str, float]) -> float:
    return ours["cold_cpu"] - ours["warm_cpu"]


def _ask(order: dict[str, Any], settings: Settings) -> tuple[dict[str, Any], str]:
    """Returns the answer of a process in which nothing is cached, and the error that ended it."""
    with TemporaryDirectory() as caches:
        environment = os.environ | {"XDG_CACHE_HOME": caches}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        if not settings.with_kernel:
            environment["JAXTREE_NATIVE"] = "0"
        done = ask(WORKER, order, environment, settings.limit)
    return (done.answers[0] if done.answers else {}), done.error
