"""Boosted trees and additive models that are served: a loss predicts from the scores that trees add up to."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Shaped

from jaxtree.additive.trees import to_forest
from jaxtree.errors import InvalidInputError, JaxtreeError
from jaxtree.files.additive import AdditiveState
from jaxtree.files.boosting import BoostedState
from jaxtree.files.predictions import check_model
from jaxtree.files.records import require
from jaxtree.files.trees import FittedTable
from jaxtree.losses.loss import BaseLoss
from jaxtree.serving.by_loss import (
    AnswersOfClassScores,
    AnswersOfScores,
    Scores,
    first_numbers,
    first_scores,
    given_numbers,
    shares_of,
)
from jaxtree.serving.models import Parameters, ServedModel
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import target_means

ScoredTrees = tuple[Forest, Float64[np.ndarray, " score"], Float64[np.ndarray, "node score"]]
"""Trees, the scores before the first one, and the steps of their nodes."""


class ServedScores(AnswersOfScores, ServedModel):
    """Boosted trees or an additive model.

    Args:
        name: The class of the estimator.
        table: The columns and the target.
        model: The nodes, with the scores of each.
        n_jobs: The cores that a prediction may use.
        loss: The loss, which predicts from scores.
    """

    def __init__(self, name: str, table: FittedTable, model: FittedModel, n_jobs: int | None, loss: BaseLoss):
        super().__init__(name, table, model, n_jobs)
        self.loss_ = loss

    def scores_of(self, values: Float[np.ndarray, "row feature"]) -> Scores:
        """Returns the scores of rows that `encoder_.values` has encoded."""
        return self._model.predict(values)


class ServedClassScores(AnswersOfClassScores, ServedScores):
    """Boosted trees, or an additive model, of classes."""

    _of_classes = True

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the logarithms of what `predict_proba` returns."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class ServedNumberScores(ServedScores):
    """Boosted trees, or an additive model, of numbers, ranks, times or distributions.

    Args:
        name: The class of the estimator.
        table: The columns and the target.
        model: The nodes, with the scores of each.
        n_jobs: The cores that a prediction may use.
        loss: The loss, which predicts from scores.
        answer: Returns predictions of a loss and scores.
    """

    def __init__(
        self,
        name: str,
        table: FittedTable,
        model: FittedModel,
        n_jobs: int | None,
        loss: BaseLoss,
        answer: Callable[..., Shaped[np.ndarray, "row ..."]],
    ):
        super().__init__(name, table, model, n_jobs, loss)
        self._answer = answer

    def predict(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row *prediction"]:
        """Returns the numbers of every row, as those of the estimator; see `raw_scores`."""
        return self._answer(self.loss_, self.raw_scores(X, offset=offset))

    def predict_dist(self, X: Any, *, offset: Any = None) -> Any:
        """Returns the distribution of every row.

        Raises:
            InvalidInputError: The loss is no distribution.
        """
        from jaxtree.losses.predicted import Distribution, PredictedDistribution  # few models are asked for them

        if not isinstance(self.loss_, Distribution):
            raise InvalidInputError(
                f"distributions are predicted with a loss such as 'normal', and this model has {self.loss_}"
            )
        return PredictedDistribution(self.loss_, np.asarray(self.raw_scores(X, offset=offset), np.float64))

    def predict_quantile(self, X: Any, levels: Any, *, offset: Any = None) -> Float[np.ndarray, "row *level"]:
        """Returns the quantiles of a level, or of each of several levels in a column; see `predict_dist`."""
        return self.predict_dist(X, offset=offset).quantile(levels)


def serve_boosted(name: str, state: BoostedState, parameters: Parameters) -> ServedModel:
    """Returns the model of boosted trees."""
    forest = state.forest(state.table.encoder().schema_)
    return _served_scores(name, state, (forest, state.start, target_means(forest.nodes)), parameters)


def serve_additive(name: str, state: AdditiveState, parameters: Parameters) -> ServedModel:
    """Returns the model of the terms of an additive model."""
    forest, step = to_forest(state.terms.model(state.table.encoder().schema_))
    return _served_scores(name, state, (forest, state.terms.intercept, step), parameters)


def _served_scores(
    name: str, state: BoostedState | AdditiveState, trees: ScoredTrees, parameters: Parameters
) -> ServedModel:
    table, loss = state.table, state.loss
    classes = table.outputs[0].names if table.outputs else None
    model = FittedModel.of_scores(table.encoder().schema_, *trees)
    check_model(model)
    if name.endswith("Classifier"):
        fits = classes is not None and _num_shares(loss) == len(classes)
        require(fits, "its loss is not one of its classes")
        return ServedClassScores(name, table, model, parameters.num_jobs, loss)
    answer = _answer_of(name, is_vector=table.is_vector)
    return ServedNumberScores(name, table, model, parameters.num_jobs, loss, answer)


def _num_shares(loss: BaseLoss) -> int:
    """Returns the number of classes of a loss; of one that the file lacks it follows from that of scores."""
    try:
        return shares_of(loss, np.zeros((1, loss.num_scores))).shape[1]
    except JaxtreeError:
        return max(loss.num_scores, 2)


def _answer_of(name: str, *, is_vector: bool) -> Callable[..., Any]:
    """Returns the function from a loss and scores to what an estimator of numbers predicts."""
    if name == "GradientBoostingDistribution":
        return first_numbers
    if name == "GradientBoostingRanker":
        return first_scores
    return functools.partial(given_numbers, is_vector=is_vector)
