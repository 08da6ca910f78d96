"""Measures by the number of trees: losses of boosted trees round by round, errors of a forest by its trees."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.export.pictures import colour_of_class
from jaxtree.losses.predicted import PARAMETERS
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import Card, axis, line, plot
from jaxtree.table.numerals import score_in_words

MOST_ROWS = 4000
"""Rows of every table on which a forest's curve is measured, the first ones."""


def learning_cards(estimator: Any, kind: str) -> list[Card]:
    """Returns a card of every metric, with what was measured of every evaluation round by round.

    Of a model that has measured nothing there are none. A mark stands at the round that early stopping has chosen, of
    folds at the mean of theirs, or without it at the least loss of the first evaluation.
    """
    cards: list[Card] = []
    for metric, of_rows in _by_metric(estimator).items():
        first = next(iter(of_rows.values()))
        series = [
            line(name, colour_of_class(at), np.arange(1.0, len(own) + 1), own)
            for at, (name, own) in enumerate(of_rows.items())
        ]
        mark, words = None, ""
        if estimator.folds_ is not None:
            mark, kept = estimator.best_iteration_, estimator.folds_.num_trees // estimator.trees_per_round_
            words = f"Each fold's model has the trees up to its best round, {kept.min()} to {kept.max()}"
            words += ": the line stands at the mean."
        elif estimator.early_stopping:
            mark = estimator.n_estimators_
            words = f"The model has the trees up to round {mark} of {len(first)}, where the line stands."
        elif not cards:
            mark = 1 + int(np.argmin(np.where(np.isnan(first), np.inf, first)))
            words = f"Least at round {mark} of {len(first)}, where the line stands."
        name = metric_in_words(metric, kind)
        x = axis("round", isWhole=True)
        chart = plot(f"{name} by round. {words}", x, axis(name), series, mark=mark) | {"caption": words}
        if len(series) == 1:
            chart["caption"] = f"{words} Measured on {next(iter(of_rows))}.".strip()
        number = f"-{len(cards)}" if cards else ""
        cards.append(
            Card(f"curve{number}", "Learning curve" if not cards else name, f"{name} after each round.", {"": chart})
        )
    return cards


def metric_in_words(metric: str, kind: str) -> str:
    """Returns the name of a loss in words.

    >>> metric_in_words("log_loss", "classes"), metric_in_words("normal", "distributions")
    ('log loss', 'minus log likelihood (normal)')
    """
    name = metric.split("(")[0]
    if kind == "distributions" and name in PARAMETERS:
        return f"minus log likelihood ({name.replace('_', ' ')})"
    return name.replace("_", " ") + metric[len(name) :].removesuffix("()")


def _by_metric(estimator: Any) -> dict[str, dict[str, Float[np.ndarray, " round"]]]:
    """Returns what was measured after every round, by names of metric and evaluation."""
    found: dict[str, dict[str, Any]] = {}
    for evaluation, metrics in estimator.evals_result_.items():
        for metric, numbers in metrics.items():
            found.setdefault(metric, {})[evaluation] = np.asarray(numbers, np.float64)
    return found


def forest_cards(answers: Answers, tables: list[PageTable]) -> list[Card]:
    """Returns the card of a forest's error by the number of its first trees, also of rows out of bag."""
    known = [table for table in tables if table.target is not None]
    if not known or answers.estimator.model_.is_vote:
        return []
    curves = {f"{table.name} rows": errors_by_trees(answers, table) for table in known}
    out_of_bag = _out_of_bag(answers, known[0])
    if out_of_bag is not None:
        curves = {"out of bag": out_of_bag} | curves
    number = len(answers.estimator.forest_)
    colours = {"training rows": "#56B4E9", "validation rows": "#D55E00", "out of bag": "#009E73"}
    trees = np.arange(1.0, number + 1)
    series = [line(name, colours[name], trees, own) for name, own in curves.items()]
    name = "share of wrong rows" if answers.classes else "root mean squared error"
    last = [f"{score_in_words(float(own[-1]))} {where}" for where, own in curves.items()]
    words = f"With all {number} trees: {', '.join(last)}."
    if any(len(table.values) > MOST_ROWS for table in known):
        words += f" Of the first {MOST_ROWS:,} rows of each table."
    chart = plot(f"{name} by number of trees. {words}", axis("trees", isWhole=True), axis(name), series) | {
        "caption": words
    }
    hint = "Error of the first trees together. Out of bag: each row by the trees that have not drawn it."
    return [Card("curve", "Error by number of trees", hint, {"": chart})]


def errors_by_trees(
    answers: Answers, table: PageTable, unseen: Bool[np.ndarray, "row tree"] | None = None
) -> Float[np.ndarray, " tree"]:
    """Returns the error of the first 1, 2, ... trees; of rows out of bag of those that have not drawn the row."""
    some = slice(0, MOST_ROWS)
    model, values, target, weight = (
        answers.estimator.model_,
        table.values[some],
        table.truth[some, 0],
        table.weight[some],
    )
    ends = model.predictor.ends_in_trees(values)
    total, number = np.zeros((len(values), model.node_value.shape[1])), np.zeros(len(values))
    errors = np.full(ends.shape[1], np.nan)
    for tree in range(ends.shape[1]):
        own = np.ones(len(values), bool) if unseen is None else unseen[some, tree]
        total[own] += model.predictor.mean_at(values[own], ends[own, tree], model.node_value)
        number += own
        known = number > 0
        if known.any():
            mean = total[known] / number[known, None]
            errors[tree] = _error(answers, mean, target[known], weight[known])
    return errors


def _error(answers: Answers, mean: Float[np.ndarray, "row output"], target: Any, weight: Any) -> float:
    if answers.classes:
        return float(np.average(mean.argmax(axis=1) != target, weights=weight))
    return float(np.sqrt(np.average((mean[:, 0] - target) ** 2, weights=weight)))


def _out_of_bag(answers: Answers, table: PageTable) -> Float[np.ndarray, " tree"] | None:
    """The same of rows out of bag; None where the forest draws no rows, was loaded, or the table is another one."""
    estimator = answers.estimator
    if not getattr(estimator, "bootstrap", False) or table.name != "training":
        return None
    try:
        drawn = estimator.estimators_samples_
    except AttributeError:
        return None
    unseen = unseen_rows(drawn, int(table.number[-1]) + 1)
    return None if unseen is None else errors_by_trees(answers, table, unseen[table.number])


def unseen_rows(drawn: list[Int[np.ndarray, " draw"]], num_rows: int) -> Bool[np.ndarray, "row tree"] | None:
    """Returns whether each tree has not drawn each row; None where there are fewer rows than were drawn."""
    if max((int(own.max(initial=-1)) for own in drawn), default=-1) >= num_rows:
        return None
    unseen = np.ones((num_rows, len(drawn)), bool)
    for tree, own in enumerate(drawn):
        unseen[own, tree] = False
    return unseen
