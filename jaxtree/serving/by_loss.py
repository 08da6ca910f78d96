"""The predictions of a loss from scores: methods of estimators and of models that are served."""

from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.dataset.arguments import read_fields
from jaxtree.errors import InvalidInputError
from jaxtree.losses.loss import BaseLoss, predictions_of, shifted
from jaxtree.serving.rows import of_arrays, over_sources

Scores = Float[np.ndarray, "row score"]


def with_offset(loss: BaseLoss, scores: Scores, offset: Any) -> Scores:
    """Returns scores to which an offset is added, if there is one.

    Raises:
        InvalidInputError: It has another number of rows, or of columns.
    """
    if offset is None:
        return scores
    offset = read_fields({"offset": offset}, len(scores))["offset"]
    if offset.shape[1:] not in ((), scores.shape[1:]):
        raise InvalidInputError(f"offset must have 1 or {scores.shape[1]} columns, got {offset.shape[1]}")
    return shifted(scores.T, offset, loss.has_location).T


def numbers_of(loss: BaseLoss, scores: Scores) -> Float[np.ndarray, "row prediction"]:
    """Returns what a loss predicts."""
    return predictions_of(loss, scores.T).T


def shares_of(loss: BaseLoss, scores: Scores) -> Float[np.ndarray, "row class"]:
    """Returns the probability of every class; of two the loss predicts that of the second."""
    shares = numbers_of(loss, scores)
    return np.concatenate([1 - shares, shares], axis=1) if shares.shape[1] == 1 else shares


def given_numbers(loss: BaseLoss, scores: Scores, *, is_vector: bool) -> Float[np.ndarray, "row *prediction"]:
    """Returns the numbers that a loss predicts; one number a row as a vector where the target was one."""
    numbers = numbers_of(loss, scores)
    return numbers[:, 0] if is_vector and numbers.shape[1] == 1 else numbers


def first_numbers(loss: BaseLoss, scores: Scores) -> Float[np.ndarray, " row"]:
    """Returns the first number that a loss predicts, of distributions the mean."""
    return numbers_of(loss, scores)[:, 0]


def first_scores(loss: BaseLoss, scores: Scores) -> Float[np.ndarray, " row"]:
    """Returns the scores themselves, by which rows are ranked."""
    return scores[:, 0]


class AnswersOfScores:
    """Scores of rows, from which a loss predicts.

    A class that has them gives the loss as `loss_`, and the scores of values by `scores_of`.
    """

    _values: Any
    loss_: Any
    scores_of: Any

    @of_arrays
    def raw_scores(self, X: Any, *, offset: Any = None) -> Scores:
        """Returns the scores of every row, which the loss turns into predictions: a column a score.

        Args:
            X: A table, or a source.
            offset: The numbers that are added to the scores, as in `fit`.
        """
        return with_offset(self.loss_, self._scores(X), offset)

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns predictions of rows that `encoder_.values` has encoded."""
        return self._predictions(self.scores_of(values))

    @over_sources
    def _scores(self, X: Any) -> Scores:
        return self.scores_of(self._values(X))

    def _predictions(self, scores: Scores) -> Float[np.ndarray, "row column"]:
        """Returns what the loss predicts from scores."""
        return numbers_of(self.loss_, scores)


class AnswersOfClassScores(AnswersOfScores):
    """Predictions of classes from scores."""

    classes_: Any

    @of_arrays
    def predict(self, X: Any, *, offset: Any = None) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row, of equal ones the first; see `raw_scores`."""
        shares = self.predict_proba(X, offset=offset)  # which says so where a model has not been fitted
        return self.classes_[shares.argmax(axis=1)]

    @of_arrays
    def predict_proba(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row class"]:
        """Returns the probability of every class of `classes_`; see `raw_scores`."""
        return self._predictions(self.raw_scores(X, offset=offset))

    @of_arrays
    def decision_function(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row *class"]:
        """Returns the scores of every row: of two classes the log odds of the second, else a column a class."""
        scores = self.raw_scores(X, offset=offset)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _predictions(self, scores: Scores) -> Float[np.ndarray, "row class"]:
        return shares_of(self.loss_, scores)
