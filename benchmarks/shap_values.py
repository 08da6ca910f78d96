"""Shapley values of a forest: jaxtree and shap's TreeExplainer compared on the same trees.

    python benchmarks/shap_values.py [--rows 10000] [--trees 100] [--depth 8] [--peer-rows 1000]

The peer is timed on some of the rows, which it processes one after another, and its time is scaled; the values of these
rows are compared. The forest is jaxtree's; the peer gets its trees by `to_sklearn`.
"""

import argparse
import time

import numpy as np
import shap
import sklearn.ensemble
from sklearn.datasets import make_regression

from jaxtree import RandomForestRegressor
from jaxtree.explain import shap_values
from jaxtree.export.node_tables import to_sklearn


def as_sklearn(forest):
    """The same forest for the peer."""
    peer = sklearn.ensemble.RandomForestRegressor(len(forest.estimators_))
    peer.estimators_ = [to_sklearn(tree) for tree in forest.estimators_]
    peer.n_features_in_, peer.n_outputs_ = forest.n_features_in_, 1
    return peer


def timed(work):
    start, busy = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - busy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--peer-rows", type=int, default=1000)
    given = parser.parse_args()
    X, y = make_regression(20_000, given.columns, n_informative=20, noise=5.0, random_state=0)
    X = X.astype(np.float32)
    forest = RandomForestRegressor(given.trees, max_depth=given.depth, max_features=0.33, random_state=0).fit(X, y)
    leaves = np.mean([tree.n_leaves for tree in forest.forest_])
    print(f"{given.rows} rows, {given.columns} columns, {given.trees} trees of {leaves:.0f} leaves")
    _, first, _ = timed(lambda: shap_values(forest, X[: given.rows]))
    ours, wall, busy = timed(lambda: shap_values(forest, X[: given.rows]))
    print(f"jaxtree: {wall:.2f} s ({busy:.2f} s of all cores; {first:.2f} s the first time)")
    explainer = shap.TreeExplainer(as_sklearn(forest), feature_perturbation="tree_path_dependent")
    some = min(given.peer_rows, given.rows)
    theirs, wall_peer, busy_peer = timed(lambda: explainer.shap_values(X[:some], check_additivity=False))
    scale = given.rows / some
    print(f"shap: {wall_peer * scale:.2f} s ({busy_peer * scale:.2f} s of all cores), from {some} rows")
    print(f"jaxtree is {wall_peer * scale / wall:.1f} times as fast")
    additive = np.abs(ours.values.sum(axis=1) + ours.base - forest.predict(X[: given.rows])).max()
    spread = np.abs(theirs).max()
    print(f"greatest difference {np.abs(ours.values[:some] - theirs).max() / spread:.1e} of the greatest value")
    print(f"sums miss predictions by at most {additive / np.abs(y).max():.1e} of the greatest target")


if __name__ == "__main__":
    main()
