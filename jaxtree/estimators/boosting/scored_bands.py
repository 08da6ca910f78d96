"""Bands from draws of a fit whose models have scores: of predictions, and of survival curves."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.boosting.survival import is_of_times
from jaxtree.estimators.common.drawn_bands import DrawnBands, as_vectors
from jaxtree.figures.bands import Band
from jaxtree.losses.curves import SurvivalCurves, times_of

NEAREST = 1e-12
"""The least distance of a chance of survival from 0 and 1, where its log hazard is infinite."""


class ScoredBands(DrawnBands):
    """Bands of a model whose loss turns scores into predictions."""

    _why_biased = (
        "Boosting ends so early that it pulls some {noun} towards their mean by much more than their noise. Bands know "
        "this bias only as far as the {noun} show it, and may not hold:"
    )

    @abc.abstractmethod
    def _scores(self, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "member row score"]:
        """Returns the scores of encoded rows by every member."""

    @property
    @abc.abstractmethod
    def _known_times(self) -> Sequence[Any]:
        """The event times and the baseline of every member of a model of survival times."""

    def _has_even_scores(self, num_scores: int) -> bool:
        """Returns whether bands are even on the scale of scores, and not on that of predictions."""
        return num_scores == 1

    def predict(self, X: Any) -> Band:
        """Returns the predictions of rows with their bands: numbers, or of classes their probabilities.

        A band is of what is predicted, such as a mean, and not of targets, which lie farther off. The bias is known in
        the mean over the rows that are given together.

        Args:
            X: A table.
        """
        scores = self._scores(self._values_of(X))
        return self._of_scores(scores, np.ones(scores.shape[1]))

    def _predictions(self, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "member row column"]:
        return np.stack([self._predicted(own) for own in self._scores(values)])

    def survival(self, X: Any, *, times: Any = None) -> Band:
        """Returns the chances of rows to have had no event by some times, with their bands.

        Args:
            X: A table.
            times: Where curves are shown; the times of events in the fit if not given.

        Raises:
            InvalidInputError: The model has no survival times.
        """
        estimator = self._estimator
        if not is_of_times(estimator.loss_):
            raise InvalidInputError(f"survival is predicted of survival times, not with loss {estimator.loss_}")
        at = present(estimator.survival_).times if times is None else times_of(times)
        scores, known = self._scores(self._values_of(X)), self._known_times
        chances = np.stack(
            [SurvivalCurves(estimator.loss_, *own, at).probabilities for own in zip(scores, known, strict=True)]
        )
        # Hazards are multiplied by what scores add, so that bands are even in the logarithm of theirs.
        log_hazards = np.log(-np.log(np.clip(chances, NEAREST, 1 - NEAREST)))
        curve = np.broadcast_to(np.arange(len(at)), log_hazards.shape[1:])
        found = self._band(log_hazards, curve=curve)
        return Band(chances[0], *(np.exp(-np.exp(own)) for own in (found.upper, found.lower)))

    def _of_scores(self, scores: Float64[np.ndarray, "member row score"], weight: Float64[np.ndarray, " row"]) -> Band:
        """Returns the band of predictions: that of even scores by its ends, else of predictions themselves.

        Args:
            scores: The scores of rows.
            weight: How much every row tells of the bias and the factor.
        """
        if self._has_even_scores(scores.shape[2]):
            curve = np.broadcast_to(np.arange(scores.shape[2]), scores.shape[1:])
            found = self._band(scores, curve, np.broadcast_to(weight[:, None], scores.shape[1:]))
            center, *ends = (self._predicted(own) for own in found)
            return as_vectors(Band(center, np.minimum(*ends), np.maximum(*ends)))
        return self._of_predictions(np.stack([self._predicted(own) for own in scores]), weight)

    def _predicted(self, scores: Float64[np.ndarray, "row score"]) -> Float64[np.ndarray, "row column"]:
        fixed: Any = self._estimator.fixed_predictions(scores)
        return np.asarray(fixed.predictions, np.float64).reshape(len(scores), -1)
