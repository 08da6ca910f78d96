"""Fits GRANDE 0.1.6 in an environment of its own and prints its report as JSON; it needs nothing of jaxtree.

python -I peer_worker.py FIT.json
"""

import importlib
import json
import os
import sys
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas
import sklearn.preprocessing  # GRANDE names this module and the next without importing them.
import sklearn.utils.class_weight  # noqa: F401

# As in the examples of the authors.
EPOCHS = {"epochs": 1000, "early_stopping_epochs": 25, "batch_size": 64}


def table_of(columns: list[list[Any]], words: list[int], train: list[int]) -> pandas.DataFrame:
    """Returns the columns without gaps: a gap among numbers is their median in the rows to fit, among words a word.

    GRANDE fills gaps itself, but of several columns with gaps wrongly.
    """
    table = {}
    for place, cells in enumerate(columns):
        if place in words:
            table[f"c{place}"] = ["missing" if cell is None else str(cell) for cell in cells]
        else:
            numbers = np.array([np.nan if cell is None else cell for cell in cells], float)
            known = numbers[train][~np.isnan(numbers[train])]
            table[f"c{place}"] = np.where(np.isnan(numbers), np.median(known) if len(known) else 0.0, numbers)
    return pandas.DataFrame(table)


def fit(grande: Any, handed: dict[str, Any]) -> dict[str, Any]:
    """Returns the report of a fit."""
    train, validation, test = handed["division"]
    X, y = table_of(handed["columns"], handed["words"], train), np.array(handed["y"])
    classes = np.unique(y[train])
    is_binary = len(classes) == 2
    # GRANDE draws rows by the index, so that X and y must have the same.
    codes = pandas.Series(np.searchsorted(classes, y).astype(float if is_binary else int), index=X.index)
    objective = {"objective": "binary" if is_binary else "classification", "cat_idx": handed["words"]}
    args = {**objective, **EPOCHS, "verbose": 0, "random_seed": handed["seed"]}
    began = time.perf_counter(), time.process_time()
    model = grande(params={"n_estimators": handed["trees"], "use_class_weights": True}, args=args)
    model.fit(
        X_train=X.iloc[train].copy(),
        y_train=codes.iloc[train],
        X_val=X.iloc[validation].copy(),
        y_val=codes.iloc[validation],
    )
    seconds, cpu_seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    epochs = len(model.history.epoch)  # Predicting forgets them.
    shares = np.zeros((len(test), y.max() + 1))
    shares[:, classes] = np.asarray(model.predict(X.iloc[test].copy()))
    times = {"seconds": seconds, "cpu_seconds": cpu_seconds, "epochs": epochs}
    return {"shares": shares.tolist(), **times, "version": f"grande {version('grande')}"}


def main() -> None:
    """Reads, fits and prints; a fit that fails has its reason in place of a report."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.filterwarnings("ignore")
    grande = importlib.import_module("GRANDE.GRANDE").GRANDE
    with open(sys.argv[1]) as file:
        handed = json.load(file)
    try:
        report = fit(grande, handed)
    except Exception as error:
        report = {"failed": f"{type(error).__name__}: {error}"[:200]}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
