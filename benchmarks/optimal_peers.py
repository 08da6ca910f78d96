"""Optimal trees beside STreeD table by table, ConTree on magic04, refined trees, and four and five levels beside CART.

    pip install '.[bench]'
    python -m benchmarks.optimal_peers [--data shared/data] [--seconds 60] [--output results.json]

Equality of objectives on 30 random and 8 real tables of zeros and ones, at depths 2 and 3, with and without a penalty
of leaves, of classes and of squared errors. Everything that is printed is written to a file of JSON, with versions.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pycontree import ConTree
from pystreed import STreeDClassifier, STreeDRegressor

import jaxtree
from benchmarks.ties.tables import read_table

TABLES = (
    "balance-scale", "credit-g", "diabetes", "glass", "ionosphere", "magic04", "tic-tac-toe", "red wine",
)  # fmt: skip
"""Eight real tables of classes."""

NUM_RANDOM = 30
PENALTIES = 0.0, 3.0
MOST_COLUMNS, MOST_ROWS = 24, 2_000
SEEDS = range(3)


def binary_tables(data: pathlib.Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Random tables of zeros and ones, and real ones whose columns are cut at quantiles."""
    for seed in range(NUM_RANDOM):
        rng = np.random.default_rng(seed)
        X = (rng.random((300, 12)) < rng.uniform(0.2, 0.8, 12)).astype(int)
        y = ((X[:, 0] & X[:, 1]) ^ X[:, 2] ^ (rng.random(300) < 0.2)).astype(int)
        yield f"random {seed}", X, y
    for name in TABLES:
        X, y = read_table(name, data)
        rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        cut = [np.quantile(X, share, axis=0) < X for share in (0.25, 0.5, 0.75)]
        columns = np.unique(np.concatenate(cut, axis=1)[rows].astype(int), axis=1)[:, :MOST_COLUMNS]
        yield name, columns, y[rows]


def of_classes(X: np.ndarray, y: np.ndarray, depth: int, penalty: float) -> tuple[float, float]:
    """The objective of both: errors, and penalties of leaves."""
    best = jaxtree.OptimalTreeClassifier(max_depth=depth, leaf_penalty=penalty).fit(X, y)
    task = "cost-complex-accuracy" if penalty else "accuracy"
    other = STreeDClassifier(task, max_depth=depth, cost_complexity=penalty / len(y), time_limit=600).fit(X, y)
    return best.objective_, float(np.sum(other.predict(X) != y)) + penalty * other.get_n_leaves()


def of_numbers(X: np.ndarray, y: np.ndarray, depth: int, penalty: float) -> tuple[float, float]:
    """The objective of both: squared errors, and penalties of leaves."""
    target = y + np.random.default_rng(0).normal(size=len(y))
    spread = float(np.sum((target - target.mean()) ** 2))
    own = penalty * spread / len(y)
    best = jaxtree.OptimalTreeRegressor(max_depth=depth, leaf_penalty=own).fit(X, target)
    other = STreeDRegressor(
        "cost-complex-regression", max_depth=depth, cost_complexity=own / spread, time_limit=600
    ).fit(X, target)
    return best.objective_, float(np.sum((other.predict(X) - target) ** 2)) + own * other.get_n_leaves()


def equality(data: pathlib.Path) -> dict[str, Any]:
    """How many objectives are the same, and those that are not."""
    counted: dict[str, int] = {}
    others = []
    for name, X, y in binary_tables(data):
        for objective in (of_classes, of_numbers):
            for depth in (2, 3):
                for penalty in PENALTIES:
                    ours, theirs = objective(X, y, depth, penalty)
                    kind = "equal" if np.isclose(ours, theirs, rtol=1e-6, atol=1e-6) else "different"
                    counted[kind] = counted.get(kind, 0) + 1
                    if kind == "different":
                        case = {"table": name, "objective": objective.__name__, "depth": depth, "penalty": penalty}
                        others.append(case | {"ours": ours, "streed": theirs})
    return {"objectives": counted, "different": others, "tables": NUM_RANDOM + len(TABLES)}


def timed(fit: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a fit returns, and its seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = fit()
    return fitted, {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def parts_of(name: str, seed: int, data: pathlib.Path) -> tuple[np.ndarray, ...]:
    """Three quarters of the rows of a table for training, the others for tests."""
    X, y = read_table(name, data)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [len(y) * 3 // 4])
    return X[train], y[train], X[test], y[test]


def accuracies(model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
    """Per cent in training and test."""
    return {
        "train": 100 * float(np.mean(np.asarray(model.predict(X)) == y)),
        "test": 100 * float(np.mean(np.asarray(model.predict(X_test)) == y_test)),
    }


def contree(data: pathlib.Path) -> dict[str, Any]:
    """Trees of three levels of magic04."""
    parts = parts_of("magic04", 0, data)
    found = {}
    models: dict[str, Any] = {
        "jaxtree": jaxtree.OptimalTreeClassifier(max_depth=3),
        "CART": jaxtree.DecisionTreeClassifier(max_depth=3),
        "ConTree": ConTree(max_depth=3, time_limit=600),
    }
    for name, model in models.items():
        X, y = parts[0].astype(np.float64), parts[1]
        _, seconds = timed(lambda model=model, X=X, y=y: model.fit(X, y))
        found[name] = accuracies(model, X, y, parts[2].astype(np.float64), parts[3]) | seconds
    return found


def deeper(data: pathlib.Path, time_limit: float) -> dict[str, Any]:
    """Trees of four and five levels beside CART's, of one split of every table."""
    found: dict[str, Any] = {"time_limit": time_limit}
    for depth in (4, 5):
        rows = {}
        for name in TABLES:
            parts = parts_of(name, 0, data)
            cart = jaxtree.DecisionTreeClassifier(max_depth=depth).fit(*parts[:2])
            best, seconds = timed(
                lambda depth=depth, parts=parts: jaxtree.OptimalTreeClassifier(
                    max_depth=depth, time_limit=time_limit
                ).fit(*parts[:2])
            )
            rows[name] = {
                "CART": accuracies(cart, *parts),
                "optimal": accuracies(best, *parts) | seconds | {"optimality": best.optimality_},
            }
        found[f"depth {depth}"] = rows | {"mean gain": mean_gain(rows, "optimal")}
    return found


def refined(data: pathlib.Path) -> dict[str, Any]:
    """CART's trees of depths 5 to 8 refined, means over splits."""
    found: dict[str, Any] = {}
    for depth in (5, 6, 7, 8):
        rows = {}
        for name in TABLES:
            for seed in SEEDS:
                parts = parts_of(name, seed, data)
                fit = lambda depth=depth, parts=parts: jaxtree.DecisionTreeClassifier(max_depth=depth).fit(*parts[:2])  # noqa: E731
                fit()
                cart, grown = timed(fit)
                better, seconds = timed(lambda cart=cart, parts=parts: jaxtree.refine(cart, *parts[:2]))
                times = seconds["cpu_seconds"] / grown["cpu_seconds"]
                rows[f"{name} {seed}"] = {
                    "CART": accuracies(cart, *parts) | grown,
                    "refined": accuracies(better, *parts) | seconds | {"times growth": times},
                }
        found[f"depth {depth}"] = rows | {"mean gain": mean_gain(rows, "refined")}
        ratios = [row["refined"]["times growth"] for row in rows.values()]
        found[f"depth {depth}"]["mean times growth"] = float(np.mean(ratios))
    return found


def mean_gain(rows: dict[str, Any], model: str) -> dict[str, float]:
    """Points of accuracy above CART."""
    return {
        part: float(np.mean([row[model][part] - row["CART"][part] for row in rows.values()]))
        for part in ("train", "test")
    }


def main() -> None:
    """Prints and writes all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("shared/data"))
    parser.add_argument("--seconds", type=float, default=60.0, help="the time limit of four and five levels")
    parser.add_argument("--output", type=pathlib.Path)
    given = parser.parse_args()
    names = ("jaxtree", "jax", "numpy", "pystreed", "pycontree")
    figures: dict[str, Any] = {
        "versions": {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in names},
        "cores": os.cpu_count(),
    }
    cases: dict[str, Callable[[], Any]] = {
        "equality with STreeD": lambda: equality(given.data),
        "refined": lambda: refined(given.data),
        "four and five levels": lambda: deeper(given.data, given.seconds),
        "depth 3 of magic04": lambda: contree(given.data),
    }
    for name, case in cases.items():
        figures[name] = case()
        print(name, json.dumps(figures[name], indent=1), flush=True)
        if given.output:
            given.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
