"""`jaxtree.tune` beside FLAML in the same time, and beside defaults: the loss on a third of the rows of real tables.

Each takes its time on one core; what CatBoost and our models of folds take by their defaults is printed, too.

    pip install '.[bench]' 'flaml[automl]'
    python -m benchmarks.tuning --data ../shared/data --minutes 1
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks.defaults import OURS, catboost, ours
from jaxtree_studies.tables.owners import NUMBERS, read_owned

TABLES = (
    *("abalone", "airfoil", "bank", "car", "cmc", "concrete", "credit-g", "diabetes", "magic04", "segmentation"),
    *("spambase", "wdbc", "wine-white"),
)


def tuned(X: pandas.DataFrame, y: np.ndarray, is_number: bool, minutes: float) -> Any:
    """Our tuning."""
    import jaxtree

    return jaxtree.tune(X, y, minutes=minutes, random_state=0)


def flaml(X: pandas.DataFrame, y: np.ndarray, is_number: bool, minutes: float) -> Any:
    """FLAML's, with all learners that it has."""
    from flaml import AutoML

    model = AutoML()
    task, metric = ("regression", "rmse") if is_number else ("classification", "log_loss")
    model.fit(X, y, task=task, metric=metric, time_budget=60 * minutes, seed=0, n_jobs=1, verbose=0)
    return model


def catboost_defaults(X: pandas.DataFrame, y: np.ndarray, is_number: bool, minutes: float) -> Any:
    """CatBoost's defaults."""
    return catboost(is_number, [name for name in X if X[name].dtype == object]).fit(X, y)


def folds(X: pandas.DataFrame, y: np.ndarray, is_number: bool, minutes: float) -> Any:
    """Our models of folds."""
    return ours(OURS["folds"])(is_number, []).fit(X, y)


CONTENDERS: dict[str, Callable[..., Any]] = {
    "tune": tuned, "flaml": flaml, "catboost": catboost_defaults, "folds": folds,
}  # fmt: skip


def loss_of(model: Any, X: pandas.DataFrame, y: np.ndarray, classes: np.ndarray | None) -> float:
    """Log loss, or root mean squared error."""
    if classes is None:
        return float(root_mean_squared_error(y, model.predict(X)))
    proba = np.clip(np.asarray(model.predict_proba(X), float), 1e-15, 1)
    return float(log_loss(y, proba / proba.sum(axis=1, keepdims=True), labels=classes))


def measure(name: str, data: Path, minutes: float) -> dict[str, dict[str, float]]:
    """The losses and seconds of all contenders on one table."""
    X, y = read_owned(name, data)
    is_number = name in NUMBERS
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=0, stratify=None if is_number else y
    )
    found = {}
    for contender, fit in CONTENDERS.items():
        own = X
        if fit is catboost_defaults:
            words = [column for column in X if X[column].dtype == "category"]
            own = X.assign(**{word: X[word].astype(object).where(X[word].notna(), "missing") for word in words})
        began = time.perf_counter()
        model = fit(own.iloc[train], y[train], is_number, minutes)
        seconds = time.perf_counter() - began
        loss = loss_of(model, own.iloc[test], y[test], None if is_number else np.unique(y))
        found[contender] = {"loss": loss, "seconds": seconds}
    return found


def main() -> None:
    """Measures, prints losses as they come, and writes all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the real tables")
    parser.add_argument("--minutes", type=float, default=1.0, help="of every tuning")
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    warnings.filterwarnings("ignore")
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in ("jaxtree", "jax", "flaml", "catboost")},
        "minutes": arguments.minutes,
        "tables": {},
    }
    for name in arguments.tables:
        found = report["tables"][name] = measure(name, arguments.data, arguments.minutes)
        figures = [f"{key} {own['loss']:.4f} ({own['seconds']:.1f} s)" for key, own in found.items()]
        print(f"{name:16s} " + "  ".join(figures), flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"tuning-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")
    ours_ = [own["tune"]["loss"] for own in report["tables"].values()]
    best = [min(own["flaml"]["loss"], own["catboost"]["loss"]) for own in report["tables"].values()]
    ratios = np.array(ours_) / np.array(best)
    print(
        f"tune is better than both on {(ratios < 1).sum()} of {len(ratios)}; at worst {ratios.max():.3f} of the better"
    )


if __name__ == "__main__":
    main()
