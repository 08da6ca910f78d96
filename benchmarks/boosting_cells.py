"""Boosting with default parameters beside LightGBM, XGBoost and scikit-learn, on tables of several sizes and kinds.

    pip install '.[bench]'
    python -m benchmarks.boosting_cells [--cells "1,000 x 10" ...] [--turns 3] [--out FOLDER]

A process for each cell and library; libraries take turns. Cold is the first fit of a process, compiling included, warm
the fastest of the others: seconds of the wall and of the CPU, which tell more on a machine that is busy, of 100 rounds
from a float32 matrix to the model. Binning is that of jaxtree alone, a part of its fit; memory the peak of the process.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.memory import peak_mib

CELLS = {
    "1,000 x 10": (1_000, 10, 2),
    "4,000 x 8, numbers": (4_000, 8, 0),
    "15,000 x 54, 7 classes": (15_000, 54, 7),
    "20,000 x 16, 26 classes": (20_000, 16, 26),
    "100,000 x 28": (100_000, 28, 2),
    "1,000,000 x 28": (1_000_000, 28, 2),
}
LIBRARIES = ("jaxtree", "lightgbm", "xgboost", "sklearn")


def make_table(num_rows: int, num_columns: int, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy interactions of normal columns; numbers where there are no classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, num_columns)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.8 * rng.normal(size=num_rows)
    if num_classes == 0:
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, np.linspace(0, 1, num_classes + 1)[1:-1]))


def estimator(library: str, is_number: bool) -> Any:
    """A booster with the defaults of its library, but 100 rounds and all cores."""
    kind = "Regressor" if is_number else "Classifier"
    if library == "jaxtree":
        import jaxtree

        return getattr(jaxtree, f"GradientBoosting{kind}")()
    if library == "lightgbm":
        import lightgbm

        return getattr(lightgbm, f"LGBM{kind}")(n_jobs=os.cpu_count(), verbose=-1)
    if library == "xgboost":
        import xgboost

        return getattr(xgboost, f"XGB{kind}")(n_estimators=100, n_jobs=os.cpu_count())
    import sklearn.ensemble

    return getattr(sklearn.ensemble, f"HistGradientBoosting{kind}")(early_stopping=False)


def seconds_of(work: Any) -> tuple[float, float]:
    """Seconds of the wall, and of the CPU."""
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def measure(cell: str, library: str, turns: int) -> dict[str, float]:
    """The figures of one library, in this process."""
    X, y = make_table(*CELLS[cell])
    fits = [seconds_of(lambda: estimator(library, CELLS[cell][2] == 0).fit(X, y)) for _ in range(turns + 1)]
    figures = {"cold": fits[0][0], "cold CPU": fits[0][1]}
    figures |= {"warm": min(wall for wall, _ in fits[1:]), "warm CPU": min(cpu for _, cpu in fits[1:])}
    if library == "jaxtree":
        binning = [seconds_of(lambda: bin_alone(X)) for _ in range(turns)]
        figures["binning CPU"] = min(cpu for _, cpu in binning)
    return figures | {"memory in MiB": peak_mib()}


def bin_alone(X: np.ndarray) -> None:
    """Makes codes as the fit does."""
    from jaxtree.table.encoder import Encoder

    Encoder(max_bins=255).fit_transform(X)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="*", default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="one cell and library in this process, as JSON")
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(measure(arguments.cells[0], arguments.libraries[0], arguments.turns)))
        return
    uncached = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[1],
        "versions": {
            name: version(name) for name in ("jaxtree", "jax", "lightgbm", "xgboost-cpu", "scikit-learn", "numpy")
        },
    }
    for cell in arguments.cells:
        for library in arguments.libraries:
            command = [
                sys.executable,
                "-m",
                "benchmarks.boosting_cells",
                "--alone",
                "--cells",
                cell,
                "--libraries",
                library,
            ]
            printed = subprocess.run(
                [*command, "--turns", str(arguments.turns)], capture_output=True, text=True, check=True, env=uncached
            )
            own = report.setdefault(cell, {})[library] = json.loads(printed.stdout.splitlines()[-1])
            print(
                f"{cell:24s} {library:9s} " + "  ".join(f"{key} {value:.3f}" for key, value in own.items()), flush=True
            )
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"boosting-cells-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
