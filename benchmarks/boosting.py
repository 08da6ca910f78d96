"""Gradient boosting beside LightGBM, XGBoost and scikit-learn: time on synthetic rows, loss on real tables.

    pip install '.[bench,frames]'
    python benchmarks/boosting.py [--data FOLDER] [--tables adult letter ...] [--folds 5] [--out FOLDER]

Speed: 100 trees of depth 6 at a rate of 0.1, from a float32 matrix to the model, binning included, with 255 bins and
all cores. Contenders take turns in one process; cold is the first fit of jaxtree, compiling included, warm the fastest
of the others. The score is the log loss of 100,000 test rows.

Loss: each library with its defaults at a rate of 0.1, stopped when the loss of a tenth of the training rows has not
been less for 20 rounds, on the same folds. Columns of words are categories for all. Seconds are of the CPU and of all
folds, and compiling is in those of jaxtree. Real tables are not part of the repository.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import lightgbm
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, root_mean_squared_error

import jaxtree
from benchmarks.suite.tables import synthetic
from jaxtree_studies.tables.thirteen import NUMBERS, TABLES, folds, read_table

ROUNDS, DEPTH, RATE = 100, 6, 0.1
MOST_ROUNDS, PATIENCE = 2000, 20
ROWS = (100_000, 1_000_000)
TURNS = 3
CORES = len(os.sched_getaffinity(0))


def fixed(library: str) -> Any:
    """A booster of so many trees of such a depth."""
    shared = {"n_estimators": ROUNDS, "max_depth": DEPTH, "learning_rate": RATE}
    if library == "jaxtree":
        return jaxtree.GradientBoostingClassifier(**shared, max_leaf_nodes=None)
    if library == "lightgbm":
        own = {"num_leaves": 2**DEPTH, "max_bin": 255, "min_child_samples": 1, "min_child_weight": 1, "reg_lambda": 1}
        return lightgbm.LGBMClassifier(**shared, **own, n_jobs=CORES, verbose=-1)
    return xgboost.XGBClassifier(**shared, max_bin=256, tree_method="hist", n_jobs=CORES)


def time_of(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def speed(num_rows: int) -> dict[str, dict[str, float]]:
    """Seconds from matrix to model of every library."""
    train, test = synthetic(num_rows, 28, 2, 100_000)
    report: dict[str, dict[str, float]] = {}
    cold, _ = time_of(lambda: fixed("jaxtree").fit(train.X, train.y))
    for _ in range(TURNS):
        for library in ("jaxtree", "lightgbm", "xgboost"):
            seconds, model = time_of(lambda library=library: fixed(library).fit(train.X, train.y))
            own = report.setdefault(library, {"warm": seconds, "loss": log_loss(test.y, model.predict_proba(test.X))})
            own["warm"] = min(own["warm"], seconds)
    report["jaxtree"]["cold"] = cold
    return report


def boosters(is_number: bool) -> dict[str, Callable]:
    """Functions of training rows and those that decide when to stop, which return fitted models."""
    ends = {"early_stopping": True, "n_iter_no_change": PATIENCE}
    kind = "Regressor" if is_number else "Classifier"
    ours = getattr(jaxtree, f"GradientBoosting{kind}")
    theirs = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    light, extreme = getattr(lightgbm, f"LGBM{kind}"), getattr(xgboost, f"XGB{kind}")
    return {
        "jaxtree": lambda X, y, held: ours(MOST_ROUNDS, **ends).fit(X, y, eval_set=[held]),
        "lightgbm": lambda X, y, held: light(n_estimators=MOST_ROUNDS, n_jobs=CORES, verbose=-1).fit(
            X, y, eval_set=[held], callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)]
        ),
        "xgboost": lambda X, y, held: extreme(
            n_estimators=MOST_ROUNDS, learning_rate=RATE, early_stopping_rounds=PATIENCE, enable_categorical=True,
            n_jobs=CORES,
        ).fit(X, y, eval_set=[held], verbose=False),
        "sklearn": lambda X, y, held: theirs(
            max_iter=MOST_ROUNDS, learning_rate=RATE, **ends, categorical_features="from_dtype"
        ).fit(X, y, X_val=held[0], y_val=held[1]),
    }  # fmt: skip


def losses(name: str, data: Path, number: int) -> dict[str, dict[str, float]]:
    """The mean test loss of every library, and the seconds of CPU that its fits took."""
    is_number = name in NUMBERS
    X, y = read_table(name, data)
    report: dict[str, dict[str, float]] = {}
    for train, held, test in folds(X, y, number, is_number):
        for library, fit in boosters(is_number).items():
            start = time.process_time()
            model = fit(*train, held)
            seconds = time.process_time() - start
            own = report.setdefault(library, {"loss": 0.0, "seconds": 0.0})
            predict = model.predict if is_number else model.predict_proba
            score = root_mean_squared_error if is_number else log_loss
            own["loss"] += float(score(test[1], predict(test[0]))) / number
            own["seconds"] += seconds
    return report


def told(title: str, report: dict[str, dict[str, float]]) -> None:
    """Prints a line a library, with the ratio of its figures to ours."""
    for library, own in report.items():
        figures = "  ".join(f"{figure} {value:.4g}" for figure, value in own.items())
        print(f"{title:14s} {library:9s} {figures}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the real tables; none without it")
    parser.add_argument("--tables", nargs="*", default=TABLES, help="some of the real tables")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--no-speed", action="store_true", help="real tables alone")
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    libraries = ("jaxtree", "jax", "lightgbm", "xgboost", "scikit-learn")
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "cores": CORES,
        "versions": {name: version("xgboost-cpu" if name == "xgboost" else name) for name in libraries},
    }
    for num_rows in () if arguments.no_speed else ROWS:
        report[f"{num_rows:,} x 28"] = own = speed(num_rows)
        told(f"{num_rows:,}", own)
    for name in arguments.tables if arguments.data else ():
        report[name] = own = losses(name, arguments.data, arguments.folds)
        told(name, own)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"boosting-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
