"""Six fits that take the engine's ways: splits of numbers and categories, samples, derivatives, shared rows, gradients.

The table is made of whole numbers and divisions by powers of two alone, which every machine makes alike.
"""

import functools
import json
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

import jaxtree

ROWS = 10_000
"""The rows of the table: scikit-learn makes a tree of them in some hundredths of a second."""

COLUMNS = 8

CATEGORIES = (6, 7)
"""The columns that are categories, of 12 values."""

PREDICTED = resources.files("jaxtree.doctor").joinpath("predicted.json")
"""Seconds of later fits, by the kind of a device as its maker names it, such as `Tesla T4`, and by the name of a fit.

They follow from public rates of the device, and were written down before anyone had measured them: the likely values of
`benchmarks/results/roofline-*.json`. A time of more than twice as much, or of less than half, says that they are wrong.
"""

_GAPS = 60
"""One cell of so many is missing, where cells are missing."""


class OwnTable(NamedTuple):
    """A table that is made anew on every machine.

    Attributes:
        X: Numbers without missing values; the last columns are numbers of categories.
        gaps: The same with missing values.
        classes: One of three classes a row.
        numbers: A number a row.
    """

    X: Float[np.ndarray, "row feature"]
    gaps: Float[np.ndarray, "row feature"]
    classes: Int[np.ndarray, " row"]
    numbers: Float[np.ndarray, " row"]


class Fit(NamedTuple):
    """A fit that is compared and timed.

    Attributes:
        name: What it is, in words.
        make: Makes the estimator.
        table: Which of the tables it is fitted on, `X` or `gaps`.
        target: Which of the targets, `classes` or `numbers`.
        peer: Makes scikit-learn's estimator for the same rows; None where it has none.
        has_same_bits: Whether all arrays must have the same bits everywhere; of gradient descent they are close.
    """

    name: str
    make: Callable[[], Any]
    table: str
    target: str
    peer: Callable[[], Any] | None
    has_same_bits: bool = True

    def rows_of(self, table: OwnTable) -> tuple[Any, Any]:
        """Returns the cells and the target that it is fitted on."""
        return getattr(table, self.table), getattr(table, self.target)


TREES, DEPTH = 10, 6

FITS = (
    Fit(
        "tree of classes",
        lambda: jaxtree.DecisionTreeClassifier(max_depth=DEPTH, categorical_features=CATEGORIES),
        "X",
        "classes",
        lambda: SklearnTree(max_depth=DEPTH),
    ),
    Fit(
        "tree of numbers",
        lambda: jaxtree.DecisionTreeRegressor(max_depth=DEPTH),
        "X",
        "numbers",
        lambda: SklearnRegressor(max_depth=DEPTH),
    ),
    Fit(
        "forest",
        lambda: jaxtree.RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0),
        "X",
        "classes",
        lambda: SklearnForest(TREES, max_depth=DEPTH, random_state=0, n_jobs=-1),
    ),
    Fit(
        "boosting",
        lambda: jaxtree.GradientBoostingClassifier(TREES, max_depth=DEPTH),
        "X",
        "classes",
        lambda: HistGradientBoostingClassifier(max_iter=TREES, max_depth=DEPTH),
    ),
    Fit(
        "C4.5 with gaps",
        lambda: jaxtree.C45Classifier(max_depth=DEPTH, categorical_features=CATEGORIES),
        "gaps",
        "classes",
        lambda: SklearnTree(criterion="entropy", max_depth=DEPTH),
    ),
    Fit(
        "soft tree",
        lambda: jaxtree.SoftTreeClassifier(depth=3, max_epochs=3, random_state=0),
        "X",
        "classes",
        None,
        has_same_bits=False,
    ),
)
"""All fits, in the order of the report."""


def make_table(num_rows: int = ROWS) -> OwnTable:
    """Returns the table of a number of rows.

    >>> table = make_table(5)
    >>> table.X.shape, table.classes.tolist()
    ((5, 8), [2, 1, 0, 1, 2])
    """
    draw = np.random.RandomState(5)
    X = draw.randint(0, 240, (num_rows, COLUMNS)) / 2.0 ** np.arange(COLUMNS)
    X[:, CATEGORIES] = draw.randint(0, 12, (num_rows, len(CATEGORIES)))
    gaps = np.where(draw.randint(0, _GAPS, X.shape) == 0, np.nan, X)
    score = X[:, 0] + 4 * X[:, 2] + 60 * (X[:, 6] % 3 == 1) - 40 * (X[:, 7] > 8) + draw.randint(0, 64, num_rows)
    return OwnTable(X, gaps, np.digitize(score, [240, 320]), score / 8)


def predicted_seconds(kind: str, fit: str) -> float | None:
    """Returns what was predicted of a fit on a kind of device; None if nothing was.

    >>> predicted_seconds("a device of the future", "forest") is None
    True
    """
    return _predictions().get(kind, {}).get(fit)


def has_prediction(kind: str) -> bool:
    """Returns whether anything was predicted of a kind of device."""
    return kind in _predictions()


@functools.cache
def _predictions() -> dict[str, dict[str, float]]:
    return json.loads(PREDICTED.read_text(encoding="utf-8"))
