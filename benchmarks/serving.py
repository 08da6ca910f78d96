"""A server's first second, and single rows of a frame: `jaxtree.serving` beside `jaxtree.load` and LightGBM.

A cold start is a new process that loads a model's file and predicts one row: its seconds from the call of Python to its
end, and the most memory that it held. Contenders take turns; of their starts the median counts, of rows the least time.

    python -m benchmarks.serving [--runs 7] [--output serving.json]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import jaxtree

TREES, ROWS, COLUMNS, WORDS = 100, 5000, 20, 3

STARTS = {
    "jaxtree.serving": "from jaxtree import serving; predict = serving.load(path).predict",
    "jaxtree.load": "import jaxtree; predict = jaxtree.load(path).predict",
    "LightGBM": "import lightgbm; predict = lightgbm.Booster(model_file=path).predict",
}
"""The first lines of a server."""

MOST_MEMORY = (
    "import re, time; status = open('/proc/self/status').read(); "
    "print(time.process_time(), int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1024)"
)
"""The last lines: the CPU seconds of the process, and the most memory that it held."""


def numbers_and_words() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Returns a table of numbers and words, the same with categories in place of words, and classes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, COLUMNS)), columns=[f"column {place}" for place in range(COLUMNS)])
    classes = (table.iloc[:, 0] + table.iloc[:, 1] * table.iloc[:, 2] > 0).to_numpy().astype(int)
    coded = table.copy()
    for name in table.columns[-WORDS:]:
        table[name] = rng.choice(["red", "green", "blue"], ROWS)
        coded[name] = table[name].astype("category")
    return table, coded, classes


def measure_start(code: str, path: Path) -> tuple[float, float, float]:
    """Returns the wall seconds, CPU seconds and megabytes of a process that loads a model and predicts one row.

    The process itself says how much memory it held, on Linux: the system counts its parent's with it.
    """
    source = f"import numpy as np; path = {str(path)!r}; {code}; predict(np.zeros((1, {COLUMNS}))); {MOST_MEMORY}"
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    printed = process.communicate()[0]
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"the process of {code!r} ended with {process.returncode}")
    cpu_seconds, megabytes = map(float, printed.split())
    return seconds, cpu_seconds, megabytes


def least_seconds(call: Callable[[], Any], *, repeats: int = 30, rounds: int = 7) -> float:
    """Returns the seconds of a call: of the round of calls that took the least."""
    call()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        taken.append((time.perf_counter() - start) / repeats)
    return min(taken)


def measure_starts(folder: Path, runs: int) -> list[dict[str, Any]]:
    """Returns what cold starts take, of models of numbers."""
    import lightgbm

    table, _, classes = numbers_and_words()
    numbers = np.column_stack([table.iloc[:, : COLUMNS - WORDS].to_numpy(), np.zeros((ROWS, WORDS))])
    path, peer = folder / "model.jaxtree", folder / "model.txt"
    jaxtree.GradientBoostingClassifier(TREES, random_state=0).fit(numbers, classes).save(path)
    lightgbm.LGBMClassifier(n_estimators=TREES, verbose=-1).fit(numbers, classes).booster_.save_model(peer)
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in STARTS}
    for _ in range(runs):
        for name, code in STARTS.items():
            taken[name].append(measure_start(code, peer if name == "LightGBM" else path))
    return [
        {"what": "cold start", "by": name}
        | dict(
            zip(("seconds", "cpu_seconds", "megabytes"), map(statistics.median, zip(*own, strict=True)), strict=True)
        )
        for name, own in taken.items()
    ]


def measure_rows(folder: Path) -> list[dict[str, Any]]:
    """Returns what one row and a hundred take, as a frame of numbers and words."""
    import lightgbm

    table, coded, classes = numbers_and_words()
    estimator = jaxtree.GradientBoostingClassifier(TREES, random_state=0).fit(table, classes)
    estimator.save(folder / "frame.jaxtree")
    served = jaxtree.serving.load(folder / "frame.jaxtree")
    peer = lightgbm.LGBMClassifier(n_estimators=TREES, verbose=-1).fit(coded, classes)
    contenders = {"jaxtree.serving": (served, table), "jaxtree.load": (estimator, table), "LightGBM": (peer, coded)}
    return [
        {"what": f"{number} row{'s' * (number > 1)} of a frame", "by": name, "seconds": least_seconds(call)}
        for number in (1, 100)
        for name, (model, frame) in contenders.items()
        for call in [lambda model=model, rows=frame.iloc[:number]: model.predict_proba(rows)]
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints a line a figure, and writes them if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="cold starts of each contender")
    parser.add_argument("--output", type=Path, help="a file of JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        figures = measure_starts(Path(name), options.runs) + measure_rows(Path(name))
    for figure in figures:
        more = f", {figure['cpu_seconds']:.2f} CPU s, {figure['megabytes']:.0f} MB" if "megabytes" in figure else ""
        print(f"{figure['what']:>20} {figure['by']:<16} {figure['seconds'] * 1e3:9.2f} ms{more}")
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
