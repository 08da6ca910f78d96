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
    own = predicted[np.arange(len(place)), place]
    return -float(np.average(-log_of_chance(own), weights=weight))


def _minus_squared_error(predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"], weight: Any) -> float:
    return -float(np.average((target - predicted) ** 2, weights=weight))


def _minus_root_squared_error(
    predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"], weight: Any
) -> float:
    return -float(np.sqrt(np.average((target - predicted) ** 2, weights=weight)))


_OF_NUMBERS: dict[Any, Callable[..., float]] = {
    metrics.mean_squared_error: _minus_squared_error,
    metrics.root_mean_squared_error: _minus_root_squared_error,
}
