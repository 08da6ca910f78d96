"""The predictions of fitted trees: methods of estimators and of models that are served."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from jaxtree.serving.rows import of_arrays, over_sources
from jaxtree.tree.model import FittedModel


class AnswersOfClasses:
    """Predictions of classes; the parts of several outputs are lists.

    A class that has them gives a `FittedModel` as `_model`, and the values of a table by `_values`.
    """

    _model: FittedModel
    _values: Any
    predict_values: Any
    n_outputs_: int
    classes_: Any

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

    @of_arrays
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


class AnswersOfNumbers:
    """Predictions of numbers, by `predict_values`."""

    _values: Any
    predict_values: Any
    is_vector_: bool

    @over_sources
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the number of every row, of a forest the mean over its trees; of several outputs (rows, outputs)."""
        return self._as_given(self.predict_values(self._values(X)))

    def _as_given(self, numbers: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row *output"]:
        """Returns the numbers as a vector where the target was one."""
        return numbers[:, 0] if self.is_vector_ else numbers
