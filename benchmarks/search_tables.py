"""Tuned and ensembled boosting on real tables: a search as one program beside the same search by LightGBM.

    pip install '.[bench,frames]'
    python -m benchmarks.search_tables --data FOLDER [--tables credit-g ...] [--settings 30] [--out FOLDER]

Both have the same settings, drawn from a space of LightGBM, the same folds, and the same choice of an ensemble
by out-of-fold predictions, whose members are fitted again on all training rows. The loss is that of the test rows of
outer folds, log loss or root mean squared error; seconds are of the CPU, compiling in those of jaxtree.
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

import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

import jaxtree
from benchmarks.boosting import NUMBERS, read_table
from benchmarks.search_boosting import options_of_lightgbm, settings_of
from jaxtree.search.ensemble import select_with_replacement

TABLES = ("credit-g", "spambase", "abalone", "winequality", "magic04", "adult", "covtype-20k", "diamonds")
Losses = Callable[[np.ndarray, np.ndarray], float]


def by_jaxtree(settings: list, X: pd.DataFrame, y: np.ndarray, folds: Any, *, is_number: bool) -> Any:
    """The ensemble of a search as one program."""
    kind, scoring = ("Regressor", "neg_root_mean_squared_error") if is_number else ("Classifier", "neg_log_loss")
    booster = getattr(jaxtree, f"GradientBoosting{kind}")()
    search = jaxtree.BoostSearchCV(booster, settings, cv=folds, scoring=scoring, refit="ensemble").fit(X, y)
    return predict(search.best_estimator_, is_number)


def by_lightgbm(settings: list, X: pd.DataFrame, y: np.ndarray, folds: Any, *, is_number: bool) -> Any:
    """The ensemble of a loop over settings and folds."""
    kind = lightgbm.LGBMRegressor if is_number else lightgbm.LGBMClassifier
    models = [kind(**options_of_lightgbm(setting), n_jobs=len(os.sched_getaffinity(0))) for setting in settings]
    kept = [np.zeros((len(y), 1 if is_number else len(np.unique(y)))) for _ in models]
    for model, own in zip(models, kept, strict=True):
        for train, test in folds.split(X, y):
            own[test] = predict(model.fit(X.iloc[train], y[train]), is_number)(X.iloc[test])
    shares = select_with_replacement(kept, lambda predicted: -loss_of(is_number)(y, predicted))
    chosen = [
        (share, predict(model.fit(X, y), is_number)) for share, model in zip(shares, models, strict=True) if share
    ]
    return lambda rows: sum(share * member(rows) for share, member in chosen)


def predict(model: Any, is_number: bool) -> Callable[[pd.DataFrame], np.ndarray]:
    """The function that predicts a column of numbers, or one of probabilities for each class."""
    return (lambda rows: model.predict(rows)[:, None]) if is_number else model.predict_proba


def loss_of(is_number: bool) -> Losses:
    """The loss of predictions."""
    return root_mean_squared_error if is_number else log_loss


def measure(name: str, data: Path, settings: list, inner: int) -> dict[str, dict[str, float]]:
    """The mean test loss over three outer folds, and the seconds of the CPU that the searches took."""
    is_number = name in NUMBERS
    X, y = read_table(name, data)
    split = KFold if is_number else StratifiedKFold
    folds, report = split(inner, shuffle=True, random_state=1), {}
    for train, test in split(3, shuffle=True, random_state=0).split(X, y):
        for library, search in (("jaxtree", by_jaxtree), ("lightgbm", by_lightgbm)):
            start = time.process_time()
            ensemble = search(settings, X.iloc[train], y[train], folds, is_number=is_number)
            seconds = time.process_time() - start
            own = report.setdefault(library, {"loss": 0.0, "seconds": 0.0})
            own["loss"] += loss_of(is_number)(y[test], ensemble(X.iloc[test])) / 3
            own["seconds"] += seconds
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the real tables")
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--settings", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--folds", type=int, default=4, help="inner folds")
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    options = parser.parse_args()
    names = ("jaxtree", "jax", "lightgbm", "scikit-learn", "numpy")
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "versions": {name: version(name) for name in names},
        "settings": options.settings, "folds": options.folds, "rounds": options.rounds, "tables": {},
    }  # fmt: skip
    settings = settings_of(options.settings, options.rounds)
    for name in options.tables:
        own = report["tables"][name] = measure(name, options.data, settings, options.folds)
        ratios = {key: own["jaxtree"][key] / own["lightgbm"][key] for key in ("loss", "seconds")}
        print(f"{name:12s} {own}  ratios of loss {ratios['loss']:.4f}, seconds {ratios['seconds']:.2f}", flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"search-tables-{report['date']}.json"
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
