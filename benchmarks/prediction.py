"""Predictions of one tree, of a forest and of one row: jaxtree, XGBoost, LightGBM and scikit-learn compared.

    python benchmarks/prediction.py                  # a million rows, one tree; 100,000 rows, 100 trees; one row

Every contender has its own trees of the same depth, fitted on the same rows, and is called as its users call it, from
the float32 matrix to an array of predictions. The contenders take turns in one process. Cold is the first call of each
(jaxtree's compiles its programs), warm the median of the others, and ratios are of the best calls.
jaxtree's forest is converted from scikit-learn's, so that both predict with the same trees.
"""

import argparse
import json
import os
import platform
import statistics
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np

import jaxtree
from jaxtree.export.node_tables import from_sklearn
from jaxtree.tree.forest import join_trees
from jaxtree.tree.predictor import Predictor

TREE_DEPTH, FOREST_DEPTH, NUM_TREES, SHARE_OF_FEATURES = 8, 10, 100, 0.2


def make_data(num_rows, num_columns, seed=0):
    """A noisy two-class problem with interactions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, num_columns)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.8 * rng.normal(size=len(X))
    return X, (signal > 0).astype(np.int32)


def one_tree(X, y):
    """The contenders' predictions by one tree."""
    import lightgbm
    import sklearn.tree
    import xgboost

    ours = jaxtree.DecisionTreeClassifier(max_depth=TREE_DEPTH).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=TREE_DEPTH, random_state=0).fit(X, y)
    booster = xgboost.train(xgboost_parameters(TREE_DEPTH), xgboost.DMatrix(X, y), 1)
    light = lightgbm.train(lightgbm_parameters(TREE_DEPTH), lightgbm.Dataset(X, y), 1)
    return {
        "jaxtree": ours.predict,
        "jaxtree proba": ours.predict_proba,
        "xgboost": booster.inplace_predict,
        "lightgbm": light.predict,
        "sklearn": theirs.predict,
    }


def forest(X, y):
    """The contenders' predictions by many trees."""
    import lightgbm
    import sklearn.ensemble
    import xgboost

    of_sklearn = sklearn.ensemble.RandomForestClassifier(
        NUM_TREES, max_depth=FOREST_DEPTH, n_jobs=os.cpu_count(), random_state=0
    ).fit(X, y)
    trees = [from_sklearn(tree) for tree in of_sklearn.estimators_]
    ours, shares = Predictor(join_trees(trees)), np.concatenate([tree.value[:, 0] for tree in trees])
    assert np.abs(ours.mean(X[:1000], shares) - of_sklearn.predict_proba(X[:1000])).max() < 1e-12
    bagged = {"num_parallel_tree": NUM_TREES, "subsample": 0.63, "colsample_bynode": SHARE_OF_FEATURES}
    booster = xgboost.train(xgboost_parameters(FOREST_DEPTH) | bagged, xgboost.DMatrix(X, y), 1)
    bagged = {"boosting": "rf", "bagging_fraction": 0.63, "bagging_freq": 1, "feature_fraction_bynode": 0.2}
    light = lightgbm.train(lightgbm_parameters(FOREST_DEPTH) | bagged, lightgbm.Dataset(X, y), NUM_TREES)
    return {
        "jaxtree": lambda rows: ours.mean(rows, shares),
        "xgboost": booster.inplace_predict,
        "lightgbm": light.predict,
        "sklearn": of_sklearn.predict_proba,
    }


def xgboost_parameters(depth):
    return {"objective": "binary:logistic", "tree_method": "hist", "max_depth": depth, "nthread": os.cpu_count()}


def lightgbm_parameters(depth):
    leaves = {"num_leaves": 2**depth, "min_data_in_leaf": 1, "num_threads": os.cpu_count()}
    return {"objective": "binary", "max_depth": depth, "verbose": -1} | leaves


def bare_dispatch():
    """A compiled program that does nothing, from NumPy and back: the cost of any call of JAX."""
    nothing = jax.jit(lambda x: x + 1)
    return lambda rows: np.asarray(nothing(rows))


def compare(title, contenders, rows, repeats):
    """Times the contenders in turn and prints one line for each, with the ratio to XGBoost."""
    times = {name: [] for name in contenders}
    for _ in range(repeats + 1):
        for name, predict in contenders.items():
            start = time.perf_counter()
            predict(rows)
            times[name].append(1e3 * (time.perf_counter() - start))
    print(f"\n{title}\n{'':16}{'cold ms':>10}{'best ms':>10}{'warm ms':>10}{'/ xgboost':>11}")
    figures = {}
    for name, (cold, *warm) in times.items():
        ratio = min(warm) / min(times["xgboost"][1:])
        figures[name] = {"cold": cold, "best": min(warm), "warm": statistics.median(warm), "ratio": ratio}
        print(f"{name:16}{cold:10.2f}{min(warm):10.3f}{statistics.median(warm):10.3f}{ratio:11.2f}")
    return {"title": title, "rows": len(rows), "milliseconds": figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows for one tree; a tenth of them for the forest")
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    X, y = make_data(arguments.rows, arguments.columns)
    few = slice(0, max(arguments.rows // 10, 1000))
    size = f"{arguments.columns} float32"
    tree = one_tree(X[few], y[few])
    cases = [
        compare(f"{len(X):,} x {size}, one tree of depth {TREE_DEPTH}", tree, X, arguments.repeats),
        compare(f"one row x {size}, same tree", tree | {"bare dispatch": bare_dispatch()}, X[:1], 200),
        compare(
            f"{len(X[few]):,} x {size}, {NUM_TREES} trees of depth {FOREST_DEPTH}",
            forest(X[few], y[few]),
            X[few],
            arguments.repeats,
        ),
    ]
    if arguments.out:
        write(cases, arguments.out)


def write(cases, folder):
    packages = ("jaxtree", "jax", "jaxlib", "numpy", "lightgbm", "scikit-learn", "xgboost-cpu")
    report = {
        "date": date.today().isoformat(),
        "versions": {package: version(package) for package in packages},
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU cores",
        "device": jax.devices()[0].device_kind,
        "cases": cases,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"prediction-{report['date']}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
