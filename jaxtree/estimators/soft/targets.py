"""Models of classes: what these soft estimators predict, and how they read their targets."""

import dataclasses
from typing import Annotated, Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64, Int, Real, Shaped
from scipy.special import entr
from sklearn.base import ClassifierMixin

from jaxtree.arrays import AnyArray
from jaxtree.dataset.arguments import Fields
from jaxtree.dataset.sample import Outputs, Sample
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.extras import extras_of
from jaxtree.estimators.common.parts import ScoresSources
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.parameters import (
    AUTO,
    BITS_OF_UNEVEN_CLASSES,
    FROM_0_BELOW_1,
    LEAST_CLASSES_TO_HOLD_OUT,
    is_auto,
    mixture_of,
    rows_of_step,
    settings_of,
)
from jaxtree.estimators.soft.rows import SoftRows
from jaxtree.estimators.trees.cart import DecisionTreeClassifier
from jaxtree.export.functions import RowAnswer
from jaxtree.losses.classes import for_classes
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import OF_CLASSES, AnyLoss, loss_of
from jaxtree.serving.rows import of_arrays, over_sources
from jaxtree.soft import losses
from jaxtree.soft.calibration import Constant
from jaxtree.soft.forest import TOGETHER
from jaxtree.soft.from_tree import log_shares
from jaxtree.soft.functions import name_of
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.model import LEAST_PROBABILITY
from jaxtree.soft.scores import ScoredTarget
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.target import encode_classes
from jaxtree.table.weights import class_weights
from jaxtree.tree import Tree


class OfClasses(ScoresSources, ClassifierMixin):
    """A model of classes, of one output, whose `predict_values` returns the share of every class."""

    classes_: Shaped[np.ndarray, " class"]

    def class_names(self) -> tuple[Shaped[np.ndarray, " class"], ...]:
        """Returns the classes of the one output."""
        return (self.classes_,)

    @over_sources
    def predict(self, X: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the class of greatest share for every row."""
        label = self.predict_proba(X).argmax(axis=1)  # which raises before there are classes
        return self.classes_[label]

    @over_sources
    def predict_proba(self: Any, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the share of every class for every row, classes in the order of `classes_`."""
        return self.predict_values(self._values(X))


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftClassifier(OfClasses, BaseSoft):
    """Soft models of classes, of one output.

    Args:
        loss: "log_loss"; or a loss of `jaxtree.boosting` of classes, such as `focal(gamma=2)`, or a `Loss` of one's
            own, or its function alone, of the scores of a row, its target and its extras; or a function of outputs and
            targets of rows, as in `jaxtree.soft.losses`. A class has a score each, the logarithm of its probability;
            targets are the places of classes in `classes_`.
        label_smoothing: The share of every label that is spread over all classes; by the shares of their rows where
            the class of a row is less than 0.9 bits. "auto" is 0.1, and 0 of hard gates.
        class_weight: Factors of classes in a dict, or "balanced".
    """

    loss: Annotated[AnyLoss, Words(OF_CLASSES), BaseLoss, callable, Role.FIT] = "log_loss"
    label_smoothing: Annotated[float | str, FROM_0_BELOW_1, Words({AUTO}), Role.TRAINS] = AUTO
    class_weight: Annotated[Any, dict, Words({"balanced"}), None, Role.FIT] = None

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed, or has no effect beside another."""
        super().check_parameters()
        if not isinstance(self.loss, str) and not is_auto(self.label_smoothing) and self.label_smoothing:
            raise InvalidInputError(
                f"label_smoothing is for loss='log_loss', got label_smoothing={self.label_smoothing} and "
                f"loss={name_of(self.loss)}"
            )

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
        return self._partial_fit(X, y, sample_weight, None if declared is None else Outputs(1, (declared,)))

    def predict_values(self, values: Float[np.ndarray, "row value"]) -> Float[np.ndarray, "row class"]:
        """Returns what `predict_proba` does, of rows that `encoder_.values` has encoded."""
        share = np.exp(self._outputs_of(values).astype(np.float64))
        return share / share.sum(axis=1, keepdims=True)

    def _answer_of(self, output: Float[Array, "row class"]) -> RowAnswer:
        share = jnp.exp(output)
        share = share / share.sum(axis=1, keepdims=True)
        return RowAnswer(share, label=jnp.argmax(share, axis=1)[None])

    @of_arrays
    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the logarithms of what `predict_proba` returns."""
        return np.log(self.predict_proba(X))

    def __sklearn_tags__(self):
        """scikit-learn's tags: there is one output."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    @property
    def _num_outputs(self) -> int:
        return self.n_classes_

    def _rows_of(self, sample: SoftSample, held: SoftSample | None) -> SoftRows:
        """The rows of a fit; of rows with probabilities, those held out have such, too."""
        has_shares = _codes_of(sample.target).ndim == 2
        if has_shares and self.loss != "log_loss":
            raise InvalidInputError(f"loss must be 'log_loss' where y has probabilities, got {self.loss!r}")
        if held is not None and _codes_of(held.target).ndim == 2 and not has_shares:
            raise InvalidInputError("y_val has probabilities, and y has classes: give labels() of y_val")
        if held is not None and has_shares and held.target.ndim == 1:
            held = held._replace(target=np.eye(self.n_classes_)[held.target])
        return super()._rows_of(sample, held)

    def _known_outputs(self, y: Any) -> Outputs:
        return Outputs(1, (self.classes_,), has_shares=isinstance(y, ClassProbabilities))

    def _read_target(self, sample: Sample, *, is_known: bool, has_more: bool = False) -> Any:
        outputs, target = sample.outputs, sample.target
        if outputs.number != 1:
            raise InvalidInputError(f"y must have one output, got {outputs.number}: fit an estimator for each")
        if not is_known:
            (self.classes_,) = outputs.classes
            self.n_classes_ = len(self.classes_)
        if not outputs.has_shares:
            return self._for_loss(target[0], sample.fields)
        if sample.fields:
            raise InvalidInputError(f"y has probabilities, which take no {next(iter(sample.fields))!r}")
        return sample.labels[0] if np.isin(target, (0, 1)).all() else target.T

    @property
    def _own_loss(self) -> BaseLoss | None:
        """The loss of the classes of the fit, where it is another than the log loss."""
        if isinstance(self.loss, str):
            return None
        return for_classes(loss_of(self.loss, {}, self.n_classes_), self.n_classes_, is_score_a_class=True)

    @property
    def extras_of_fit(self) -> tuple[str, ...]:
        """The extras that `fit` takes: those of a loss of one's own."""
        return () if isinstance(self.loss, str) else extras_of(loss_of(self.loss, {}))

    def _for_loss(self, codes: Int[np.ndarray, " row"], fields: Fields) -> Any:
        """The codes of classes with the extras of a loss of one's own."""
        if self._own_loss is None:
            return codes
        self._own_loss.check(codes, fields)
        return ScoredTarget(codes, fields, np.zeros(self.n_classes_), np.ones(self.n_classes_))

    def _class_factors(
        self, target: Any, weight: Float64[np.ndarray, " row"] | None
    ) -> Float[np.ndarray, " row"] | None:
        if self.class_weight is None:
            return None
        codes = _codes_of(target)
        if codes.ndim == 2:
            raise InvalidInputError(
                f"class_weight of soft trees is for classes, and y has probabilities, got {self.class_weight!r}"
            )
        return class_weights(self.class_weight, encode_classes(self.classes_[codes]), sample_weight=weight)

    def _hard_value(self, value: Float[AnyArray, "end class"]) -> Float[AnyArray, "end class"]:
        return jax.nn.softmax(value)

    def _hard_target(self, target: Any) -> Int[np.ndarray, "row 1"]:
        codes = _codes_of(target)
        return codes.argmax(axis=1)[:, None] if codes.ndim == 2 else codes[:, None]

    def _target_of_means(self, target: Any) -> Float64[np.ndarray, "row column"]:
        """The share of every class; of two classes of the second."""
        shares = self._labels_of(target)
        return shares[:, 1:] if self.n_classes_ == 2 else shares

    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node class"]:
        return log_shares(tree)

    def _stump_of(
        self, columns: Float[np.ndarray, "row column"], sample: SoftSample
    ) -> tuple[Tree, Float[np.ndarray, "node class"]] | None:
        if _codes_of(sample.target).ndim == 2:
            return None
        fitted = DecisionTreeClassifier(max_depth=1).fit(columns, _codes_of(sample.target), sample.weight)
        return (fitted.tree_, log_shares(fitted.tree_)) if len(fitted.classes_) == self.n_classes_ else None

    def _training_loss(self, target: Any) -> Any:
        loss = self._loss_of_rows(target)
        is_smoothed = loss is losses.cross_entropy and settings_of(self).label_smoothing
        return losses.cross_entropy_of_shares if is_smoothed else loss

    def _loss_of_rows(self, target: Any) -> Any:
        if _codes_of(target).ndim == 2:
            return losses.distillation
        return self._own_loss or losses.cross_entropy

    def _as_trained(self, sample: SoftSample) -> SoftSample:
        """Rows whose labels are spread over all classes: equally, or by the shares of these where they are uneven.

        A rare class would get more from the labels of others than its own rows are.
        """
        smoothing = float(settings_of(self).label_smoothing)
        if not smoothing or self._own_loss is not None or sample.target.ndim == 2:
            return sample
        shares = self._shares_of(sample)
        spread = shares if _are_uneven(shares) else np.full(self.n_classes_, 1 / self.n_classes_)
        smoothed = (1 - smoothing) * self._labels_of(sample.target) + smoothing * spread
        return sample._replace(target=smoothed.astype(np.float32))

    def _learns_by_heart(self, sample: SoftSample) -> bool:
        return len(sample.weight) >= LEAST_CLASSES_TO_HOLD_OUT and _are_uneven(self._shares_of(sample))

    def _as_table(self, sample: SoftSample) -> Sample:
        labels = self._hard_target(sample.target).T
        fields = sample.target.extras if isinstance(sample.target, ScoredTarget) else {}
        return Sample(None, labels, Outputs(1, (self.classes_,)), sample.weight, fields, ())

    def _constant_leaf(self, sample: SoftSample) -> Constant:
        logits = np.log(np.maximum(self._shares_of(sample), LEAST_PROBABILITY))
        return Constant(logits, mixes_shares=mixture_of(self) not in TOGETHER)

    def _shares_of(self, sample: SoftSample) -> Float64[np.ndarray, " class"]:
        """The part of all weight that every class has."""
        return np.average(self._labels_of(sample.target), axis=0, weights=sample.weight)

    def _labels_of(self, target: Any) -> Float64[np.ndarray, "row class"]:
        """The share of every class in every row."""
        codes = _codes_of(target)
        return np.asarray(codes, np.float64) if codes.ndim == 2 else np.eye(self.n_classes_)[codes]

    def _rows_of_step(self, num_rows: int) -> int:
        loss = None if isinstance(self.loss, str) else loss_of(self.loss, {})
        return rows_of_step(self, loss, num_rows)


def _codes_of(target: Any) -> Real[np.ndarray, "row *class"]:
    """The codes of classes, or a teacher's shares, of a target of training."""
    return target.target if isinstance(target, ScoredTarget) else target


def _are_uneven(shares: Float64[np.ndarray, " class"]) -> bool:
    """Whether the class of a row is less than 0.9 bits, as of two classes where one has less than 31 % of the rows."""
    return bool(entr(shares).sum() < BITS_OF_UNEVEN_CLASSES * np.log(2))
