"""Scores of out-of-fold predictions, and the ensembles that they choose, which other folds judge."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.boosting.ending import Deadline
from jaxtree.estimators.common.fixed import fixed_predictions
from jaxtree.estimators.common.scorers import scorer_named, weighted_if_taken
from jaxtree.metrics.scorers import metric_in_words, shown_score
from jaxtree.search.ensemble import AveragingScale, select_with_replacement
from jaxtree.search.quick_scores import BY_NAME
from jaxtree.tree.link import Link

PART_OF_DEFAULTS = 0.5
"""The least weight of the defaults in an ensemble; see `choose`."""


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
        return metric_in_words(self.name)

    def shown(self, score: Any) -> Any:
        """Returns scores as they are shown: of a loss the loss, and never minus 0."""
        return shown_score(self.name, score)

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


class Finalists(NamedTuple):
    """The results of a final round.

    Attributes:
        numbers: The numbers of the settings.
        predicted: Their out-of-fold predictions as means of models of folds.
        scores: Their scores on every fold, greater if better.
    """

    numbers: list[int]
    predicted: Float[np.ndarray, "finalist row column"]
    scores: Float[np.ndarray, "finalist fold"]


def choose(
    finalists: Finalists, yardstick: Yardstick, tests: Sequence[Int[np.ndarray, " row"]], deadline: Deadline
) -> Choice:
    """Chooses an ensemble of finalists.

    Every fold chooses greedily one of its own. The ensemble is the mean of these, and of the defaults, which have
    `PART_OF_DEFAULTS` of the weight: finalists differ by little more than chance, and the best of many by less than
    they seem to.

    Args:
        finalists: The finalists; the first is that of the defaults.
        yardstick: How predictions are scored.
        tests: The test rows of every fold.
        deadline: When the choices end with what they have.
    """
    predicted, scores = finalists.predicted, finalists.scores
    choices = []
    for fold, rows in enumerate(tests):
        due = deadline.of_next(len(tests) - fold).own()
        choices.append(select(yardstick, predicted, scores[:, fold], rows, due))
    prior = np.arange(len(scores)) == 0

    def joined(some: list[Any]) -> Float[np.ndarray, " finalist"]:
        return PART_OF_DEFAULTS * prior + (1 - PART_OF_DEFAULTS) * np.mean(some, axis=0)

    judged = np.full(predicted.shape[1:], np.nan)
    for fold, rows in enumerate(tests):
        weights = joined(choices[:fold] + choices[fold + 1 :])
        judged[rows] = yardstick.scale.mean(weights, predicted[:, rows])
    return Choice(joined(choices), judged)
