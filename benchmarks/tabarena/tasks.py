"""The tasks: a real table, its kind and metric, and its outer splits, as TabArena has them.

Two classes are judged by the area under the curve, more by the log loss, and numbers by the root mean squared error.
Outer splits are three folds, repeated; a bag of eight folds is inside each.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from jaxtree_studies.tables.owners import NUMBERS, read_owned

NUM_OUTER_FOLDS = 3
METRICS = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "root_mean_squared_error"}


class Task(NamedTuple):
    """A table to learn.

    Attributes:
        name: The name of the table.
        kind: binary, multiclass or regression.
        X: The columns; words are categories.
        y: Codes of classes, or numbers.
    """

    name: str
    kind: str
    X: pandas.DataFrame
    y: pandas.Series

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return METRICS[self.kind]


def read_task(name: str, data: Path, most_rows: int) -> Task:
    """Reads a table; of one with more rows than `most_rows`, the first of those that are drawn at random."""
    X, y = read_owned(name, data)  # in an order that is drawn, the same in every run
    X, y = X.iloc[:most_rows].reset_index(drop=True), y[:most_rows]
    if name in NUMBERS:
        return Task(name, "regression", X, pandas.Series(y))
    # Classes that the smaller table has hardly any rows of are left out, so that every fold of a bag has some.
    counts = np.bincount(y)
    is_kept = counts[y] >= 2 * NUM_OUTER_FOLDS
    y = np.unique(y[is_kept], return_inverse=True)[1]
    kind = "binary" if y.max() == 1 else "multiclass"
    return Task(name, kind, X[is_kept].reset_index(drop=True), pandas.Series(y))


def splits_of(task: Task, repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the rows to learn from and those to predict, of every outer split."""
    kind = RepeatedKFold if task.kind == "regression" else RepeatedStratifiedKFold
    return list(kind(n_splits=NUM_OUTER_FOLDS, n_repeats=repeats, random_state=0).split(task.X, task.y))
