"""Models of classes and of numbers: what both kinds of soft estimators predict, and how they read their targets."""

import dataclasses
from typing import Annotated, Any, Self

import jax
import numpy as np
from jaxtyping import Float, Int, Real, Shaped
from sklearn.base import ClassifierMixin

from jaxtree.arrays import AnyArray
from jaxtree.dataset.magnitude import check_counts
from jaxtree.dataset.sample import note_identifiers, shares_of_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import Words, check_parameters
from jaxtree.estimators.common.parts import PredictsNumbers, ScoresSources, part_by_part
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.parameters import BETWEEN_0_AND_1, FROM_0_BELOW_1, POSITIVE
from jaxtree.soft import losses
from jaxtree.soft.from_tree import log_shares
from jaxtree.soft.inputs import SoftSample
from jaxtree.table.probabilities import ClassProbabilities, ShareTarget, encode_probabilities
from jaxtree.table.target import encode_classes, encode_numbers
from jaxtree.table.weights import check_sample_weight, class_weights
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means

LEAST_RATE = 1e-3
"""The least mean that a leaf of a Poisson tree begins with, as a share of the mean of all."""


class OfClasses(ScoresSources, ClassifierMixin):
    """A model of classes, of one output, whose `predict_values` returns the share of every class."""

    classes_: Shaped[np.ndarray, " class"]

    @part_by_part
    def predict(self, X: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the class of greatest share for every row."""
        label = self.predict_proba(X).argmax(axis=1)  # which raises before there are classes
        return self.classes_[label]

    @part_by_part
    def predict_proba(self: Any, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the share of every class for every row, classes in the order of `classes_`."""
        return self.predict_values(self._values(X))


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftClassifier(OfClasses, BaseSoft):
    """Soft models of classes, of one output."""

    loss: Annotated[Any, Words({"log_loss"}), callable] = "log_loss"
    label_smoothing: Annotated[float, FROM_0_BELOW_1] = 0.1
    gate_rate: Annotated[float, POSITIVE] = 0.03
    leaf_rate: Annotated[float, POSITIVE] = 0.2
    class_weight: Annotated[Any, dict, Words({"balanced"}), None] = None

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
        if isinstance(y, ClassProbabilities):
            raise InvalidInputError("partial_fit takes a class for every row, got ClassProbabilities, which fit takes")
        declared = None if classes is None else np.unique(np.asarray(classes))
        if declared is not None and hasattr(self, "soft_model_") and not np.array_equal(declared, self.classes_):
            raise InvalidInputError(
                f"classes must be those of the first call, {self.classes_.tolist()}, got {declared.tolist()}"
            )
        return self._partial_fit(X, y, sample_weight, declared)

    def distil(self, teacher: Any, X: Any, sample_weight: Any = None) -> Self:
        """Trains the model on a teacher's probabilities: `fit` with them as its `jaxtree.ClassProbabilities`.

        `jaxtree.distil` has labels of teachers that have not seen the rows, and more rows.

        Args:
            teacher: A fitted classifier with `classes_` and `predict_proba`, such as a forest.
            X: A table; it needs no targets.
            sample_weight: The weight of every row.

        Raises:
            InvalidInputError: The teacher has several outputs; and as in `fit`.
        """
        check_parameters(self)
        shares = teacher.predict_proba(X)
        if isinstance(shares, list):
            raise InvalidInputError("a teacher must have one output, got one with several")
        return self.fit(X, ClassProbabilities(shares, teacher.classes_), sample_weight)

    def predict_values(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row class"]:
        """Returns what `predict_proba` does, of rows that `encoder_.values` has encoded."""
        share = np.exp(self._outputs_of(values).astype(np.float64))
        return share / share.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the logarithms of what `predict_proba` returns."""
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        """scikit-learn's tags: there is one output."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _fit_sample(self, sample: SoftSample, validation: SoftSample | None, *, taught_by: Any = None) -> Self:
        """Trains on rows that are read: on shares of classes by the mean of the cross entropies of these."""
        has_shares = sample.target.ndim == 2
        if has_shares and self.loss != "log_loss":
            raise InvalidInputError(f"loss must be 'log_loss' where y has probabilities, got {self.loss!r}")
        if validation is not None and validation.target.ndim == 2 and not has_shares:
            raise InvalidInputError("y_val has probabilities, and y has classes: give labels() of y_val")
        if validation is not None and has_shares and validation.target.ndim == 1:
            validation = validation._replace(target=np.eye(self.n_classes_)[validation.target])
        return super()._fit_sample(sample, validation, taught_by=losses.distillation if has_shares else taught_by)

    def _read_target(
        self, y: Any, sample_weight: Any, classes: Any, *, is_known: bool
    ) -> Real[np.ndarray, "row *class"]:
        if isinstance(y, ClassProbabilities):
            return self._read_probabilities(y, is_known=is_known)
        target = encode_classes(y)
        if len(target.classes) != 1:
            raise InvalidInputError(f"y must have one output, got {len(target.classes)}: fit an estimator for each")
        if not is_known:
            note_identifiers(target)
            self.classes_ = target.classes[0] if classes is None else classes
            self.n_classes_ = len(self.classes_)
        position = {name: code for code, name in enumerate(self.classes_.tolist())}
        unknown = [name for name in target.classes[0].tolist() if name not in position]
        if unknown:
            raise InvalidInputError(f"y has the classes {unknown}; known are {self.classes_.tolist()}")
        codes = np.array([position[name] for name in target.classes[0].tolist()], np.int32)
        return codes[target.codes[0]]

    def _read_probabilities(self, y: ClassProbabilities, *, is_known: bool) -> Real[np.ndarray, "row *class"]:
        """The shares of the classes; of rows of one class each their codes."""
        target = encode_probabilities(y)
        if not isinstance(target, ShareTarget):
            return self._read_target(y.labels(), None, None, is_known=is_known)
        if not is_known:
            self.classes_, self.n_classes_ = target.classes, len(target.classes)
            return target.shares.T
        shares = shares_of_known(y, self.classes_)
        if (shares < 0).any():
            raise InvalidInputError(f"y has the classes {target.classes.tolist()}; known are {self.classes_.tolist()}")
        return shares.T

    def _class_factors(self, target: Real[np.ndarray, "row *class"]) -> Float[np.ndarray, " row"] | None:
        if self.class_weight is None:
            return None
        if target.ndim == 2:
            raise InvalidInputError(
                f"class_weight of soft trees is for classes, and y has probabilities, got {self.class_weight!r}"
            )
        return class_weights(self.class_weight, encode_classes(self.classes_[target]))

    def _hard_value(self, value: Float[AnyArray, "end class"]) -> Float[AnyArray, "end class"]:
        return jax.nn.softmax(value)

    def _hard_target(self, target: Real[np.ndarray, "row *class"]) -> Int[np.ndarray, "row 1"]:
        return target.argmax(axis=1)[:, None] if target.ndim == 2 else target[:, None]

    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node class"]:
        return log_shares(tree)

    def _loss(self) -> Any:
        if self.loss != "log_loss":
            return self.loss
        smoothing = float(self.label_smoothing)
        return losses.smoothed_cross_entropy(smoothing) if smoothing else losses.cross_entropy


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftRegressor(PredictsNumbers, BaseSoft):
    """Soft models of numbers, of one output or several; they train on targets less a mean, over a deviation."""

    loss: Annotated[Any, Words({"squared_error", "absolute_error", "quantile", "poisson"}), callable] = "squared_error"
    quantile: Annotated[float, BETWEEN_0_AND_1] = 0.5
    gate_rate: Annotated[float, POSITIVE] = 0.02
    leaf_rate: Annotated[float, POSITIVE] = 0.05

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Goes over some rows once, at the last temperature.

        Columns, categories and scales are learned from the rows of the first call, or of an earlier `fit`.

        Args:
            X: A table.
            y: The number of every row; several columns for several outputs.
            sample_weight: The weight of every row.
        """
        return self._partial_fit(X, y, sample_weight)

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

    def _read_target(
        self, y: Any, sample_weight: Any, classes: Any, *, is_known: bool
    ) -> Float[np.ndarray, "row output"]:
        target = encode_numbers(y)
        values = target.values.T
        if is_known and values.shape[1] != self.n_outputs_:
            raise InvalidInputError(f"y must have {self.n_outputs_} outputs, as in fit, got {values.shape[1]}")
        if self.loss == "poisson":
            check_counts(target.values, values.sum(axis=0).min())
        if is_known:
            return self._scaled(values)
        self.n_outputs_, self.is_vector_ = len(target.values), target.is_vector
        weight = check_sample_weight(sample_weight, len(values))
        self._mean, self._deviation = np.zeros(self.n_outputs_), np.ones(self.n_outputs_)
        if self.loss == "poisson":
            self._deviation = np.average(values, axis=0, weights=weight)
        elif isinstance(self.loss, str):
            self._mean = np.average(values, axis=0, weights=weight)
            deviation = np.sqrt(np.average(np.square(values - self._mean), axis=0, weights=weight))
            self._deviation = np.where(deviation > 1e-12 * np.abs(self._mean), deviation, 1.0)
        return self._scaled(values)

    def _scaled(self, values: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        return (values - self._mean) / self._deviation

    def _loss(self) -> Any:
        named = {
            "squared_error": losses.squared_error,
            "absolute_error": losses.quantile(0.5),
            "quantile": losses.quantile(float(self.quantile)),
            "poisson": losses.poisson,
        }
        return named[self.loss] if isinstance(self.loss, str) else self.loss
