"""Objectives: what a row adds to the sums of a node, the risk of sums, and the values of a node.

The *sums* of a set of rows are whole numbers, one per *channel*, so that they are exact and no order of addition
matters. Sums of floats are in fixed point; their `Units` are the values of the whole number 1. An `Objective` defines
the channels, and computes from sums the *risk*, which is weight times impurity. The gain of a split is the risk of the
node less the risks of the branches, over the weight of the node. The engine uses targets only through the objective.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Real

from jaxtree.arrays import MOST_WRITTEN_OUT, AnyArray, FloatLike, IntLike, library_of, safe_divide, sum_in_order
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import Devices

TIE_TOLERANCE = 1e-9
"""Share of a node's impurity (of numbers: of its best gain) by which equal gains may differ."""

C45_TOLERANCE = 1e-6
"""The greatest difference of gains that C4.5 treats as equal."""

NO_LABEL = -1
"""Replaces a label where the channel is the same for all rows."""

COUNTS_ROW = -1
"""Replaces a value: the addition is 1 if the row has weight, else 0."""


class Addition(NamedTuple):
    """One addition of a row to a channel of its node.

    Attributes:
        label: The index of the row's label that is added to the channel, or `NO_LABEL`.
        channel: The channel; with a label, the channel of class 0.
        value: The index of the row's value that is added to the sum, or `COUNTS_ROW`.
    """

    label: int
    channel: int
    value: int


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Units:
    """The values of the whole number 1 in sums, and the zero of the targets.

    Attributes:
        weight: The unit of weights.
        target: The unit of weighted targets.
        moment: The unit of moments, see `NumberCriterion`.
        center: The number subtracted from the targets of every output.
        is_scaled: Whether weights are in fixed point; if not, their unit is 1.
    """

    weight: FloatLike
    target: FloatLike
    moment: FloatLike
    center: Float[AnyArray, " output"]
    is_scaled: bool = dataclasses.field(metadata={"static": True})


class EntryWeights(NamedTuple):
    """The weights of entries.

    Attributes:
        real: The weights as given.
        whole: The weights in units.
        unit: The value of the whole number 1.
        num_terms: The number of positive weights, on all devices.
        is_scaled: Whether the weights are in fixed point.
    """

    real: Real[AnyArray, " entry"]
    whole: Int[AnyArray, " entry"]
    unit: FloatLike
    num_terms: IntLike
    is_scaled: bool


class Quantised(NamedTuple):
    """Targets and weights as whole numbers: the labels and values that rows add, and their units."""

    label: Int[AnyArray, "label entry"]
    value: Int[AnyArray, "value entry"]
    units: Units


class ParentStats(NamedTuple):
    """The node that candidates divide, or its known rows.

    Attributes:
        sums: Its sums.
        weight: Its weight.
        risk: Its risk.
        center: The number per unit of weight that the objective subtracts from the sums before it squares them; often
            empty.
        parameters: The numbers of the objective, see `Limits`.
    """

    sums: Int[Array, "channel *p"]
    weight: Float[Array, "*p"]
    risk: Float[Array, "*p"]
    center: Int[Array, "output *p"]
    parameters: Float[Array, "parameter *p"]


class NodeResult(NamedTuple):
    """The fields of `Tree` that the objective computes for every node."""

    impurity: Float[AnyArray, " node"]
    count: Real[AnyArray, "node class"]
    target_sum: Float[AnyArray, "node output"]


@runtime_checkable
class Objective(Protocol):
    """The objective of a growth; static and hashable, such as a frozen dataclass.

    An objective must define `risk` and `node_result` if a row adds its weight to channel 0 and its weighted targets to
    the next channels. Other additions need `additions` and `quantise`, too. Channels are the first axis of sums; all
    functions are traced under `jax.enable_x64(True)`.

    Attributes:
        num_outputs: The number of targets of a row.
        classes: The number of classes of every output; empty where targets are numbers.
        target_type: The type of the targets.
        compares_targets: Whether a node stores the least and the greatest of its rows' first labels, and is mixed where
            these differ; if not, `is_mixed` follows from the sums.
        is_centred: Whether the middle of the targets' range is subtracted from them before they are summed.
        is_convex: Whether no exact gain is below 0, so that a gain below 0 is a rounding error.
        tries_all_subsets: Whether the orders of categories may miss the best subset.
        needs_wide_sums: Whether sums need 64 bits whatever the weights.
        has_fractions: Whether targets are the parts of its weight that a row adds to the channels, so that weights are
            in fixed point whatever they are.
    """

    num_outputs: int
    classes: tuple[int, ...] = ()
    target_type: Any = np.float64
    compares_targets: bool = True
    is_centred: bool = False
    is_convex: bool = False
    tries_all_subsets: bool = False
    needs_wide_sums: bool = True
    has_fractions: bool = False

    # Additions of a row

    @property
    def num_channels(self) -> int:
        """The number of channels that splits depend on."""
        return 1 + self.num_outputs

    @property
    def additions(self) -> tuple[Addition, ...]:
        """The additions of a row to its node; channels from `num_channels` on are summed only at nodes."""
        return tuple(Addition(NO_LABEL, channel, channel) for channel in range(self.num_channels))

    @property
    def num_node_channels(self) -> int:
        """The number of channels of a node."""
        return self.num_channels

    def check_target(self, target: Any) -> None:
        """Raises InvalidInputError or InvalidTypeError if the objective cannot use the targets."""

    def check_parameters(self, shape: tuple[int, ...], values: np.ndarray | None) -> None:
        """Raises InvalidInputError if the objective cannot use parameters; values that are not known are None."""

    def quantise(self, target: Real[AnyArray, "output entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Converts targets and weights to whole numbers."""
        return quantise_numbers(target, weights, devices, is_centred=self.is_centred)

    # Values of sums

    def weight(self, sums: Int[AnyArray, "channel *candidate"]) -> Int[AnyArray, "*candidate"]:
        """The weight in the sums, in units."""
        return sums[0]

    def risk(
        self, sums: Int[Array, "channel candidate"], parent: ParentStats, units: Units
    ) -> Float[Array, " candidate"]:
        """Weight times impurity of every column of sums, less terms that cancel between branches and node."""
        ...

    def center(self, sums: Int[Array, " channel"], *, is_scaled: bool) -> Int[Array, " output"]:
        """The number per unit of weight that `risk` subtracts from the sums of the node's branches."""
        return jnp.zeros(0, sums.dtype)

    def is_defined(self, sums: Int[Array, "channel candidate"]) -> Bool[Array, " candidate"]:
        """Whether a branch may have the sums."""
        return jnp.ones(sums.shape[1], bool)

    def tolerance(self, parent: ParentStats, best: Float[Array, "*p"]) -> Float[Array, "*p"]:
        """The greatest difference from the best gain of a gain that is equal in exact arithmetic."""
        return TIE_TOLERANCE * jnp.maximum(best, 0)

    def monotone_value(
        self, sums: Int[Array, "channel candidate"], parameters: Float[Array, "parameter *candidate"], units: Units
    ) -> Float[Array, " candidate"]:
        """The values that monotone constraints order."""
        return safe_divide(sums[1].astype(jnp.float64) * units.target, real_weight(self, sums, units))

    def category_orders(self, sums: Int[Array, "channel bin"]) -> Int[Array, "order bin"]:
        """The sums whose ratios to the weight order the categories; every row of the result gives one order."""
        return sums[1 : 1 + self.num_outputs]

    # Values of a node

    def is_mixed(self, sums: Int[Array, "node channel"], slack: Any) -> Bool[Array, " node"]:
        """Whether rows of more weight than the slack can be told apart, where targets are not compared."""
        return self.weight(sums.T) > slack

    def node_result(
        self, sums: Int[AnyArray, "node channel"], parameters: Float[AnyArray, "node parameter"], units: Units
    ) -> NodeResult:
        """Impurity, class weights and sums of targets of every node."""
        ...


def parent_stats(
    objective: Objective, sums: Int[Array, " channel"], parameters: Float[Array, " parameter"], units: Units
) -> ParentStats:
    """The node with the given sums."""
    weight = real_weight(objective, sums, units)
    center = objective.center(sums, is_scaled=units.is_scaled)
    blank = ParentStats(sums, weight, jnp.zeros_like(weight), center, parameters)
    return blank._replace(risk=objective.risk(sums[:, None], blank, units)[0])


def real_weight(
    objective: Objective, sums: Int[AnyArray, "channel *candidate"], units: Units
) -> Float[AnyArray, "*candidate"]:
    """The weight in the sums."""
    return objective.weight(sums).astype(np.float64) * units.weight


def total_weight(sums: Int[AnyArray, "channel *candidate"]) -> Int[AnyArray, "*candidate"]:
    """The sum over channels, by a reduction where these are many, which keeps the program small."""
    if len(sums) > MOST_WRITTEN_OUT:
        return sums.sum(axis=0, dtype=sums.dtype)
    return sum_in_order(sums.__getitem__, len(sums))


def quantise_entries(
    objective: Objective,
    target: Real[AnyArray, "output entry"],
    weight: Real[AnyArray, " entry"] | None,
    devices: Devices,
    *,
    is_scaled: bool,
) -> Quantised:
    """Returns the labels and values of entries as whole numbers, and their units.

    Args:
        objective: The objective.
        target: The target of every entry.
        weight: Its weight; None for 1.
        devices: The devices that the entries are divided among.
        is_scaled: Whether weights are in fixed point.
    """
    library = library_of(target)
    real = library.ones(target.shape[1], np.float64) if weight is None else weight
    whole, unit = real.astype(np.int32), library.float64(1)
    # Entries without weight may be padding, whose number depends on the devices.
    num_terms = devices.total((real > 0).sum())
    if is_scaled:
        unit = unit_of(num_terms, devices.greatest(exponent(real)))
        whole = to_fixed_point(real, unit)
    return objective.quantise(target, EntryWeights(real, whole, unit, num_terms, is_scaled), devices)


def quantise_numbers(
    target: Real[AnyArray, "output entry"],
    weights: EntryWeights,
    devices: Devices,
    *,
    is_centred: bool = False,
    moment: Callable[[Float[AnyArray, "..."]], Float[AnyArray, "..."]] | None = None,
    units: Units | None = None,
) -> Quantised:
    """Returns weights, weighted targets and perhaps weighted moments as whole numbers, and a hash of targets as label.

    Args:
        target: The targets.
        weights: The weights.
        devices: The devices that the rows are divided among; all use the same units.
        is_centred: Whether the middle of the targets' range is subtracted from them.
        moment: The function of targets that is summed at nodes after the targets.
        units: The units of sums to which these are added, and the number that is subtracted from targets; those that
            leave room for all entries if not given.
    """
    library = library_of(target, weights.real)
    size_of = lambda values: devices.greatest(exponent(values))  # noqa: E731
    used = weights.real > 0
    center = library.zeros(len(target), np.float64) if units is None else units.center
    if is_centred and units is None:
        low, high = (library.where(used, target, bound) for bound in (np.inf, -np.inf))
        low, high = devices.least(low.min(axis=1)), devices.greatest(high.max(axis=1))
        center = library.where(low <= high, low / 2 + high / 2, 0.0)
    shifted = library.where(used, target - center[:, None], 0.0)
    size = size_of(shifted)
    if weights.is_scaled:
        unit = unit_of(weights.num_terms, size_of(shifted * weights.real)) if units is None else units.target
        sums = to_fixed_point(shifted * weights.real, unit)
    else:
        sizes = size, size_of(weights.real.astype(np.float64))
        unit = unit_of(weights.num_terms, *sizes) if units is None else units.target
        sums = to_fixed_point(shifted, unit) * weights.whole.astype(np.int64)
    values, moment_unit = [weights.whole.astype(np.int64)[None], sums], library.float64(1)
    if moment is not None:
        moments = library.where(used, moment(shifted), 0.0).sum(axis=0) * weights.real
        moment_unit = unit_of(weights.num_terms, size_of(moments)) if units is None else units.moment
        values.append(to_fixed_point(moments, moment_unit)[None])
    units = Units(weights.unit, unit, moment_unit, center, weights.is_scaled)
    identity = _identity(to_fixed_point(shifted, unit_of(1, size)))
    return Quantised(identity, library.concatenate(values), units)


def _identity(target: Int[AnyArray, "output entry"]) -> Int[AnyArray, "1 entry"]:
    """One number per entry for its targets: equal for equal ones, different (for several almost surely) for others."""
    identity = target[0]
    for other in target[1:]:
        identity = identity * np.int64(6364136223846793005) + other
    return identity[None]
