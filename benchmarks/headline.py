"""The two figures that people ask for first, in two minutes: one tree on a million rows, and a forest.

    python benchmarks/headline.py [--out FOLDER]

A tree of depth 8 from a raw matrix of 1,000,000 x 28 float32 is compared with LightGBM and XGBoost with one round each,
and a random forest of 100 trees of depth 10 on the first 100,000 rows with XGBoost's. Contenders take turns in one
process with programs compiled; figures are the fastest of four turns, of three for the forest. XGBoost's forest draws
0.632 of the rows without replacement. `python -m benchmarks` compares more, with more care.
"""

import argparse
import json
import os
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

import jaxtree
from jaxtree.estimators.common.growing import grow_tables

NUM_ROWS, NUM_COLUMNS, DEPTH = 1_000_000, 28, 8
FOREST_ROWS, NUM_TREES, FOREST_DEPTH = 100_000, 100, 10


def make_data(seed=0):
    """A noisy two-class problem with interactions, and a tenth more rows to test on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(NUM_ROWS + NUM_ROWS // 10, NUM_COLUMNS)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.8 * rng.normal(size=len(X))
    y = (signal > 0).astype(np.int32)
    return X[:NUM_ROWS], y[:NUM_ROWS], X[NUM_ROWS:], y[NUM_ROWS:]


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def time_jaxtree(tree, X, y):
    whole, _ = timed(lambda: tree.fit(X, y))
    encoding, task = timed(lambda: tree.growth_task(X, y))
    growth, _ = timed(lambda: grow_tables([task]))
    return {"whole": whole, "encoding": encoding, "growth": growth}


def time_lightgbm(X, y):
    binning = {"max_bin": 255, "min_data_in_leaf": 1, "verbose": -1}
    parameters = binning | {
        "objective": "binary", "max_depth": DEPTH, "num_leaves": 2**DEPTH, "min_sum_hessian_in_leaf": 0,
        "learning_rate": 1.0, "num_threads": os.cpu_count(),
    }  # fmt: skip
    encoding, data = timed(lambda: lightgbm.Dataset(X, y, params=binning).construct())
    growth, _ = timed(lambda: lightgbm.train(parameters, data, num_boost_round=1))
    return {"whole": encoding + growth, "encoding": encoding, "growth": growth}


def time_xgboost(X, y, **changes):
    parameters = {
        "objective": "binary:logistic", "tree_method": "hist", "max_bin": 256, "max_depth": DEPTH,
        "min_child_weight": 0, "eta": 1, "nthread": os.cpu_count(),
    }  # fmt: skip
    encoding, data = timed(lambda: xgboost.QuantileDMatrix(X, y, max_bin=256))
    growth, _ = timed(lambda: xgboost.train(parameters | changes, data, 1))
    return {"whole": encoding + growth, "encoding": encoding, "growth": growth}


def fastest(turns):
    """The minimum of every figure of every contender."""
    return {name: {figure: min(turn[name][figure] for turn in turns) for figure in turns[0][name]} for name in turns[0]}


def one_tree(X, y, X_test, y_test):
    tree = jaxtree.DecisionTreeClassifier(max_depth=DEPTH).fit(X, y)
    turns = [
        {"jaxtree": time_jaxtree(tree, X, y), "lightgbm": time_lightgbm(X, y), "xgboost": time_xgboost(X, y)}
        for _ in range(4)
    ]
    return {"seconds": fastest(turns), "test_accuracy": float(tree.score(X_test, y_test))}


def one_forest(X, y, X_test, y_test):
    forest = jaxtree.RandomForestClassifier(NUM_TREES, max_depth=FOREST_DEPTH, random_state=0).fit(X, y)
    draws = {"max_depth": FOREST_DEPTH, "num_parallel_tree": NUM_TREES, "subsample": 0.632}
    turns = [
        {
            "jaxtree": {"whole": timed(lambda: forest.fit(X, y))[0]},
            "xgboost": {"whole": time_xgboost(X, y, **draws, colsample_bynode=5 / NUM_COLUMNS)["whole"]},
        }
        for _ in range(3)
    ]
    return {"seconds": fastest(turns), "test_accuracy": float(forest.score(X_test, y_test))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    X, y, X_test, y_test = make_data()
    report = {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("jaxtree", "jax", "jaxlib", "numpy", "lightgbm", "xgboost-cpu")},
        "one tree, 1,000,000 x 28, depth 8": one_tree(X, y, X_test, y_test),
        "forest, 100 trees, 100,000 x 28, depth 10": one_forest(X[:FOREST_ROWS], y[:FOREST_ROWS], X_test, y_test),
    }
    text = json.dumps(report, indent=1)
    print(text)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"headline-{report['date']}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
