"""Shapley values beside XGBoost: seconds of the first call of a process and of later ones, on one core and on two.

    python -m benchmarks.shapley [--cases 100x6 1000x31 500x10] [--rows 10000] [--pairs-rows 500] [--cores 1 2]

Each library explains its own boosted trees of the same table: 100 trees of depth 6, 1,000 of 31 leaves, or 500 of depth
10. Models are fitted once, and explained in new processes. A line has the seconds of the first call and the least of
later ones, the least CPU seconds of these, the same per row and leaf, and how far the values are from adding up to the
prediction.
"""

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xgboost

import jaxtree
from jaxtree.cores import using_cores

NUM_ROWS, NUM_COLUMNS = 10_000, 20
REPEATS = 2
CASES = {
    "100x6": {"num_trees": 100, "max_depth": 6},
    "1000x31": {"num_trees": 1000, "max_leaves": 31},
    "500x10": {"num_trees": 500, "max_depth": 10},
}
LIBRARIES = ("jaxtree", "xgboost")


def make_table():
    """A table whose target needs several columns at a time."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(NUM_ROWS, NUM_COLUMNS))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + np.abs(X[:, 4]) - X[:, 5] * (X[:, 6] > 0)
    return X, y + 0.3 * draw.normal(size=NUM_ROWS)


def fit_jaxtree(X, y, case):
    """Returns boosted trees of jaxtree."""
    shape = {"max_depth": case.get("max_depth"), "max_leaf_nodes": case.get("max_leaves")}
    return jaxtree.GradientBoostingRegressor(case["num_trees"], min_samples_leaf=1, **shape).fit(X, y)


def fit_xgboost(X, y, case):
    """Returns boosted trees of XGBoost."""
    by_leaves = {"max_depth": 0, "max_leaves": case.get("max_leaves"), "grow_policy": "lossguide"}
    shape = by_leaves if "max_leaves" in case else {"max_depth": case["max_depth"]}
    return xgboost.train({"tree_method": "hist", "eta": 0.1, **shape}, xgboost.DMatrix(X, y), case["num_trees"])


def leaves_of(library, model):
    """The number of leaves of all trees."""
    if library == "jaxtree":
        return int(np.asarray(model.model_.forest.nodes.is_leaf).sum())
    return sum(tree.count("leaf=") for tree in model.get_dump())


def explain(library, model, X, num_cores, *, of_pairs):
    """Returns the values of rows and columns, or of pairs, added up with the base, and predictions."""
    if library == "jaxtree":
        with using_cores(num_cores):
            function = jaxtree.explain.shap_interaction_values if of_pairs else jaxtree.explain.shap_values
            values, base = function(model, X)
        return values.reshape(len(X), -1).sum(axis=1) + base
    model.set_param({"nthread": num_cores})
    values = model.predict(xgboost.DMatrix(X), pred_contribs=not of_pairs, pred_interactions=of_pairs)
    return values.reshape(len(X), -1).sum(axis=1, dtype=np.float64)


def predict(library, model, X):
    """Returns the predictions of rows."""
    return model.predict(X) if library == "jaxtree" else model.predict(xgboost.DMatrix(X))


def measure(library, path, num_rows, num_cores, *, of_pairs):
    """Returns the seconds of a process that does nothing before, and how far values are from adding up."""
    model, X = pickle.loads(Path(path).read_bytes()), make_table()[0][:num_rows]
    walls, cpus = [], []
    for _ in range(1 + REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        total = explain(library, model, X, num_cores, of_pairs=of_pairs)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    error = float(np.abs(total - predict(library, model, X)).max())
    return {"first": walls[0], "later": min(walls[1:]), "cpu": min(cpus[1:]), "error": error}


def in_process(*task):
    """Returns what a new process measures."""
    command = [sys.executable, "-m", "benchmarks.shapley", "--task", json.dumps(task)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def compare(name, options, folder):
    """Prints the figures of both libraries for a case."""
    X, y = make_table()
    for library, fit in zip(LIBRARIES, (fit_jaxtree, fit_xgboost), strict=True):
        model, path = fit(X, y, CASES[name]), folder / f"{name}-{library}"
        path.write_bytes(pickle.dumps(model))
        num_leaves = leaves_of(library, model)
        for of_pairs, num_rows in ((False, options.rows), (True, options.pairs_rows)):
            for num_cores in options.cores:
                found = in_process(library, str(path), num_rows, num_cores, of_pairs)
                per_leaf = 1e9 * found["cpu"] / (num_rows * num_leaves)
                print(
                    f"{name:8} {library:8} {'pairs' if of_pairs else 'values':6} {num_rows:6} rows {num_cores} cores "
                    f"first {found['first']:7.3f} s  later {found['later']:7.3f} s  CPU {found['cpu']:7.3f} s  "
                    f"{per_leaf:6.2f} ns a leaf  error {found['error']:.1e}",
                    flush=True,
                )


def main():
    """Runs the cases."""
    parser = argparse.ArgumentParser(description="Times Shapley values beside XGBoost.")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rows", type=int, default=NUM_ROWS)
    parser.add_argument("--pairs-rows", type=int, default=500)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        *task, of_pairs = json.loads(options.task)
        print(json.dumps(measure(*task, of_pairs=of_pairs)))
        return
    print(f"jaxtree {jaxtree.__version__}, xgboost {xgboost.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases:
            compare(name, options, Path(folder))


if __name__ == "__main__":
    main()
