"""Boosted trees of 100 rounds, and the same trained further by gradients, on thirteen tables.

A tenth of the training rows of every fold is held out for the further training. So there are three models of a fold:
boosted without the held rows (*part*), that trained further, which chooses its epoch on them (*tuned*), and boosted on
both (*all*): what a user gets who has no use for held rows. The loss is the log loss of classes and the root mean
squared error of numbers.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.metrics import log_loss, root_mean_squared_error

import jaxtree
from jaxtree_studies.differentiable.boosted_report import pages_of
from jaxtree_studies.differentiable.part import StudyPart
from jaxtree_studies.differentiable.records import Record, Store
from jaxtree_studies.tables.thirteen import NUMBERS, TABLES, folds, read_table

FOLDS, ROUNDS = 5, 100
MOST_ROWS = 10_000
OPTIONS: dict[str, Any] = {}
"""Settings of the further training that are not the default."""

Rows = tuple[pandas.DataFrame, np.ndarray]


def measure(tables: Sequence[str], ways: Sequence[str], repeats: int, data: Path, store: Store) -> Iterator[Record]:
    """Yields a record for each of the first so many folds of every table, the first fold of all tables first."""
    for fold in range(repeats):
        for name in tables:
            if not store.has(table=name, trial=fold):
                X, y = read_table(name, data)
                rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
                X, y = X.iloc[rows].reset_index(drop=True), y[rows]
                own, held, test = list(folds(X, y, FOLDS, name in NUMBERS))[fold]
                record = {"table": name, "trial": fold, **measure_fold(own, held, test, fold, name in NUMBERS)}
                store.add(record)
                yield record


def measure_fold(own: Rows, held: Rows, test: Rows, seed: int, is_number: bool) -> Record:
    """Returns the test losses of the three models, what held rows said, and CPU seconds."""
    kind: Any = jaxtree.GradientBoostingRegressor if is_number else jaxtree.GradientBoostingClassifier
    both = pandas.concat([own[0], held[0]], ignore_index=True), np.concatenate([own[1], held[1]])
    began = time.process_time()
    part, whole = (kind(ROUNDS, random_state=seed).fit(*rows) for rows in (own, both))
    boosted = time.process_time()
    options = jaxtree.FineTuning(**OPTIONS, random_state=seed)
    tuned = jaxtree.fine_tune(part, *own, X_val=held[0], y_val=held[1], options=options)
    ended = time.process_time()
    return {
        **{name: loss_of(model, test, is_number) for name, model in (("part", part), ("all", whole), ("tuned", tuned))},
        "held_before": tuned.fine_tuning_["start"],
        "held_after": tuned.fine_tuning_["end"],
        "seconds_boosted": (boosted - began) / 2,
        "seconds_tuned": ended - boosted,
    }


def loss_of(model: Any, rows: Rows, is_number: bool) -> float:
    """Returns the loss of what a model predicts for rows."""
    X, y = rows
    if is_number:
        return float(root_mean_squared_error(y, model.predict(X)))
    return float(log_loss(y, model.predict_proba(X), labels=model.classes_))


def line_of(record: Record) -> str:
    """Returns a record in words."""
    losses = ", ".join(f"{name} {record[name]:.4f}" for name in ("part", "tuned", "all"))
    return f"{record['table']}, fold {record['trial']}: {losses} in {record['seconds_tuned']:.1f} s"


PART = StudyPart(
    name="boosted",
    title_of_page=f"{ROUNDS} rounds of boosting, and the same trees trained further; of tables of more rows "
    f"{MOST_ROWS:,} are drawn. *part* is boosted without a tenth of the training rows, *tuned* is that, trained "
    "further, with its epoch chosen on this tenth, and *all* is boosted on both. Log loss, or root mean squared error.",
    tables=TABLES,
    quick=("concrete", "airfoil"),
    ways=("tuned",),
    repeats=FOLDS,
    measure=measure,
    line=line_of,
    pages=pages_of,
)
