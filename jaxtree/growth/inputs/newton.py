"""The objective of boosting: the derivatives of a loss, scored by the loss that one Newton step saves."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Real

from jaxtree.arrays import FloatLike, IntLike, concrete_or_none, safe_divide, sum_in_order
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.objective import (
    NO_LABEL,
    Addition,
    EntryWeights,
    NodeResult,
    Objective,
    ParentStats,
    Quantised,
    Units,
    total_weight,
)
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.fixed_point import BITS
from jaxtree.kernels.mesh import Devices
from jaxtree.kernels.rows import quantise

NARROW_BITS = 31
"""Bits of a sum that a 32-bit integer holds without its sign."""


class Penalties(NamedTuple):
    """The parameters of `Newton`, in the order of `Limits.parameters`; numbers, or arrays.

    Attributes:
        l2: Added to every sum of second derivatives: lambda of XGBoost.
        l1: Taken from the size of every sum of gradients, down to 0: alpha of XGBoost.
        max_step: The greatest size of a step.
    """

    l2: FloatLike = 1.0
    l1: FloatLike = 0.0
    max_step: FloatLike = np.inf


@dataclasses.dataclass(frozen=True)
class Newton(Objective):
    r"""The derivatives of a loss, scored by the loss that a Newton step saves.

    The targets of a row are its second derivatives and its gradients, both times the weight of the row. With their sums
    $H$ and $G$ at a node, the step of score k is $-G_k / (H_k + \lambda)$; a split gains what it adds to
    $\frac12 \sum_k G_k^2 / (H_k + \lambda)$, divided by the weight of the node (Chen and Guestrin, *XGBoost: a scalable
    tree boosting system*, KDD 2016, equation 7). The weight of a node is its $H$, added up over scores.
    `Limits.parameters` are `Penalties`.

    A derivative becomes a whole number of few bits, so that sums are quick and exact: those that 32 bits leave for the
    number of rows (11 of a million), or 41 of wide sums. The unit is a power of two, the same for all rows. It follows
    from the number of rows and the greatest derivative, or of many rows from the sum of the sizes of all.

    Attributes:
        num_scores: The number of scores of a row, each with its gradient.
        num_curvatures: The number of second derivatives of a row: one for all scores, or one for each.
        has_noise: Whether the last target of a row is a number from 0 to below 1: the part of a unit from which on its
            derivatives are rounded up. If it is drawn, no sum is biased. Without it they are rounded to the nearest.
        fits_sum: Whether units follow from sums of sizes.
        needs_wide_sums: Whether sums have 64 bits.

    Example:
        >>> from jaxtree.growth import Data, Limits, Rules, Sizes, grow
        >>> codes, gradient = np.array([[0, 0, 1, 1]], np.uint8), np.array([-1.0, -3.0, 2.0, 4.0])
        >>> data = Data(codes, np.stack([np.ones(4), gradient]))
        >>> tree = grow(data, None, Limits(parameters=Penalties(l2=2.0)), Rules(Newton()), Sizes(2, 3)).tree
        >>> (tree.target_sum[:, 0] / tree.weight).tolist()
        [-0.3333333432674408, 1.0, -1.5]
    """

    num_scores: int = 1
    num_curvatures: int = 1
    has_noise: bool = False
    fits_sum: bool = False
    needs_wide_sums: bool = False
    compares_targets = False

    @property
    def num_outputs(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of targets of a row."""
        return self.num_channels + self.has_noise

    @property
    def num_channels(self) -> int:
        """One channel for every second derivative, and then one for every gradient."""
        return self.num_curvatures + self.num_scores

    @property
    def additions(self) -> tuple[Addition, ...]:
        """A row adds its derivatives."""
        return tuple(Addition(NO_LABEL, channel, channel) for channel in range(self.num_channels))

    def __post_init__(self) -> None:
        """Checks that there is a second derivative for all scores, or one for each."""
        if self.num_scores < 1 or self.num_curvatures not in (1, self.num_scores):
            raise InvalidInputError(
                "num_scores must be 1 or more, and num_curvatures 1 or as many, got "
                f"{self.num_scores} and {self.num_curvatures}"
            )

    def check_target(self, target: Any) -> None:
        """Raises InvalidInputError if targets on the host are no derivatives and noise."""
        values = concrete_or_none(target)
        if values is None or not values.size:
            return
        curvature, noise = values[: self.num_curvatures], values[self.num_channels :]
        if not np.all(curvature >= 0):
            raise InvalidInputError(f"second derivatives must be from 0 on, got {np.min(curvature)}")
        if not np.all((noise >= 0) & (noise < 1)):
            raise InvalidInputError(f"noise must be from 0 to below 1, got {noise.min()} to {noise.max()}")

    def check_parameters(self, shape: tuple[int, ...], values: np.ndarray | None) -> None:
        """Raises InvalidInputError if parameters are no `Penalties`."""
        if shape[-1] != len(Penalties._fields):
            raise InvalidInputError(
                f"parameters must be the {len(Penalties._fields)} numbers of Penalties, got {shape[-1]}"
            )
        if values is not None:
            check_penalties(Penalties(*np.moveaxis(values, -1, 0)))

    def quantise(self, target: Real[Array, "output entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Rounds the derivatives of all rows of positive weight."""
        return self.quantise_used(target, weights.real > 0, devices, Engine.XLA)

    def quantise_used(
        self, target: Real[Array, "output row"], is_used: Bool[Array, " row"], devices: Devices, engine: Engine
    ) -> Quantised:
        """Rounds the derivatives of used rows; the kernel only those that have noise."""
        # Split, so that XLA need not write the target, whose parts it has already.
        curvature, gradient, noise = jnp.split(target, [self.num_curvatures, self.num_channels])
        bits = BITS if self.needs_wide_sums else NARROW_BITS
        value, units = quantise(
            curvature, gradient, noise if self.has_noise else 0.5, is_used,
            bits=bits, fits_sum=self.fits_sum, devices=devices, engine=engine,
        )  # fmt: skip
        label, none = jnp.zeros((0, target.shape[1]), jnp.int32), jnp.zeros(0, jnp.float64)
        return Quantised(label, value, Units(units[0], units[1], jnp.float64(1), none, is_scaled=True))

    def weight(self, sums: Int[Array, "channel *candidate"]) -> Int[Array, "*candidate"]:
        """The second derivatives of all scores."""
        return total_weight(sums[: self.num_curvatures])

    def risk(
        self, sums: Int[Array, "channel candidate"], parent: ParentStats, units: Units
    ) -> Float[Array, " candidate"]:
        """The loss that the best steps leave, less that of no step."""
        penalties = Penalties(*parent.parameters)

        def change(score: IntLike) -> Float[Array, " candidate"]:
            curvature, gradient = self._derivatives(sums, score, units)
            step = newton_step(gradient, curvature, penalties)
            return (gradient + (curvature + penalties.l2) * step / 2) * step + penalties.l1 * jnp.abs(step)

        return sum_in_order(change, self.num_scores)

    def _derivatives(
        self, sums: Int[Array, "channel *candidate"], score: IntLike, units: Units
    ) -> tuple[Float[Array, "*candidate"], Float[Array, "*candidate"]]:
        """The sums of second derivatives and of gradients of a score."""
        curvature = sums[score if self.num_curvatures > 1 else 0].astype(jnp.float64) * units.weight
        return curvature, sums[self.num_curvatures + score].astype(jnp.float64) * units.target

    def monotone_value(
        self, sums: Int[Array, "channel candidate"], parameters: Float[Array, "parameter *candidate"], units: Units
    ) -> Float[Array, " candidate"]:
        """The step of the first score."""
        curvature, gradient = self._derivatives(sums, 0, units)
        return newton_step(gradient, curvature, Penalties(*parameters))

    def category_orders(self, sums: Int[Array, "channel bin"]) -> Int[Array, "order bin"]:
        """The gradients."""
        return sums[self.num_curvatures : self.num_channels]

    def is_mixed(self, sums: Int[Array, "node channel"], slack: object) -> Bool[Array, " node"]:
        """True: derivatives tell nothing of how targets differ."""
        return sums[:, 0] > 0

    def node_result(
        self, sums: Int[Array, "node channel"], parameters: Float[Array, "node parameter"], units: Units
    ) -> NodeResult:
        """The steps, times the weight of the node."""
        weight = self.weight(sums.T).astype(jnp.float64) * units.weight
        curvature, gradient = jax.vmap(lambda score: self._derivatives(sums.T, score, units))(
            jnp.arange(self.num_scores)
        )
        target_sum = newton_step(gradient, curvature, Penalties(*parameters.T)) * weight
        return NodeResult(jnp.zeros(len(sums)), jnp.zeros((len(sums), 0)), target_sum.T)


def check_penalties(penalties: Penalties) -> None:
    """Raises InvalidInputError if a penalty is below 0, infinite or no number, or no step is left."""
    for name, value in (("l2", penalties.l2), ("l1", penalties.l1)):
        if not np.all((np.asarray(value) >= 0) & np.isfinite(value)):
            raise InvalidInputError(f"{name} must be a finite number of at least 0, got {value}")
    if not np.all(np.asarray(penalties.max_step) > 0):
        raise InvalidInputError(f"max_step must be above 0, got {penalties.max_step}")


def newton_step(
    gradient: Float[Array, "*s"], curvature: Float[Array, "*s"], penalties: Penalties
) -> Float[Array, "*s"]:
    """The step that changes a score where the loss falls most, by its derivatives and the penalties."""
    size = jnp.maximum(jnp.abs(gradient) - penalties.l1, 0)
    step = -jnp.sign(gradient) * safe_divide(size, curvature + penalties.l2)
    return jnp.clip(step, -penalties.max_step, penalties.max_step)
