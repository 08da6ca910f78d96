"""The comparison of all prunings: the data sets, their folds, and one growth a fold for all prunings.

The *outer* folds measure; on the *inner* folds of an outer fold's training rows the settings are chosen. Both are
divided alike, since a choice that is to hold for rows of another kind must be made on rows of another kind. The tree is
CART with the Gini index, fully grown, each category split from the rest as on one-hot columns.
"""

import functools
import importlib.metadata
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from jaxtree.datasets import load_car_evaluation, load_uci
from jaxtree.datasets.uci import WITH_TEST_ROWS
from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.common.prunings import Dropout
from jaxtree.estimators.trees.cart import DecisionTreeClassifier
from jaxtree.estimators.trees.derived import tune_dropout
from jaxtree.search.search import SearchCV
from jaxtree_studies import pruning_methods as methods
from jaxtree_studies import ranks
from jaxtree_studies.pruning_methods import PruningMethod, Setting

ORIGINAL, SHUFFLED = "car, original order", "car, shuffled"
UCI = ("nursery", "tic-tac-toe", "mushroom", "monks-1", "monks-2", "monks-3", "letter", "adult", "covtype-20k")

Split = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]

TUNING_SHARE = 0.25
"""The share of the training rows on which rates of dropout are tuned."""
STEPS_OF_FOLD = 3
"""The steps of a fold: the search, the prunings, the forests."""

Results = dict[str, Any]


class StudyTable(NamedTuple):
    """One data set.

    Attributes:
        name: Its name in the tables.
        X: The columns.
        y: The classes.
        in_order: Whether folds are neighbouring rows in the order of the file.
        num_train: The number of training rows, which come first, where the data have test rows of their own.
    """

    name: str
    X: Any
    y: np.ndarray
    in_order: bool = False
    num_train: int | None = None

    def take(self, rows: Int[np.ndarray, " row"]) -> tuple[Any, np.ndarray]:
        """Returns rows, features and classes."""
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows], self.y[rows]

    @property
    def division(self) -> str:
        """How the outer folds are made, in words."""
        if self.num_train is not None:
            return "its own test rows"
        return "neighbouring rows" if self.in_order else "shuffled, stratified"


class StudyPlan(NamedTuple):
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


class _OuterFold(NamedTuple):
    """Rows of an outer fold, features and classes, and the rows of its inner folds."""

    train: tuple[Any, np.ndarray]
    test: tuple[Any, np.ndarray]
    inner: list[Split]
    seed: int


def run(plan: StudyPlan, on_step: Callable[[str, int], None] = lambda doing, steps: None) -> Results:
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
    first = measured[0][0]["folds"][0]["methods"]
    packages = ("jaxtree", "jax", "jaxlib", "numpy", "scikit-learn", "scipy")
    results = {
        "plan": {"folds": plan.folds, "inner": plan.inner, "seed": plan.seed, "quick": plan.quick},
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "methods": [{"name": name, "family": method["family"]} for name, method in first.items()],
        "data": [table for table, _ in measured],
        "skipped": skipped,
        "seconds": {table["name"]: seconds for table, seconds in measured},
    }
    results["ranks"] = ranks.summary(accuracies(results), list(first))
    results["seconds"]["in all"] = time.perf_counter() - start
    return results


def accuracies(results: Results) -> np.ndarray:
    """Returns the mean accuracy over the outer folds of every data set (rows) and method (columns)."""
    names = [method["name"] for method in results["methods"]]
    return np.array([[table["accuracy"][name] for name in names] for table in results["data"]], np.float64)


def study_tables(folder: Path | None) -> tuple[list[StudyTable], list[dict[str, str]]]:
    """Returns the data sets that are there, and the names of the others with the reason why they are skipped.

    The cars, with two classes as in Zhu and Zhou (2023), are there always.

    Args:
        folder: The folder of the files of UCI's data sets, see `jaxtree.datasets.load_uci`; None if there are none.
    """
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    tables = [StudyTable(ORIGINAL, X, y, in_order=True), StudyTable(SHUFFLED, X, y)]
    skipped = []
    for name in UCI:
        if folder is None:
            skipped.append({"name": name, "reason": "no folder of data was given"})
            continue
        try:
            tables.append(_read(name, folder))
        except FileNotFoundError as error:
            absent = Path(error.filename).relative_to(folder).as_posix()
            skipped.append({"name": name, "reason": f"its file {absent} is absent"})
    return tables, skipped


def outer_splits(table: StudyTable, folds: int, seed: int) -> list[Split]:
    """Returns the training and test rows of every outer fold."""
    if table.num_train is not None:
        return [(np.arange(table.num_train), np.arange(table.num_train, len(table.y)))]
    return _divide(table.y, folds, seed, in_order=table.in_order)


def inner_splits(table: StudyTable, rows: Int[np.ndarray, " row"], folds: int, seed: int) -> list[Split]:
    """Returns the rows of every inner fold, as places among the given rows."""
    return _divide(table.y[rows], folds, seed, in_order=table.in_order)


def seed_of(seed: int, *names: str | int) -> int:
    """Returns a seed of its own for what the names name, so that no data set's numbers depend on which others run."""
    text = "/".join(map(str, (seed, *names)))
    return zlib.crc32(text.encode()) % 2**31


def num_folds(tables: Sequence[StudyTable], folds: int) -> int:
    """Returns the number of outer folds of all data sets together."""
    return sum(1 if table.num_train is not None else folds for table in tables)


def _divide(y: np.ndarray, folds: int, seed: int, *, in_order: bool) -> list[Split]:
    rows = np.zeros(len(y))
    if in_order:
        return list(KFold(folds).split(rows))
    with warnings.catch_warnings():
        # A class of fewer rows than folds is missing from some, which every method has to bear alike.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, y))


def _read(name: str, folder: Path) -> StudyTable:
    X, y = load_uci(name, folder)
    num_train = len(load_uci(name, folder, part="train")[1]) if name in WITH_TEST_ROWS else None
    return StudyTable(name, X, np.asarray(y), num_train=num_train)


def _run_table(table: StudyTable, plan: StudyPlan, on_step: Callable[[str], None]) -> tuple[Results, Results]:
    """The results on one data set, and the seconds."""
    folds, seconds = [], []
    for number, (train, test) in enumerate(outer_splits(table, plan.folds, plan.seed)):
        seed = seed_of(plan.seed, table.name, number)
        inner = inner_splits(table, train, plan.inner, seed)
        fold = _OuterFold(table.take(train), table.take(test), inner, seed)
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


def _run_fold(fold: _OuterFold, plan: StudyPlan, on_step: Callable[[str], None]) -> tuple[Results, dict[str, float]]:
    """The results of every method on an outer fold, and the seconds of a fit with each one's choice."""
    base = DecisionTreeClassifier(categorical_splits="one_vs_rest", ties="first", random_state=fold.seed)
    record: Results = {}
    seconds: dict[str, float] = {}
    on_step("search")
    grown, growth = _timed_again(lambda: _fit(base, {}, *fold.train))
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
    for size in methods.forest_sizes(quick=plan.quick):
        fit_forest = functools.partial(methods.fit_forest, size, fold.train, fold.test, fold.seed)
        measured, seconds[f"forest of {size}"] = _timed(fit_forest)
        record[f"forest of {size}"] = {**measured, "chosen": {}, "family": methods.FOREST}
    return record, seconds


def _choose(
    base: DecisionTreeClassifier, searched: Sequence[PruningMethod], fold: _OuterFold
) -> list[tuple[Setting, float]]:
    """The setting that each method does best with on the inner folds, and how well: one search serves all."""
    settings = [setting for method in searched for setting in method.settings]
    grid = [{name: [value] for name, value in setting.items()} for setting in settings]
    search = SearchCV(base, grid, cv=fold.inner, scoring="accuracy", refit=False, error_score="raise")
    score = search.fit(*fold.train).cv_results_["mean_test_score"]
    chosen, first = [], 0
    for method in searched:
        own = score[first : first + len(method.settings)]
        best = int(np.flatnonzero(own >= own.max() - ranks.SAME)[0])
        chosen.append((method.settings[best], float(own[best])))
        first += len(method.settings)
    return chosen


def _measure(grown: DecisionTreeClassifier, growth: float, setting: Setting, fold: _OuterFold) -> tuple[Results, float]:
    """How a setting does on the test rows, and the seconds of a fit with it, if those of growth are known."""
    if methods.is_held_out(setting):
        pruned, seconds = _timed_again(lambda: _fit(grown, setting, *fold.train))
    else:
        pruned, pruning = _timed_again(lambda: methods.apply_setting(grown, setting))
        seconds = growth + pruning
    result: Results = {
        "accuracy": float(pruned.score(*fold.test)),
        "leaves": pruned.get_n_leaves(),
        "chosen": methods.describe(setting),
    }
    rates = setting.get("pruning")
    if isinstance(rates, Dropout) and not rates.votes:
        result["expected_accuracy"] = methods.expected_accuracy(grown, rates, *fold.test)
    return result, seconds


def _tune(base: DecisionTreeClassifier, fold: _OuterFold) -> tuple[float, float]:
    """Rates of dropout of greatest expected accuracy on rows that a tree is not grown on."""
    y = fold.train[1]
    strata = y if np.unique(y, return_counts=True)[1].min() > 1 else None
    parts: Any = train_test_split(*fold.train, test_size=TUNING_SHARE, random_state=fold.seed, stratify=strata)
    X_train, X_held, y_train, y_held = parts
    tuned = tune_dropout(_fit(base, {}, X_train, y_train), X_held, y_held, loss="accuracy")
    return present(tuned.p), present(tuned.q)


def _fit(estimator: Any, setting: Setting, X: Any, y: np.ndarray) -> Any:
    fresh: Any = clone(estimator)
    return fresh.set_params(**setting).fit(X, y)


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
