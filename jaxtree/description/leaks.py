"""Columns that alone tell the target of rows: they may have been written down after it, or be made of it."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64

from jaxtree.description.columns import Weight, is_known, numbers_of, taken
from jaxtree.estimators.trees.cart import DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.table.binning import fit_bins
from jaxtree.table.columns import TableColumn
from jaxtree.table.numerals import score_in_words
from jaxtree.table.reading import Table

NEARLY_ALL = 0.99
"""The score from which on a column is said to tell the target."""

WORTH_A_TREE = 0.6
"""The score by bins from which on a tree looks at a column more closely."""

MOST_BINS = 256
ROWS_OF_BIN = 8
"""Rows of a bin in the mean, so that most bins have rows in both halves."""

LEAST_ROWS = 40
"""Fewer rows are not judged."""

LEAST_OTHERS = 10
"""Fewer held-out rows beside the most frequent class are not judged: chance could tell them apart."""

MOST_LEAVES = 64


class JudgedTarget(NamedTuple):
    """The target of judged rows.

    Attributes:
        values: Numbers, or the places of classes.
        num_classes: The number of classes; 0 of numbers.
    """

    values: Float64[np.ndarray, " row"]
    num_classes: int

    def in_words(self, score: float) -> str:
        """Says what a score of `score_alone` means."""
        if not self.num_classes:
            return f"a tree of it has R² {score_in_words(score)} on held-out rows"
        return f"a tree of it saves {score:.1%} of the errors of the most frequent class on held-out rows"


def score_alone(
    column: TableColumn, target: JudgedTarget, weight: Weight, is_held: Bool[np.ndarray, " row"]
) -> float | None:
    r"""Returns how well a column alone predicts the target of held-out rows: 1 is always, 0 no better than a constant.

    It is $1 - e / e_0$ for the error $e$ of a tree of at most 64 leaves, and the error $e_0$ of the best constant: the
    share of wrong classes, or the mean squared error, so that the score is $R^2$. A column whose bins are far from that
    has no tree: the result is None.

    Args:
        column: The column of judged rows.
        target: Their target.
        weight: Their weights.
        is_held: Which of them are held out.
    """
    weights = np.ones(len(target.values)) if weight is None else weight
    values, held = target.values, is_held
    if len(values) < LEAST_ROWS or not 0 < held.sum() < len(held):
        return None
    constant = _constant_error(values[held], weights[held], target.num_classes)
    if target.num_classes:
        top = np.bincount(values[held].astype(int)).argmax()
        if (values[held] != top).sum() < LEAST_OTHERS:
            return None
    if constant <= 0 or 1 - _error_of_bins(column, target, weights, held) / constant < WORTH_A_TREE:
        return None
    kind = DecisionTreeClassifier if target.num_classes else DecisionTreeRegressor
    tree: Any = kind(max_leaf_nodes=MOST_LEAVES)
    table, y = Table.of([column], is_named=True), values.astype(int) if target.num_classes else values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words of the held-out half are no news
        tree.fit(_rows(table, ~held), y[~held], sample_weight=weights[~held])
        said = tree.predict(_rows(table, held))
    return 1 - _error(said, values[held], weights[held], target.num_classes) / constant


def _rows(table: Table, kept: Bool[np.ndarray, " row"]) -> Any:
    return Table.of([taken(table.column(0), np.flatnonzero(kept))], is_named=True)


def _error(said: Any, values: Any, weights: Any, num_classes: int) -> float:
    return float(np.average(said != values if num_classes else np.square(said - values), weights=weights))


def _constant_error(values: Any, weights: Any, num_classes: int) -> float:
    """The error of the best constant of the held-out rows themselves: no column is better by their mean alone."""
    if num_classes:
        return 1 - float(np.bincount(values.astype(int), weights=weights).max() / weights.sum())
    return _error(np.average(values, weights=weights), values, weights, 0)


def _error_of_bins(column: TableColumn, target: JudgedTarget, weights: Any, held: Any) -> float:
    """The error of the most frequent class, or the mean, of the bin of each held-out row."""
    code, number = _bins(column)
    values, learned = target.values, ~held
    if not target.num_classes:
        total = np.bincount(code[learned], weights=weights[learned], minlength=number)
        sums = np.bincount(code[learned], weights=(weights * values)[learned], minlength=number)
        mean = np.average(values[learned], weights=weights[learned])
        means = np.where(total > 0, sums / np.where(total > 0, total, 1), mean)
        return _error(means[code[held]], values[held], weights[held], 0)
    k = target.num_classes
    cell = code * k + values.astype(int)
    counts = np.bincount(cell[learned], weights=weights[learned], minlength=number * k).reshape(number, k)
    counts += counts.sum(axis=0) / (counts.sum() * len(values))  # a bin without rows has the most frequent class
    return _error(counts.argmax(axis=1)[code[held]], values[held], weights[held], k)


def _bins(column: TableColumn) -> tuple[Int64[np.ndarray, " row"], int]:
    """The bin or category of every row, and their number; missing values have the last."""
    numbers, known = numbers_of(column), is_known(column)
    if column.has_categories:
        return np.asarray(column.values).astype(np.int64), len(column.categories) + 1
    edges = fit_bins(numbers, int(np.clip(len(numbers) // ROWS_OF_BIN, 2, MOST_BINS))).edges
    return np.where(known, np.searchsorted(edges, numbers), len(edges) + 1), len(edges) + 2
