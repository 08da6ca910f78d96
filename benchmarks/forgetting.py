"""Rows taken out of fitted models, beside a new fit on the others: seconds, and losses on unseen rows.

    python -m benchmarks.forgetting --data FOLDER [--tables adult ...] [--trees 100] [--runs 3] [--out FOLDER]

A hundredth of the training rows is forgotten, and one row alone. "fit" is the model on all rows, "refit" the same
splits with all rows in every leaf, "removed" that without the hundredth, "new fit" the model on the others. Seconds are
those of the CPU, the least of several runs; losses are log losses and root mean squared errors.
"""

import argparse
import copy
import json
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

import jaxtree
from jaxtree_studies.tables.thirteen import NUMBERS, TABLES, read_table

SHARE = 100
"""One row of so many is forgotten."""

FEWEST_OF_LEAF = 5
"""Rows of a leaf, so that shares of classes have a log loss."""


def least_seconds(work: Callable[[Any], Any], prepare: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Returns the least CPU seconds of some work on what is prepared before each run, and its last result."""
    least, result = np.inf, None
    for _ in range(runs):
        prepared = prepare()
        began = time.process_time()
        result = work(prepared)
        least = min(least, time.process_time() - began)
    return float(least), result


def measure(name: str, kind: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the seconds and losses of one kind of model on one table."""
    X, y = read_table(name, arguments.data)
    is_number = name in NUMBERS
    rows, test = train_test_split(np.arange(len(X)), test_size=0.25, random_state=0, stratify=None if is_number else y)
    gone, others = rows[: max(1, len(rows) // SHARE)], rows[max(1, len(rows) // SHARE) :]
    options = {} if kind == "DecisionTree" else {"n_estimators": arguments.trees}
    family = getattr(jaxtree, kind + ("Regressor" if is_number else "Classifier"))
    model = family(min_samples_leaf=FEWEST_OF_LEAF, random_state=0, **options)
    of = lambda part: (X.iloc[part], y[part])  # noqa: E731
    model.fit(*of(rows))
    runs, seconds, models = arguments.runs, {}, {}
    seconds["fit"], models["fit"] = least_seconds(lambda own: copy.copy(own).fit(*of(rows)), lambda: model, runs)
    seconds["refit"], models["refit"] = least_seconds(lambda own: own.refit(*of(rows)), lambda: models["fit"], runs)
    fresh = lambda: copy.copy(models["refit"])  # noqa: E731
    seconds["removed"], models["removed"] = least_seconds(lambda own: own.remove_rows(*of(gone)), fresh, runs)
    seconds["one row removed"], _ = least_seconds(lambda own: own.remove_rows(*of(gone[:1])), fresh, runs)
    seconds["new fit"], models["new fit"] = least_seconds(
        lambda own: copy.copy(own).fit(*of(others)), lambda: model, runs
    )
    again = models["refit"].refit(*of(others))
    if not np.array_equal(again.model_.node_value, models["removed"].model_.node_value):
        raise SystemExit(f"{name}: a model without rows is not that of a refit on the others")
    X_test, y_test = of(test)
    losses = {
        way: float(root_mean_squared_error(y_test, own.predict(X_test)))
        if is_number
        else float(log_loss(y_test, own.predict_proba(X_test), labels=own.classes_))
        for way, own in models.items()
    }
    return {"table": name, "model": kind, "rows": len(rows), "gone": len(gone), "seconds": seconds, "losses": losses}


def main() -> None:
    """Measures every model on every table, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = []
    for name in arguments.tables:
        for kind in ("DecisionTree", "RandomForest", "ExtraTrees"):
            results.append(measure(name, kind, arguments))
            own = results[-1]
            parts = (
                " ".join(f"{way} {value:.4f}" for way, value in own[what].items()) for what in ("seconds", "losses")
            )
            print(f"{name} {kind}, {own['rows']} rows:", "; ".join(parts), flush=True)
    if arguments.out is not None:
        text = json.dumps({"jaxtree": jaxtree.__version__, "trees": arguments.trees, "results": results}, indent=1)
        (arguments.out / f"forgetting-{date.today()}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
