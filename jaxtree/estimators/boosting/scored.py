"""Models whose trees add up to scores, which a loss turns into predictions."""

import abc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Shaped
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import plain_target, read_arguments
from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.loss_names import LOSSES
from jaxtree.estimators.boosting.responses import (
    fixed_classes,
    fixed_numbers,
    name_of_score,
    numbers_of,
    score_of,
    scores_by_loss,
    shares_of,
    with_offset,
)
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.common.extras import RoutesExtras, check_arguments, extras_of
from jaxtree.estimators.common.fixed import FixedPredictions
from jaxtree.estimators.common.parts import PredictsNumbers, part_by_part
from jaxtree.estimators.common.prediction import FittedTrees, PredictsClasses
from jaxtree.files.container import shortened
from jaxtree.files.records import require
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.links import link_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.numbers import squared
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import FittedModel


class ScoredTrees(RoutesExtras, FittedTrees):
    """Trees that add up to scores, and the loss that predicts from these."""

    forest_: Forest
    start_: Float64[np.ndarray, " score"]
    survival_: EventTimes | None = None
    """The event times and the baseline hazard of a fit of survival times."""

    _loss: BaseLoss
    pruning = None

    _fixed_predictions: Callable[..., FixedPredictions]
    """The function that predicts outputs from scores and an offset."""
    _measure: Callable[[BaseLoss, Sample, Any], float] = staticmethod(score_of)
    """The loss of rows with their scores."""

    @property
    def loss_(self) -> BaseLoss:
        """The loss of the fit."""
        check_is_fitted(self)
        return self._loss

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
            step: What every node adds to the scores.
        """
        self.forest_, self.start_ = forest, start
        link = link_of(self._loss, getattr(self, "classes_", None))
        # The mean of the trees' predictions is the sum of their steps, behind the start.
        value, schema = start + len(forest) * step, self.encoder_.schema_
        self._model = FittedModel(schema, forest, value, None, (), (), averages_trees=True, link=link)

    def raw_scores(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row score"]:
        """Returns the scores of every row, which the loss turns into predictions: a column a score.

        Args:
            X: A table, or a source.
            offset: What is added to the scores, as in `fit`.
        """
        return with_offset(self.loss_, self._scores(X), offset)

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns predictions of rows that `encoder_.values` has encoded."""
        return self._predictions(self.scores_of(values))

    def fixed_predictions(self, scores: Float[np.ndarray, "row score"], offset: Any = None) -> FixedPredictions:
        """Returns what the fitted loss predicts from scores and an offset, as an estimator that scorers take."""
        return self._fixed_predictions(self.loss_, self.outputs(), scores, offset)

    @abc.abstractmethod
    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        """Returns the loss of a target."""

    def _score_of_rows(self, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> float:
        """Returns the score of rows by the loss."""
        rows = allowed_rows(self.loss_, read_known(self.outputs(), X, y, sample_weight, extras))
        return self._measure(self.loss_, rows, self._scores(rows.X))

    @part_by_part
    def _scores(self, X: Any) -> Float[np.ndarray, "row score"]:
        return self.scores_of(self._values(X))

    def scores_of(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row score"]:
        """Returns the scores of rows that `encoder_.values` has encoded."""
        return self.model_.predict(values)

    def _predictions(self, scores: Float[np.ndarray, "row score"]) -> Float[np.ndarray, "row column"]:
        """Returns what the loss predicts from scores."""
        return numbers_of(self.loss_, scores)


class ClassesByScores(PredictsClasses, ScoredTrees):
    """Predictions of classes from scores."""

    _of_classes = True
    _fixed_predictions = staticmethod(fixed_classes)

    def predict(self, X: Any, *, offset: Any = None) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row, of equal ones the first; see `raw_scores`."""
        return self.fixed_predictions(self.raw_scores(X, offset=offset)).predict()

    def predict_proba(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row class"]:
        """Returns the probability of every class of `classes_`; see `raw_scores`."""
        return self._predictions(self.raw_scores(X, offset=offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Returns the share of rows that are predicted right.

        Args:
            X: A table, or a source.
            y: Its target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of a column.
            offset: What is added to the scores, as in `fit`.
        """
        given = read_arguments(X, y, sample_weight)
        predicted = self.predict(given.X, offset=offset)
        return float(accuracy_score(plain_target(given.y), predicted, sample_weight=given.sample_weight))

    def decision_function(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row *class"]:
        """Returns the scores of every row: of two classes the log odds of the second, else a column a class."""
        scores = self.raw_scores(X, offset=offset)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _predictions(self, scores: Float[np.ndarray, "row score"]) -> Float[np.ndarray, "row class"]:
        return shares_of(self.loss_, scores)


class NumbersByScores(PredictsNumbers, ScoredTrees):
    """Predictions of numbers from scores."""

    loss: str | BaseLoss

    _fixed_predictions = staticmethod(fixed_numbers)

    def predict(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row *prediction"]:
        """Returns the number of every row; of several outputs or quantiles a column each; see `raw_scores`."""
        return self.fixed_predictions(self.raw_scores(X, offset=offset)).predict()

    @property
    def score_name_(self) -> str:
        """The name of the score: "R²", "concordance", or minus the mean of the loss, as "minus mean huber(delta=2)"."""
        return name_of_score(self.loss_, self.n_outputs_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> float:
        """Returns the coefficient of determination, the concordance index, or minus the mean loss.

        The concordance index of survival times, see `jaxtree.metrics.concordance_index`. Minus the mean loss where
        predictions are not numbers close to the targets: of other losses that ask for extras beside offsets, and of
        several predictions for one target, such as quantiles.

        Args:
            X: A table, or a source.
            y: Its target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of a column.
            extras: What the loss asks for, as in `fit`.
        """
        check_is_fitted(self)
        check_arguments(self, "score", extras, extras_of(self.loss_))
        if scores_by_loss(self.loss_, self.n_outputs_):
            return self._score_of_rows(X, y, sample_weight, extras)
        given = read_arguments(X, y, sample_weight)
        predicted = self.predict(given.X, offset=extras.get("offset"))
        return r2_score(plain_target(given.y), predicted, sample_weight=given.sample_weight)

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number == 1 or not isinstance(self.loss, str):
            return LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss
        if self.loss != "squared_error":
            raise InvalidInputError(
                f"loss {self.loss!r} has one target, got {outputs.number} columns of y: take 'squared_error', a Loss "
                "of several scores, or scikit-learn's MultiOutputRegressor"
            )
        return squared(outputs.number)
