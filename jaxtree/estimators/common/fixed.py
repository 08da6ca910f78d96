"""`FixedPredictions`: known predictions of some rows as an estimator, so that scorers of scikit-learn score them."""

import abc
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if


class FixedPredictions(BaseEstimator, abc.ABC):
    """An estimator that predicts the same rows whatever table it is given.

    Args:
        predictions: Numbers, or the probabilities of classes.
    """

    def __init__(self, predictions: Float[np.ndarray, "row *prediction"]):
        self.predictions = predictions

    def __sklearn_is_fitted__(self) -> bool:
        """Answers scikit-learn's `check_is_fitted`."""
        return True

    @abc.abstractmethod
    def predict(self, X: Any = None) -> Shaped[np.ndarray, "row *prediction"]:
        """Returns the predictions, of classes the most probable."""

    def scored_by(self, scorer: Callable[..., Any], target: Any) -> Any:
        """Returns what a scorer of scikit-learn says of the rows."""
        return scorer(self, np.empty((len(self.predictions), 1)), target)


class FixedNumbers(RegressorMixin, FixedPredictions):
    """A regressor whose predictions are known.

    Args:
        predictions: The numbers.
        score_by: The function behind `score`, of a table, targets, weights and a dict of fields; the coefficient of
            determination if None.
        score_name: The name of that score.

    Example:
        >>> FixedNumbers(np.array([1.0, 2.0])).score(None, [1.0, 2.0])
        1.0
    """

    def __init__(
        self,
        predictions: Float[np.ndarray, "row *prediction"],
        score_by: Callable[..., float] | None = None,
        score_name: str = "R²",
    ):
        super().__init__(predictions)
        self.score_by, self.score_name = score_by, score_name

    @property
    def score_name_(self) -> str:
        """The name of what `score` returns."""
        return self.score_name

    def predict(self, X: Any = None, **_: Any) -> Float[np.ndarray, "row *prediction"]:
        """Returns the numbers."""
        return self.predictions

    def score(self, X: Any, y: Any, sample_weight: Any = None, **fields: Any) -> float:
        """Returns the score of the estimator whose predictions these are."""
        if self.score_by is not None:
            return self.score_by(X, y, sample_weight, fields)
        return super().score(X, y, sample_weight)


class FixedClasses(ClassifierMixin, FixedPredictions):
    """A classifier whose probabilities are known.

    Args:
        predictions: The probability of every class.
        classes: The classes.
        scores: The result of `decision_function`; without them there is none.

    Example:
        >>> FixedClasses(np.array([[0.2, 0.8]]), np.array(["no", "yes"])).predict().tolist()
        ['yes']
    """

    def __init__(
        self,
        predictions: Float[np.ndarray, "row class"],
        classes: Shaped[np.ndarray, " class"],
        scores: Float[np.ndarray, "row *class"] | None = None,
    ):
        super().__init__(predictions)
        self.classes, self.scores = classes, scores

    @property
    def classes_(self) -> Shaped[np.ndarray, " class"]:
        """The classes."""
        return self.classes

    def predict(self, X: Any = None, **_: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row, of equal ones the first."""
        return self.classes[self.predictions.argmax(axis=1)]

    def predict_proba(self, X: Any = None, **_: Any) -> Float[np.ndarray, "row class"]:
        """Returns the probabilities."""
        return self.predictions

    def predict_log_proba(self, X: Any = None, **_: Any) -> Float[np.ndarray, "row class"]:
        """Returns their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predictions)

    @available_if(lambda self: self.scores is not None)
    def decision_function(self, X: Any = None, **_: Any) -> Float[np.ndarray, "row *class"] | None:
        """Returns the scores."""
        return self.scores

    def score(self, X: Any, y: Any, sample_weight: Any = None, **_: Any) -> float:
        """Returns the share of rows that are predicted right."""
        return super().score(X, y, sample_weight)


def fixed_predictions(
    predictions: Float[np.ndarray, "row column"], classes: Shaped[np.ndarray, " class"] | None
) -> FixedPredictions:
    """Returns probabilities of classes as a classifier; without classes, numbers as a regressor."""
    if classes is not None:
        return FixedClasses(predictions, classes)
    return FixedNumbers(predictions[:, 0] if predictions.shape[1] == 1 else predictions)
