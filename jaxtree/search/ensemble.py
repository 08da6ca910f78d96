"""Ensembles of models that a search has scored, chosen by their out-of-fold predictions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone, is_classifier

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.jobs import fit_parts
from jaxtree.losses.links import link_of
from jaxtree.losses.names import LOSSES, loss_of
from jaxtree.search.evaluation import Parameters, Search
from jaxtree.search.quick_scores import ScoresOfPredictions
from jaxtree.sklearn_compat import check_method_params
from jaxtree.tree.link import Link

ENSEMBLE, FOLD_ENSEMBLE = "ensemble", "fold-ensemble"
"""The values of `refit` that ask for an ensemble of members fitted on all rows, and of the models of the folds."""

ENSEMBLED = (GradientBoostingClassifier, GradientBoostingRegressor)
"""The estimators whose models are averaged in ensembles."""

MOST_MEMBERS = 50
"""Members that a selection adds at most, counted as often as they are taken."""


class AveragingScale(NamedTuple):
    """The scale on which an ensemble averages what its members predict: that of their scores.

    Attributes:
        link: How predictions follow from scores. With a link of the user's own, predictions are averaged themselves.

    Example:
        >>> scale = AveragingScale(Link.SOFTMAX)
        >>> scale.predictions(np.mean([scale.scores(np.array([[0.5, 0.5], [0.8, 0.2]]))] * 2, axis=0)).round(6).tolist()
        [[0.5, 0.5], [0.8, 0.2]]
    """

    link: Link

    @classmethod
    def of(cls, estimator: Any) -> "AveragingScale":
        """Returns the scale of boosted models of classes or of numbers."""
        if is_classifier(estimator):
            return cls(Link.SOFTMAX)
        loss = getattr(estimator, "loss", "squared_error")
        return cls(link_of(loss_of(loss, LOSSES), None).kind)

    def scores(self, predictions: Float[np.ndarray, "*more column"]) -> Float[np.ndarray, "*more column"]:
        """Returns scores that predictions follow from, but for what all scores of a row have in common."""
        if self.link in (Link.IDENTITY, Link.OTHER):
            return predictions
        return np.log(np.maximum(predictions, np.finfo(np.float64).tiny))

    def predictions(self, scores: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
        """Returns predictions from such scores."""
        if self.link in (Link.IDENTITY, Link.OTHER):
            return scores
        if self.link == Link.EXP:
            return np.exp(scores)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def mean(
        self, weights: Float[np.ndarray, " model"], predictions: Float[np.ndarray, "model row column"]
    ) -> Float[np.ndarray, "row column"]:
        """Returns what an ensemble of these weights predicts; models without a weight may have no numbers."""
        chosen = np.flatnonzero(weights)
        if len(chosen) == 1:
            return predictions[chosen[0]]
        return self.predictions(np.tensordot(weights[chosen], self.scores(predictions[chosen]), 1))


def select_with_replacement(
    predictions: Sequence[Float[np.ndarray, "row column"]],
    score: Callable[[Float[np.ndarray, "row column"]], float],
    most: int = MOST_MEMBERS,
    deadline: Deadline | None = None,
) -> Float[np.ndarray, " model"]:
    """Chooses models, some of them more than once, whose mean prediction scores best.

    Greedily: the best model first, and then again and again that which makes the mean best. The choice that scored best
    on the way is taken, so that it is never worse than the best model alone (Caruana et al., *Ensemble selection from
    libraries of models*, ICML 2004).

    Args:
        predictions: The out-of-fold predictions of every model.
        score: The score of predictions, greater if better.
        most: Models that are taken at most.
        deadline: When no further one is taken; the best alone always is. None for never.

    Returns:
        The share of every model, which add up to 1.

    Example:
        >>> high, low = np.array([[1.0], [2.0]]), np.array([[-1.0], [0.0]])
        >>> select_with_replacement([high, low, 9 + high], lambda mean: -np.abs(mean - [[0.0], [1.0]]).sum()).tolist()
        [0.5, 0.5, 0.0]
    """
    taken = np.zeros(len(predictions), np.int64)
    total = np.zeros_like(predictions[0])
    best_score, best = -np.inf, taken
    for number in range(1, most + 1):
        if number > 1 and deadline is not None and deadline.left() <= 0:
            break
        scores = np.array([score((total + own) / number) for own in predictions])
        chosen = int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))
        total = total + predictions[chosen]
        taken = taken + (np.arange(taken.size) == chosen)
        if number == 1 or scores[chosen] > best_score:
            best_score, best = scores[chosen], taken
    return best / best.sum()


def check_can_average(estimator: Any, refit: Any, scoring: Any) -> None:
    """Raises InvalidInputError unless models of an estimator can be averaged, and chosen by one score."""
    loss: Any = getattr(estimator, "loss", None)
    is_named = isinstance(loss, str) and loss not in LOSSES
    made = None if loss is None or is_named else loss_of(loss, LOSSES)
    if not isinstance(estimator, ENSEMBLED) or getattr(made, "needs", ()):
        raise InvalidInputError(
            f"refit={refit!r} averages boosted models of classes, or of numbers whose loss asks for no extras, got "
            f"{estimator}"
        )
    if isinstance(scoring, list | tuple | set | dict):
        raise InvalidInputError(f"refit={refit!r} chooses by one score: scoring must be one, got {scoring!r}")


class Ensemble(NamedTuple):
    """An ensemble of the settings of a search.

    Attributes:
        model: The ensemble, fitted on all rows.
        weights: The share of every setting.
        score: The score of its out-of-fold predictions.
    """

    model: Any
    weights: Float[np.ndarray, " setting"]
    score: float


def fit_ensemble(
    search: Search,
    settings: Sequence[Parameters],
    able: Int[np.ndarray, " able"],
    predictions: Float[np.ndarray, "setting row column"],
    scorer: Any,
    *,
    of_folds: bool,
) -> Ensemble:
    """Chooses settings by their out-of-fold predictions, and fits them on all rows.

    Args:
        search: The problem.
        settings: The parameters of all settings.
        able: The numbers of the settings that can be chosen.
        predictions: The out-of-fold predictions of all settings; NaN of rows that no fold tests.
        scorer: The scorer that chooses.
        of_folds: Whether the models of all folds are averaged of every chosen setting, not one of all rows.
    """
    tested = np.flatnonzero(~np.isnan(predictions[able]).any(axis=(0, 2)))
    known, scale = predictions[np.ix_(able, tested)], AveragingScale.of(search.estimator)
    params = check_method_params(search.X, params=search.score_params, indices=tested)
    score = ScoresOfPredictions(scorer, np.asarray(search.y)[tested], search.classes, params.get("sample_weight"))
    of_scores: Any = lambda own: score(scale.predictions(own))  # noqa: E731
    shares = select_with_replacement(list(scale.scores(known)), of_scores)
    weights = np.zeros(len(settings))
    weights[able] = shares
    chosen = np.flatnonzero(weights).tolist()
    models: list[Any] = [clone(configured(search.estimator, settings[number])) for number in chosen]
    of_models = weights[chosen]
    if of_folds:
        parts = [train for train, _ in search.splits]
        rows = search.X, search.y, parts, search.fit_params
        fitted = [own for model in models for own in fit_parts(model, *rows, reads_alike=True)]
        of_models = np.repeat(of_models / len(search.splits), len(search.splits))
    else:
        fitted = [model.fit(search.X, search.y, **search.fit_params) for model in models]
    return Ensemble(fitted[0].mean_of(fitted, of_models), weights, score(scale.mean(shares, known)))
