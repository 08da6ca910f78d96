"""The comparison itself: on every outer fold one growth for all prunings, whose settings inner folds have chosen.

The tree is CART with the Gini index, fully grown, each category split from the rest as on one-hot columns.
"""

import importlib.metadata
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.prunings import Dropout
from jaxtree.estimators.trees import DecisionTreeClassifier
from jaxtree.estimators.tuning import tune_dropout
from jaxtree.search.tree_search import TreeSearchCV
from jaxtree.study.prunings import methods, ranks
from jaxtree.study.prunings.forest import fit_forest, forests
from jaxtree.study.prunings.methods import Method, Setting
from jaxtree.study.prunings.tables import (
    Split,
    StudyTable,
    inner_splits,
    num_folds,
    outer_splits,
    seed_of,
    study_tables,
    take_rows,
)

TUNING_SHARE = 0.25
"""The share of the training rows on which rates of dropout are tuned."""
STEPS_OF_FOLD = 3
"""What a fold's work is told in: the search, the prunings, the forests."""

Results = dict[str, Any]


class Plan(NamedTuple):
    """How much is to be done.

    Attributes:
        folder: The folder of UCI's data sets, or None.
        folds: Number of outer folds.
        inner: Number of inner folds.
        seed: Seed of folds, draws and forests.
        quick: Whether to try a few settings of each method alone.
    """

    folder: Path | None = None
    folds: int = 5
    inner: int = 5
    seed: int = 0
    quick: bool = False


class _Fold(NamedTuple):
    """Rows of an outer fold, and the tree grown on all that train."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    inner: list[Split]
    seed: int


def run(plan: Plan, on_step: Callable[[str, int], None] = lambda doing, steps: None) -> Results:
    """Runs the study.

    Args:
        plan: How much is to be done.
        on_step: Called before every step with what is done and the number of all steps.

    Returns:
        The results, a dictionary that JSON can hold; every time is under `seconds`.

    Raises:
        InvalidInputError: There are fewer than two folds.
    """
    for name, folds in (("folds", plan.folds), ("inner", plan.inner)):
        if folds < 2:
            raise InvalidInputError(f"{name} must be at least 2, got {folds}")
    start = time.perf_counter()
    tables, skipped = study_tables(plan.folder)
    steps = STEPS_OF_FOLD * num_folds(tables, plan.folds)
    measured = [_run_table(table, plan, lambda doing: on_step(doing, steps)) for table in tables]
    packages = ("jaxtree", "jax", "jaxlib", "numpy", "scikit-learn", "scipy")
    results = {
        "plan": {"folds": plan.folds, "inner": plan.inner, "seed": plan.seed, "quick": plan.quick},
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "methods": _described_methods(measured[0][0]["folds"][0]["methods"]),
        "data": [table for table, _ in measured],
        "skipped": skipped,
        "seconds": {table["name"]: seconds for table, seconds in measured},
    }
    results["ranks"] = _ranks(results)
    results["seconds"]["in all"] = time.perf_counter() - start
    return results


def accuracies(results: Results) -> np.ndarray:
    """Returns the mean accuracy over the outer folds of every data set (rows) and method (columns)."""
    names = [method["name"] for method in results["methods"]]
    return np.array([[table["accuracy"][name] for name in names] for table in results["data"]], np.float64)


def _run_table(table: StudyTable, plan: Plan, on_step: Callable[[str], None]) -> tuple[Results, Results]:
    """The results on one data set, and the seconds."""
    folds, seconds = [], []
    for number, (train, test) in enumerate(outer_splits(table, plan.folds, plan.seed)):
        seed = seed_of(plan.seed, table.name, number)
        fold = _Fold(
            take_rows(table.X, train), table.y[train], take_rows(table.X, test), table.y[test],
            inner_splits(table, train, plan.inner, seed), seed,
        )  # fmt: skip
        record, times = _run_fold(fold, plan, lambda doing, at=number: on_step(f"{table.name}, fold {at + 1}: {doing}"))
        folds.append({"train_rows": len(train), "test_rows": len(test), "methods": record})
        seconds.append(times)
    described = {
        "name": table.name,
        "rows": len(table.y),
        "columns": table.X.shape[1],
        "classes": len(np.unique(table.y)),
        "division": table.division,
        "folds": folds,
    }
    for figure in ("accuracy", "leaves"):
        described[figure] = _means([{name: m[figure] for name, m in fold["methods"].items()} for fold in folds])
    return described, _means(seconds)


def _run_fold(fold: _Fold, plan: Plan, on_step: Callable[[str], None]) -> tuple[Results, dict[str, float]]:
    """What every method makes of an outer fold, and the seconds of a fit with each one's choice."""
    base = DecisionTreeClassifier(categorical_splits="one_vs_rest", random_state=fold.seed)
    record: Results = {}
    seconds: dict[str, float] = {}
    on_step("search")
    grown, growth = _timed_again(lambda: _fit(base, {}, fold.X, fold.y))
    searched = methods.searched_methods(grown, quick=plan.quick)
    chosen, seconds["search"] = _timed(lambda: _choose(base, searched, fold))
    on_step("prunings")
    for method, (setting, inner_accuracy) in zip(searched, chosen, strict=True):
        record[method.name], seconds[method.name] = _measure(grown, growth, setting, fold)
        record[method.name] |= {"family": method.family, "inner_accuracy": inner_accuracy}
    rates, tuning = _timed_again(lambda: _tune(base, fold))
    for name, draws in ((methods.TUNED_DRAW, 1), (methods.TUNED_VOTE, "all")):
        setting = {"pruning": Dropout(*rates, draws=draws)}
        record[name], seconds[name] = _measure(grown, growth + tuning, setting, fold)
        record[name]["family"] = methods.DROPOUT
    on_step("forests")
    for forest in forests(quick=plan.quick):
        (accuracy, leaves), seconds[forest.name] = _timed(
            lambda forest=forest: fit_forest(forest, fold.X, fold.y, fold.X_test, fold.y_test, fold.seed)
        )
        record[forest.name] = {"accuracy": accuracy, "leaves": leaves, "chosen": {}, "family": methods.FOREST}
    return record, seconds


def _choose(base: DecisionTreeClassifier, searched: Sequence[Method], fold: _Fold) -> list[tuple[Setting, float]]:
    """The setting that each method does best with on the inner folds, and how well: one search serves all."""
    settings = [setting for method in searched for setting in method.settings]
    grid = [{name: [value] for name, value in setting.items()} for setting in settings]
    search = TreeSearchCV(base, grid, cv=fold.inner, scoring="accuracy", refit=False, error_score="raise")
    score = search.fit(fold.X, fold.y).cv_results_["mean_test_score"]
    chosen, first = [], 0
    for method in searched:
        own = score[first : first + len(method.settings)]
        best = int(np.flatnonzero(own >= own.max() - ranks.SAME)[0])
        chosen.append((method.settings[best], float(own[best])))
        first += len(method.settings)
    return chosen


def _measure(grown: DecisionTreeClassifier, growth: float, setting: Setting, fold: _Fold) -> tuple[Results, float]:
    """How a setting does on the test rows, and the seconds of a fit with it, if those of growth are known."""
    if methods.is_held_out(setting):
        pruned, seconds = _timed_again(lambda: _fit(grown, setting, fold.X, fold.y))
    else:
        pruned, pruning = _timed_again(lambda: methods.apply_setting(grown, setting))
        seconds = growth + pruning
    result: Results = {
        "accuracy": float(pruned.score(fold.X_test, fold.y_test)),
        "leaves": pruned.get_n_leaves(),
        "chosen": methods.describe(setting),
    }
    rates = setting.get("pruning")
    if isinstance(rates, Dropout) and not rates.votes:
        result["expected_accuracy"] = methods.expected_accuracy(grown, rates, fold.X_test, fold.y_test)
    return result, seconds


def _tune(base: DecisionTreeClassifier, fold: _Fold) -> tuple[float, float]:
    """Rates of dropout of greatest expected accuracy on rows that a tree is not grown on."""
    rows = np.arange(len(fold.y))
    _, size = np.unique(fold.y, return_counts=True)
    strata = fold.y if size.min() > 1 else None
    parts: Any = train_test_split(rows, test_size=TUNING_SHARE, random_state=fold.seed, stratify=strata)
    train, held = parts
    part = _fit(base, {}, take_rows(fold.X, train), fold.y[train])
    tuned = tune_dropout(part, take_rows(fold.X, held), fold.y[held], loss="accuracy")
    assert tuned.p is not None and tuned.q is not None
    return tuned.p, tuned.q


def _fit(estimator: Any, setting: Setting, X: Any, y: np.ndarray) -> Any:
    fresh: Any = clone(estimator)
    return fresh.set_params(**setting).fit(X, y)


def _ranks(results: Results) -> Results:
    """Mean ranks of all methods, and whether they differ."""
    accuracy = accuracies(results)
    num_data, num_methods = accuracy.shape
    return {
        "mean": dict(zip((m["name"] for m in results["methods"]), ranks.mean_ranks(accuracy).tolist(), strict=True)),
        "friedman": ranks.friedman(accuracy)._asdict(),
        "critical_difference": ranks.critical_difference(num_methods, num_data),
    }


def _described_methods(record: Results) -> list[Results]:
    return [{"name": name, "family": measured["family"]} for name, measured in record.items()]


def _means(folds: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {name: float(np.mean([fold[name] for fold in folds])) for name in folds[0]}


def _timed_again(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the seconds of a second go, when all programs are compiled."""
    work()
    return _timed(work)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    done = work()
    return done, time.perf_counter() - start
