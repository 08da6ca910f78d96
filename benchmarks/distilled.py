"""Trees of few leaves that learn from boosted trees, beside the same trees on labels: losses of rows nobody has seen.

    pip install '.[bench,frames]'
    python -m benchmarks.distilled --data FOLDER [--tables credit-g ...] [--rows 10000] [--out FOLDER]

The teacher is boosting with defaults that stops early; every fold is held out, and its student's labels are those of
clones that have not seen the row (5 parts). Students are decision trees of at least 5 rows a leaf, of some numbers of
leaves. "synthetic" has 20,000 further rows, or four times those of the table if that is more; "half" has these, and
labels of the table that are half the teacher's. Figures are by how many points the accuracy is higher, or by how many
percent the root mean squared error is less, than that of the same tree on labels; how many tables are better by a
point, or by 2 percent; and the log losses, of probabilities of 0.001 at least.
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
from benchmarks.boosting import NUMBERS, TABLES, read_table
from jaxtree.dataset.splitting import generator_of
from jaxtree.distillation.distil import fit_to_labels
from jaxtree.distillation.labels import mixed, said_by, splits_of, teachers_of
from jaxtree.sklearn_compat import safe_split

LEAVES = (8, 16, 64)
LEAST_CHANCE = 1e-3
FOLDS = 5
SYNTHETIC = 20_000
WAYS = {"distilled": (1.0, 0), "synthetic": (1.0, 1), "half": (0.5, 1)}
"""The share of the teacher in the labels of the table, and whether there are further rows."""
GOOD = {"points": 1.0, "percent": 2.0}


def scores_of(said: np.ndarray, y: np.ndarray, classes: Any) -> dict[str, float]:
    """The accuracy in percent and the log loss of probabilities, or minus the root mean squared error of numbers."""
    if classes is None:
        return {"score": -float(np.sqrt(np.mean((said - y) ** 2)))}
    chance = np.clip(said[np.arange(len(y)), np.searchsorted(classes, y)], LEAST_CHANCE, 1)
    return {"score": 100 * float(np.mean(classes[said.argmax(axis=1)] == y)), "log loss": -float(np.log(chance).mean())}


def fold_scores(name: str, data: Path, most: int) -> Iterator[dict[str, dict[str, float]]]:
    """The scores of every way, fold by fold."""
    is_number = name in NUMBERS
    X, y = read_table(name, data)
    if len(X) > most:
        rows = np.random.default_rng(0).permutation(len(X))[:most]
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    kind = "Regressor" if is_number else "Classifier"
    teacher = getattr(jaxtree, f"GradientBoosting{kind}")(n_estimators=500, early_stopping=True, random_state=0)
    for train, test in splits_of(teacher, X, y, FOLDS, 0):
        own_X, own_y = safe_split(teacher, X, y, train)
        test_X, test_y = safe_split(teacher, X, y, test)
        teachers = teachers_of(teacher, own_X, own_y, folds=FOLDS, random_state=1)
        found = {"teacher": scores_of(teachers.say(test_X), test_y, teachers.classes)}
        number = max(SYNTHETIC, 4 * len(own_X))
        for leaves in LEAVES:
            student = getattr(jaxtree, f"DecisionTree{kind}")(max_leaf_nodes=leaves, min_samples_leaf=5)
            fitted = {"labels": clone(student).fit(own_X, own_y)}
            for way, (alpha, rows) in WAYS.items():
                own: Any = clone(student)
                labels = mixed(teachers, own_y, alpha)
                fitted[way] = fit_to_labels(teachers, own, own_X, labels, rows * number, generator_of(2))
            for way, model in fitted.items():
                said = said_by(model, test_X, teachers.classes)
                found[f"{leaves} leaves: {way}"] = scores_of(said, test_y, teachers.classes)
        yield found


def measure(name: str, data: Path, most: int) -> dict[str, Any]:
    """Mean scores of a table, and by how much the ways of distilling are better than labels."""
    began = time.perf_counter()
    folds = list(fold_scores(name, data, most))
    mean = {
        way: {measured: float(np.mean([own[way][measured] for own in folds])) for measured in folds[0][way]}
        for way in folds[0]
    }
    gain = {}
    for way in mean:
        leaves, _, how = way.partition(": ")
        if how in WAYS:
            own, labels = mean[way]["score"], mean[f"{leaves}: labels"]["score"]
            gain[way] = 100 * (1 - own / labels) if name in NUMBERS else own - labels
    unit = "percent" if name in NUMBERS else "points"
    return {"unit": unit, "scores": mean, "gain": gain, "seconds": time.perf_counter() - began}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=10_000, help="the most rows of a table")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"date": str(date.today()), "jaxtree": version("jaxtree"), "rows": arguments.rows}
    tables: dict[str, Any] = report.setdefault("tables", {})
    for name in arguments.tables:
        tables[name] = measure(name, arguments.data, arguments.rows)
        gains = ", ".join(f"{way} {own:+.2f}" for way, own in tables[name]["gain"].items())
        print(f"{name} ({tables[name]['unit']}, {tables[name]['seconds']:.0f} s): {gains}", flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"distilled-{report['date']}.json").write_text(json.dumps(report, indent=1))
    for way in next(iter(tables.values()))["gain"]:
        losses = [
            (own["scores"][way]["log loss"], own["scores"][f"{way.partition(': ')[0]}: labels"]["log loss"])
            for own in tables.values()
            if "log loss" in own["scores"][way]
        ]
        good = sum(own["gain"][way] >= GOOD[own["unit"]] for own in tables.values())
        better = sum(own["gain"][way] > 0 for own in tables.values())
        print(f"{way}: better on {better} of {len(tables)} tables, by a point or 2 percent on {good}")
        shown = ", ".join(f"{own:.3f} ({labels:.3f})" for own, labels in losses)
        print(f"    log loss, and in brackets on labels: {shown}")


if __name__ == "__main__":
    main()
