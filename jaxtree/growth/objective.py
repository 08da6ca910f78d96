"""What a tree is grown for: what rows add to the sums of a node, what sums are worth, and what a node is given.

The *sums* of a set of rows are whole numbers, one a *channel*, so that they are exact and no order of addition
matters. Sums of floats are in fixed point; their `Units` say what the whole number 1 is worth. An `Objective` defines
the channels, and makes of sums the *risk*, which is weight times impurity. The gain of a split is the risk of the node
less the risks of the branches, over the weight of the node. The engine knows nothing else of targets.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Real

from jaxtree.arrays import safe_divide
from jaxtree.errors import InvalidInputError
from jaxtree.growth.mesh import Devices
from jaxtree.growth.whole_numbers import exponent, to_fixed_point, unit_of

TIE_TOLERANCE = 1e-9
"""Share of a node's impurity (of numbers: of its best gain) by which equal gains may differ."""

NO_LABEL = -1
"""In place of a label: the channel is the same for all rows."""

COUNTS_ROW = -1
"""In place of a value: whether the row has weight."""


class Addition(NamedTuple):
    """What a row adds to one channel of its node.

    Attributes:
        label: Which of the row's labels is added to the channel, or `NO_LABEL`.
        channel: The channel; with a label, that of class 0.
        value: Which of the row's values is added to the channel, or `COUNTS_ROW`.
    """

    label: int
    channel: int
    value: int


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Units:
    """What the whole number 1 is worth in sums, and where the targets' zero lies.

    Attributes:
        weight: Of weights.
        target: Of weighted targets.
        moment: Of moments, see `NumberCriterion`.
        center: What was taken off the targets of every output.
        is_scaled: Whether weights are in fixed point; if not, their unit is 1.
    """

    weight: Float[Array, ""]
    target: Float[Array, ""]
    moment: Float[Array, ""]
    center: Float[Array, " output"]
    is_scaled: bool = dataclasses.field(metadata={"static": True})


class EntryWeights(NamedTuple):
    """The weights of entries.

    Attributes:
        real: As they were given.
        whole: In units.
        unit: What the whole number 1 is worth.
        num_terms: How many are positive, on all devices.
        is_scaled: Whether they are in fixed point.
    """

    real: Real[Array, " entry"]
    whole: Int[Array, " entry"]
    unit: Float[Array, ""]
    num_terms: Int[Array, ""]
    is_scaled: bool


class Quantised(NamedTuple):
    """Targets and weights as whole numbers: what rows add, and the units of it."""

    label: Int[Array, "label entry"]
    value: Int[Array, "value entry"]
    units: Units


class ParentStats(NamedTuple):
    """The node that candidates divide, or its known rows.

    Attributes:
        sums: Its sums.
        weight: Its weight.
        risk: Its risk.
        center: What the objective takes off the sums, per unit of weight, before it squares them; often empty.
    """

    sums: Int[Array, "channel *p"]
    weight: Float[Array, "*p"]
    risk: Float[Array, "*p"]
    center: Int[Array, "output *p"]


class NodeResult(NamedTuple):
    """What the tree says of every node: see `Tree`."""

    impurity: Float[Array, " node"]
    count: Real[Array, "node class"]
    target_sum: Float[Array, "node output"]


@runtime_checkable
class Objective(Protocol):
    """What a tree is grown for; static and hashable, such as a frozen dataclass.

    To write one takes `risk` and `node_result`, if a row adds its weight to channel 0 and its weighted targets to the
    channels behind it. What else rows may add is said by `additions` and `quantise`. Sums stand in the first axis; all
    functions are traced under `jax.enable_x64(True)`.

    Attributes:
        num_outputs: The number of targets of a row.
        classes: The number of classes of every output, for the tree; empty where targets are numbers.
        target_type: The type that targets are given in.
        compares_targets: Whether the rows of a node are alike where their first labels are, so that the node keeps the
            least and the greatest; if not, `is_mixed` follows from the sums.
        is_centred: Whether the middle of the targets' range is taken off them before they are summed.
        is_convex: Whether no split loses, so that a gain below 0 is rounding.
        tries_all_subsets: Whether the orders of categories may miss the best subset.
        needs_wide_sums: Whether sums need 64 bits whatever the weights.
    """

    num_outputs: int
    classes: tuple[int, ...] = ()
    target_type: Any = np.float64
    compares_targets: bool = True
    is_centred: bool = False
    is_convex: bool = False
    tries_all_subsets: bool = False
    needs_wide_sums: bool = True

    # What a row adds

    @property
    def num_channels(self) -> int:
        """Channels that splits depend on."""
        return 1 + self.num_outputs

    @property
    def additions(self) -> tuple[Addition, ...]:
        """What a row adds to its node; channels from `num_channels` on are summed at nodes alone."""
        return tuple(Addition(NO_LABEL, channel, channel) for channel in range(self.num_channels))

    @property
    def num_node_channels(self) -> int:
        """Channels of a node."""
        return self.num_channels

    def check_target(self, target: Any) -> None:
        """Raises InvalidInputError or InvalidTypeError if the targets are none of this objective."""

    def quantise(self, target: Real[Array, "output entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Targets and weights as whole numbers."""
        return quantise_numbers(target, weights, devices, is_centred=self.is_centred)

    # What sums are worth

    def weight(self, sums: Int[Array, "channel *candidate"]) -> Int[Array, "*candidate"]:
        """The weight in the sums, in units."""
        return sums[0]

    def risk(
        self, sums: Int[Array, "channel candidate"], parent: ParentStats, units: Units
    ) -> Float[Array, " candidate"]:
        """Weight times impurity of every column of sums, less what branches have in common with their node."""
        ...

    def center(self, sums: Int[Array, " channel"], *, is_scaled: bool) -> Int[Array, " output"]:
        """What `risk` takes off the sums of the node's branches."""
        return jnp.zeros(0, sums.dtype)

    def is_defined(self, sums: Int[Array, "channel candidate"]) -> Bool[Array, " candidate"]:
        """Whether a branch may have the sums."""
        return jnp.ones(sums.shape[1], bool)

    def tolerance(self, parent: ParentStats, best: Float[Array, "*p"]) -> Float[Array, "*p"]:
        """By how much gains that are equal in exact arithmetic may differ from the best one."""
        return TIE_TOLERANCE * jnp.maximum(best, 0)

    def monotone_value(self, sums: Int[Array, "channel candidate"], units: Units) -> Float[Array, " candidate"]:
        """What monotone constraints put in order."""
        return safe_divide(sums[1].astype(jnp.float64) * units.target, real_weight(self, sums, units))

    def category_orders(self, sums: Int[Array, "channel bin"]) -> Int[Array, "order bin"]:
        """The sums whose ratios to the weight put categories in order, each row in an order of its own."""
        return sums[1 : 1 + self.num_outputs]

    # What a node is given

    def is_mixed(self, sums: Int[Array, "node channel"], slack: Any) -> Bool[Array, " node"]:
        """Whether more than the slack of a node's weight can be told apart, where targets are not compared."""
        return self.weight(sums.T) > slack

    def node_result(self, sums: Int[Array, "node channel"], units: Units) -> NodeResult:
        """Impurity, class weights and sums of targets of every node."""
        ...


def parent_stats(objective: Objective, sums: Int[Array, " channel"], units: Units) -> ParentStats:
    """The node with the given sums."""
    weight = real_weight(objective, sums, units)
    center = objective.center(sums, is_scaled=units.is_scaled)
    blank = ParentStats(sums, weight, jnp.zeros_like(weight), center)
    return blank._replace(risk=objective.risk(sums[:, None], blank, units)[0])


def real_weight(
    objective: Objective, sums: Int[Array, "channel *candidate"], units: Units
) -> Float[Array, "*candidate"]:
    """The weight in the sums."""
    return objective.weight(sums).astype(jnp.float64) * units.weight


def quantise_numbers(
    target: Real[Array, "output entry"],
    weights: EntryWeights,
    devices: Devices,
    *,
    is_centred: bool = False,
    moment: Callable[[Float[Array, "..."]], Float[Array, "..."]] | None = None,
) -> Quantised:
    """Weights, weighted targets and perhaps weighted moments as whole numbers; an identity of the targets as label.

    Args:
        target: The targets.
        weights: The weights.
        devices: The devices that the rows are divided among; all take the same units.
        is_centred: Whether the middle of the targets' range is taken off them.
        moment: What is summed at nodes behind the targets.
    """
    size_of = lambda values: devices.greatest(exponent(values))  # noqa: E731
    used = weights.real > 0
    center = jnp.zeros(len(target), jnp.float64)
    if is_centred:
        low, high = (jnp.where(used, target, bound) for bound in (jnp.inf, -jnp.inf))
        low, high = devices.least(jnp.min(low, axis=1)), devices.greatest(jnp.max(high, axis=1))
        center = jnp.where(low <= high, low / 2 + high / 2, 0.0)
    shifted = jnp.where(used, target - center[:, None], 0.0)
    size = size_of(shifted)
    if weights.is_scaled:
        unit = unit_of(weights.num_terms, size_of(shifted * weights.real))
        sums = to_fixed_point(shifted * weights.real, unit)
    else:
        unit = unit_of(weights.num_terms, size, size_of(weights.real.astype(jnp.float64)))
        sums = to_fixed_point(shifted, unit) * weights.whole.astype(jnp.int64)
    values, moment_unit = [weights.whole.astype(jnp.int64)[None], sums], jnp.float64(1)
    if moment is not None:
        moments = jnp.sum(jnp.where(used, moment(shifted), 0.0), axis=0) * weights.real
        moment_unit = unit_of(weights.num_terms, size_of(moments))
        values.append(to_fixed_point(moments, moment_unit)[None])
    units = Units(weights.unit, unit, moment_unit, center, weights.is_scaled)
    identity = _identity(to_fixed_point(shifted, unit_of(1, size)))
    return Quantised(identity, jnp.concatenate(values), units)


def _identity(target: Int[Array, "output entry"]) -> Int[Array, "1 entry"]:
    """One number for the targets of an entry, so that equal ones have equal numbers and others differ."""
    identity = target[0]
    for other in target[1:]:
        identity = identity * jnp.int64(6364136223846793005) + other
    return identity[None]


def check_range(name: str, values: Any, limit: int) -> None:
    """Raises InvalidInputError if an array on the host has values that are not from 0 to below the limit."""
    if isinstance(values, np.ndarray) and values.size and not (values.min() >= 0 and values.max() < limit):
        raise InvalidInputError(f"{name} must be from 0 to {limit - 1}, got {values.min()} to {values.max()}")
