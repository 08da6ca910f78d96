"""Scores of many models on the same rows, without scikit-learn's checks of these rows for every model.

A few metrics are computed here by the same operations. The first model is scored by scikit-learn too: if its number is
another, as some version of scikit-learn may round otherwise, scikit-learn scores all.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn import metrics

from jaxtree.estimators.common.fixed import FixedPredictions, fixed_predictions
from jaxtree.estimators.common.scorers import weighted_if_taken
from jaxtree.search.evaluation import Search
from jaxtree.search.scoring import log_of_chance
from jaxtree.sklearn_compat import score_by_scorer


class ScoresOfRows:
    """Scores of models on the rows of the test part of a fold.

    Args:
        search: The task, of which the scorer is taken.
        classes: The classes that predictions are probabilities of; None for numbers.
        X: The table.
        y: The target.
        params: Further arguments of the scorer.
    """

    def __init__(self, search: Search, classes: Any, X: Any, y: Any, params: dict[str, Any]):
        self._search, self._X, self._y, self._params = search, X, y, params
        weight = params.get("sample_weight")
        has_more = set(params) - {"sample_weight"}
        self._quickly = _Checked(None if has_more else _metric_of(search.scorer, classes, y, weight))

    def score(self, model: FixedPredictions) -> Any:
        """Returns the score of the predictions of a model, in the form of scikit-learn's `score`."""
        search = self._search
        slowly = lambda: score_by_scorer(model, self._X, self._y, search.scorer, self._params, search.error_score)  # noqa: E731
        return self._quickly(model.predictions, slowly)


class ScoresOfPredictions:
    """Scores of predictions on rows with a target.

    Args:
        scorer: A scorer of scikit-learn.
        y: The target.
        classes: The classes that predictions are probabilities of; None for numbers.
        weight: The weight of every row, or None.
    """

    def __init__(self, scorer: Any, y: Any, classes: Any, weight: Any = None):
        self._scorer, self._y, self._classes = weighted_if_taken(scorer, weight), y, classes
        self._quickly = _Checked(_metric_of(scorer, classes, y, weight))

    def __call__(self, predicted: Float[np.ndarray, "row column"]) -> float:
        """Returns the score of these predictions."""
        slowly = lambda: float(fixed_predictions(predicted, self._classes).scored_by(self._scorer, self._y))  # noqa: E731
        is_column = self._classes is None and predicted.shape[1] == 1
        return self._quickly(predicted[:, 0] if is_column else predicted, slowly)


class _Checked:
    """A metric that is computed here once scikit-learn has had the same number."""

    def __init__(self, metric: Callable[..., float] | None):
        self._metric, self._is_checked = metric, False

    def __call__(self, predicted: Float[np.ndarray, "row *column"], slowly: Callable[[], Any]) -> Any:
        quick = None if self._metric is None or not np.isfinite(predicted).all() else self._metric(predicted)
        if quick is not None and self._is_checked:
            return quick
        scored = slowly()
        self._is_checked = quick is not None and quick == scored
        return scored


def _metric_of(scorer: Any, classes: Any, y: Any, weight: Any) -> Callable[..., float] | None:
    """Returns the function of predictions that a scorer of scikit-learn is on some rows; None if it is not known."""
    function, kwargs = getattr(scorer, "_score_func", None), getattr(scorer, "_kwargs", None)
    if kwargs or np.ndim(y) != 1:
        return None
    if classes is None:
        known = _OF_NUMBERS.get(function)
        return known and functools.partial(known, target=np.asarray(y), weight=weight)
    present, place = np.unique(np.asarray(y), return_inverse=True)
    if function is not metrics.log_loss or not np.array_equal(present, classes):
        return None
    return functools.partial(_minus_log_loss, place=place, weight=weight)


def _minus_log_loss(predicted: Float[np.ndarray, "row class"], place: Int[np.ndarray, " row"], weight: Any) -> float:
    """The mean logarithm of the share of the true class; of two it is taken from the second, as by scikit-learn."""
    if predicted.shape[1] == 2:
        predicted = np.stack([1 - predicted[:, 1], predicted[:, 1]], axis=1)
    return log_likelihood(predicted[np.arange(len(place)), place], weight)


def log_likelihood(chance: Float[np.ndarray, " row"], weight: Any) -> float:
    """Returns the mean logarithm of the chances of the true classes."""
    return float(np.average(log_of_chance(chance), weights=weight))


def log_likelihood_of_shares(
    predicted: Float[np.ndarray, "row class"], place: Int[np.ndarray, " row"], weight: Any
) -> float:
    """Returns the mean logarithm of the chance of the true class, of chances that are made to add up to 1."""
    return log_likelihood(predicted[np.arange(len(place)), place] / predicted.sum(axis=1), weight)


def accuracy(predicted: Float[np.ndarray, "row class"], place: Int[np.ndarray, " row"], weight: Any) -> float:
    """Returns the share of rows whose class has the greatest probability."""
    return float(np.average(predicted.argmax(axis=1) == place, weights=weight))


def minus_squared_error(predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"], weight: Any) -> float:
    """Returns minus the mean squared error."""
    return -float(np.average((target - predicted) ** 2, weights=weight))


def minus_root_squared_error(
    predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"], weight: Any
) -> float:
    """Returns minus the root of the mean squared error."""
    return -float(np.sqrt(-minus_squared_error(predicted, target, weight)))


def r2(predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"], weight: Any) -> float:
    """Returns 1 less the mean squared error over the variance of the target."""
    mean = np.average(target, weights=weight)
    variance = float(np.average((target - mean) ** 2, weights=weight))
    return 1 + minus_squared_error(predicted, target, weight) / max(variance, np.finfo(np.float64).tiny)


_OF_NUMBERS: dict[Any, Callable[..., float]] = {
    metrics.mean_squared_error: minus_squared_error,
    metrics.root_mean_squared_error: minus_root_squared_error,
}

BY_NAME: dict[str, Callable[..., float]] = {
    "neg_log_loss": log_likelihood_of_shares,
    "neg_root_mean_squared_error": lambda predicted, *rows: minus_root_squared_error(predicted[:, 0], *rows),
    "accuracy": accuracy,
}
"""Scorers that the choice of an ensemble calls thousands of times, of columns of predictions."""
