"""The work of a child process: fits of one contender on folds of a table, two fits of a new process, or a search.

CPU seconds are those of the process and of its workers, and peak memory is the sum of their peaks: interpret has
workers, and memory that they share counts more than once. Libraries are imported before, and are in the peak.
"""

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.additive.cases import read_place
from benchmarks.additive.contenders import CONTENDERS, import_library, ours_of_file
from benchmarks.additive.scores import score, score_classes
from benchmarks.additive.searches import SEARCHES, search_of, table_of
from benchmarks.additive.synthetic import TARGET, draw, frame
from benchmarks.suite.memory import peak_mib
from benchmarks.suite.processes import answer


def main() -> None:
    """Does what the standard input orders."""
    warnings.filterwarnings("ignore")
    order = json.load(sys.stdin)
    {"folds": _folds, "first": _first, "long": _long, "search": _search}[order.pop("mode")](**order)


def _folds(contender: str, place: str, folds: list[int], parameters: dict[str, Any]) -> None:
    """Fits and scores on every fold; tells of each when it is done."""
    import_library(contender)
    table = read_place(Path(place))
    for fold in folds:
        tests = table.fold == fold
        X, y = table.X[~tests].reset_index(drop=True), table.y[~tests]
        model, figures = _timed(lambda X=X, y=y: CONTENDERS[contender](X, y, **parameters))
        scores = score(model, table.X[tests], table.y[tests], table.num_classes)
        answer({"fold": fold} | figures | scores)


def _first(contender: str, place: str) -> None:
    """The first fit of this process and the second, and the seconds of the import."""
    table = read_place(Path(place))
    start = time.perf_counter()
    import_library(contender)
    imports = time.perf_counter() - start
    first, second = (_timed(lambda: CONTENDERS[contender](table.X, table.y))[1] for _ in range(2))
    answer({"imports": imports, "first": first, "second": second})


def _long(contender: str, place: str, parameters: dict[str, Any]) -> None:
    """A fit of a long table, after a tiny one; of a file that is never all in memory where there is one."""
    folder = Path(place)
    fit = CONTENDERS[contender]
    tiny, _, classes = draw(3000, 10, 0)
    fit(frame(tiny), classes, **parameters)
    baseline = peak_mib()
    if (folder / "table.parquet").is_file():
        model, figures = _timed(lambda: ours_of_file(folder / "table.parquet", TARGET, **parameters))
    else:
        X, y = frame(np.load(folder / "X.npy")), np.load(folder / "y.npy")
        model, figures = _timed(lambda: fit(X, y, **parameters))
    X, odds, y = (np.load(folder / f"test_{key}.npy") for key in ("X", "odds", "y"))
    chances = 1 / (1 + np.exp(-odds))
    best = score_classes(np.stack([1 - chances, chances], axis=1), y)
    answer({"baseline_mib": baseline} | figures | score(model, frame(X), y, 2) | {"best": best})


def _search(name: str, num_settings: int) -> None:
    """A fit of eight bags, after one that compiles, and a search over one bag a fold."""
    searched = SEARCHES[name]
    X, y = table_of(searched)
    estimator, search = search_of(searched, num_settings)
    estimator.fit(X, y)
    _, fit = _timed(lambda: estimator.fit(X, y))
    _, found = _timed(lambda: search.fit(X, y))
    ratios = {f"{of} ratio": found[of] / fit[of] for of in ("wall", "cpu")}
    settings = len(search.cv_results_["params"])
    answer({"settings": settings, "fit": fit, "search": found} | ratios)


def _timed(fit: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """A model, and its seconds and memory."""
    before, start = _cpu_seconds(), time.perf_counter()
    model = fit()
    wall = time.perf_counter() - start
    peak = peak_mib() + sum(map(_peak_of, _children()))
    _end_workers()
    return model, {"wall": wall, "cpu": _cpu_seconds() - before, "peak_mib": peak}


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of its children that have ended."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _children() -> list[int]:
    threads = Path("/proc/self/task").glob("*/children")
    return [int(process) for thread in threads for process in thread.read_text().split()]


def _peak_of(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _end_workers() -> None:
    """Ends the workers of joblib, since the CPU seconds of children are known when they have ended."""
    if _children() and "joblib.externals.loky" in sys.modules:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)


if __name__ == "__main__":
    main()
