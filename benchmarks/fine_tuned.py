"""Boosted trees that gradients train further, fold by fold, beside early stopping on all rows: unseen rows.

    pip install '.[bench,frames]'
    python -m benchmarks.fine_tuned --data FOLDER [--tables credit-g ...] [--rows 4000] [--folds 5] [--out FOLDER]

No row is lost to validation: boosted trees are grown without a fold, which ends them, and `fine_tune` goes on from them
on the same rows and compares on the same fold; the mean over all folds is "tuned", with "gates alone" or "leaves alone"
where the others stay. "by folds" is the mean of these boosted trees before, and "all rows" is
`GradientBoosting*(early_stopping="cv")` with defaults. Losses are log losses and root mean squared errors of test rows.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

import jaxtree
from jaxtree import FineTuning, fine_tune
from jaxtree_studies.tables.thirteen import NUMBERS, TABLES, read_table

TEST_ROWS = 4000
PENALTIES = (5.0, 50.0)
GROWTH = {"learning_rate": 0.1, "max_depth": 4}
WAYS: dict[str, dict[str, float]] = {"tuned": {}, "gates alone": {"leaf_rate": 0.0}, "leaves alone": {"gate_rate": 0.0}}
BEFORE = ("all rows", "by folds")


def measure(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The losses of every way, and by how many percent they are less than those of both ways before."""
    began = time.process_time()
    X, y = read_table(name, arguments.data)
    is_number = name in NUMBERS
    kind, strata = ("Regressor", None) if is_number else ("Classifier", y)
    # Three quarters learn where the table is small.
    train, test = train_test_split(
        np.arange(len(X)), train_size=min(arguments.rows, 3 * len(X) // 4), random_state=0, stratify=strata
    )
    test = test[:TEST_ROWS]
    boosting = getattr(jaxtree, f"GradientBoosting{kind}")
    models: dict[str, list[Any]] = {way: [] for way in (*BEFORE, *WAYS)}
    models["all rows"] = [boosting(early_stopping="cv", random_state=0).fit(X.iloc[train], y[train])]
    splitter = (KFold if is_number else StratifiedKFold)(arguments.folds, shuffle=True, random_state=0)
    for own, held in splitter.split(train, strata if strata is None else strata[train]):
        own, held = train[own], train[held]
        rows, held_rows = (X.iloc[own], y[own]), {"X_val": X.iloc[held], "y_val": y[held]}
        boosted = boosting(1000, **GROWTH, early_stopping=True, random_state=0)
        models["by folds"].append(boosted.fit(*rows, **held_rows))
        for way, rates in WAYS.items():
            options = FineTuning(reg_lambda=PENALTIES, min_standard_errors=0.0, random_state=0, **rates)
            models[way].append(fine_tune(boosted, *rows, **held_rows, options=options))
    loss: Callable[[Any], float] = (
        (lambda model: float(root_mean_squared_error(y[test], model.predict(X.iloc[test]))))
        if is_number
        else (lambda model: float(log_loss(y[test], model.predict_proba(X.iloc[test]), labels=np.unique(y[train]))))
    )
    losses = {way: loss(boosting.mean_of(own)) for way, own in models.items()}
    gains = {way: {before: 100 * (1 - losses[way] / losses[before]) for before in BEFORE} for way in WAYS}
    seconds = time.process_time() - began
    return {"losses": losses, "percent less than": gains, "rows": len(train), "CPU seconds": seconds}


def print_summary(tables: dict[str, Any]) -> None:
    """Prints on how many tables each way has less loss, and by how much in the mean."""
    for way in WAYS:
        for before in BEFORE:
            gains = [own["percent less than"][way][before] for own in tables.values()]
            print(
                f"{way}: less loss than {before} on {sum(gain > 0 for gain in gains)} of {len(gains)} tables, "
                f"{np.mean(gains):+.2f} percent in the mean, {np.median(gains):+.2f} in the median"
            )


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=4000, help="the most training rows of a table")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(given)
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"date": str(date.today()), "jaxtree": version("jaxtree"), "rows": arguments.rows}
    report |= {"folds": arguments.folds, "penalties": PENALTIES, "growth": GROWTH}
    tables: dict[str, Any] = report.setdefault("tables", {})
    for name in arguments.tables:
        own = tables[name] = measure(name, arguments)
        losses = ", ".join(f"{way} {found:.4g}" for way, found in own["losses"].items())
        print(f"{name} ({own['CPU seconds']:.0f} s): {losses}", flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"fine-tuned-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")
    print_summary(tables)


if __name__ == "__main__":
    main()
