"""Targets of soft estimators: classes, and numbers brought to a size that suits training."""

from typing import Any, NamedTuple, Self

import jax
import numpy as np
from jaxtyping import Float, Int, Real, Shaped
from sklearn.base import ClassifierMixin, RegressorMixin

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.soft_base import BaseSoft
from jaxtree.estimators.soft_parameters import REGRESSION_LOSSES, SoftClassifierParameters, SoftRegressorParameters
from jaxtree.soft import losses
from jaxtree.soft.from_tree import log_shares
from jaxtree.table.target import ClassTarget, check_sample_weight, class_weights, encode_classes, encode_numbers
from jaxtree.tree import Tree, target_means

LEAST_RATE = 1e-3
"""The least mean that a leaf of a Poisson tree begins with, as a share of the mean of all."""


class ClassShares(NamedTuple):
    """A teacher's probabilities, the target of `distil`."""

    classes: Shaped[np.ndarray, " class"]
    shares: Float[np.ndarray, "row class"]


class SoftClassifier(SoftClassifierParameters, ScoresSources, ClassifierMixin, BaseSoft):
    """Soft models of classes, of one output."""

    classes_: Shaped[np.ndarray, " class"]
    n_classes_: int

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Goes over some rows once, at the last temperature.

        Columns, categories and scales are learned from the rows of the first call, or of an earlier `fit`.

        Args:
            X: A table.
            y: The class of every row.
            classes: All classes that there will be; needed in the first call, unless y has them all.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: As in `fit`; or a class is not known, or other classes are given than before.
        """
        declared = None if classes is None else np.unique(np.asarray(classes))
        if declared is not None and hasattr(self, "model_") and not np.array_equal(declared, self.classes_):
            raise InvalidInputError(
                f"classes must be those of the first call, {self.classes_.tolist()}, got {declared.tolist()}"
            )
        return self._partial_fit(X, y, sample_weight, declared)

    def distil(self, teacher: Any, X: Any, sample_weight: Any = None) -> Self:
        """Trains the model on a teacher's probabilities.

        Args:
            teacher: A fitted classifier with `classes_` and `predict_proba`, such as a forest.
            X: A table; it needs no targets.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: The teacher has several outputs; and as in `fit`.
        """
        self.check_parameters()
        shares = teacher.predict_proba(X)
        if isinstance(shares, list):
            raise InvalidInputError("a teacher must have one output, got one with several")
        target = ClassShares(np.asarray(teacher.classes_), np.asarray(shares, np.float32))
        return self._fit_sample(self._read_sample(X, target, sample_weight), None, taught_by=losses.distillation)

    @part_by_part
    def predict(self, X: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row."""
        label = self._outputs(X).argmax(axis=1)  # which raises before there are classes
        return self.classes_[label]

    @part_by_part
    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the probability of every class, classes in the order of `classes_`."""
        return _shares(self._outputs(X))

    def predict_values(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row class"]:
        """Returns what `predict_proba` does, of rows that `encoder_.values` has encoded."""
        return _shares(self._outputs_of(values))

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the logarithms of what `predict_proba` returns."""
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        """Tells scikit-learn that there is one output."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _read_target(self, y: Any, sample_weight: Any, classes: Any) -> Real[np.ndarray, "row *class"]:
        if isinstance(y, ClassShares):
            self.classes_, self.n_classes_ = y.classes, len(y.classes)
            return y.shares
        target = self._one_output(y)
        self.classes_ = target.classes[0]
        if classes is not None:
            unknown = np.setdiff1d(self.classes_, classes)
            if unknown.size:
                raise InvalidInputError(f"y has the classes {unknown.tolist()}, which `classes` does not name")
            self.classes_ = classes
        self.n_classes_ = len(self.classes_)
        return self._codes(target)

    def _read_known_target(self, y: Any) -> Int[np.ndarray, " row"]:
        return self._codes(self._one_output(y))

    def _one_output(self, y: Any) -> ClassTarget:
        target = encode_classes(y)
        if len(target.classes) != 1:
            raise InvalidInputError(f"y must have one output, got {len(target.classes)}: fit an estimator for each")
        return target

    def _codes(self, target: ClassTarget) -> Int[np.ndarray, " row"]:
        position = {name: code for code, name in enumerate(self.classes_.tolist())}
        unknown = [name for name in target.classes[0].tolist() if name not in position]
        if unknown:
            raise InvalidInputError(f"y has the classes {unknown}; known are {self.classes_.tolist()}")
        codes = np.array([position[name] for name in target.classes[0].tolist()], np.int32)
        return codes[target.codes[0]]

    def _weight_of_target(self, target: Real[np.ndarray, "row *class"]) -> Float[np.ndarray, " row"] | None:
        if self.class_weight is None:
            return None
        if target.ndim == 2:
            raise InvalidInputError("class_weight is for classes, and a teacher gives shares of them")
        return class_weights(self.class_weight, encode_classes(self.classes_[target]))

    def _hard_value(self, value: Float[AnyArray, "end class"]) -> Float[AnyArray, "end class"]:
        return jax.nn.softmax(value)

    def _hard_target(self, target: Real[np.ndarray, "row *class"]) -> Int[np.ndarray, "row 1"]:
        return target.argmax(axis=1)[:, None] if target.ndim == 2 else target[:, None]

    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node class"]:
        return log_shares(tree)

    def _num_outputs(self) -> int:
        return self.n_classes_

    def _loss(self) -> Any:
        if self.loss != "log_loss":
            return self.loss
        smoothing = float(self.label_smoothing)
        return losses.smoothed_cross_entropy(smoothing) if smoothing else losses.cross_entropy


class SoftRegressor(SoftRegressorParameters, ScoresSources, RegressorMixin, BaseSoft):
    """Soft models of numbers, of one output or several; they train on targets less a mean, over a deviation."""

    n_outputs_: int

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Goes over some rows once, at the last temperature.

        Columns, categories and scales are learned from the rows of the first call, or of an earlier `fit`.

        Args:
            X: A table.
            y: The number of every row; several columns for several outputs.
            sample_weight: The weight of every row.
        """
        return self._partial_fit(X, y, sample_weight)

    @part_by_part
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the number of every row, of shape (rows,) or for several outputs (rows, outputs)."""
        numbers = self._hard_value(self._outputs(X))
        return numbers[:, 0] if self.is_vector_ else numbers

    def predict_values(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row output"]:
        """Returns what `predict` does, of rows that `encoder_.values` has encoded, with a column for every output."""
        return self._hard_value(self._outputs_of(values))

    def _hard_value(self, value: Float[AnyArray, "end output"]) -> Float[np.ndarray, "end output"]:
        value = np.asarray(value, np.float64)
        return np.exp(value) * self._deviation if self.loss == "poisson" else value * self._deviation + self._mean

    def _hard_target(self, target: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        return target * self._deviation + self._mean

    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node output"]:
        if self.loss == "poisson":
            return np.log(np.maximum(target_means(tree) / self._deviation, LEAST_RATE))
        return self._scaled(target_means(tree))

    def _read_target(self, y: Any, sample_weight: Any, classes: Any) -> Float[np.ndarray, "row output"]:
        target = encode_numbers(y)
        self.n_outputs_, self.is_vector_ = len(target.values), target.is_vector
        values = target.values.T
        weight = check_sample_weight(sample_weight, len(values))
        self._mean, self._deviation = np.zeros(self.n_outputs_), np.ones(self.n_outputs_)
        if self.loss == "poisson":
            _check_counts(values)
            self._deviation = np.average(values, axis=0, weights=weight)
        elif self.loss in REGRESSION_LOSSES:
            self._mean = np.average(values, axis=0, weights=weight)
            deviation = np.sqrt(np.average(np.square(values - self._mean), axis=0, weights=weight))
            self._deviation = np.where(deviation > 1e-12 * np.abs(self._mean), deviation, 1.0)
        return self._scaled(values)

    def _read_known_target(self, y: Any) -> Float[np.ndarray, "row output"]:
        values = encode_numbers(y).values.T
        if values.shape[1] != self.n_outputs_:
            raise InvalidInputError(f"y must have {self.n_outputs_} outputs, as in fit, got {values.shape[1]}")
        if self.loss == "poisson":
            _check_counts(values)
        return self._scaled(values)

    def _scaled(self, values: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        return (values - self._mean) / self._deviation

    def _num_outputs(self) -> int:
        return self.n_outputs_

    def _loss(self) -> Any:
        match self.loss:
            case "squared_error":
                return losses.squared_error
            case "poisson":
                return losses.poisson
            case "absolute_error":
                return losses.quantile(0.5)
            case "quantile":
                return losses.quantile(float(self.quantile))
        return self.loss


def _check_counts(values: Float[np.ndarray, "row output"]) -> None:
    """Refuses what no Poisson distribution has."""
    if values.min() < 0:
        raise InvalidInputError(
            f"Some value(s) of y are negative which is not allowed for Poisson regression: the least is {values.min()}"
        )
    if (values.sum(axis=0) <= 0).any():
        raise InvalidInputError("Sum of y is not positive which is necessary for Poisson regression: all are 0")


def _shares(outputs: Float[np.ndarray, "row class"]) -> Float[np.ndarray, "row class"]:
    share = np.exp(outputs.astype(np.float64))
    return share / share.sum(axis=1, keepdims=True)
