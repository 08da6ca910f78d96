"""Scores of out-of-fold predictions: of settings fold by fold, and of ensembles that other folds have chosen."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.boosting.ending import Deadline
from jaxtree.estimators.common.fixed import fixed_predictions
from jaxtree.estimators.common.scorers import scorer_named, weighted_if_taken
from jaxtree.search.ensemble import AveragingScale, select_with_replacement
from jaxtree.search.evaluation import Search
from jaxtree.search.quick_scores import BY_NAME
from jaxtree.tree.link import Link


class Yardstick(NamedTuple):
    """How predictions are scored, greater if better.

    Attributes:
        name: A scorer of scikit-learn.
        classes: The classes; None for numbers.
        target: The targets of all rows; of classes their numbers.
        most: Settings that an ensemble is chosen from, and members that are taken, at most.
        scale: The scale on which an ensemble averages predictions.
        weight: The weight of every row, or None.
    """

    name: str
    classes: Any
    target: Float[np.ndarray, " row"] | Int[np.ndarray, " row"]
    most: int
    scale: AveragingScale
    weight: Float[np.ndarray, " row"] | None = None

    @property
    def in_words(self) -> str:
        """The name of what is measured, without a sign."""
        return self.name.removeprefix("neg_").replace("_", " ")

    def shown(self, score: Any) -> Any:
        """Returns scores as they are shown: of a loss the loss, and never minus 0."""
        return 0 - score if self.name.startswith("neg_") else score

    def score(self, predicted: Float[np.ndarray, "row column"], rows: Int[np.ndarray, " row"]) -> float:
        """Returns the score of predictions of some rows; the least of all where some are no numbers."""
        if not np.isfinite(predicted).all():
            return -np.inf
        target: Any = self.target[rows]
        weight = None if self.weight is None else self.weight[rows]
        if self.name in BY_NAME:
            return BY_NAME[self.name](predicted, target, weight)
        named = target if self.classes is None else self.classes[target]
        scorer = weighted_if_taken(scorer_named(self.name), weight)
        return float(fixed_predictions(predicted, self.classes).scored_by(scorer, named))


class Choice(NamedTuple):
    """An ensemble.

    Attributes:
        weights: The weight of every setting, which add up to 1.
        predicted: The predictions for every fold by ensembles that were chosen on the others.
    """

    weights: Float[np.ndarray, " setting"]
    predicted: Float[np.ndarray, "row column"]


def make_yardstick(
    name: str | None, y: Any, *, of_classes: bool, scale: AveragingScale | None = None, weight: Any = None
) -> Yardstick:
    """Returns how predictions of a target are scored.

    Args:
        name: A scorer of scikit-learn; None for the log loss of classes, and for the root mean squared error.
        y: The target.
        of_classes: Whether it has classes.
        scale: The scale on which an ensemble averages predictions; of numbers their own if not given.
        weight: The weight of every row, or None.

    >>> yardstick = make_yardstick(None, ["a", "b"], of_classes=True)
    >>> yardstick.in_words, round(yardstick.shown(yardstick.score(np.array([[0.5, 0.5], [0.0, 1.0]]), np.arange(2))), 4)
    ('log loss', 0.3466)
    """
    name = name or ("neg_log_loss" if of_classes else "neg_root_mean_squared_error")
    most = 25 if name in BY_NAME else 12
    if not of_classes:
        return Yardstick(name, None, np.asarray(y, np.float64), most, scale or AveragingScale(Link.IDENTITY), weight)
    classes, target = np.unique(np.asarray(y), return_inverse=True)
    return Yardstick(name, classes, target, most, scale or AveragingScale(Link.SOFTMAX), weight)


def out_of_fold(search: Search, fits: Sequence[Sequence[Any]]) -> Float[np.ndarray, "setting row column"]:
    """Returns the mean predictions of every row by the models of the folds that test it; NaN where none does.

    Args:
        search: The task.
        fits: The `jaxtree.search.boosted_folds.Fitted` of every setting and fold.
    """
    y, classes = np.asarray(search.y), search.classes
    predicted = [own.predicted for row in fits for own in row if own.predicted is not None]
    num_columns = len(classes) if classes is not None else max((own.shape[1] for own in predicted), default=1)
    total, number = np.zeros((len(fits), len(y), num_columns)), np.zeros((len(fits), len(y), 1))
    for row, own_total, own_number in zip(fits, total, number, strict=True):
        for own, (train, test) in zip(row, search.splits, strict=True):
            if own.predicted is None:
                continue
            # Classes that the training part of a fold does not have get no probability.
            columns = slice(None) if classes is None else np.searchsorted(classes, np.unique(y[train]))
            own_total[np.ix_(test, np.arange(num_columns)[columns])] += own.predicted
            own_number[test] += 1
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def scores_of_folds(
    yardstick: Yardstick, predicted: Float[np.ndarray, "setting row column"], tests: Sequence[Int[np.ndarray, " row"]]
) -> Float[np.ndarray, "setting fold"]:
    """Returns the score of every setting on the test rows of every fold."""
    return np.array([[yardstick.score(own[rows], rows) for rows in tests] for own in predicted])


def select(
    yardstick: Yardstick,
    predicted: Float[np.ndarray, "setting row column"],
    scores: Float[np.ndarray, " setting"],
    rows: Int[np.ndarray, " row"],
    deadline: Deadline | None = None,
) -> Float[np.ndarray, " setting"]:
    """Returns the weight of every setting in the ensemble that predicts some rows best.

    Args:
        yardstick: How predictions are scored.
        predicted: The out-of-fold predictions of the settings.
        scores: Their scores, of which the greatest are looked at.
        rows: The rows.
        deadline: When the choice ends with what it has; None for never.
    """
    best = np.argsort(-scores, kind="stable")[: yardstick.most]
    scale = yardstick.scale
    score: Callable = lambda own: yardstick.score(scale.predictions(own), rows)  # noqa: E731
    weights, scores = np.zeros(len(predicted)), scale.scores(predicted[best][:, rows])
    weights[best] = select_with_replacement(list(scores), score, yardstick.most, deadline)
    return weights


def predictions_of_other_choices(
    yardstick: Yardstick,
    predicted: Float[np.ndarray, "setting row column"],
    scores: Float[np.ndarray, "setting fold"],
    tests: Sequence[Int[np.ndarray, " row"]],
    deadline: Deadline | None = None,
) -> Float[np.ndarray, "row column"]:
    """Returns what ensembles predict that were chosen on the rows of other folds: what an ensemble is judged by.

    The choice on all rows has seen the targets that it would be judged by. Before a deadline all folds get equal parts
    of the time.
    """
    result = np.full(predicted.shape[1:], np.nan)
    for fold, rows in enumerate(tests):
        others = np.concatenate([own for number, own in enumerate(tests) if number != fold])
        due = deadline and deadline.of_next(len(tests) - fold).own()
        weights = select(yardstick, predicted, np.delete(scores, fold, axis=1).mean(axis=1), others, due)
        result[rows] = yardstick.scale.mean(weights, predicted[:, rows])
    return result


def or_first(
    chosen: Choice,
    yardstick: Yardstick,
    predicted: Float[np.ndarray, "setting row column"],
    scores: Float[np.ndarray, "setting fold"],
    tests: Sequence[Int[np.ndarray, " row"]],
) -> Choice:
    """Returns an ensemble, or the first setting alone where its mean score over the folds is better.

    Args:
        chosen: The ensemble.
        yardstick: How predictions are scored.
        predicted: The out-of-fold predictions of the settings, of which the first is that of the defaults.
        scores: Their scores.
        tests: The test rows of every fold.
    """
    judged = scores_of_folds(yardstick, chosen.predicted[None], tests)[0]
    if judged.mean() >= scores[0].mean():
        return chosen
    return Choice((np.arange(len(scores)) == 0).astype(np.float64), predicted[0])
