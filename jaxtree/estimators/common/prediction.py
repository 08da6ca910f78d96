"""Fitted trees and forests: predictions, importances, and the model that other rooms take."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.common.conventions import check_parameters, learn_names
from jaxtree.estimators.common.importances import sums_of_splits
from jaxtree.estimators.common.parts import EstimatorOnTables, ScoresSources
from jaxtree.estimators.common.prunings import Pruning
from jaxtree.export.functions import Function, function_of
from jaxtree.serving.answers import AnswersOfClasses
from jaxtree.tree.model import FittedModel, RowSums


class FittedTrees(EstimatorOnTables):
    """A tree or a forest on any table, whose fit ends with a `FittedModel`."""

    pruning: Pruning | None
    classes_: Any
    _model: FittedModel
    _row_sums: RowSums | None = None
    """The exact sums over rows that a refit keeps, see `TakesRows`; None if nodes have all that there is."""

    def __sklearn_is_fitted__(self) -> bool:
        """Answers scikit-learn's `check_is_fitted`."""
        return hasattr(self, "_model")

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self)
        if self.pruning is not None:
            self.pruning.check()

    @property
    def model_(self) -> FittedModel:
        """The nodes with their columns and with what they predict, which explanations, drawings and exports take."""
        check_is_fitted(self)
        return self._model

    @property
    def model_of_function(self) -> FittedModel:
        """The fitted trees."""
        return self.model_

    def parts_of_function(self, dtype: Any) -> tuple[Any, Function]:
        """Returns the parameters of the trees, and the function of these and of rows."""
        model = self.model_
        return function_of(model, None, dtype=dtype, shares_out=bool(model.predictor.shares_out.any()))

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns shares of classes, the outputs side by side, or means, of rows that `encoder_.values` has encoded."""
        return self.model_.predict(values)

    def learn(self, data: Dataset) -> None:
        """Learns of the rows of a fit what predictions need: columns, outputs and classes."""
        self.encoder_, self.other_columns_ = data.encoder, data.sample.beside
        learn_names(self, data.schema.num_features, data.given_names)
        outputs = data.outputs
        self.n_outputs_ = outputs.number
        if not outputs.classes:
            self.is_vector_ = outputs.is_vector
            return
        is_one, classes = outputs.number == 1, list(outputs.classes)
        self.n_classes_ = len(classes[0]) if is_one else np.array(outputs.num_classes)
        self.classes_ = classes[0] if is_one else classes

    def _importances(self) -> Float[np.ndarray, "tree column"]:
        """Returns the share of the summed weighted gain of every tree that its splits on each column have, or 0.

        Raises InvalidInputError if gains are infinite.
        """
        summed = self._gains()
        total = summed.sum(axis=1, keepdims=True)
        return np.divide(summed, total, out=np.zeros_like(summed), where=total > 0)

    def _gains(self) -> Float[np.ndarray, "tree column"]:
        """Returns the summed weighted gain of the splits of every tree on each column."""
        return sums_of_splits(self.model_, "gain")


class PredictsClasses(ScoresSources, ClassifierMixin, AnswersOfClasses, FittedTrees):
    """Predictions of classes, as scikit-learn's classifiers make them."""
