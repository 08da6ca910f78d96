"""Test scores of the ways to choose among splits of equal gain.

    python -m benchmarks.ties                      # all tables, about an hour
    python -m benchmarks.ties --only letter

jaxtree's two ways, `ties="first"` and `ties="hash"`, and scikit-learn's estimators are fitted with default parameters
on the same rows, forests of 100 trees; of scikit-learn's trees, which draw, the mean of three counts. The ways of
`benchmarks/ties/grower.py` are compared in trees of its own, and in forests of ten. Scores are means over splits of
accuracy, or R² of numbers, in percent; a quarter of the rows tests.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split

import jaxtree
from benchmarks.ties.grower import RULES, Rule, grow, predict
from benchmarks.ties.report import lines_of
from benchmarks.ties.tables import CLASSES, NUMBERS, Table, read_table

ROOT = Path(__file__).resolve().parents[2]
TEST_SHARE = 0.25
MANY_ROWS, FEW_SPLITS, MANY_SPLITS = 4000, 5, 20
"""Tables of fewer rows have more splits."""
NUM_SEEDS = 3
SMALL_FOREST = 10
FOREST_RULES = ("first", "random", "balanced")
MOST_ROWS_OF_FORESTS = 20_000
"""On more rows the slow grower makes no forests."""


def score_tables(names: list[str], data: Path) -> list[dict[str, Any]]:
    """The figures of every table, one after another."""
    results = []
    for name in names:
        start = time.perf_counter()
        results.append({"table": name} | score_table(read_table(name, data)))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return results


def score_table(table: Table) -> dict[str, Any]:
    """The scores of every estimator on every split, and of classes the share of ties by depth."""
    is_number = table.y.dtype.kind == "f"
    num_splits = FEW_SPLITS if len(table.y) >= MANY_ROWS else MANY_SPLITS
    splits = [train_test_split(*table, test_size=TEST_SHARE, random_state=seed) for seed in range(num_splits)]
    estimators = _estimators("Regressor" if is_number else "Classifier")
    scores = {name: [score(parts) for parts in splits] for name, score in estimators.items()}
    result = {
        "rows": len(table.y), "columns": table.X.shape[1], "whole numbers": table.are_whole, "splits": num_splits,
        "scores": scores,
    }  # fmt: skip
    if is_number:
        return result
    with_forests = len(table.y) <= MOST_ROWS_OF_FORESTS
    for name, rule in RULES.items():
        scores[f"slow tree, {name}"] = [_slow_score(rule, parts, 0) for parts in splits]
        if with_forests and name in FOREST_RULES:
            scores[f"slow forest, {name}"] = [_slow_score(rule, parts, SMALL_FOREST) for parts in splits]
    return result | {"nodes by depth": _ties_by_depth(splits)}


def _estimators(end: str) -> dict[str, Callable[[list[np.ndarray]], float]]:
    """Functions from the parts of a split to a score, by name."""
    tree, forest = f"DecisionTree{end}", f"RandomForest{end}"
    once, seeds = range(1), range(NUM_SEEDS)
    return {
        "tree, first": _mean_score(lambda s: getattr(jaxtree, tree)(ties="first"), once),
        "tree, hash": _mean_score(lambda s: getattr(jaxtree, tree)(ties="hash"), once),
        "tree, scikit-learn": _mean_score(lambda s: getattr(sklearn.tree, tree)(random_state=s), seeds),
        "forest, first": _mean_score(lambda s: getattr(jaxtree, forest)(ties="first", random_state=s), once),
        "forest, hash": _mean_score(lambda s: getattr(jaxtree, forest)(ties="hash", random_state=s), once),
        "forest, scikit-learn": _mean_score(
            lambda s: getattr(sklearn.ensemble, forest)(random_state=s, n_jobs=-1), once
        ),
    }


def _mean_score(make: Callable[[int], BaseEstimator], seeds: range) -> Callable[[list[np.ndarray]], float]:
    def score(parts: list[np.ndarray]) -> float:
        X_train, X_test, y_train, y_test = parts
        fitted = [make(seed).fit(X_train, y_train) for seed in seeds]  # pyright: ignore[reportAttributeAccessIssue]
        return float(np.mean([estimator.score(X_test, y_test) for estimator in fitted]))

    return score


def _slow_score(rule: Rule, parts: list[np.ndarray], num_trees: int) -> float:
    """The accuracy of a slow tree, or of the votes of some; all rules have the same samples of rows."""
    X_train, X_test, y_train, y_test = parts
    if not num_trees:
        return float(np.mean(predict(grow(X_train, y_train, rule, np.random.default_rng(0)), X_test) == y_test))
    votes = np.zeros((len(y_test), int(y_train.max()) + 1))
    for number in range(num_trees):
        rows = np.random.default_rng([1, number]).integers(0, len(y_train), len(y_train))
        rng, looked = np.random.default_rng([2, number]), max(1, int(np.sqrt(X_train.shape[1])))
        tree = grow(X_train[rows], y_train[rows], rule, rng, looked)
        votes[np.arange(len(y_test)), predict(tree, X_test)] += 1
    return float(np.mean(votes.argmax(axis=1) == y_test))


def _ties_by_depth(splits: list[list[np.ndarray]]) -> list[dict[str, int]]:
    """The inner nodes of every depth, and those where columns tie or only thresholds do, of the splits' first trees."""
    total: list[dict[str, int]] = []
    for X_train, _, y_train, _ in splits:
        tree = grow(X_train, y_train, RULES["first"], np.random.default_rng(0))
        for depth, counts in enumerate(zip(tree.inner, tree.ties, tree.tied_thresholds, strict=True)):
            if depth == len(total):
                total.append({"inner": 0, "ties": 0, "tied thresholds": 0})
            for name, count in zip(total[depth], counts, strict=True):
                total[depth][name] += int(count)
    return total


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results", help="folder for the files")
    parser.add_argument("--only", action="append", choices=(*CLASSES, *NUMBERS), help="a table; may be repeated")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    results = score_tables(arguments.only or [*CLASSES, *NUMBERS], arguments.data)
    packages = ("jaxtree", "jax", "numpy", "scikit-learn")
    report = {
        "date": date.today().isoformat(), "versions": {name: version(name) for name in packages},
        "machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
        "results": results,
    }  # fmt: skip
    arguments.out.mkdir(parents=True, exist_ok=True)
    place = arguments.out / f"ties-{date.today().isoformat()}"
    place.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    place.with_suffix(".md").write_text("\n".join(lines_of(results)) + "\n")
    print(f"written: {place}.json and {place}.md")


if __name__ == "__main__":
    main()
