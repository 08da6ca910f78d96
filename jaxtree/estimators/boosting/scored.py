"""Models of scores, which a loss turns into predictions; of trees the scores are their sums."""

import abc
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Float64
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import plain_target, read_arguments
from jaxtree.dataset.sample import Outputs, Sample
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.estimators.boosting.responses import (
    fixed_classes,
    fixed_numbers,
    score_of,
    scores_by_loss,
)
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.common.extras import RoutesExtras, check_arguments, extras_of, loss_in_words
from jaxtree.estimators.common.fixed import FixedPredictions
from jaxtree.estimators.common.parts import EstimatorOnTables, PredictsNumbers
from jaxtree.estimators.common.prediction import FittedTrees, PredictsClasses
from jaxtree.files.container import shortened
from jaxtree.files.records import require
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.links import link_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import LOSSES, loss_of
from jaxtree.losses.numbers import squared
from jaxtree.losses.predicted import PredictedDistribution
from jaxtree.serving.by_loss import AnswersOfClassScores, AnswersOfScores
from jaxtree.serving.rows import of_arrays
from jaxtree.tree.forest import Forest
from jaxtree.tree.kinds import ModelKind, Prediction
from jaxtree.tree.model import FittedModel

PREDICTION_OF_LOSS = {
    "cox": Prediction.RISKS,
    "accelerated_failure_time": Prediction.TIMES,
    "ndcg": Prediction.RANKS,
    "map": Prediction.RANKS,
    "pairwise": Prediction.RANKS,
}
"""The losses, by name, of which predictions are no numbers close to the targets."""


def _predicts_distributions(model: Any) -> bool:
    """Whether the loss of a model, fitted or not, is a distribution; says so if it is not."""
    loss = model.loss_ if hasattr(model, "_loss") else model.given_loss
    if not isinstance(loss, Distribution):
        raise AttributeError(f"distributions are predicted with a loss such as 'normal', not {loss_in_words(model)!r}")
    return True


class PredictsByLoss(RoutesExtras, AnswersOfScores, EstimatorOnTables):
    """A model that has scores of rows, from which a loss predicts."""

    _loss: BaseLoss

    _fixed_predictions: Callable[..., FixedPredictions]
    """The function that predicts outputs from scores and an offset."""
    _measure: Callable[[BaseLoss, Sample, Any], float] = staticmethod(score_of)
    """The loss of rows with their scores."""

    @property
    def predicts(self) -> Prediction:
        """The kind of the predictions, which of numbers follows from the loss."""
        plain = super().predicts
        return plain if plain == Prediction.CLASSES else PREDICTION_OF_LOSS.get(self.loss_.name, plain)

    @property
    def loss_(self) -> BaseLoss:
        """The loss of the fit."""
        check_is_fitted(self)
        return self._loss

    @property
    def score_loss(self) -> BaseLoss:
        """The loss of the fit, which predicts from scores."""
        return self.loss_

    @abc.abstractmethod
    def scores_of(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row score"]:
        """Returns the scores of rows that `encoder_.values` has encoded."""

    def fixed_predictions(self, scores: Float[np.ndarray, "row score"], offset: Any = None) -> FixedPredictions:
        """Returns what the fitted loss predicts from scores and an offset, as an estimator that scorers take."""
        return self._fixed_predictions(self.loss_, self.outputs(), scores, offset)

    def score_known(self, rows: Sample, scores: Float[np.ndarray, "row score"]) -> float:
        """Returns what `score` does of rows that are read already.

        Args:
            rows: The rows.
            scores: Their scores without offsets.
        """
        return self._measure(self.loss_, allowed_rows(self.loss_, rows), scores)


class NumbersByLoss(PredictsNumbers, PredictsByLoss):
    """Predictions of numbers from scores."""

    _fixed_predictions = staticmethod(fixed_numbers)

    @of_arrays
    def predict(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row *prediction"]:
        """Returns the number of every row; of several outputs or quantiles a column each; see `raw_scores`.

        Distributions give means, Cox's loss hazards relative to that of a row of score 0, and losses of order the
        scores themselves: within a group the most relevant rows have the highest.
        """
        return self.fixed_predictions(self.raw_scores(X, offset=offset)).predict()

    @property
    def score_name_(self) -> str:
        """The name of the score, such as "R²", "concordance", "mean log likelihood", or minus the mean of the loss."""
        fixed: Any = self.fixed_predictions(np.zeros((1, self.loss_.num_scores)))
        return fixed.score_name_

    def score(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> float:
        """Returns the coefficient of determination, a concordance index, the NDCG, or minus the mean loss.

        The concordance index is that of survival times, see `jaxtree.metrics.concordance_index`, the normalised
        discounted cumulative gain that of orders. Minus the mean loss is for predictions that are not numbers close to
        the targets: of other losses that ask for extras beside offsets, of several predictions for one target, such as
        quantiles, and of distributions, where it is the mean log likelihood in nats.

        Args:
            X: A table, or a source.
            y: Its target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of a column.
            extras: The inputs that the loss needs, as in `fit`.
        """
        check_is_fitted(self)
        given = read_arguments(X, y, sample_weight, extras)
        check_arguments(self, "score", given.fields, extras_of(self.loss_))
        fixed: Any = self.fixed_predictions(self._scores(given.X), given.fields.get("offset"))
        return fixed.score(given.X, plain_target(given.y), given.sample_weight, **given.fields)

    def score_known(self, rows: Sample, scores: Float[np.ndarray, "row score"]) -> float:
        """Returns what `score` does of rows that are read already."""
        if scores_by_loss(self.loss_, self.n_outputs_):
            return super().score_known(rows, scores)
        predicted = self.fixed_predictions(scores, rows.fields.get("offset")).predict()
        return r2_score(rows.target.T, predicted.reshape(len(scores), -1), sample_weight=rows.weight)


class PredictsDistributions:
    """Predictions of whole distributions, where the loss is one."""

    loss_: Any
    raw_scores: Any

    @available_if(_predicts_distributions)
    def predict_dist(self, X: Any, *, offset: Any = None) -> PredictedDistribution:
        """Returns the distribution of every row, where the loss is one; see `raw_scores`."""
        scores = self.raw_scores(X, offset=offset)
        return PredictedDistribution(instance_of(Distribution, self.loss_), np.asarray(scores, np.float64))

    @available_if(_predicts_distributions)
    def predict_quantile(self, X: Any, levels: Any, *, offset: Any = None) -> Float[np.ndarray, "row *level"]:
        """Returns the quantiles of a level, or of each of several levels in a column.

        Args:
            X: A table, or a source.
            levels: Between 0 and 1.
            offset: The numbers that are added to the scores.
        """
        return self.predict_dist(X, offset=offset).quantile(levels)


class ScoredTrees(PredictsByLoss, FittedTrees):
    """Trees that add up to scores, and the loss that predicts from these."""

    forest_: Forest
    start_: Float64[np.ndarray, " score"]
    survival_: EventTimes | None = None
    """The event times and the baseline hazard of a fit of survival times."""

    pruning = None

    model_kind = ModelKind.BOOSTED

    def restore_loss(self, state: Any) -> None:
        """Takes the table, the loss and what was learned of time from the state of a file.

        Raises:
            ModelFileError: The loss is not that of the parameters.
        """
        self.check_parameters()
        self.restore_table(state.table)
        made: BaseLoss = self._make_loss(self.outputs())
        fits = (made.name, made.num_scores) == (state.loss.name, state.loss.num_scores)
        require(fits, f"its loss is {shortened(state.loss)}, and its parameters and target are of {shortened(made)}")
        self._loss = state.loss
        if state.survival is not None:
            self.survival_ = state.survival

    def set_trees(
        self, forest: Forest, start: Float64[np.ndarray, " score"], step: Float64[np.ndarray, "node score"]
    ) -> None:
        """Takes trees as the fitted ones.

        Args:
            forest: The trees.
            start: The scores before the first tree.
            step: The numbers that every node adds to the scores.
        """
        self.forest_, self.start_ = forest, start
        link = link_of(self._loss, getattr(self, "classes_", None))
        self._model = FittedModel.of_scores(self.encoder_.schema_, forest, start, step, link)

    def scores_of(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row score"]:
        """Returns the scores of rows that `encoder_.values` has encoded."""
        return self.model_.predict(values)

    @abc.abstractmethod
    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        """Returns the loss of a target."""


class ClassesByScores(AnswersOfClassScores, PredictsClasses, ScoredTrees):
    """Predictions of classes from scores."""

    _of_classes = True
    _fixed_predictions = staticmethod(fixed_classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Returns the share of rows that are predicted right.

        Args:
            X: A table, or a source.
            y: Its target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of a column.
            offset: The numbers that are added to the scores, as in `fit`.
        """
        given = read_arguments(X, y, sample_weight)
        predicted = self.predict(given.X, offset=offset)
        return float(accuracy_score(plain_target(given.y), predicted, sample_weight=given.sample_weight))


class NumbersByScores(NumbersByLoss, ScoredTrees):
    """Predictions of numbers from the scores of trees."""

    loss: str | BaseLoss

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number == 1 or not isinstance(self.loss, str):
            return loss_of(self.loss, LOSSES, outputs.number)
        if self.loss != "squared_error":
            raise InvalidInputError(
                f"loss {self.loss!r} has one target, got {outputs.number} columns of y: take 'squared_error', a Loss "
                "of several scores, or scikit-learn's MultiOutputRegressor"
            )
        return squared(outputs.number)
