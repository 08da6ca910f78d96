"""What is summed over a set of rows, and how a criterion judges the sums.

The *sums* of a set of rows are whole numbers, one a *channel*. Of a target of classes: the weight of every
class, the outputs side by side. Of a target of numbers: the weight, then the weighted sum of every output.
Last, where rows are counted beside weights, the number of rows. A node has one channel more for numbers,
behind the others: the sum of moments, which no split depends on.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxtree.growth.criteria import class_risk

TIE_TOLERANCE = 1e-9
"""Share of a node's impurity (of numbers: of its best gain) by which equal gains may differ."""


class Units(NamedTuple):
    """Values of the whole number 1 in sums, and where the targets' zero lies."""

    weight: Float[Array, ""]
    target: Float[Array, ""]
    moment: Float[Array, ""]
    center: Float[Array, " output"]


class Whole(NamedTuple):
    """What the candidates of one node are judged beside.

    Attributes:
        sums: The node's sums.
        weight: Its weight.
        risk: Weight times impurity, less the moments.
        center: Of numbers with whole weights, every output's mean in whole units per weight.
    """

    sums: Int[Array, "channel *p"]
    weight: Float[Array, "*p"]
    risk: Float[Array, "*p"]
    center: Int[Array, "output *p"]


class Measure(NamedTuple):
    """The static description of a target and its criterion.

    Attributes:
        criterion: A criterion of classes or of numbers.
        num_outputs: How many targets there are.
        num_classes: How many classes an output has; 0 for numbers.
        counts_rows: Whether rows are counted beside weights.
        is_scaled: Whether weights are in fixed point, with a unit other than 1.
    """

    criterion: Any
    num_outputs: int
    num_classes: int
    counts_rows: bool
    is_scaled: bool

    @property
    def num_channels(self) -> int:
        """Channels of a histogram."""
        return self.num_target_channels + self.counts_rows

    @property
    def num_target_channels(self) -> int:
        """Channels without the number of rows."""
        return self.num_outputs * self.num_classes if self.num_classes else 1 + self.num_outputs

    @property
    def num_node_channels(self) -> int:
        """Channels of a node."""
        return self.num_target_channels + (not self.num_classes)

    @property
    def has_wide_sums(self) -> bool:
        """Whether sums need 64 bits."""
        return self.is_scaled or not self.num_classes

    def whole(self, sums: Int[Array, " channel"], units: Units) -> Whole:
        """The node with the given sums."""
        weight = self.weight(sums).astype(jnp.float64) * units.weight
        blank = Whole(sums, weight, jnp.zeros_like(weight), self._center(sums))
        return blank._replace(risk=self.risk(sums[:, None], blank, units)[0])

    def _center(self, sums: Int[Array, " channel"]) -> Int[Array, " output"]:
        if self.num_classes or self.is_scaled or self.criterion.needs_positive:
            return jnp.zeros(0, sums.dtype)
        return sums[1 : 1 + self.num_outputs] // jnp.maximum(sums[0], 1)

    def weight(self, sums: Int[Array, "channel *candidate"]) -> Int[Array, "*candidate"]:
        """The weight in the sums, in units."""
        return _sum(list(sums[: self.num_classes])) if self.num_classes else sums[0]

    def risk(self, sums: Int[Array, "channel candidate"], whole: Whole, units: Units) -> Float[Array, " candidate"]:
        """Weight times impurity of every column of sums, less the moments."""
        if self.num_classes:
            return self._class_risk(sums, units)
        return -self._explained(sums, whole, units)

    def is_splittable(self, sums: Int[Array, "channel candidate"]) -> Bool[Array, " candidate"]:
        """Whether the criterion is defined for a branch with the sums."""
        if not self.num_classes and self.criterion.needs_positive:
            return jnp.all(sums[1 : 1 + self.num_outputs] > 0, axis=0)
        return jnp.ones(sums.shape[1], bool)

    def value(self, sums: Int[Array, "channel candidate"], units: Units) -> Float[Array, " candidate"]:
        """What monotone constraints order: the share of class 1, or the mean."""
        weight = self.weight(sums).astype(jnp.float64) * units.weight
        above = sums[1].astype(jnp.float64) * (units.weight if self.num_classes else units.target)
        return jnp.where(weight > 0, above / jnp.where(weight > 0, weight, 1), 0)

    def _class_risk(self, sums, units: Units):
        counts = sums[: self.num_target_channels].astype(jnp.float64)
        counts = counts * units.weight if self.is_scaled else counts
        outputs = [counts[o * self.num_classes : (o + 1) * self.num_classes] for o in range(self.num_outputs)]
        risk = jax.vmap(class_risk(self.criterion), in_axes=1)
        return _sum([risk(output) for output in outputs]) / self.num_outputs

    def _explained(self, sums, whole: Whole, units: Units):
        weight = sums[0].astype(jnp.float64) * units.weight
        of_output = [self._explained_of(o, sums, weight, whole, units) for o in range(1, 1 + self.num_outputs)]
        return _sum(of_output) / self.num_outputs

    def _explained_of(self, channel: int, sums, weight, whole: Whole, units: Units):
        total = whole.sums[channel]
        mean = total.astype(jnp.float64) * units.target / jnp.where(whole.weight > 0, whole.weight, 1)
        if self.criterion.needs_positive:
            own = sums[channel].astype(jnp.float64) * units.target
        elif self.is_scaled:
            own = sums[channel].astype(jnp.float64) * units.target - mean * weight
        else:
            # Centred at the node's mean in whole numbers, nothing cancels in what follows.
            own = (sums[channel] - whole.center[channel - 1] * sums[0]).astype(jnp.float64) * units.target
        return self.criterion.explained(weight, own, mean)


def _sum(parts: list[Array]) -> Array:
    """The sum of arrays, as additions, which vectorise where a reduction does not."""
    return functools.reduce(jnp.add, parts)


def node_impurity(measure: Measure, sums: Int[Array, "node channel"], units: Units) -> Float[Array, " node"]:
    """The impurity of every node, moments included."""
    sums = sums.T
    weight = measure.weight(sums).astype(jnp.float64) * units.weight
    divisor = jnp.where(weight > 0, weight, 1)
    if measure.num_classes:
        # Rounding may leave a pure node a little below 0.
        return jnp.where(weight > 0, jnp.maximum(measure._class_risk(sums, units) / divisor, 0), 0)
    moment = sums[-1].astype(jnp.float64) * units.moment
    totals = sums[1 : 1 + measure.num_outputs].astype(jnp.float64) * units.target
    explained = _sum([measure.criterion.explained(weight, total, jnp.float64(1)) for total in totals])
    return jnp.where(weight > 0, jnp.maximum(moment - explained, 0) / (divisor * measure.num_outputs), 0)
