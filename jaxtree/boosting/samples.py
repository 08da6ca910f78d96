r"""The rows and columns that the tree of a round is grown on: a part of them, drawn anew for every tree.

A row is drawn by a number of its own, which follows from the seed, the round and the row. Where chances differ from row
to row, the derivatives of a row of the chance p are multiplied by 1 / p, so that all sums are right in the mean. The
*sizes* of all rows decide about a row: they are compared as whole numbers, so that thresholds are exact.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, UInt32

from jaxtree.arrays import FloatLike, child_hash, mix, safe_divide
from jaxtree.growth.device.open_features import is_drawn
from jaxtree.growth.loop.prepare import GrowthInputs
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import Devices
from jaxtree.losses.loss import Derivatives

SIZE_BITS = 30
"""Bits of a size as a whole number, by which the threshold of minimal variance sampling is found."""

DRAWS_OF_TREE = 0x27D4EB2F
"""Tells the draw of a tree's columns from what else its seed draws; see `growth.plan.problem.DRAWS_OF_LEVEL`."""


class RowsToDraw(NamedTuple):
    """Rows of which some are drawn, and what they are drawn by.

    Attributes:
        is_there: Whether a row has any weight.
        number: A number from 0 to below 1 for every row, which decides about it.
        derivatives: The derivatives of all rows.
        l2: The penalty of squared steps.
        devices: The devices that rows are divided among.
    """

    is_there: Bool[Array, " row"]
    number: Float[Array, " row"]
    derivatives: Derivatives
    l2: FloatLike
    devices: Devices


class Sampled(NamedTuple):
    """The rows of a tree.

    Attributes:
        is_used: Whether the tree is grown on the row.
        factor: The factor of its derivatives; None where they stay as they are.
    """

    is_used: Bool[Array, " row"]
    factor: Float[Array, " row"] | None


class Uniform(NamedTuple):
    """Every row has the same chance (Friedman, *Stochastic gradient boosting*, 2002).

    Attributes:
        fraction: The part of the rows.

    Example:
        >>> is_there, number = jnp.array([True, True, False]), jnp.array([0.2, 0.7, 0.1])
        >>> derivatives = Derivatives(number[None], number[None])
        >>> Uniform(0.5).draw(RowsToDraw(is_there, number, derivatives, 1.0, Devices(1))).is_used.tolist()
        [True, False, False]
    """

    fraction: FloatLike = 1.0

    def draw(self, rows: RowsToDraw) -> Sampled:
        """Draws rows."""
        return Sampled(rows.is_there & (rows.number < self.fraction), None)


class OneSided(NamedTuple):
    """Gradient-based one-side sampling (Ke et al., *LightGBM*, NeurIPS 2017): the rows of large gradients, and others.

    Rows of equal gradients at the threshold have equal chances to be among the large ones.

    Attributes:
        top_rate: The part of the rows, those of the largest gradients, that is kept.
        other_rate: The part of the rows that is drawn from the rest.
    """

    top_rate: FloatLike = 0.2
    other_rate: FloatLike = 0.1

    def draw(self, rows: RowsToDraw) -> Sampled:
        """Draws rows."""
        is_there, number, derivatives, _, devices = rows
        square = jnp.sum(jnp.square(derivatives.gradient), axis=0)
        # The bits of a positive float, read as a whole number, have its order.
        bits = jnp.where(is_there, lax.bitcast_convert_type(square.astype(jnp.float32), jnp.int32), -1)
        count = lambda holds: devices.total(jnp.sum(holds)).astype(jnp.float64)  # noqa: E731
        wanted = self.top_rate * count(is_there)
        threshold = _last(lambda bound: count(bits >= bound) >= wanted, num_bits=31)
        num_above, num_tied = count(bits > threshold), count(bits == threshold)
        share_of_tied = jnp.minimum(safe_divide(wanted - num_above, num_tied), 1)
        share = jnp.where(bits > threshold, 1, jnp.where(bits == threshold, share_of_tied, 0))
        is_top = is_there & (number < share)
        # Below the top, the rest of a row's random number is again uniform and is reused.
        rest = safe_divide(number - share, 1 - share)
        chance = jnp.clip(safe_divide(jnp.float64(self.other_rate), jnp.float64(1 - self.top_rate)), max=1)
        is_other = is_there & ~is_top & (rest < chance)
        return Sampled(is_top | is_other, jnp.where(is_top, 1, safe_divide(jnp.ones(()), chance)))


class MinimalVariance(NamedTuple):
    r"""Minimal variance sampling (Ibragimov and Gusev, *Minimal variance sampling*, NeurIPS 2019).

    The chance of a row is $\min(1, s / \mu)$ with its size $s = \sqrt{\lVert g \rVert^2 + \lambda \lVert h \rVert^2}$,
    where $\lambda$ is the penalty of squared steps, as in XGBoost, and $\mu$ makes the expected number of rows the one
    asked for. Where scores are in the target's unit, boosting gives it in units of $\sum g^2 / \sum h^2$, so that draws
    do not depend on that unit.

    Attributes:
        fraction: The part of the rows.
    """

    fraction: FloatLike = 0.5

    def draw(self, rows: RowsToDraw) -> Sampled:
        """Draws rows."""
        is_there, number, (gradient, hessian), l2, devices = rows
        diagonal = jnp.diagonal(hessian).T if hessian.ndim == 3 else hessian
        squares = [jnp.sum(jnp.square(part.astype(jnp.float64)), axis=0) for part in (gradient, diagonal)]
        # A barrier, so that the product is rounded before it is added in every program.
        square = sum(lax.optimization_barrier((squares[0], l2 * squares[1])))
        size = _as_whole(jnp.where(is_there, jnp.sqrt(square), 0), devices)
        threshold = _threshold_of(size, self.fraction * devices.total(jnp.sum(is_there)), devices)
        is_large = size >= threshold
        chance = jnp.where(is_large, 1, safe_divide(size, threshold))
        factor = jnp.where(is_large, 1, safe_divide(threshold, size))
        return Sampled(is_there & (number < chance), factor)


Sample: TypeAlias = Uniform | OneSided | MinimalVariance
"""How rows are drawn: its class decides about the program, its numbers do not."""


def _as_whole(size: Float[Array, " row"], devices: Devices) -> Int32[Array, " row"]:
    """Sizes as whole numbers, at least 1 where they are not 0."""
    unit = unit_of(1, devices.greatest(exponent(size)), bits=SIZE_BITS)
    return jnp.maximum(to_fixed_point(size, unit).astype(jnp.int32), size > 0)


def _threshold_of(size: Int32[Array, " row"], wanted: Float[Array, ""], devices: Devices) -> Int32[Array, ""]:
    """The greatest threshold with as many rows as wanted in the mean, or more."""

    def has_enough(bound: Int32[Array, ""]) -> Bool[Array, ""]:
        total = devices.total(jnp.sum(jnp.minimum(size, bound), dtype=jnp.int64))
        return total.astype(jnp.float64) >= wanted * bound

    return _last(has_enough, num_bits=SIZE_BITS + 1)


def _last(holds: Callable[[Int32[Array, ""]], Bool[Array, ""]], *, num_bits: int) -> Int32[Array, ""]:
    """The last number of so many bits that has a property, which all numbers below it have; bit by bit."""

    def try_bit(number, low):
        higher = low | (jnp.int32(1) << (num_bits - 1 - number))
        return jnp.where(holds(higher), higher, low)

    return lax.fori_loop(0, num_bits, try_bit, jnp.int32(0))


def draw_columns(prepared: GrowthInputs, number: Int32[Array, ""], seed: UInt32[Array, ""]) -> GrowthInputs:
    """The arrays of growth in which all columns but those that a tree draws are padding, so that they cost nothing."""
    feature = jnp.arange(prepared.num_codes.shape[0], dtype=jnp.uint32)
    rank = child_hash(mix(seed ^ jnp.uint32(DRAWS_OF_TREE)), feature)
    is_kept = is_drawn(rank[:, None], (prepared.num_codes > 0)[:, None], number[None])[:, 0]
    lists = tuple(_padded(listed, is_kept) for listed in prepared.lists)
    return prepared._replace(num_codes=jnp.where(is_kept, prepared.num_codes, 0), lists=lists)


def _padded(listed: Int32[Array, " listed"], is_kept: Bool[Array, " feature"]) -> Int32[Array, " listed"]:
    """A list of the kept features, then of numbers past all."""
    is_in = is_kept.at[listed].get(mode="fill", fill_value=False)
    return jnp.sort(jnp.where(is_in, listed, is_kept.size)).astype(jnp.int32)
