"""Additive models with scikit-learn's conventions, and the names of interpret's."""

import dataclasses
from typing import Annotated, Any

from jaxtree.additive.fitting import FittedBags
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.additive.base import BaseAdditive
from jaxtree.estimators.boosting.loss_names import LOSSES
from jaxtree.estimators.boosting.scored import ClassesByScores, NumbersByScores
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times
from jaxtree.estimators.common.conventions import Words
from jaxtree.estimators.common.parameters import BALANCED
from jaxtree.losses.classes import logistic, softmax
from jaxtree.losses.loss import BaseLoss


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExplainableBoostingClassifier(ClassesByScores, BaseAdditive):
    """X."""

    class_weight: Annotated[Any, dict, list, BALANCED, None] = None

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number > 1:
            raise InvalidInputError(f"additive models have one target of classes, got {outputs.number} columns of y")
        (number,) = outputs.num_classes
        if number < 2:
            raise InvalidInputError(f"an additive model needs two classes or more, got {number} class")
        return logistic() if number == 2 else softmax(number)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExplainableBoostingRegressor(PredictsSurvival, NumbersByScores, BaseAdditive):
    """X."""

    loss: Annotated[str | BaseLoss, Words(LOSSES), BaseLoss] = "squared_error"

    _named_losses = LOSSES

    def set_model(self, data: Dataset, loss: BaseLoss, fitted: FittedBags) -> None:
        """Takes what a fit has learned, of survival times also the baseline."""
        super().set_model(data, loss, fitted)
        vars(self).pop("survival_", None)
        if is_of_times(loss):
            self.survival_ = learn_times(loss, data.sample, self._scores(data.sample.X))
