"""Grid searches: one growth per fold against one fit per setting and fold, on the same folds in one run.

    python benchmarks/search.py      # the paper's grid on car, and 100,000 x 28 rows with a part of the peer's fits

Cold is the first call of this process, compilation included; warm calls alternate with the peer's. The peer is
scikit-learn's `GridSearchCV` over its own `DecisionTreeClassifier`; on the small grid it checks that scores and winner
equal those of `GridSearchCV` over jaxtree's estimator.
"""

import argparse
import json
import platform
import resource
import statistics
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
import sklearn.tree
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from jaxtree import DecisionTreeClassifier, Dropout, TreeSearchCV
from jaxtree.datasets import load_car_evaluation

GRID = {"criterion": ["gini", "entropy"], "max_depth": list(range(3, 9)), "min_samples_split": list(range(5, 51, 5))}
DROPOUT_GRID = {"pruning": [Dropout(0, draws=200)], "pruning__p": list(np.arange(6) * 0.05),
                "pruning__q": list(np.arange(1, 11) / 10), "random_state": [0]}  # fmt: skip
FOLDS = StratifiedKFold(10)
SAMPLED_FITS = 24


def timed(call):
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def car():
    """The paper's grid, without and with 60 settings of dropout pruning by the vote of 200 draws."""
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    X = OneHotEncoder(sparse_output=False).fit_transform(X)
    ours = TreeSearchCV(DecisionTreeClassifier(), GRID, cv=FOLDS)
    more = TreeSearchCV(DecisionTreeClassifier(), [GRID, DROPOUT_GRID], cv=FOLDS)
    peer = GridSearchCV(sklearn.tree.DecisionTreeClassifier(random_state=0), GRID, cv=FOLDS)
    cold = [timed(lambda: ours.fit(X, y))[1], timed(lambda: more.fit(X, y))[1]]
    seconds = {"ours": [], "with dropout": [], "peer": []}
    for _ in range(5):
        for name, search in (("ours", ours), ("with dropout", more), ("peer", peer)):
            seconds[name].append(timed(lambda: search.fit(X, y))[1])  # noqa: B023
    warm = {name: statistics.median(all_of) for name, all_of in seconds.items()}
    same = GridSearchCV(DecisionTreeClassifier(), GRID, cv=FOLDS).fit(X, y)
    differ = np.abs(same.cv_results_["mean_test_score"] - ours.cv_results_["mean_test_score"]).max()
    return {
        "cold": cold[0], "cold_with_dropout": cold[1], "warm": warm["ours"], "warm_with_dropout": warm["with dropout"],
        "peer": warm["peer"], "ratio": warm["ours"] / warm["peer"],
        "with_dropout_to_without": warm["with dropout"] / warm["ours"],
        "largest_difference_to_grid_search_over_our_estimator": float(differ),
        "same_winner_as_grid_search_over_our_estimator": same.best_params_ == ours.best_params_,
        "winner": ours.best_params_, "score": ours.best_score_,
        "peer_winner": peer.best_params_, "peer_score": peer.best_score_, "all_seconds": seconds,
    }  # fmt: skip


def wide(num_rows, num_columns):
    """The same grid on a large table; the peer's fits are sampled evenly over the grid and the folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, num_columns)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] / 2 + rng.normal(size=num_rows) > 0).astype(int)
    ours = TreeSearchCV(DecisionTreeClassifier(), GRID, cv=FOLDS, refit=False)
    cold = timed(lambda: ours.fit(X, y))[1]
    cells = [(setting, fold) for setting in ParameterGrid(GRID) for fold in FOLDS.split(X, y)]
    sampled = [cells[i] for i in np.linspace(0, len(cells) - 1, SAMPLED_FITS).round().astype(int)]
    warm, fits = [], []
    for number, (setting, (train, test)) in enumerate(sampled):
        if number % (SAMPLED_FITS // 4) == 0:
            warm.append(timed(lambda: ours.fit(X, y))[1])
        tree = sklearn.tree.DecisionTreeClassifier(random_state=0, **setting)
        fits.append(timed(lambda: tree.fit(X[train], y[train]).score(X[test], y[test]))[1])  # noqa: B023
    whole = statistics.mean(fits) * len(cells)
    return {
        "rows": num_rows, "columns": num_columns, "cells": len(cells), "cold": cold, "warm": statistics.median(warm),
        "peer_fits_timed": len(fits), "peer_seconds_a_fit": statistics.mean(fits), "peer_extrapolated": whole,
        "times_faster": whole / statistics.median(warm), "all_warm": warm, "all_peer_fits": fits,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    small = car()
    print(f"car, 120 settings x 10 folds: cold {small['cold']:.1f} s, warm {small['warm']:.3f} s; GridSearchCV over "
          f"scikit-learn's tree {small['peer']:.2f} s: ratio {small['ratio']:.3f}")  # fmt: skip
    print(f"with 60 settings x 200 draws: warm {small['warm_with_dropout']:.3f} s, "
          f"{small['with_dropout_to_without']:.2f} times that")  # fmt: skip
    large = wide(args.rows, args.columns)
    print(f"{args.rows:,} x {args.columns}, {large['cells']} cells: cold {large['cold']:.1f} s, "
          f"warm {large['warm']:.2f} s; {large['peer_fits_timed']} fits of the peer took "
          f"{large['peer_seconds_a_fit']:.2f} s each, so {large['peer_extrapolated']:.0f} s for all (extrapolated): "
          f"{large['times_faster']:.0f} times")  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process {peak:.0f} MiB")
    results = {
        "date": str(date.today()), "device": str(jax.devices()[0].platform), "machine": platform.machine(),
        "versions": {name: version(name) for name in ("jax", "numpy", "scikit-learn")},
        "car": small, "large": large, "peak_memory_mib": peak,
    }  # fmt: skip
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"search-{date.today()}.json"
    path.write_text(json.dumps(results, indent=1, default=str) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
