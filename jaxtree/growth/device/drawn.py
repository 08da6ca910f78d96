"""Splits at drawn thresholds, which need the least and the greatest code of a node, and one sum.

A threshold is uniform between the least and the greatest known value of the node. It divides the node's entries among a
few *parts*, which take the place of the codes in the node's histogram: the known entries up to the threshold, those
above it, and the missing ones where these are set apart.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32

from jaxtree.arrays import child_hash
from jaxtree.growth.device.blocks import over_blocks
from jaxtree.growth.device.histogram import NodeChunk, blocks_of, histograms_of_parts
from jaxtree.growth.device.split import NO_CODE, Split
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import GrowthConstants, NodeContext
from jaxtree.tree import SplitKind

MISSING = 2
"""The part of missing values that are set apart."""

Sides = Callable[[Int32[Array, " entry"], Int32[Array, " entry"]], tuple[Array, Array, Array]]
"""`(row, slot) -> (codes, is_below, is_above)` of entries, for every feature that is looked at."""


def drawn_histograms(
    problem: GrowthConstants, chunk: NodeChunk, features: Int32[Array, "looked slot"], number: int, *, plan: LoopPlan
) -> tuple[Int[Array, "looked cell"], Int32[Array, "looked slot part"]]:
    """Sums the parts of every slot's features, and returns the last code of the first part, and one of each other.

    Args:
        problem: The problem.
        chunk: The slots.
        features: The features of every slot.
        number: The table plan.
        plan: Static sizes.
    """
    last = _last_codes(problem, chunk, features, plan=plan)

    def part_of(row, slot):
        code, is_known = _codes(problem, features[:, slot], row, plan)
        part = (code > last[:, slot]).astype(jnp.int32)
        return jnp.where(is_known, part, MISSING) if plan.rules.separates_missing else part

    tables = histograms_of_parts(problem, chunk, len(features), number, part_of, plan=plan)
    following = last + 1
    if plan.rules.has_close_values:
        last, following = _codes_beside(problem, chunk, features, last, plan=plan)
    codes = [last, following, problem.features.missing_code[features]]
    return tables, jnp.stack(codes[: plan.rules.num_parts], axis=-1)


def with_codes_beside(problem: GrowthConstants, chunk: NodeChunk, splits: Split, *, plan: LoopPlan) -> Split:
    """Returns splits with the codes beside each threshold that the slot has, where these were not needed before."""
    code, next_code = _codes_beside(problem, chunk, splits.feature[None], splits.code[None], plan=plan)
    is_drawn = problem.features.kind[splits.feature] == SplitKind.THRESHOLD
    return splits._replace(
        code=jnp.where(is_drawn, code[0], splits.code), next_code=jnp.where(is_drawn, next_code[0], splits.next_code)
    )


def draw(
    problem: GrowthConstants,
    context: NodeContext,
    features: Int32[Array, "looked slot"],
    least: Int32[Array, "looked slot"],
    greatest: Int32[Array, "looked slot"],
    *,
    plan: LoopPlan,
) -> Int32[Array, "looked slot"]:
    """The greatest code up to the threshold that is drawn between given codes, and -1 where there is none."""
    low, high = (problem.position.at[features, code].get(mode="clip") for code in (least, greatest))
    number = child_hash(context.seed, features.astype(jnp.uint32))
    share = (number >> 8).astype(jnp.float64) / 2**24
    threshold = low + share * (high - low)
    # Between adjacent floats the sum may round to the greatest value, above which there is no row.
    threshold = jnp.where(threshold < high, threshold, low)
    num_steps = (problem.position.shape[1] - 1).bit_length()

    def step(number, last):
        further = last + (jnp.int32(1) << jnp.asarray(num_steps - 1 - number, jnp.int32))
        is_below = (further <= greatest) & (problem.position.at[features, further].get(mode="clip") <= threshold)
        return jnp.where(is_below, further, last)

    last = lax.fori_loop(0, num_steps, step, least, unroll=plan.backend.loop_conditions_on_host)
    return jnp.where(greatest >= 0, last, -1)


def _last_codes(
    problem: GrowthConstants, chunk: NodeChunk, features: Int32[Array, "looked slot"], *, plan: LoopPlan
) -> Int32[Array, "looked slot"]:
    """The greatest code up to the threshold that every slot draws for each of its features."""

    def sides(row, slot):
        code, is_known = _codes(problem, features[:, slot], row, plan)
        return code, is_known, is_known

    greatest, least = _extremes(chunk, features.shape, sides, plan=plan)
    return draw(problem, chunk.context, features, least, greatest, plan=plan)


def _codes(
    problem: GrowthConstants, feature: Int32[Array, "looked entry"], row: Int32[Array, " entry"], plan: LoopPlan
) -> tuple[Int32[Array, "looked entry"], Bool[Array, "looked entry"]]:
    """The codes of entries, and whether they are known."""
    code = problem.codes.at[feature, row].get(mode="promise_in_bounds").astype(jnp.int32)
    is_known = code != problem.features.missing_code[feature] if plan.rules.has_missing else jnp.ones_like(code, bool)
    return code, is_known


def _codes_beside(
    problem: GrowthConstants, chunk: NodeChunk, features, last: Int32[Array, "looked slot"], *, plan: LoopPlan
):
    """The greatest code of every slot's entries up to a given one, or -1, and the least above it, or `NO_CODE`."""

    def sides(row, slot):
        code = _codes(problem, features[:, slot], row, plan)[0]
        is_below = code <= last[:, slot]
        return code, is_below, ~is_below

    return _extremes(chunk, features.shape, sides, plan=plan)


def _extremes(
    chunk: NodeChunk, shape: tuple[int, ...], sides: Sides, *, plan: LoopPlan
) -> tuple[Int32[Array, "looked slot"], Int32[Array, "looked slot"]]:
    """The greatest code of every slot's entries below, or -1, and the least of those above, or `NO_CODE`."""
    entries, num_slots = chunk.entries, shape[1]
    # Where the host would end a loop of blocks, all entries are read at once.
    is_one_block = plan.backend.loop_conditions_on_host
    size, most = (entries.slot.size, 1) if is_one_block else (plan.entries_per_block, plan.num_blocks)
    first_cell = num_slots * jnp.arange(shape[0], dtype=jnp.int32)[:, None]

    def look(block, extremes):
        row, slot = (lax.dynamic_slice(x, (block * size,), (size,)) for x in (entries.row, entries.slot))
        own = slot - chunk.slot[0]
        is_here = (own >= 0) & (own < num_slots)
        own = jnp.clip(own, 0, num_slots - 1)
        code, is_below, is_above = sides(row, own)
        cell = (first_cell + own).reshape(-1)
        below, above = jnp.where(is_here & is_below, code, -1), jnp.where(is_here & is_above, code, NO_CODE)
        greatest = extremes[0].at[cell].max(below.reshape(-1), mode="promise_in_bounds")
        return greatest, extremes[1].at[cell].min(above.reshape(-1), mode="promise_in_bounds")

    blank = tuple(jnp.full(shape[0] * num_slots, none, jnp.int32) for none in (-1, NO_CODE))
    greatest, least = over_blocks(*blocks_of(chunk.window, plan), look, blank, most=most, plan=plan)
    return plan.devices.greatest(greatest).reshape(shape), plan.devices.least(least).reshape(shape)
