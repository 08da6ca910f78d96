"""The comparison of optimal trees with grown ones of the same size, by nested cross-validation.

A *budget* is the most leaves that a tree may have. On the inner folds of an outer fold's training rows every method
chooses how many leaves within the budget suit it; the tree of so many leaves on all training rows is then measured on
the outer fold's test rows.
"""

import functools
import importlib.metadata
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.datasets import load_car_evaluation
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.refining import refine
from jaxtree.estimators.sizes import fit_together, trees_by_size
from jaxtree.estimators.trees.cart import DecisionTreeClassifier
from jaxtree.estimators.trees.optimal import OptimalTreeClassifier
from jaxtree_studies import ranks
from jaxtree_studies.dropout_paper import NUM_TRAINING_ROWS, PAPER_TABLE_2, PAPER_UNLIMITED
from jaxtree_studies.optimal_tables import optimal_tables
from jaxtree_studies.pruning_methods import CLASSICAL, DROPOUT, OPTIMAL
from jaxtree_studies.prunings import StudyTable, inner_splits, num_folds, outer_splits, seed_of

FREE = 10**9
"""The budget of a tree of any size."""

BUDGETS = {"4 leaves": 4, "8 leaves": 8, "16 leaves": 16, "free size": FREE}
"""The budgets by name."""

SIZES = (2, 3, 4, 6, 8, 12, 16, 32, 64, 128, FREE)
"""Numbers of leaves that are tried."""

MOST_REFINED = 16
"""Larger trees are not refined."""

CART, C45, DROPOUT_DRAW = "CART, cost complexity", "C4.5", "dropout, tuned draw"
REFINED, NEAR, BEST = "refined", "near-optimal, depth 4", "optimal, depth 3"

METHODS = {CART: CLASSICAL, C45: CLASSICAL, DROPOUT_DRAW: DROPOUT, REFINED: OPTIMAL, NEAR: OPTIMAL, BEST: OPTIMAL}
"""The methods and their families."""

PENALTIES = (0.02, 0.005, 0.0015, 0.0)
"""Penalties of near-optimal trees, as shares of the rows."""

DEPTHS_OF_CARS = (3, 4, 5, 6, 7, None)
"""The depths of table 2 of Zhu and Zhou (2023)."""

MOST_SEARCHED = 5
"""The largest depth of a tree that is searched; deeper ones are refined."""

Results = dict[str, Any]
Rows = tuple[Any, np.ndarray]


class OptimalPlan(NamedTuple):
    """How much is to be done.

    Attributes:
        folder: The folder of data sets, or None.
        folds: Number of outer folds.
        inner: Number of inner folds.
        seed: Seed of folds and draws.
        time_limit: Seconds of every search of four levels, which a tree of the cars has ten times.
        most_rows: The most rows of a data set; None is no limit.
    """

    folder: Path | None = None
    folds: int = 5
    inner: int = 3
    seed: int = 0
    time_limit: float = 10.0
    most_rows: int | None = None


def run(plan: OptimalPlan, on_step: Callable[[str, int], None] = lambda doing, steps: None) -> Results:
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
    tables, skipped = optimal_tables(plan.folder, plan.most_rows, plan.seed)
    steps = num_folds(tables, plan.folds) + 1
    on_step("the cars of the paper", steps)
    cars = best_of_cars(10 * plan.time_limit)
    measured = [_run_table(table, plan, lambda doing: on_step(doing, steps)) for table in tables]
    packages = ("jaxtree", "jax", "jaxlib", "numpy", "scikit-learn", "scipy")
    results: Results = {
        "plan": {name: value for name, value in plan._asdict().items() if name != "folder"},
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "methods": [{"name": name, "family": family} for name, family in METHODS.items()],
        "budgets": list(BUDGETS),
        "data": [table for table, _ in measured],
        "cars": cars,
        "skipped": skipped,
        "seconds": {table["name"]: seconds for table, seconds in measured},
    }
    results["ranks"] = {budget: ranks_of(results, budget) for budget in BUDGETS}
    results["seconds"]["in all"] = time.perf_counter() - start
    return results


def accuracies(results: Results, budget: str) -> Float[np.ndarray, "data method"]:
    """Returns the mean accuracy over the outer folds of every data set and method within a budget."""
    names = [method["name"] for method in results["methods"]]
    return np.array([[table["accuracy"][budget][name] for name in names] for table in results["data"]], np.float64)


def ranks_of(results: Results, budget: str) -> Results:
    """Returns the mean ranks of all methods within a budget, and whether they differ."""
    accuracy = accuracies(results, budget)
    num_data, num_methods = accuracy.shape
    names = [method["name"] for method in results["methods"]]
    return {
        "mean": dict(zip(names, ranks.mean_ranks(accuracy).tolist(), strict=True)),
        "friedman": ranks.friedman(accuracy)._asdict(),
        "critical_difference": ranks.critical_difference(num_methods, num_data),
    }


def best_of_cars(time_limit: float) -> list[Results]:
    """Returns the best tree of every depth of the paper's table 2 on its rows, beside CART and the table's cells.

    Trees of more than five levels are CART's, refined.
    """
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    train, test = (X[:NUM_TRAINING_ROWS], y[:NUM_TRAINING_ROWS]), (X[NUM_TRAINING_ROWS:], y[NUM_TRAINING_ROWS:])
    rows = []
    for depth in DEPTHS_OF_CARS:
        cart = DecisionTreeClassifier(max_depth=depth, categorical_splits="one_vs_rest").fit(*train)
        if depth is not None and depth <= MOST_SEARCHED:
            best: Any = OptimalTreeClassifier(max_depth=depth, time_limit=time_limit).fit(*train)
            optimality = best.optimality_
        else:
            best, optimality = refine(cart, *train), "refined"
        rows.append(
            {
                "max_depth": depth,
                "paper": PAPER_UNLIMITED["gini"] if depth is None else PAPER_TABLE_2[depth],
                "optimality": optimality,
                **{
                    name: {"train": tree.score(*train), "test": tree.score(*test), "leaves": tree.get_n_leaves()}
                    for name, tree in (("cart", cart), ("best", best))
                },
            }
        )
    return rows


def _run_table(table: StudyTable, plan: OptimalPlan, on_step: Callable[[str], None]) -> tuple[Results, Results]:
    """The results on one data set, and the seconds of every method."""
    folds, seconds = [], []
    for number, (train, test) in enumerate(outer_splits(table, plan.folds, plan.seed)):
        on_step(f"{table.name}, fold {number + 1}")
        seed = seed_of(plan.seed, table.name, number)
        parts = inner_splits(table, train, plan.inner, seed)
        rows = table.take(train)
        inner = [(table.take(train[own]), table.take(train[held])) for own, held in parts]
        methods, times = _run_fold((rows, table.take(test)), inner, seed, plan.time_limit)
        folds.append({"train_rows": len(train), "test_rows": len(test), "methods": methods})
        seconds.append(times)
    described = {
        "name": table.name,
        "rows": len(table.y),
        "columns": table.X.shape[1],
        "classes": len(np.unique(table.y)),
        "division": table.division,
        "folds": folds,
    }
    for figure in ("accuracy", "train_accuracy", "leaves"):
        described[figure] = {
            budget: {name: float(np.mean([f["methods"][name][budget][figure] for f in folds])) for name in METHODS}
            for budget in BUDGETS
        }
    return described, {name: float(np.mean([own[name] for own in seconds])) for name in METHODS}


def _run_fold(
    outer: tuple[Rows, Rows], inner: Sequence[tuple[Rows, Rows]], seed: int, time_limit: float
) -> tuple[Results, dict[str, float]]:
    """The results of every method on an outer fold, and the seconds of its trees of all sizes on the training rows."""
    make = functools.partial(make_trees, seed=seed, time_limit=time_limit)
    of_parts = [make(*train)[0] for train, _ in inner]
    trees, seconds = make(*outer[0])
    methods: Results = {}
    for name in METHODS:
        held = [[tree.score(*rows) for tree in own[name]] for own, (_, rows) in zip(of_parts, inner, strict=True)]
        score = np.mean(held, axis=0)
        methods[name] = {}
        for budget, most in BUDGETS.items():
            within = score[np.array(SIZES) <= most]
            size = int(np.flatnonzero(within >= within.max() - ranks.SAME)[0])
            tree = trees[name][size]
            methods[name][budget] = {
                "accuracy": float(tree.score(*outer[1])),
                "train_accuracy": float(tree.score(*outer[0])),
                "inner_accuracy": float(within[size]),
                "leaves": tree.get_n_leaves(),
                "chosen": None if SIZES[size] == FREE else SIZES[size],
            }
    return methods, seconds


def make_trees(X: Any, y: np.ndarray, *, seed: int, time_limit: float) -> tuple[dict[str, list[Any]], dict[str, float]]:
    """Returns a tree of every size by every method, and the seconds that a method takes for all."""
    small = [size for size in SIZES if size <= MOST_REFINED]

    def by(method: str, sizes: Sequence[int]) -> list[Any]:
        trees = trees_by_size(X, y, methods=[method], sizes=sizes, random_state=seed)[method]
        return trees + trees[-1:] * (len(SIZES) - len(trees))

    makers: dict[str, Callable[[], list[Any]]] = {
        CART: lambda: by("cost complexity", SIZES),
        C45: lambda: by("C4.5", SIZES),
        DROPOUT_DRAW: lambda: by("dropout", SIZES),
        REFINED: lambda: by("refined", small),
        NEAR: lambda: _near_optimal(X, y, time_limit),
        BEST: lambda: by("optimal", [size for size in small if size <= 8]),
    }
    made, seconds = {}, {}
    for name, make in makers.items():
        start = time.process_time()
        made[name] = make()
        seconds[name] = time.process_time() - start
    return made, seconds


def _near_optimal(X: Any, y: np.ndarray, time_limit: float) -> list[Any]:
    """The largest tree of four levels of some penalties for every size, or a tree of two leaves."""
    blank = OptimalTreeClassifier(max_depth=4, time_limit=time_limit)
    found = fit_together(blank, [{"leaf_penalty": share * len(y)} for share in PENALTIES], X, y)
    (stump,) = fit_together(OptimalTreeClassifier(max_depth=1), [{}], X, y)
    return [
        max((t for t in [stump, *found] if t.get_n_leaves() <= size), key=lambda tree: tree.get_n_leaves())
        for size in SIZES
    ]
