"""The defaults, for a user who sets nothing: losses and CPU seconds on many real tables, beside those of peers.

Half of the tables, by a hash of their names, are for choosing our defaults; the other half is kept for the verdict
(`--part kept`). Each is divided into three folds, three times with `--repeats 3`. Numbers that are shown are the log
loss of classes and the root mean squared error of numbers, as a ratio to CatBoost's. Every contender uses one thread;
CPU seconds count compiling.

    python -m benchmarks.defaults --data ../shared/data --part chosen

`--with '{"name": {...}}'` adds settings of ours, and `--contenders` takes some of all, also what CatBoost is without
its noise on scores, its weights of rows, or its symmetric trees. `results/defaults-2026-11-26.md` has what came out.
"""

import argparse
import hashlib
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
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from jaxtree_studies.tables.owners import NAMES, NUMBERS, read_owned

OURS: dict[str, dict[str, Any]] = {
    "plain": {},
    "stops": {"early_stopping": True},
    "folds": {"early_stopping": "cv"},
}
"""Parameters of our contenders."""


def part_of(name: str) -> str:
    """Which half a table is in."""
    return ("chosen", "kept")[hashlib.sha256(name.encode()).digest()[0] % 2]


def ours(parameters: dict[str, Any]) -> Callable[..., Any]:
    """Makes one of our contenders."""

    def make(is_number: bool, words: list[str]) -> Any:
        import jaxtree

        kind = jaxtree.GradientBoostingRegressor if is_number else jaxtree.GradientBoostingClassifier
        return kind(**parameters, random_state=0)

    return make


def catboost(is_number: bool, words: list[str]) -> Any:
    """CatBoost's defaults."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostRegressor if is_number else CatBoostClassifier
    return kind(verbose=0, thread_count=1, random_seed=0, cat_features=words, allow_writing_files=False)


def lightgbm(is_number: bool, words: list[str]) -> Any:
    """LightGBM's defaults."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if is_number else LGBMClassifier)(n_jobs=1, verbose=-1)


def xgboost(is_number: bool, words: list[str]) -> Any:
    """XGBoost's defaults, with categories."""
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBRegressor if is_number else XGBClassifier)(n_jobs=1, enable_categorical=True)


def histogram(is_number: bool, words: list[str]) -> Any:
    """scikit-learn's boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    return kind(categorical_features="from_dtype", random_state=0)


class AtUsualRate:
    """CatBoost with other parameters, at the learning rate that it takes by default: this it takes from them, too."""

    def __init__(self, usual: Any, changed: dict[str, Any]):
        self._usual, self._changed = usual, changed

    def fit(self, X: pandas.DataFrame, y: np.ndarray) -> Any:
        """Fits CatBoost twice."""
        rate = self._usual.fit(X, y).learning_rate_
        parameters = self._usual.get_params() | self._changed | {"learning_rate": rate}
        return type(self._usual)(**parameters).fit(X, y)


def catboost_with(**changed: Any) -> Callable[..., Any]:
    """Makes CatBoost with some other parameters."""
    return lambda is_number, words: AtUsualRate(catboost(is_number, words), changed)


ABLATIONS = {
    "catboost-without-noise": catboost_with(random_strength=0),
    "catboost-without-weights": catboost_with(bootstrap_type="No"),
    "catboost-by-depth": catboost_with(grow_policy="Depthwise"),
}
"""Parts of CatBoost that may pay; measured where they are named."""

PEERS = {"catboost": catboost, "lightgbm": lightgbm, "xgboost": xgboost, "histogram": histogram}


def loss_of(make: Callable[..., Any], X: pandas.DataFrame, y: np.ndarray, train: Any, test: Any, name: str) -> tuple:
    """The loss of one contender on one fold, and its CPU seconds."""
    words = [column for column in X if X[column].dtype == "category"]
    if make is catboost or make in ABLATIONS.values():
        X = X.assign(**{column: X[column].astype(object).where(X[column].notna(), "missing") for column in words})
    began = time.process_time()
    model = make(name in NUMBERS, words).fit(X.iloc[train], y[train])
    seconds = time.process_time() - began
    if name in NUMBERS:
        return float(root_mean_squared_error(y[test], model.predict(X.iloc[test]))), seconds
    proba = np.clip(np.asarray(model.predict_proba(X.iloc[test]), float), 1e-15, 1)
    return float(log_loss(y[test], proba / proba.sum(axis=1, keepdims=True), labels=np.unique(y))), seconds


def measure(name: str, data: Path, contenders: dict[str, Any], repeats: int) -> dict[str, dict[str, Any]]:
    """The losses and seconds of all contenders on one table; one that fails has none."""
    X, y = read_owned(name, data)
    kind = RepeatedKFold if name in NUMBERS else RepeatedStratifiedKFold
    folds = list(kind(n_splits=3, n_repeats=repeats, random_state=0).split(X, y))
    result = {}
    for contender, make in contenders.items():
        try:
            found = [loss_of(make, X, y, train, test, name) for train, test in folds]
        except Exception as error:  # a peer that refuses a table is told of, and the others go on
            print(f"{name} {contender}: {type(error).__name__}: {str(error)[:120]}", flush=True)
            continue
        losses, seconds = zip(*found, strict=True)
        result[contender] = {"loss": float(np.mean(losses)), "losses": losses, "cpu_seconds": float(np.mean(seconds))}
    return result


def main() -> None:
    """Measures, prints ratios as they come, and writes all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the real tables")
    parser.add_argument("--part", choices=["chosen", "kept", "all"], default="kept")
    parser.add_argument("--tables", nargs="*", help="some of the tables")
    parser.add_argument("--contenders", nargs="*", help="some of the contenders")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--with", dest="more", type=json.loads, default={}, help='more of ours, {"name": {...}} as JSON'
    )
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    warnings.filterwarnings("ignore")
    contenders = {name: ours(own) for name, own in (OURS | arguments.more).items()} | PEERS
    if arguments.contenders:
        every = contenders | ABLATIONS
        contenders = {name: every[name] for name in arguments.contenders}
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in ("jaxtree", "jax", "catboost", "lightgbm", "xgboost-cpu")},
        "part": arguments.part,
        "repeats": arguments.repeats,
        "tables": {},
    }
    for name in arguments.tables or NAMES:
        if not arguments.tables and arguments.part not in ("all", part_of(name)):
            continue
        found = report["tables"][name] = measure(name, arguments.data, contenders, arguments.repeats)
        base = found.get("catboost", {}).get("loss", np.nan)
        figures = [f"{key} {own['loss'] / base:.3f} ({own['cpu_seconds']:.1f} s)" for key, own in found.items()]
        print(f"{name:24s} {base:8.4f}  " + "  ".join(figures), flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            path = arguments.out / f"defaults-{arguments.part}-{report['date']}.json"
            path.write_text(json.dumps(report, indent=1) + "\n")
    print_means(report["tables"])


def print_means(tables: dict[str, Any]) -> None:
    """Prints the mean ratio of every contender to CatBoost, and on how many tables it is better."""
    for contender in sorted({key for own in tables.values() for key in own}):
        both = [own for own in tables.values() if contender in own and "catboost" in own]
        if not both:
            continue
        ratios = np.array([own[contender]["loss"] / own["catboost"]["loss"] for own in both])
        seconds = np.mean([own[contender]["cpu_seconds"] / own["catboost"]["cpu_seconds"] for own in both])
        print(
            f"{contender:24s} mean ratio {ratios.mean():.3f}, geometric {np.exp(np.log(ratios).mean()):.3f}, "
            f"worst {ratios.max():.3f}, better on {(ratios < 1).sum()} of {len(ratios)}, CPU {seconds:.2f}"
        )


if __name__ == "__main__":
    main()
