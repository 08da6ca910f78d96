"""The differences between kinds of soft models: of classes and of numbers, of a tree and of several."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float, Float64, Key, Real

from jaxtree.arrays import AnyArray
from jaxtree.dataset.arguments import FitArguments
from jaxtree.estimators.soft.parameters import auto_share_held_out
from jaxtree.soft.calibration import Constant
from jaxtree.soft.epochs import Hyperparameters
from jaxtree.soft.form import SoftForm
from jaxtree.soft.inputs import SoftSample
from jaxtree.tree import Tree


class DiffersByKind(abc.ABC):
    """How targets become those of training, values of leaves those of a tree, and what is trained."""

    batch_size: int
    validation_fraction: float | str | None
    init: Any = None
    _no_fields: ClassVar[Mapping[str, Any] | None] = None
    """The further data of rows where nothing is given; None if a target of times and events is not allowed."""
    _largest_auto_depth: ClassVar[int]
    """The most that `depth="auto"` is."""
    _name_of_models: ClassVar[str]
    """The name of the models that are trained, for messages."""
    _needs_all: ClassVar[bool]
    """Whether a model that has reached nothing finite makes all the others useless."""

    @property
    @abc.abstractmethod
    def extras_of_fit(self) -> tuple[str, ...]:
        """The extras that `fit` takes."""

    @abc.abstractmethod
    def _read_target(self, given: FitArguments, classes: Any, *, is_known: bool) -> Any:
        """The target as training takes it; learns the classes, or the units, from it unless these are known."""

    @abc.abstractmethod
    def _training_loss(self, target: Any) -> Any:
        """The function of outputs and such targets that training makes small."""

    def _as_trained(self, sample: SoftSample) -> SoftSample:
        """Rows with targets as the training loss takes them."""
        return sample

    @abc.abstractmethod
    def _loss_of_rows(self, target: Any) -> Any:
        """The loss of outputs and targets as they are read."""

    @abc.abstractmethod
    def _learns_by_heart(self, sample: SoftSample) -> bool:
        """Whether rows are known by heart after the last epoch, so that some are held out by default."""

    def _with_target_noise(self, numbers: Hyperparameters, sample: SoftSample) -> Hyperparameters:
        """The numbers of a training with the noise of targets."""
        return numbers

    def _share_held_out(self, sample: SoftSample) -> float | None:
        """The share of the rows that is held out; None for none."""
        fraction = self.validation_fraction
        if not isinstance(fraction, str):
            return fraction
        return auto_share_held_out(len(sample.weight)) if self._learns_by_heart(sample) else None

    @abc.abstractmethod
    def _constant_leaf(self, sample: SoftSample) -> Constant:
        """The leaf that predicts what is best for all rows of a fit together."""

    @property
    @abc.abstractmethod
    def _num_outputs(self) -> int:
        """The number of outputs of the model: classes, or scores."""

    @abc.abstractmethod
    def _hard_value(self, value: Float[AnyArray, "end output"]) -> Float[AnyArray, "end output"]:
        """The values of leaves as a hardened tree has them: shares of classes, or numbers in units of the target."""

    @abc.abstractmethod
    def _hard_target(self, target: Any) -> Real[np.ndarray, "row output"]:
        """The target of training as a hardened tree has it: a class, or numbers in units of the target."""

    @abc.abstractmethod
    def _target_of_means(self, target: Any) -> Float64[np.ndarray, "row column"] | None:
        """The columns that statistics of categories are means of; None if there are none."""

    def _refits(self, refit: bool | None, target: Any) -> bool:
        """Whether leaves of a hardened tree get the shares of classes, or the means, of their rows."""
        return bool(refit)

    def _renewed(self, hardened: Any, sample: SoftSample) -> Any:
        """A hardened tree whose leaves have means of numbers with the values that the loss is least at."""
        return hardened

    @abc.abstractmethod
    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node output"]:
        """The values of a hard tree's nodes as a model has them."""

    @abc.abstractmethod
    def _stump_of(self, columns: Float[np.ndarray, "row column"], sample: SoftSample) -> Tree | None:
        """The best tree of one split of some columns of rows; None where targets are none that such trees take."""

    @abc.abstractmethod
    def _first_models(self, form: SoftForm, key: Key[Array, ""], x: Float[np.ndarray, "row feature"]) -> Any:
        """The models before training on rows x, with an axis of models."""

    def _class_factors(
        self, target: Any, weight: Float64[np.ndarray, " row"] | None
    ) -> Float[np.ndarray, " row"] | None:
        """The factor by which the class of every row multiplies its weight; None is 1."""
        return None

    def _rows_of_step(self, num_rows: int) -> int:
        """The most rows of a step, of so many rows."""
        return int(self.batch_size)
