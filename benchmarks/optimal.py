"""Optimal trees beside STreeD and ConTree: objectives, accuracy, and seconds.

    pip install '.[bench]'
    python benchmarks/optimal.py [--quick] [--data shared/data]

Equality with STreeD on random binary tables; seconds of binary and of binned tables at depths 2 and 3; magic04 at depth
3, where ConTree compares all thresholds, if its folder is there; and trees of CART refined. `--quick` leaves out what
takes a peer minutes.
"""

import argparse
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pycontree import ConTree
from pystreed import STreeDClassifier

import jaxtree


def timed(fit: Callable[[], Any]) -> tuple[Any, str]:
    """What a fit returns, and its seconds by the clock and of the CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = fit()
    return fitted, f"{time.perf_counter() - wall:.2f} s ({time.process_time() - cpu:.2f} s of the CPU)"


def binary_table(num_rows: int, num_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of zeros and ones, and two classes that three of them tell in part."""
    rng = np.random.default_rng(seed)
    X = (rng.random((num_rows, num_columns)) < rng.uniform(0.2, 0.8, num_columns)).astype(int)
    noise = rng.random(num_rows) < 0.2
    return X, (((X[:, 0] & X[:, 1]) ^ X[:, 2]).astype(bool) ^ noise).astype(int)


def ours(max_depth: int, penalty: float = 0.0, **options: Any) -> jaxtree.OptimalTreeClassifier:
    """An optimal tree that is compared."""
    return jaxtree.OptimalTreeClassifier(max_depth=max_depth, leaf_penalty=penalty, **options)


def theirs(max_depth: int, cost: float = 0.0) -> STreeDClassifier:
    """STreeD's tree of classes, with a cost for every inner node as a share of the rows."""
    task = "cost-complex-accuracy" if cost else "accuracy"
    return STreeDClassifier(task, max_depth=max_depth, cost_complexity=cost, time_limit=600)


def compare_objectives(num_tables: int) -> None:
    """Errors and penalties of both on random tables."""
    equal = 0
    for seed in range(num_tables):
        X, y = binary_table(300, 12, seed)
        depth, penalty = 2 + seed % 2, (0.0, 3.0)[seed // 2 % 2]
        best, other = ours(depth, penalty).fit(X, y), theirs(depth, penalty / len(y)).fit(X, y)
        leaves = 1 + other.get_n_leaves() - 1
        errors = float(np.sum(other.predict(X) != y)) + penalty * leaves
        equal += abs(errors - best.objective_) < 1e-6
    print(f"the same objective as STreeD on {equal} of {num_tables} tables")


def compare_seconds(*, is_quick: bool) -> None:
    """Seconds on tables of many rows or columns."""
    X, y = binary_table(10_000, 150 if is_quick else 300, 0)
    ours(2).fit(X[:100], y[:100])
    for depth in (2, 3):
        best, own = timed(lambda depth=depth: ours(depth).fit(X, y))
        other, peer = timed(lambda depth=depth: theirs(depth).fit(X, y))
        errors = int(np.sum(other.predict(X) != y))
        print(f"{X.shape} binary, depth {depth}: {own}, {best.objective_:.0f} errors; STreeD {peer}, {errors} errors")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 32, (100_000 if is_quick else 1_000_000, 28)).astype(np.uint8)
    y = ((X[:, 0] > 12) ^ (X[:, 3] > 20) ^ (rng.random(len(X)) < 0.2)).astype(int)
    _, own = timed(lambda: ours(2, max_bins=32).fit(X, y))
    print(f"{X.shape} of 32 values, depth 2: {own}")


def compare_on_magic(folder: pathlib.Path, *, is_quick: bool) -> None:
    """The table magic04, three quarters of its rows for training."""
    frame = pd.read_csv(folder / "magic04" / "magic04.data", header=None)
    order = np.random.default_rng(0).permutation(len(frame))
    X, y = frame.iloc[order, :-1], (frame.iloc[order, -1] == "g").astype(int)
    train, test = slice(0, 14_265), slice(14_265, None)
    models: dict[str, Any] = {"CART, depth 3": jaxtree.DecisionTreeClassifier(max_depth=3), "optimal, depth 3": ours(3)}
    if not is_quick:
        models["ConTree, depth 3"] = ConTree(max_depth=3, time_limit=600)
        models |= {f"optimal, depth {depth}": ours(depth, time_limit=60) for depth in (4, 5)}
    for name, model in models.items():
        _, seconds = timed(lambda model=model: model.fit(X[train], y[train]))
        scores = [100 * np.mean(np.asarray(model.predict(X[part])) == y[part]) for part in (train, test)]
        print(f"magic04, {name}: {scores[0]:.2f} % in training, {scores[1]:.2f} % in test, {seconds}")
    for depth in (5, 8):
        cart, grown = timed(lambda depth=depth: jaxtree.DecisionTreeClassifier(max_depth=depth).fit(X[train], y[train]))
        better, refined = timed(lambda cart=cart: jaxtree.refine(cart, X[train], y[train]))
        words = [
            f"{100 * model.score(X[train], y[train]):.2f} / {100 * model.score(X[test], y[test]):.2f} %"
            for model in (cart, better)
        ]
        print(f"magic04, CART of depth {depth}: {words[0]}, {grown}; refined: {words[1]}, {refined}")
    hard = jaxtree.SoftTreeClassifier(depth=4, max_epochs=10, random_state=0).fit(X[train], y[train]).harden()
    better, refined = timed(lambda: jaxtree.refine(hard, X[train], y[train]))
    words = [
        " / ".join(f"{100 * model.score(X[part], y[part]):.2f}" for part in (train, test)) for model in (hard, better)
    ]
    print(f"magic04, hardened oblique tree of depth 4: {words[0]} %; refined: {words[1]} %, {refined}")


def main() -> None:
    """Prints all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("shared/data"))
    given = parser.parse_args()
    compare_objectives(10 if given.quick else 30)
    compare_seconds(is_quick=given.quick)
    if (given.data / "magic04").is_dir():
        compare_on_magic(given.data, is_quick=given.quick)


if __name__ == "__main__":
    main()
