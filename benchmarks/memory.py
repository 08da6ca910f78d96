"""Memory of each phase of a fit of many rows, beside LightGBM, XGBoost and scikit-learn; on Linux alone.

    python -m benchmarks.memory [--rows 1000000] [--columns 28] [--rounds 100] [--contenders jaxtree lightgbm ...]

Every contender is a process of its own. A figure is the peak of a phase in MiB beyond what the process held with the
table alone, libraries included: `library` after imports, and with us after the first program of JAX; then, where a
library tells them apart, reading and binning, growth, and predictions of all rows. `jax` is JAX without us. A fit that
compiles its program takes some 90 MiB more than the next one, so ours is made once before in another process.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.cores import LEAVES, make_table
from benchmarks.suite.memory import forget_peak, held_mib, peak_mib

Phase = tuple[str, Callable[[], object]]


def start_jax() -> None:
    """Runs a first program."""
    import jax

    jax.jit(lambda x: x + 1)(np.ones(3)).block_until_ready()


def phases_of_boosting(X: np.ndarray, y: np.ndarray, rounds: int) -> Iterator[Phase]:
    """Our boosting: what `fit` does, in its parts."""
    from jaxtree import GradientBoostingClassifier
    from jaxtree.estimators.boosting import training

    model = GradientBoostingClassifier(rounds, max_leaf_nodes=LEAVES)
    made: dict[str, Any] = {}

    def read() -> None:
        made["task"] = model.read_task(X, y)
        made["rows"] = training.encode(made["task"])

    def grow() -> None:
        model.fit_task(made.pop("task"))

    yield "library", start_jax
    yield "reading and binning", read
    made.pop("rows")
    yield "growth", grow
    yield "prediction", lambda: model.predict_proba(X)


def phases_of_lightgbm(X: np.ndarray, y: np.ndarray, rounds: int) -> Iterator[Phase]:
    """LightGBM's, by its own interface."""
    import lightgbm

    options = {"objective": "binary", "num_leaves": LEAVES, "verbose": -1}
    data, made = lightgbm.Dataset(X, y, params=options), []
    yield "library", lambda: None
    yield "reading and binning", data.construct
    yield "growth", lambda: made.append(lightgbm.train(options, data, rounds))
    yield "prediction", lambda: made[0].predict(X)


def phases_of_estimator(library: str, X: np.ndarray, y: np.ndarray, rounds: int) -> Iterator[Phase]:
    """The phases of an estimator, whose fit is one."""
    if library == "forest":
        from jaxtree import RandomForestClassifier

        start_jax()
        model: Any = RandomForestClassifier(10, max_depth=10)
    elif library == "xgboost":
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=rounds, grow_policy="lossguide", max_depth=0, max_leaves=LEAVES)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=LEAVES)
    yield "library", lambda: None
    yield "growth", lambda: model.fit(X, y)
    yield "prediction", lambda: model.predict_proba(X)


def phases_of(contender: str, X: np.ndarray, y: np.ndarray, rounds: int) -> Iterator[Phase]:
    """The phases of a contender, by name."""
    if contender == "jax":
        return iter([("library", start_jax)])
    if contender in ("jaxtree", "lightgbm"):
        return (phases_of_boosting if contender == "jaxtree" else phases_of_lightgbm)(X, y, rounds)
    return phases_of_estimator(contender, X, y, rounds)


CONTENDERS = ("jax", "jaxtree", "forest", "lightgbm", "xgboost", "sklearn")


def measure(contender: str, num_rows: int, num_columns: int, rounds: int) -> dict[str, float]:
    """Returns the peak of every phase of this process beyond what it holds with the table."""
    X, y = make_table(num_rows, num_columns)
    forget_peak()
    before, peaks = held_mib(), {}
    for name, run in phases_of(contender, X, y, rounds):
        run()
        peaks[name] = peak_mib() - before
        forget_peak()
    return peaks


def main() -> None:
    """Measures the contenders one after another."""
    parser = argparse.ArgumentParser(description="Measures the memory of the phases of fits.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--task", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(measure(options.task, options.rows, options.columns, options.rounds)))
        return
    sizes = [f"--{name}={getattr(options, name)}" for name in ("rows", "columns", "rounds")]
    for contender in options.contenders:
        command = [sys.executable, "-m", "benchmarks.memory", "--task", contender, *sizes]
        for _ in range(1 + (contender in ("jaxtree", "forest"))):
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        peaks = json.loads(done.stdout.splitlines()[-1])
        print(f"{contender:10}" + "".join(f"  {name} {peak:6.0f}" for name, peak in peaks.items()), flush=True)


if __name__ == "__main__":
    main()
