"""Fitted trees and forests: predictions, importances, and the model that other rooms take."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.common.conventions import check_parameters, learn_names
from jaxtree.estimators.common.importances import sums_of_splits
from jaxtree.estimators.common.parts import EstimatorOnTables, ScoresSources, over_sources
from jaxtree.estimators.common.prunings import Pruning
from jaxtree.tree.model import FittedModel


class FittedTrees(EstimatorOnTables):
    """A tree or a forest on any table, whose fit ends with a `FittedModel`."""

    pruning: Pruning | None
    classes_: Any
    _model: FittedModel

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


class PredictsClasses(ScoresSources, ClassifierMixin, FittedTrees):
    """Predictions of classes; the parts of several outputs are lists."""

    @over_sources
    def predict(self, X: Any) -> Shaped[np.ndarray, "row *output"]:
        """Returns the class of greatest share in the row's leaf, or in the mean of trees; of equal ones the first.

        Classes come in the order of `classes_`; under `C45Classifier` in that which the dtype of the target declared.
        """
        values = self._values(X)
        return self._names_of(self._model.predict_label(values))

    @over_sources
    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the share of every class in the row's leaf, or its mean over the trees, as `classes_` has them."""
        shares = self.predict_values(self._values(X))
        return shares if self.n_outputs_ == 1 else self._model.by_output(shares)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the logarithms of what `predict_proba` returns."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(share) for share in shares] if isinstance(shares, list) else np.log(shares)

    def class_names(self) -> tuple[Shaped[np.ndarray, " class"], ...]:
        """Returns the classes of every output."""
        return (self.classes_,) if self.n_outputs_ == 1 else tuple(self.classes_)

    def _names_of(self, labels: Int[np.ndarray, "output row"]) -> Shaped[np.ndarray, "row *output"]:
        columns = [names[label] for names, label in zip(self.class_names(), labels, strict=True)]
        return columns[0] if self.n_outputs_ == 1 else np.stack(columns, axis=1)
