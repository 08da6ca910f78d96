"""Scores of constants: of a model that predicts the same for every row, which any other one has to beat.

A constant of classes has their shares for probabilities, and predicts the commonest; one of numbers is the mean, or of
absolute errors the median. It is learned from the rows that a model was fitted on, where these are known, or else from
the rows that are scored, which makes it as good as constants can be there.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor

from jaxtree.losses.loss import BaseLoss
from jaxtree.metrics.ranking import mean_average_precision, mean_reciprocal_rank, ndcg
from jaxtree.metrics.scorers import takes_weights
from jaxtree.metrics.survival import weights_of_rows
from jaxtree.table.numerals import score_in_words

OF_CLASSES = {
    "accuracy": metrics.accuracy_score,
    "balanced accuracy": metrics.balanced_accuracy_score,
    "log loss": metrics.log_loss,
}
"""Measures of classes by the names that pages and commands give them."""

OF_NUMBERS = {
    "R²": metrics.r2_score,
    "root mean squared error": metrics.root_mean_squared_error,
    "mean absolute error": metrics.mean_absolute_error,
}
"""The same of predicted numbers."""

OF_ORDER = {
    "NDCG": ndcg,
    "mean average precision": mean_average_precision,
    "mean reciprocal rank": mean_reciprocal_rank,
}
"""The same of ranks within groups."""

BY_DEFINITION = {"concordance": 0.5, "ROC AUC": 0.5, "R-score": 0.0}
"""Scores of any constant: of pairs one half are in order, and the R-score compares with the same effect for all."""

OF_MEDIANS = ("neg_mean_absolute_error", "neg_median_absolute_error")
"""Scorers of scikit-learn whose best constant is the median."""

LEAST_R2 = 1e-12
"""A smaller coefficient of determination is 0, but for rounding."""

_FIRST_PLACES = re.compile(r"NDCG of the first (\d+)")


class KnownRows(NamedTuple):
    """The rows that a constant is learned from.

    Attributes:
        target: The target.
        weight: The weight of every row; None for 1 each.
    """

    target: Any
    weight: Any = None


def blank_constant(*, of_classes: bool, center: Literal["mean", "median"] = "mean") -> Any:
    """Returns a constant as an estimator of scikit-learn, not fitted: the shares of classes, or a middle of numbers."""
    return DummyClassifier(strategy="prior") if of_classes else DummyRegressor(strategy=center)


def constant_model(known: KnownRows, *, of_classes: bool, center: Literal["mean", "median"] = "mean") -> Any:
    """Returns a constant as a fitted estimator of scikit-learn.

    Args:
        known: The rows that it is learned from. A class of weight 0 is known, and has the probability 0.
        of_classes: Whether the target has classes.
        center: The constant of numbers.

    Example:
        >>> constant_model(KnownRows(["no", "no", "yes"]), of_classes=True).predict(np.zeros((1, 1))).tolist()
        ['no']
    """
    model = blank_constant(of_classes=of_classes, center=center)
    return model.fit(np.zeros((len(known.target), 1)), known.target, known.weight)


def constant_score(
    measure: str,
    y: Any,
    sample_weight: Any = None,
    *,
    known: KnownRows | None = None,
    loss: BaseLoss | None = None,
    fields: Mapping[str, Any] | None = None,
    of_classes: bool = False,
) -> float | None:
    """Returns the score of a constant on rows; None where no constant is known.

    Args:
        measure: The name of the score as pages and commands show it: an estimator's `score_name_`, or one of
            "accuracy", "balanced accuracy", "log loss", "ROC AUC", "R²", "root mean squared error", "mean absolute
            error", "concordance", "NDCG", "NDCG of the first 10", "mean average precision", "mean reciprocal rank"; or
            the name of a scorer of scikit-learn, such as "neg_log_loss", whose sign the score then has.
        y: The target of the rows.
        sample_weight: The weight of every row; 1 if not given.
        known: The rows that the constant is learned from; those that are scored if not given.
        loss: The loss, where the score is its mean: "mean log likelihood", "minus mean ...".
        fields: Further data of the rows, such as `group` for measures of order.
        of_classes: Whether the target has classes, for a scorer of scikit-learn.

    Example:
        >>> constant_score("accuracy", ["no", "no", "yes", "no"])
        0.75
        >>> constant_score("mean absolute error", [1.0, 2.0, 7.0], known=KnownRows([2.0, 2.0, 9.0]))
        2.0
    """
    fields, scored = fields or {}, KnownRows(np.asarray(y), sample_weight)
    learned = scored if known is None else KnownRows(np.asarray(known.target), known.weight)
    if measure in BY_DEFINITION:
        return BY_DEFINITION[measure]
    if measure in OF_CLASSES:
        return _of_classes(measure, learned, scored)
    if measure in OF_NUMBERS:
        return _of_numbers(measure, learned, scored)
    if measure in metrics.get_scorer_names():
        return _of_scorer(measure, learned, scored, of_classes=of_classes)
    return _of_order(measure, scored, fields) if loss is None else _of_loss(loss, learned, scored, fields)


def _of_classes(measure: str, learned: KnownRows, scored: KnownRows) -> float | None:
    """The score of shares, which are 0 of classes that only the scored rows have."""
    if scored.target.ndim > 1:
        return None
    model, rows = _shares(learned, scored), np.zeros((len(scored.target), 1))
    if measure != "log loss":
        return float(OF_CLASSES[measure](scored.target, model.predict(rows), sample_weight=scored.weight))
    if len(model.classes_) == 1:  # scikit-learn's log loss asks for two
        return 0.0
    shares = model.predict_proba(rows)
    return float(metrics.log_loss(scored.target, shares, labels=model.classes_, sample_weight=scored.weight))


def _shares(learned: KnownRows, scored: KnownRows) -> Any:
    """The shares of the classes of known rows, 0 of those that only the scored rows have."""
    there = weights_of_rows(learned.weight, len(learned.target))
    weight = np.append(there, np.zeros(len(scored.target)))
    return constant_model(KnownRows(np.append(learned.target, scored.target), weight), of_classes=True)


def _of_scorer(name: str, learned: KnownRows, scored: KnownRows, *, of_classes: bool) -> float | None:
    """The score by a scorer of scikit-learn; None where it cannot score these rows."""
    center = "median" if name in OF_MEDIANS else "mean"
    model = _shares(learned, scored) if of_classes else constant_model(learned, of_classes=False, center=center)
    weights = {"sample_weight": scored.weight} if scored.weight is not None and takes_weights(name) else {}
    try:
        return float(metrics.get_scorer(name)(model, np.zeros((len(scored.target), 1)), scored.target, **weights))
    except (ValueError, TypeError, AttributeError):
        return None


def _of_numbers(measure: str, learned: KnownRows, scored: KnownRows) -> float | None:
    """The score of a mean or median; None of R² on fewer than two rows."""
    if measure == "R²" and len(scored.target) < 2:
        return None
    model = constant_model(learned, of_classes=False, center="median" if measure == "mean absolute error" else "mean")
    predicted = model.predict(np.zeros((len(scored.target), 1)))
    score = float(OF_NUMBERS[measure](scored.target, predicted, sample_weight=scored.weight))
    return 0.0 if measure == "R²" and abs(score) < LEAST_R2 else score


def _of_order(measure: str, scored: KnownRows, fields: Mapping[str, Any]) -> float | None:
    """The score of rows without an order, a mean over all orders; None where there are no groups."""
    first = _FIRST_PLACES.fullmatch(measure)
    score, places = OF_ORDER.get("NDCG" if first else measure), {"k": int(first[1])} if first else {}
    if score is None or "group" not in fields:
        return None
    equal = np.zeros(len(scored.target))
    return score(scored.target, equal, group=fields["group"], sample_weight=scored.weight, **places)


def _of_loss(loss: BaseLoss, learned: KnownRows, scored: KnownRows, fields: Mapping[str, Any]) -> float | None:
    """Minus the mean loss of the scores that are best for the known rows; None if a row has more than a target."""
    if loss.needs or fields:
        return None
    weight = weights_of_rows(learned.weight, len(learned.target))
    with jax.enable_x64(True):
        best = loss.start(learned.target, weight, {})
        scores = np.broadcast_to(best[:, None], (len(best), len(scored.target)))
        return -float(loss.mean(scores, scored.target, weights_of_rows(scored.weight, len(scored.target)), {}))


def beside_constant(score: str, reached: float | None) -> str:
    """Returns a score in words with what a constant reaches, if that is known.

    >>> beside_constant("accuracy 0.9471", 0.7), beside_constant("loss 2", None)
    ('accuracy 0.9471 (a constant: 0.7000)', 'loss 2')
    """
    return score if reached is None else f"{score} (a constant: {score_in_words(reached)})"
