"""The page of boosted trees: losses round by round, importances, partial dependence, and the first trees.

It has no script. A *partial dependence* is the mean score of some rows if a column had one value in all of them
(Friedman, *Greedy function approximation*, 2001, section 8.2).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.dataset.arguments import read_arguments
from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import features_of
from jaxtree.export.pictures import CLASS_COLOURS, small_html
from jaxtree.page.curves import DIGITS_OF_ENDS, Chart, Line, make_chart
from jaxtree.table.numerals import decimals_together, score_in_words
from jaxtree.table.schema import Column
from jaxtree.tree.model import FittedModel

MOST_COLUMNS = 6
"""Columns whose dependence is drawn."""

MOST_VALUES = 24
"""Values of a column that are tried."""

MOST_ROWS = 256
"""Rows of which the mean is made, spread over the table."""

MOST_TREES = 3
MOST_LINES = len(CLASS_COLOURS)


def boosted_facts(
    estimator: Any, tables: list[tuple[str, Any, Any]], tree: int, extras: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns what the template of the page is filled with.

    Args:
        estimator: Fitted boosted trees.
        tables: Names of tables, the tables and their targets; None for those that are not given.
        tree: The first tree that is shown.
        extras: What the loss asks for, by names of tables.

    Raises:
        InvalidInputError: There is no such tree.
    """
    num_trees = len(estimator.forest_)
    if not isinstance(tree, int | np.integer) or not 0 <= tree < num_trees:
        raise InvalidInputError(f"tree must be a whole number from 0 to {num_trees - 1}, got {tree!r}")
    given = [(name, *read_arguments(X, y)[:2]) for name, X, y in tables if X is not None]
    shown = range(tree, min(tree + MOST_TREES, num_trees))
    return {
        "summary": _summary(estimator),
        "scores": [(name, *_score(estimator, X, y, extras[name])) for name, X, y in given],
        "curves": learning_curves(estimator),
        "dependences": dependences(estimator, given[0][1]) if given else [],
        "trees": [(number, small_html(estimator.estimators_[number])) for number in shown],
    }


def learning_curves(estimator: Any) -> list[Chart]:
    """Returns a chart of every metric, with what was measured of every evaluation round by round.

    A mark stands at the round that early stopping has chosen, or without it at the least loss of the first evaluation.
    """
    charts = []
    for metric, of_rows in _by_metric(estimator).items():
        rounds, first = np.arange(1.0, len(next(iter(of_rows.values()))) + 1), next(iter(of_rows.values()))
        lines = [
            Line(name, CLASS_COLOURS[place % MOST_LINES], own) for place, (name, own) in enumerate(of_rows.items())
        ]
        title, mark = metric, None
        if estimator.early_stopping:
            mark = float(len(estimator.forest_))
            title = f"{metric}; the model has the trees up to round {mark:.0f} of {len(rounds)}"
        elif not charts:
            mark = 1.0 + int(np.argmin(np.where(np.isnan(first), np.inf, first)))
            title = f"{metric}; least at round {mark:.0f} of {len(rounds)}"
        charts.append(make_chart(title, rounds, lines, mark=mark))
    return charts


def _by_metric(estimator: Any) -> dict[str, dict[str, Float[np.ndarray, " round"]]]:
    """Returns what was measured after every round, by names of metric and evaluation."""
    found: dict[str, dict[str, Any]] = {}
    for evaluation, metrics in estimator.evals_result_.items():
        for metric, numbers in metrics.items():
            found.setdefault(metric, {})[evaluation] = np.asarray(numbers, np.float64)
    return found


def dependences(estimator: Any, X: Any) -> list[Chart]:
    """Returns the partial dependence of the score on each of the most important columns, for some rows of a table."""
    model, importance = estimator.model_, np.asarray(estimator.feature_importances_)
    values = np.asarray(estimator.encoder_.values(X), np.float64)
    rows = values[np.unique(np.linspace(0, len(values) - 1, MOST_ROWS).astype(int))]
    order = np.argsort(-importance, kind="stable")[:MOST_COLUMNS]
    return [_dependence(model, rows, int(column)) for column in order if importance[column] > 0]


def dependence(
    model: FittedModel, rows: Float[np.ndarray, "row feature"], feature: int, tried: Float[np.ndarray, " value"]
) -> Float[np.ndarray, "value score"]:
    """Returns the mean scores of rows if a feature had each of some values in all of them."""
    changed = np.tile(rows, (len(tried), 1))
    changed[:, feature] = np.repeat(tried, len(rows))
    return model.predict(changed).reshape(len(tried), len(rows), -1).mean(axis=1)


def _dependence(model: FittedModel, rows: Float[np.ndarray, "row feature"], place: int) -> Chart:
    column: Column = model.schema.columns[place]
    feature = features_of(model.schema, place)[0]
    tried = _values_to_try(column, rows[:, feature])
    means = dependence(model, rows, feature, tried).T[:MOST_LINES]
    classes = None if model.link is None or len(means) == 1 else model.link.classes
    names = [f"score {score}" for score in range(len(means))] if classes is None else list(map(str, classes))
    lines = [Line(name, colour, own) for name, colour, own in zip(names, CLASS_COLOURS, means, strict=False)]
    if column.bins is None:
        words = [column.in_words(float(code)) for code in tried]
        return make_chart(column.name, np.arange(float(len(tried))), lines, words=words)
    if column.time is None:
        lowest, highest = decimals_together(tried[[0, -1]].tolist(), DIGITS_OF_ENDS)
    else:
        lowest, highest = map(column.in_words, tried[[0, -1]].tolist())
    return make_chart(column.name, tried, lines, ends=(lowest, highest))


def _values_to_try(column: Column, present: Float[np.ndarray, " row"]) -> Float[np.ndarray, " value"]:
    """The first categories; or quantiles of the numbers that rows have."""
    if column.bins is None:
        return np.arange(float(min(len(column.categories), MOST_VALUES)))
    known = np.unique(present[np.isfinite(present)])
    if not len(known):
        return np.zeros(1)
    return np.unique(np.quantile(known, np.linspace(0, 1, MOST_VALUES), method="nearest"))


def _summary(estimator: Any) -> list[tuple[str, str]]:
    """Names and values for the head of the page."""
    facts = [("columns", estimator.n_features_in_), ("trees", len(estimator.forest_))]
    facts += [("nodes", len(estimator.forest_.nodes.feature)), ("depth", int(estimator.forest_.nodes.depth.max()))]
    classes = [("classes", len(estimator.classes_))] if hasattr(estimator, "classes_") else []
    return [("loss", repr(estimator.loss_)), *((name, f"{number:,}") for name, number in [*classes, *facts])]


def _score(estimator: Any, X: Any, y: Any, extras: Mapping[str, Any]) -> tuple[str, str]:
    return estimator.score_name_, score_in_words(estimator.score(X, y, **extras))
