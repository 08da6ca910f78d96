"""Results of models of folds beside predictions: out-of-fold predictions, their score, and intervals."""

import copy
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from jaxtree.boosting.folds import Folds
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.responses import numbers_of, with_offset
from jaxtree.estimators.boosting.training import Rounds
from jaxtree.estimators.common.parts import part_by_part
from jaxtree.estimators.common.sorted_lists import SortedLists, intervals_around
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.forest import Forest


class FoldResults:
    """Out-of-fold predictions of boosted estimators that stop by folds."""

    folds_: Folds | None = None

    def _folds(self, name: str) -> Folds:
        check_is_fitted(self)
        if self.folds_ is None:
            _say_what_has_folds(type(self).__name__, name)
        return self.folds_

    @property
    def oof_predictions_(self: Any) -> Float[np.ndarray, "row *column"]:
        """Predictions by the models of the folds for rows that they have not seen: probabilities, or numbers."""
        predictions = self._folds("oof_predictions_").predictions
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    @property
    def oof_score_(self: Any) -> float:
        """The `score` of these predictions: an honest score of a model of a part of the rows."""
        return self._folds("oof_score_").score


class FoldIntervals(FoldResults):
    """Intervals of numbers by CV+."""

    forest_: Forest
    loss_: BaseLoss

    @available_if(lambda self: not hasattr(self, "_model") or bool(self._folds("predict_interval")))
    def predict_interval(self: Any, X: Any, *, coverage: float = 0.9, offset: Any = None) -> Float[np.ndarray, "row 2"]:
        """Returns the lower and the upper end of every row's interval, of a model with `early_stopping="folds"`.

        They are those of CV+ (Barber, Candes, Ramdas and Tibshirani, 2021): rows that are exchangeable with those of
        the fit lie between them with probability at least 1 - 2 (1 - coverage), less a term that vanishes with the rows
        of a fold, whatever the distribution; in practice the share is close to `coverage`. Where folds are repeated, a
        row has a residual of every repeat, and so has a new one; a residual counts with its row's weight. Ends are
        infinite where the rows of the fit are too few.

        Args:
            X: A table, or a source.
            coverage: The share of rows that the intervals are to hold, above 0 and below 1.
            offset: What is added to the scores, as in `fit`.

        Raises:
            AttributeError: The model has no folds.
            InvalidInputError: The coverage is not allowed, or predictions are no numbers close to one target.
        """
        folds = self._folds("predict_interval")
        if not 0 < coverage < 1:
            raise InvalidInputError(f"coverage must be above 0 and below 1, got {coverage}")
        if not folds.residual.size:
            raise InvalidInputError(f"predict_interval is for one target of numbers, got the loss {self.loss_}")
        of_folds = self._scores_of_folds(X)
        center = np.concatenate(
            [numbers_of(self.loss_, with_offset(self.loss_, own, offset)) for own in of_folds.T[..., None]], axis=1
        )
        # A new row has a residual of every repeat, too.
        repeats = len(folds.residual) / len(np.unique(folds.row))
        weight = folds.weight if folds.weight.size else None
        lists = SortedLists.of(folds.residual, folds.fold_of_held, len(folds), weight)
        return intervals_around(center, lists, coverage=coverage, num_new=repeats)

    @part_by_part
    def _scores_of_folds(self: Any, X: Any) -> Float[np.ndarray, "row fold"]:
        """The one score of every row by the model of each fold."""
        values, folds, alone, scores = self._values(X), self.folds_, copy.copy(self), []
        for fold, start in enumerate(folds.start):
            alone.set_rounds(Rounds.unmeasured(folds.model_of(fold, self.forest_), start, self.trees_per_round_))
            scores.append(alone.model_.predict(values))
        return np.concatenate(scores, axis=1)


def _say_what_has_folds(estimator: str, name: str) -> NoReturn:
    raise AttributeError(f'{name} needs {estimator}(early_stopping="folds"), which keeps folds')
