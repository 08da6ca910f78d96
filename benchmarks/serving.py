"""A server's first second, rows of a frame and rows of a large model, beside LightGBM and what compiles its models.

A cold start is a new process that loads a model's file and predicts one row: its seconds from the call of Python to its
end, and the most memory that it held. Contenders take turns; of their starts the median counts, of rows the least time.

The large model has 500 trees of 255 leaves and 82 columns; its rows are predicted on one thread. Contenders that are
not installed are named and left out. tl2cgen compiles such a model for many minutes.

    python -m benchmarks.serving [--runs 7] [--large] [--output serving.json]
"""

import argparse
import functools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import jaxtree
from jaxtree.cores import using_cores

TREES, ROWS, COLUMNS, WORDS = 100, 5000, 20, 3

LARGE = {"trees": 500, "leaves": 255, "columns": 82, "rows": 12_000}
BLOCKS = (1, 100, 100_000)

STARTS = {
    "jaxtree.serving": "from jaxtree import serving; predict = serving.load(path).predict",
    "jaxtree.to_library": "from jaxtree import serving; predict = serving.load(path[:-7] + 'so').predict",
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
    estimator = jaxtree.GradientBoostingClassifier(TREES, random_state=0).fit(numbers, classes)
    estimator.save(path)
    jaxtree.to_library(estimator, path.with_suffix(".so"))
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


Predict = Callable[[np.ndarray], Any]


def large_models(folder: Path) -> None:
    """Fits the large models of jaxtree and LightGBM, and writes them to a folder."""
    import lightgbm

    rng = np.random.default_rng(0)
    X = rng.normal(size=(LARGE["rows"], LARGE["columns"]))
    y = X[:, :20] @ rng.normal(size=20) + 3 * np.sin(2 * X[:, 20]) * X[:, 21] + rng.normal(size=len(X))
    own = jaxtree.GradientBoostingRegressor(
        LARGE["trees"], max_leaf_nodes=LARGE["leaves"], min_samples_leaf=5, random_state=0
    )
    own.fit(X, y).save(folder / "large.jaxtree")
    settings = {"objective": "regression", "num_leaves": LARGE["leaves"], "min_data_in_leaf": 5, "verbose": -1}
    peer = lightgbm.train(settings, lightgbm.Dataset(X, y), LARGE["trees"])
    peer.save_model(folder / "large.txt")


def compile_large(folder: Path) -> list[dict[str, Any]]:
    """Compiles the large models by what is installed, and returns what each took."""
    peer = str(folder / "large.txt")

    def by_lleaves() -> None:
        import lleaves

        lleaves.Model(model_file=peer).compile(cache=folder / "lleaves.o")

    def by_tl2cgen() -> None:
        import tl2cgen
        import treelite

        model = treelite.frontend.load_lightgbm_model(peer)
        tl2cgen.export_lib(model, toolchain="gcc", libpath=folder / "tl2cgen.so", params={"parallel_comp": 8})

    estimator = jaxtree.load(folder / "large.jaxtree")
    compilers = {
        "jaxtree": ("jaxtree", lambda: jaxtree.to_library(estimator, folder / "large.so")),
        "lleaves": ("lleaves", by_lleaves),
        "tl2cgen": ("tl2cgen", by_tl2cgen),
    }
    figures = []
    for name, (library, work) in compilers.items():
        if find_spec(library) is None:
            print(f"{library} is not installed, and left out")
            continue
        start = time.perf_counter()
        work()
        figures.append({"what": "compile a large model", "by": name, "seconds": time.perf_counter() - start})
    return figures


def large_contenders(folder: Path) -> dict[str, Predict]:
    """Returns the predictions of the large models that stand in a folder, on one thread."""
    import lightgbm

    peer = lightgbm.Booster(model_file=str(folder / "large.txt"))
    contenders: dict[str, Predict] = {
        "jaxtree.serving": jaxtree.serving.load(folder / "large.jaxtree").predict,
        "jaxtree.to_library": jaxtree.serving.load(folder / "large.so").predict,
        "LightGBM": lambda X: peer.predict(X, num_threads=1),
    }
    if (folder / "lleaves.o").exists():
        import lleaves

        compiled = lleaves.Model(model_file=str(folder / "large.txt"))
        compiled.compile(cache=folder / "lleaves.o")
        contenders["lleaves"] = lambda X: compiled.predict(X, n_jobs=1)
    if find_spec("treelite") is not None:
        import treelite

        walked = treelite.frontend.load_lightgbm_model(str(folder / "large.txt"))
        contenders["treelite"] = lambda X: treelite.gtil.predict(walked, X, nthread=1)
    if (folder / "tl2cgen.so").exists():
        import tl2cgen

        predictor = tl2cgen.Predictor(str(folder / "tl2cgen.so"), nthread=1)
        contenders["tl2cgen"] = lambda X: predictor.predict(tl2cgen.DMatrix(X, dtype="float64"))
    return contenders


def measure_large(contenders: dict[str, Predict]) -> list[dict[str, Any]]:
    """Returns what blocks of rows take on one thread."""
    X = np.random.default_rng(1).normal(size=(max(BLOCKS), LARGE["columns"]))
    figures = []
    with using_cores(1):
        for number in BLOCKS:
            repeats, rounds = max(1, 20 // number), 3 if number < max(BLOCKS) else 1
            for name, predict in contenders.items():
                seconds = least_seconds(functools.partial(predict, X[:number]), repeats=repeats, rounds=rounds)
                figures.append({"what": f"{number} rows of a large model", "by": name, "seconds": seconds})
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints a line a figure, and writes them if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="cold starts of each contender")
    parser.add_argument("--output", type=Path, help="a file of JSON")
    parser.add_argument("--large", action="store_true", help="also fit, compile and measure the large models")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        figures = measure_starts(Path(name), options.runs) + measure_rows(Path(name))
        if options.large:
            large_models(Path(name))
            figures += compile_large(Path(name)) + measure_large(large_contenders(Path(name)))
    for figure in figures:
        more = f", {figure['cpu_seconds']:.2f} CPU s, {figure['megabytes']:.0f} MB" if "megabytes" in figure else ""
        print(f"{figure['what']:>27} {figure['by']:<18} {figure['seconds'] * 1e3:9.2f} ms{more}")
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
