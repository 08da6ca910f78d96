"""The work of a child process: one fit, its predictions and its file, in an environment of its own.

CPU seconds are those of the process and of its children that have ended, user and system; peers of several processes
are given one. Libraries are imported before; compilation counts.
"""

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.moments.contenders import CONTENDERS
from benchmarks.suite.memory import peak_mib
from benchmarks.suite.processes import answer


def main() -> None:
    """Does what the standard input orders."""
    warnings.filterwarnings("ignore")
    work(**json.load(sys.stdin))


def work(
    model: str, contender: str, table: str, found: str, parameters: dict[str, Any], *, is_saved: bool = False
) -> None:
    """Fits, predicts, and writes what it has predicted to the file `found`; answers with the seconds and the memory."""
    with np.load(table) as arrays:
        own = dict(arrays)
    by = CONTENDERS[model][contender]
    by.load()
    baseline = peak_mib()
    fitted, fit = timed(lambda: by.fit(own, **parameters))
    predictions, predict = timed(lambda: by.predict(fitted, own["test_X"]))
    figures: dict[str, Any] = {"baseline_mib": baseline, "peak_mib": peak_mib()}
    np.savez(found, **predictions)
    if is_saved:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model")
            _, save = timed(lambda: by.save(fitted, path))
            figures |= {"file_mib": path.stat().st_size / 2**20} | {f"save {of}": own for of, own in save.items()}
    kinds = {"fit": fit, "predict": predict}
    answer(figures | {f"{kind} {of}": seconds for kind, own in kinds.items() for of, seconds in own.items()})


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Returns the result of a call, and its seconds of the wall and of the CPU."""
    before, start = cpu_seconds(), time.perf_counter()
    result = call()
    return result, {"wall": time.perf_counter() - start, "cpu": cpu_seconds() - before}


def cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of its children that have ended."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


if __name__ == "__main__":
    main()
