"""The objectives that score splits by a criterion: classes, and numbers."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Real

from jaxtree.arrays import AnyArray, IntLike, concrete_or_none, library_of, safe_divide, sum_in_order
from jaxtree.criteria import (
    Criterion,
    NumberCriterion,
    class_risk,
    gini,
    squared_error,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.inputs.objective import (
    NO_LABEL,
    TIE_TOLERANCE,
    Addition,
    EntryWeights,
    NodeResult,
    Objective,
    ParentStats,
    Quantised,
    Units,
    quantise_numbers,
    real_weight,
    total_weight,
)
from jaxtree.kernels.mesh import Devices
from jaxtree.tree.checks import check_range


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of at least 1, got {value!r}")


@dataclasses.dataclass(frozen=True)
class Classes(Objective):
    """Classes, scored by an impurity of their weights; several outputs by its mean.

    Attributes:
        num_classes: The number of classes of the output that has most.
        criterion: A function from the class weights of a node to its impurity. A new function is compiled again.
        num_outputs: The number of targets of a row.
    """

    num_classes: int
    criterion: Criterion = gini
    num_outputs: int = 1
    target_type = np.int32
    compares_targets = False
    needs_wide_sums = False

    @property
    def classes(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of classes, for every output."""
        return (self.num_classes,) * self.num_outputs

    @property
    def tries_all_subsets(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """True with more than two channels: then no order of categories need contain the best subset."""
        return self.num_channels > 2

    @property
    def num_channels(self) -> int:
        """One channel for every class of every output."""
        return self.num_outputs * self.num_classes

    @property
    def additions(self) -> tuple[Addition, ...]:
        """A row adds its weight to its class in every output."""
        return tuple(Addition(output, output * self.num_classes, 0) for output in range(self.num_outputs))

    def __post_init__(self) -> None:
        """Checks the numbers of classes and outputs."""
        _check_positive("num_classes", self.num_classes)
        _check_positive("num_outputs", self.num_outputs)

    def check_target(self, target: Any) -> None:
        """Raises if targets are no classes; the range is checked only on the host."""
        if not jnp.issubdtype(target.dtype, jnp.integer):
            raise InvalidTypeError(
                f"target must hold the classes as whole numbers of an integer type, got {target.dtype}"
            )
        check_range("target", target, self.num_classes)

    def quantise(self, target: Real[AnyArray, "output entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Returns the classes as labels, and the weight as the only value."""
        library = library_of(target)
        one, none = library.float64(1), library.zeros(self.num_outputs, np.float64)
        units = Units(weights.unit, one, one, none, weights.is_scaled)
        # Classes of an array on a device are not checked; one past the last must not reach past the sums.
        target = library.minimum(library.maximum(target, 0), self.num_classes - 1)
        return Quantised(target, weights.whole[None], units)  # pyright: ignore[reportArgumentType]

    def weight(self, sums: Int[AnyArray, "channel *candidate"]) -> Int[AnyArray, "*candidate"]:
        """The weight of all classes of the first output."""
        return total_weight(sums[: self.num_classes])

    def risk(
        self, sums: Int[Array, "channel candidate"], parent: ParentStats, units: Units
    ) -> Float[Array, " candidate"]:
        """Weight times impurity, the mean over outputs."""
        return self._risk(sums, units)

    def _risk(self, sums: Int[Array, "channel candidate"], units: Units) -> Float[Array, " candidate"]:
        counts = sums[: self.num_channels].astype(jnp.float64)
        counts = counts * units.weight if units.is_scaled else counts
        outputs = counts.reshape(self.num_outputs, self.num_classes, -1)
        risk = jax.vmap(class_risk(self.criterion), in_axes=1)
        return sum_in_order(lambda output: risk(outputs[output]), self.num_outputs) / self.num_outputs

    def tolerance(self, parent: ParentStats, best: Float[Array, "*p"]) -> Float[Array, "*p"]:
        """A share of the node's impurity."""
        return jnp.broadcast_to(TIE_TOLERANCE * safe_divide(parent.risk, parent.weight), best.shape)

    def monotone_value(
        self, sums: Int[Array, "channel candidate"], parameters: Float[Array, "parameter *candidate"], units: Units
    ) -> Float[Array, " candidate"]:
        """The share of class 1."""
        return safe_divide(sums[1].astype(jnp.float64) * units.weight, real_weight(self, sums, units))

    def category_orders(self, sums: Int[Array, "channel bin"]) -> Int[Array, "order bin"]:
        """The second of two channels, or all of more."""
        return sums[1:2] if self.num_channels == 2 else sums[: self.num_channels]

    def is_mixed(self, sums: Int[Array, "node channel"], slack: Any) -> Bool[Array, " node"]:
        """Whether any output has weight in other classes than the heaviest."""
        count = sums.reshape(len(sums), self.num_outputs, self.num_classes)
        others = jnp.sum(count, axis=2, dtype=count.dtype) - jnp.max(count, axis=2)
        return jnp.any(others > slack, axis=1)

    def node_result(
        self, sums: Int[AnyArray, "node channel"], parameters: Float[AnyArray, "node parameter"], units: Units
    ) -> NodeResult:
        """The impurity, and the weight of every class."""
        weight = real_weight(self, sums.T, units)
        # Rounding may leave a pure node a little below 0.
        impurity = jnp.maximum(self._risk(sums.T, units) / jnp.where(weight > 0, weight, 1), 0)
        count = sums.astype(jnp.float64) * units.weight if units.is_scaled else sums
        return NodeResult(jnp.where(weight > 0, impurity, 0), count, jnp.zeros((len(sums), 0)))


@dataclasses.dataclass(frozen=True)
class Numbers(Objective):
    """Numbers, scored by how far they lie apart; several outputs by the mean.

    Splits depend on the weight and the weighted targets; a node also has the sum of the moments.

    Attributes:
        criterion: The measure of how far numbers lie apart.
        num_outputs: The number of targets of a row.
    """

    criterion: NumberCriterion = squared_error
    num_outputs: int = 1
    is_convex = True

    @property
    def is_centred(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """False if targets must stay positive."""
        return not self.criterion.needs_positive

    @property
    def num_node_channels(self) -> int:
        """One more than the channels of splits, for the moments."""
        return self.num_channels + 1

    @property
    def additions(self) -> tuple[Addition, ...]:
        """A row adds its weight, its weighted targets, and its weighted moment."""
        return tuple(Addition(NO_LABEL, channel, channel) for channel in range(self.num_node_channels))

    def __post_init__(self) -> None:
        """Checks the number of outputs."""
        _check_positive("num_outputs", self.num_outputs)

    def check_target(self, target: Any) -> None:
        """Raises InvalidInputError if a target on the host is below 0, and the criterion is of positive ones."""
        values = concrete_or_none(target)
        if self.criterion.needs_positive and values is not None and values.size and not values.min() >= 0:
            raise InvalidInputError(f"target must be from 0 on for this criterion, got {values.min()}")

    def quantise(self, target: Real[AnyArray, "output entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Converts targets, centred if they may be negative, and their moments."""
        return quantise_numbers(target, weights, devices, is_centred=self.is_centred, moment=self.criterion.moment)

    def risk(
        self, sums: Int[Array, "channel candidate"], parent: ParentStats, units: Units
    ) -> Float[Array, " candidate"]:
        """The risk less the moments, which cancel between branches and node."""
        weight = sums[0].astype(jnp.float64) * units.weight
        explained = lambda output: self._explained(1 + output, sums, weight, parent, units)  # noqa: E731
        return -(sum_in_order(explained, self.num_outputs) / self.num_outputs)

    def _explained(self, channel: IntLike, sums, weight, parent: ParentStats, units: Units):
        total = parent.sums[channel]
        mean = total.astype(jnp.float64) * units.target / jnp.where(parent.weight > 0, parent.weight, 1)
        if self.criterion.needs_positive:
            own = sums[channel].astype(jnp.float64) * units.target
        elif units.is_scaled:
            own = sums[channel].astype(jnp.float64) * units.target - mean * weight
        else:
            # Sums centred at the node's mean in whole numbers lose no digits below.
            own = (sums[channel] - parent.center[channel - 1] * sums[0]).astype(jnp.float64) * units.target
        return self.criterion.explained(weight, own, mean)

    def center(self, sums: Int[Array, " channel"], *, is_scaled: bool) -> Int[Array, " output"]:
        """Every output's mean in whole numbers, where weights are whole."""
        if is_scaled or self.criterion.needs_positive:
            return jnp.zeros(0, sums.dtype)
        return sums[1 : 1 + self.num_outputs] // jnp.maximum(sums[0], 1)

    def is_defined(self, sums: Int[Array, "channel candidate"]) -> Bool[Array, " candidate"]:
        """Whether all sums of targets are positive, where the criterion needs it."""
        if self.criterion.needs_positive:
            return jnp.all(sums[1 : 1 + self.num_outputs] > 0, axis=0)
        return jnp.ones(sums.shape[1], bool)

    def node_result(
        self, sums: Int[AnyArray, "node channel"], parameters: Float[AnyArray, "node parameter"], units: Units
    ) -> NodeResult:
        """The impurity, moments included, and the sums of the targets as given."""
        library = library_of(sums)
        weight = real_weight(self, sums.T, units)
        moment = sums.T[-1].astype(np.float64) * units.moment
        totals = sums.T[1 : 1 + self.num_outputs].astype(np.float64) * units.target
        explained_of = lambda output: self.criterion.explained(weight, totals[output], np.float64(1))  # noqa: E731
        explained = sum_in_order(explained_of, self.num_outputs)
        impurity = library.maximum(moment - explained, 0) / (library.where(weight > 0, weight, 1) * self.num_outputs)
        target_sum = totals.T + units.center * weight[:, None]
        return NodeResult(library.where(weight > 0, impurity, 0), library.zeros((len(sums), 0)), target_sum)
