"""The work of a process in which the kernel's memory or the system's threads run out; see scarce.cc, which is
preloaded.

It prints a line of JSON: of every model how often its fits and predictions ended how, or a digest of what it predicts.
"""

import collections
import ctypes
import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np

import jaxtree
from jaxtree.cores import using_cores
from jaxtree.kernels import library

SCARCE = ctypes.CDLL(None)
ROWS, MANY_ROWS = 600, 70_000
"""Rows of fits on one thread, and on several."""

X = np.random.default_rng(0).normal(size=(MANY_ROWS, 3))
CLASSES, NUMBERS = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int), X[:, 0] + np.sin(3 * X[:, 1])
MODELS = {
    "tree": (jaxtree.DecisionTreeClassifier(max_depth=6), CLASSES),
    "regression": (jaxtree.DecisionTreeRegressor(max_leaf_nodes=9), NUMBERS),
    "forest": (jaxtree.RandomForestClassifier(4, max_depth=4, random_state=0, n_jobs=4), CLASSES),
    "boosting": (jaxtree.GradientBoostingRegressor(3, max_depth=3), NUMBERS),
    "additive": (jaxtree.ExplainableBoostingRegressor(outer_bags=3, max_rounds=10, interactions=1), NUMBERS),
    "optimal": (jaxtree.OptimalTreeClassifier(max_depth=2), CLASSES),
    "optimal_of_bins": (jaxtree.OptimalTreeClassifier(max_depth=3, max_thresholds=3), CLASSES),
    "soft": (jaxtree.SoftForestRegressor(3, depth=2, max_epochs=1, random_state=0), NUMBERS),
}


def run_out_of_memory(number):
    """Ends the memory of fits and predictions after some allocations, from the first to the last."""
    library.load()
    parts = [line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if "kernels.so" in line]
    begin, end = int(parts[0].split("-")[0], 16), int(parts[-1].split("-")[1], 16)

    def leave(allocations):
        SCARCE.scarce_memory(ctypes.c_int64(allocations), ctypes.c_size_t(begin), ctypes.c_size_t(end))

    SCARCE.scarce_taken.restype = ctypes.c_int64
    for name, (model, target) in MODELS.items():
        rows, y = X[:ROWS], target[:ROWS]
        expected = model.fit(rows, y).predict(rows)
        outcomes = collections.Counter()
        for what, act in (("fit", lambda: model.fit(rows, y)), ("predict", lambda: model)):  # noqa: B023
            leave(-1)
            act().predict(rows)
            steps = np.unique(np.geomspace(1, max(1, SCARCE.scarce_taken()), number).astype(int)) - 1
            for allocations in steps.tolist():
                leave(allocations)
                try:
                    outcome = "right" if np.array_equal(act().predict(rows), expected) else "wrong"
                except Exception as error:
                    outcome = type(error).__name__
                leave(-1)
                if not np.array_equal(model.predict(rows), expected):
                    outcome += " and then wrong"
                outcomes[f"{what} {outcome}"] += 1
            if not np.array_equal(model.fit(rows, y).predict(rows), expected):
                outcomes["fit afterwards wrong"] += 1
        yield name, outcomes


def run_out_of_threads(number):
    """Fits and predicts where so many more threads start, all of them if -1; XLA has started its own."""
    for model, y in MODELS.values():
        model.fit(X[:ROWS], y[:ROWS])
    if number >= 0:
        SCARCE.scarce_threads(ctypes.c_int64(number))
    with using_cores(4):
        for name, (model, y) in MODELS.items():
            rows = slice(ROWS if name in ("optimal", "optimal_of_bins", "soft") else MANY_ROWS)
            predicted = model.fit(X[rows], y[rows]).predict(X)
            yield name, hashlib.sha256(np.ascontiguousarray(predicted).tobytes()).hexdigest()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, number, *names = sys.argv[1:]
    MODELS = {name: MODELS[name] for name in names} or MODELS
    run = {"memory": run_out_of_memory, "threads": run_out_of_threads}[what]
    print(json.dumps(dict(run(int(number)))))
