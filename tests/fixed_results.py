"""Results that must not change: sums of the node tables of some sixty fits, and values of others.

A change of the code that is not meant to change a tree leaves `fixed_results.json` as it is. Where a change is meant,

    python tests/fixed_results.py name ...

writes the results of the cases named anew (all without a name), and the commit says why they changed.

    python -P tests/fixed_results.py --check

compares the trees and forests of an installation, which needs nothing for tests, and fails if it has no kernel in C++.
"""

import dataclasses
import hashlib
import json
import pathlib
import sys
from typing import Any

import jax
import numpy as np

import jaxtree
from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    ID3Classifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from jaxtree.kernels import library

FILE = pathlib.Path(__file__).with_suffix(".json")
ROWS = 240

EXACT = ("feature", "threshold", "first_child", "num_children", "parent", "depth", "split_kind", "num_rows", "subset")
"""Fields of a node table that are the same on every machine."""
ROUNDED = ("weight", "count", "target_sum", "impurity", "gain")
"""Fields that may differ in their last bits."""


def table(kind: str) -> np.ndarray:
    """Made by whole numbers and divisions by powers of 2 alone, which every machine does alike."""
    draw = np.random.RandomState(5)
    numbers = draw.randint(0, 60, (ROWS, 6)) / np.array([1, 2, 4, 8, 16, 32])
    words = np.array(["ash", "birch", "cedar", "elm", "fir", "oak"], object)[
        draw.randint(0, 6, (ROWS, 4)) % [2, 3, 4, 6]
    ]
    gap = draw.randint(0, 9, (ROWS, 6)) == 0
    if kind == "numbers":
        return numbers
    if kind == "gaps":
        return np.where(gap, np.nan, numbers)
    if kind == "words":
        return words
    if kind == "word gaps":
        return np.where(gap[:, :4], None, words)
    return np.concatenate(
        [np.where(gap, None, numbers.astype(object))[:, :3], np.where(gap[:, 3:5], None, words[:, 1:3])], 1
    )


def target(kind: str) -> np.ndarray:
    numbers, words = table("numbers"), table("words")
    noise = np.random.RandomState(6).randint(0, 8, ROWS)
    score = numbers[:, 0] + 4 * numbers[:, 2] + 9 * (words[:, 1] == "ash") - 6 * (words[:, 2] == "cedar") + noise
    if kind == "numbers":
        return score / 8
    if kind == "counts":
        return (score // 9).clip(0)
    if kind == "two numbers":
        return np.stack([score / 8, numbers[:, 1] - score / 4], axis=1)
    five = np.array(["a", "b", "c", "d", "e"])[np.digitize(score, [30, 45, 60, 75])]
    if kind == "two words":
        return np.stack([five, np.where(noise > 3, "x", "y")], axis=1)
    return five if kind == "five" else (score > 55).astype(int)


def weight(kind: str | None) -> np.ndarray | None:
    drawn = np.random.RandomState(7).randint(0, 9, ROWS)
    return {None: None, "whole": drawn % 4, "fractions": drawn / 8}[kind]


FOUR = {"max_depth": 4}
FEW = {"n_estimators": 5, "random_state": 3}
TREES: dict[str, tuple[Any, str, str, str | None]] = {
    "cart": (DecisionTreeClassifier(), "numbers", "two", None),
    "cart five": (DecisionTreeClassifier(), "numbers", "five", None),
    "cart entropy": (DecisionTreeClassifier(criterion="entropy"), "numbers", "five", None),
    "cart depth": (DecisionTreeClassifier(**FOUR), "numbers", "five", None),
    "cart gaps": (DecisionTreeClassifier(), "gaps", "five", None),
    "cart gaps stay": (DecisionTreeClassifier(missing="fraction"), "gaps", "five", None),
    "cart words": (DecisionTreeClassifier(), "words", "five", None),
    "cart two words": (DecisionTreeClassifier(), "words", "two", None),
    "cart one against the rest": (DecisionTreeClassifier(categorical_splits="one_vs_rest"), "words", "five", None),
    "cart word gaps": (DecisionTreeClassifier(), "word gaps", "two", None),
    "cart mixed": (DecisionTreeClassifier(), "mixed", "five", None),
    "cart whole weights": (DecisionTreeClassifier(), "numbers", "five", "whole"),
    "cart fractions": (DecisionTreeClassifier(), "numbers", "five", "fractions"),
    "cart class weights": (DecisionTreeClassifier(class_weight="balanced"), "numbers", "five", None),
    "cart outputs": (DecisionTreeClassifier(), "numbers", "two words", None),
    "cart leaves": (DecisionTreeClassifier(max_leaf_nodes=9), "numbers", "five", None),
    "cart limits": (DecisionTreeClassifier(min_samples_leaf=5, min_samples_split=0.1), "numbers", "five", None),
    "cart gain": (DecisionTreeClassifier(min_impurity_decrease=0.01), "numbers", "five", None),
    "cart monotone": (DecisionTreeClassifier(monotonic_cst=[1, 0, 1, 0, 0, 0]), "numbers", "two", None),
    "cart bins": (DecisionTreeClassifier(max_bins=8), "numbers", "five", None),
    "cart drawn columns": (DecisionTreeClassifier(max_features=2, random_state=3), "numbers", "five", None),
    "cart drawn thresholds": (DecisionTreeClassifier(splitter="random", random_state=3), "numbers", "five", None),
    "regression": (DecisionTreeRegressor(), "numbers", "numbers", None),
    "regression depth": (DecisionTreeRegressor(**FOUR), "numbers", "numbers", None),
    "regression mixed": (DecisionTreeRegressor(), "mixed", "numbers", None),
    "regression fractions": (DecisionTreeRegressor(), "gaps", "numbers", "fractions"),
    "regression outputs": (DecisionTreeRegressor(), "numbers", "two numbers", None),
    "poisson": (DecisionTreeRegressor(criterion="poisson"), "numbers", "counts", None),
    "regression leaves": (DecisionTreeRegressor(max_leaf_nodes=9), "numbers", "numbers", None),
    "regression monotone": (DecisionTreeRegressor(monotonic_cst=[1, 0, 1, 0, 0, 0]), "numbers", "numbers", None),
    "id3": (ID3Classifier(), "words", "five", None),
    "id3 gaps": (ID3Classifier(), "word gaps", "five", None),
    "id3 one hot": (ID3Classifier(encoding="onehot"), "words", "two", None),
    "c45": (C45Classifier(), "mixed", "five", None),
    "c45 unpruned": (C45Classifier(confidence=None), "mixed", "five", None),
    "c45 binary": (C45Classifier(binary_splits=True), "word gaps", "five", None),
    "c45 without raising": (C45Classifier(subtree_raising=False), "mixed", "five", None),
    "c45 gain": (C45Classifier(gain="information", laplace=True, confidence=None), "words", "five", None),
    "c45 weights": (C45Classifier(), "mixed", "two", "fractions"),
    "random forest": (RandomForestClassifier(**FEW), "numbers", "five", None),
    "random forest mixed": (RandomForestClassifier(**FEW), "mixed", "two", None),
    "random forest weights": (RandomForestClassifier(max_samples=0.5, **FEW), "numbers", "five", "whole"),
    "random forest balanced": (
        RandomForestClassifier(class_weight="balanced_subsample", **FEW),
        "numbers",
        "five",
        None,
    ),
    "random forest numbers": (RandomForestRegressor(max_features="sqrt", **FEW), "gaps", "numbers", None),
    "extra trees": (ExtraTreesClassifier(**FEW), "numbers", "five", None),
    "extra trees gaps": (ExtraTreesClassifier(**FEW), "gaps", "two", None),
    "extra trees numbers": (ExtraTreesRegressor(**FEW), "numbers", "numbers", None),
}
"""Estimator, table, target and weights by name."""

PRUNINGS: dict[str, Any] = {
    "alpha": {"ccp_alpha": 0.01},
    "cost complexity": {"pruning": jaxtree.CostComplexity(0.01, cost="error")},
    "cost complexity by folds": {"pruning": jaxtree.CostComplexity("cv", rule="1se", cv=4)},
    "reduced error": {"pruning": jaxtree.ReducedError()},
    "pessimistic": {"pruning": jaxtree.Pessimistic()},
    "pessimistic 1987": {"pruning": jaxtree.Pessimistic1987()},
    "minimum error": {"pruning": jaxtree.MinimumError()},
    "chi squared": {"pruning": jaxtree.ChiSquared(0.2)},
    "critical value": {"pruning": jaxtree.CriticalValue(0.3)},
    "most leaves": {"pruning": jaxtree.MaxLeafNodes(7)},
    "collapse": {"pruning": jaxtree.Collapse()},
    "gate": {"pruning": jaxtree.ValidationGate()},
    "dropout": {"pruning": jaxtree.Dropout(0.1, 0.2)},
    "dropout voting": {"pruning": jaxtree.Dropout(0.1, 0.1, draws=5)},
}
"""Parameters of a tree that share one growth."""

VALUES: dict[str, tuple[Any, str, str]] = {
    "boosted": (jaxtree.GradientBoostingClassifier(5, max_depth=3), "mixed", "five"),
    "soft": (jaxtree.SoftTreeClassifier(depth=2, max_epochs=3, random_state=0), "numbers", "five"),
    "soft numbers": (jaxtree.SoftTreeRegressor(depth=2, max_epochs=3, random_state=0), "mixed", "numbers"),
}
"""Estimators whose predictions are compared, which a compiled program calculates in floats."""


def sums_of(tree: Any) -> str:
    """The SHA-256 sum of a node table."""
    total = hashlib.sha256()
    leaf = np.asarray(tree.num_children) == 0
    for name in EXACT + ROUNDED:
        values = np.asarray(getattr(tree, name))
        if name in ROUNDED:
            values = rounded(values)
        elif values.ndim == 1 and name in ("feature", "threshold", "split_kind", "first_child"):
            # The fields of a leaf's split have no meaning.
            values = np.where(leaf, 0, values)
        total.update(name.encode())
        total.update(values.astype("<f8" if values.dtype.kind == "f" else "<i8").tobytes())
    return total.hexdigest()


def rounded(values: np.ndarray) -> np.ndarray:
    """Without the last bits. The factor keeps fractions of few digits away from where rounding turns."""
    return np.round(np.asarray(values, np.float64) * 0.7390851332, 8) + 0.0


def result_of_tree(fitted: Any, X: np.ndarray) -> dict[str, Any]:
    nodes = fitted.forest_.nodes if hasattr(fitted, "forest_") else fitted.tree_
    nodes = on_indicators(fitted) if getattr(fitted, "encoding", None) == "onehot" else nodes
    said = getattr(fitted, "predict_proba", fitted.predict)(X)
    said = np.concatenate(said, axis=1) if isinstance(said, list) else said
    predictions = hashlib.sha256(rounded(said).astype("<f8").tobytes()).hexdigest()
    return {"nodes": len(nodes.feature), "sum": sums_of(nodes), "predictions": predictions}


def on_indicators(fitted: Any) -> Any:
    """The node table of a tree of one category against the rest, as growth on an indicator for each has it."""
    tree, place = fitted.tree_, fitted.schema_.indicators[0]
    asked = np.where(tree.is_leaf, 0, tree.feature)
    feature = np.searchsorted(place, asked) + tree.code
    return dataclasses.replace(tree, feature=feature, threshold=tree.threshold * 0 + 0.5, split_kind=asked * 0)


def with_first_columns(estimator: Any) -> Any:
    """The estimator whose ties the first column wins: the cases are of the engine, not of the estimators' defaults."""
    return estimator.set_params(ties="first") if "ties" in estimator.get_params() else estimator


def result_of(name: str) -> Any:
    """The result of a case, as it stands in the file."""
    if name in VALUES:
        estimator, kind, goal = VALUES[name]
        X = table(kind)
        said = getattr(estimator.fit(X, target(goal)), "predict_proba", estimator.predict)(X)
        return [round(float(value), 6) for value in said[:40].ravel()[::5]]
    if name in PRUNINGS:
        pruned = with_first_columns(DecisionTreeClassifier(random_state=2, **PRUNINGS[name]))
        return result_of_tree(pruned.fit(table("numbers"), target("five")), table("numbers"))
    estimator, kind, goal, weights = TREES[name]
    X = table(kind)
    return result_of_tree(with_first_columns(estimator).fit(X, target(goal), sample_weight=weight(weights)), X)


CASES = [*TREES, *PRUNINGS, *VALUES]


def is_as_expected(name: str, result: Any, expected: Any) -> bool:
    """Whether a result is the same, or of values close to it."""
    return np.allclose(result, expected, rtol=1e-3, atol=1e-4) if name in VALUES else result == expected


def check_installation() -> None:
    """Grows every tree and forest with the installed package, and ends with an error that names those that differ."""
    version = f"{sys.version.split()[0]}, JAX {jax.__version__}, jaxtree {jaxtree.__version__}"
    print(f"{version} in {pathlib.Path(jaxtree.__file__).parent}")
    if library.load() is None:
        sys.exit("the installation has no kernel in C++")
    expected = json.loads(FILE.read_text())
    # The boosted trees call the kernel from a program of XLA, the others from Python.
    cases = [*TREES, "boosted"]
    different = [name for name in cases if not is_as_expected(name, result_of(name), expected[name])]
    if different:
        sys.exit(f"other trees: {', '.join(different)}")
    print(f"{len(cases)} cases are as they were")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check_installation()
        sys.exit()
    results = json.loads(FILE.read_text()) if FILE.exists() else {}
    for case in sys.argv[1:] or CASES:
        results[case] = result_of(case)
        print(case, results[case])
    FILE.write_text(json.dumps({name: results[name] for name in CASES}, indent=1) + "\n")
