"""Trees of 16 leaves that learn from boosted trees, beside those grown on labels and the best ones: unseen rows.

    pip install '.[bench,frames]'
    python -m benchmarks.distilled --data FOLDER [--tables credit-g ...] [--rows 4000] [--repeats 2] [--out FOLDER]

The teacher is boosting with defaults that stops early; every fold is held out, and its trees learn labels of clones of
the teacher that have not seen the row (5 parts). Three trees are grown on labels: by the most gain first, the same with
categories against the rest, and a whole tree that cost-complexity pruning cuts. The best of them on the held out rows
is "grown". "refined" has its splits chosen again with 20 further starts, "optimal" is the best tree of four levels that
is found in some seconds; "half" are labels that are half the teacher's, "synthetic" 6,000 further rows. Gains are how
many points the accuracy is higher, or how many percent the root mean squared error is less; and how many percent the
log loss is less, of probabilities of 0.001 at least. Scores on the rows that trees learned from say how much is lost
between both.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import jaxtree
from jaxtree.distillation.distil import refined_student, rows_of_teachers
from jaxtree.distillation.labels import Teachers, mixed, said_by, splits_of, teachers_of
from jaxtree.estimators.common.jobs import TablePart
from jaxtree.estimators.trees.derived import prune_to
from jaxtree.prune.weakest_links import cost_complexity, cost_complexity_path
from jaxtree.sklearn_compat import safe_split
from jaxtree.tree.paths import survivors
from jaxtree_studies.tables.thirteen import NUMBERS, RAREST, TABLES, read_table

LEAVES, LEVELS = 16, 4
LEAST_CHANCE = 1e-3
FOLDS = 3
PARTS = 5
SYNTHETIC, RESTARTS = 6000, 20
GROWN = ("most gain first", "against the rest", "pruned")
WAYS = {
    "teacher's": (1.0, 0, None),
    "half": (0.5, 0, None),
    "half, synthetic": (0.5, SYNTHETIC, None),
    "half, refined": (0.5, 0, RESTARTS),
    "half, synthetic, refined": (0.5, SYNTHETIC, RESTARTS),
}
"""The share of the teacher in the labels of the table, the number of further rows, and of further starts."""
CHOSEN_ON = ("credit-g", "abalone", "spambase", "covtype-20k", "ccpp", "airfoil")
"""The tables on which the shares and numbers were chosen."""
GOOD = {"points": 1.0, "percent": 2.0}


def scores_of(said: np.ndarray, y: np.ndarray, classes: Any) -> dict[str, float]:
    """The accuracy in percent and the log loss of probabilities, or minus the root mean squared error of numbers."""
    if classes is None:
        return {"score": -float(np.sqrt(np.mean((said - y) ** 2)))}
    chance = np.clip(said[np.arange(len(y)), np.searchsorted(classes, y)], LEAST_CHANCE, 1)
    return {"score": 100 * float(np.mean(classes[said.argmax(axis=1)] == y)), "log loss": -float(np.log(chance).mean())}


def cut_at_weakest_links(tree: Any, X: Any, y: Any) -> Any:
    """The largest tree of so few leaves that cost-complexity pruning leaves of a whole tree."""
    whole = clone(tree).set_params(max_leaf_nodes=None).fit(X, y)
    masks = np.asarray(cost_complexity(whole.tree_, np.unique(cost_complexity_path(whole.tree_).ccp_alphas)))
    number = (survivors(whole.tree_, masks) & (masks | np.asarray(whole.tree_.is_leaf))).sum(axis=1)
    return prune_to(whole, masks[np.where(number <= LEAVES, number, 0).argmax()])


def fold_models(teachers: Teachers, X: Any, y: Any, kind: str, seconds: float) -> Iterator[tuple[str, Any]]:
    """The trees of every way."""
    tree = getattr(jaxtree, f"DecisionTree{kind}")(max_leaf_nodes=LEAVES, min_samples_leaf=5)
    grown = clone(tree).fit(X, y)
    yield GROWN[0], grown
    yield GROWN[1], clone(tree).set_params(categorical_splits="one_vs_rest").fit(X, y)
    yield GROWN[2], cut_at_weakest_links(tree, X, y)
    yield "refined", refined_student(grown, TablePart(X, y, {}), RESTARTS, 3)
    best = getattr(jaxtree, f"OptimalTree{kind}")(max_depth=LEVELS, time_limit=seconds)
    yield "optimal", clone(best).fit(X, y)
    yield "half, optimal", clone(best).fit(X, teachers.target(mixed(teachers, y, 0.5)))
    for way, (alpha, further, restarts) in WAYS.items():
        part = rows_of_teachers(teachers, X, mixed(teachers, y, alpha), further, np.random.RandomState(2))
        yield way, refined_student(clone(tree).fit(part.X, part.y, **part.params), part, restarts, 3)


def fold_scores(name: str, arguments: argparse.Namespace) -> Iterator[dict[str, dict[str, float]]]:
    """The scores of every way, fold by fold."""
    X, y = read_table(name, arguments.data)
    if len(X) > arguments.rows:
        rows = np.random.default_rng(0).permutation(len(X))[: arguments.rows]
        if name not in NUMBERS:
            rows = rows[np.bincount(y[rows])[y[rows]] >= RAREST]
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    kind = "Regressor" if name in NUMBERS else "Classifier"
    teacher = getattr(jaxtree, f"GradientBoosting{kind}")(n_estimators=500, early_stopping=True, random_state=0)
    for seed in range(arguments.repeats):
        for train, test in splits_of(teacher, X, y, FOLDS, seed, None):
            own_X, own_y = safe_split(teacher, X, y, train)
            test_X, test_y = safe_split(teacher, X, y, test)
            teachers = teachers_of(teacher, own_X, own_y, cv=PARTS, random_state=seed + 1)
            found = {"teacher": scores_of(teachers.say(test_X), test_y, teachers.classes)}
            for way, model in fold_models(teachers, own_X, own_y, kind, arguments.seconds):
                on_own, on_test = (said_by(model, rows, teachers.classes) for rows in (own_X, test_X))
                found[way] = scores_of(on_test, test_y, teachers.classes)
                found[way]["score of own rows"] = scores_of(on_own, own_y, teachers.classes)["score"]
            yield found


def measure(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Mean scores of a table, and by how much trees are better than the best grown one, and than the optimal one."""
    began = time.process_time()
    folds = list(fold_scores(name, arguments))
    mean = {
        way: {measured: float(np.mean([own[way][measured] for own in folds])) for measured in folds[0][way]}
        for way in folds[0]
    }
    grown = max(GROWN, key=lambda way: mean[way]["score"])
    gains = {}
    for base in (grown, "optimal"):
        gain = gains["grown" if base == grown else base] = {}
        for way in ("refined", "optimal", "half, optimal", *WAYS):
            if way == base:
                continue
            own, other = mean[way]["score"], mean[base]["score"]
            of_folds = [
                100 * (1 - fold[way]["score"] / fold[base]["score"])
                if name in NUMBERS
                else fold[way]["score"] - fold[base]["score"]
                for fold in folds
            ]
            gain[way] = {
                "gain": 100 * (1 - own / other) if name in NUMBERS else own - other,
                "standard deviation over folds": float(np.std(of_folds)),
            }
            if name not in NUMBERS:
                least = min(mean[way]["log loss"] for way in GROWN) if base == grown else mean[base]["log loss"]
                gain[way]["gain of log loss in percent"] = 100 * (1 - mean[way]["log loss"] / least)
    unit = "percent" if name in NUMBERS else "points"
    seconds = time.process_time() - began
    return {"unit": unit, "grown": grown, "scores": mean, "beside": gains, "CPU seconds": seconds}


def print_summary(tables: dict[str, Any]) -> None:
    """Prints on how many tables each way is better, of all and of those that nothing was chosen on."""
    for beside in ("grown", "optimal"):
        for way in next(iter(tables.values()))["beside"][beside]:
            for names in filter(None, (list(tables), [name for name in tables if name not in CHOSEN_ON])):
                gains = {name: tables[name]["beside"][beside][way] for name in names}
                good = sum(own["gain"] >= GOOD[tables[name]["unit"]] for name, own in gains.items())
                bad = sum(own["gain"] <= -GOOD[tables[name]["unit"]] for name, own in gains.items())
                of_logs = [own["gain of log loss in percent"] for own in gains.values() if len(own) == 3]
                print(
                    f"{way} beside {beside}: of {len(gains)} tables better by a point or 2 percent on {good}, worse on "
                    f"{bad}; log loss less by 2 percent on {sum(own >= 2 for own in of_logs)} of {len(of_logs)}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=4000, help="the most rows of a table")
    parser.add_argument("--repeats", type=int, default=2, help="how often all rows are divided into folds")
    parser.add_argument("--seconds", type=float, default=5.0, help="the time of a search for an optimal tree")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"date": str(date.today()), "jaxtree": version("jaxtree"), "rows": arguments.rows}
    report |= {"repeats": arguments.repeats, "seconds": arguments.seconds, "chosen on": CHOSEN_ON}
    tables: dict[str, Any] = report.setdefault("tables", {})
    for name in arguments.tables:
        own = tables[name] = measure(name, arguments)
        gains = ", ".join(f"{way} {found['gain']:+.2f}" for way, found in own["beside"]["grown"].items())
        print(f"{name} ({own['unit']}, {own['CPU seconds']:.0f} s): {gains}", flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"distilled-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")
    print_summary(tables)


if __name__ == "__main__":
    main()
