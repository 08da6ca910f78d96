"""Exact thresholds of features with many codes, by scanning the entries of every node in the order of their codes.

A node costs its entries, however many codes there are.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Int32

from jaxtree.growth.candidates import Feature, Place, threshold_candidates, tie_tolerance
from jaxtree.growth.frontier import Entries, Frontier
from jaxtree.growth.level import Level
from jaxtree.growth.measure import Measure
from jaxtree.growth.nodes import place_of
from jaxtree.growth.orders import Orders, most_large_slots
from jaxtree.growth.plan import Plan
from jaxtree.growth.scene import Scene, take_features
from jaxtree.growth.split import NO_CODE, Split, corrected, no_split, trimmed
from jaxtree.growth.sums import cumulative_sum


class _Sorted(NamedTuple):
    """The entries of the large nodes by slot and code: what a scan writes down on its way."""

    code: Int32[Array, " entry"]
    gain: Float[Array, " entry"]
    missing_branch: Int32[Array, " entry"]
    information: Float[Array, " entry"]


class _Level(NamedTuple):
    """What all features of a level share, slot by slot and entry by entry.

    Attributes:
        place: The nodes of the slots.
        stop: Where the entries of every slot end.
        place_at: The node of every entry.
        before_at: The sums of all nodes before that of every entry.
    """

    place: Place
    stop: Int32[Array, " slot"]
    place_at: Place
    before_at: Int[Array, "channel entry"]


def scan_features(
    scene: Scene, level: Level, entries: Entries, frontier: Frontier, orders: Orders, *, plan: Plan
) -> Split:
    """Returns the best threshold of every scanned feature at every large node, arrays of shape (scanned, slot)."""
    num_slots = most_large_slots(entries, plan)
    slots = _look_up(scene, level, entries, frontier, num_slots, plan)
    scan = functools.partial(_scan_feature, scene, entries, slots, orders.size, plan=plan)

    def scan_next(i, splits):
        found = trimmed(scan(scene.lists[-1][i], orders.entry[i]), plan.rules, plan.num_words)
        return jax.tree.map(lambda all_, one: all_.at[i].set(one), splits, found)

    splits = trimmed(no_split((plan.num_scanned, num_slots), plan.num_words), plan.rules, plan.num_words)
    return lax.fori_loop(0, orders.num_features, scan_next, splits)


def _look_up(scene: Scene, level: Level, entries: Entries, frontier: Frontier, num_slots: int, plan: Plan) -> _Level:
    """Looks up once what every feature asks of the entries' nodes."""
    node = frontier.node[:num_slots]
    place = place_of(level.nodes, level.tree, node, scene.leaf_limits, scene.units, plan.rules)
    is_used = jnp.arange(num_slots, dtype=jnp.int32) < frontier.num_large
    sums = jnp.where(is_used[:, None], place.whole.sums, 0)
    before = jnp.cumsum(sums, axis=0, dtype=sums.dtype) - sums
    at = jnp.minimum(entries.slot, num_slots - 1)
    place_at = jax.tree.map(lambda x: x[at], place)
    whole = place_at.whole
    place_at = place_at._replace(whole=whole._replace(sums=whole.sums.T, center=whole.center.T))
    return _Level(place, frontier.stop[:num_slots], place_at, before[at].T)


def _scan_feature(
    scene: Scene, entries: Entries, slots: _Level, size: Int32[Array, ""], number, order, *, plan: Plan
) -> Split:
    """The best threshold of one feature at every slot."""
    feature = take_features(scene.features, number)
    num_blocks = -(-size // plan.entries_per_block)
    code, missing = _read_codes(scene, entries, slots, size, feature, order, num_blocks, plan)
    written, best, num_tried = _score(scene, entries, slots, size, feature, order, code, missing, num_blocks, plan)
    tolerance = tie_tolerance(slots.place.whole, best, plan.rules)
    chosen = _first_of_best(entries, written.gain, best - tolerance, num_blocks, plan)
    at = jnp.minimum(chosen, order.size - 1)
    following = jnp.minimum(at + 1, order.size - 1)
    best = jnp.where(jnp.abs(best) <= tolerance, 0.0, best)
    if not plan.rules.measure.num_classes:
        best = jnp.where(best > -jnp.inf, jnp.maximum(best, 0.0), best)
    split = Split(
        gain=best,
        feature=jnp.full(best.shape, number),
        code=written.code[at],
        next_code=jnp.where(following < slots.stop, written.code[following], NO_CODE),
        missing_branch=written.missing_branch[at],
        information=written.information[at],
        subset=jnp.zeros((best.size, plan.num_words), jnp.uint32),
    )
    return corrected(split, num_tried, slots.place) if plan.rules.is_c45 else split


def _read_codes(
    scene: Scene, entries: Entries, slots: _Level, size, feature: Feature, order, num_blocks, plan: Plan
) -> tuple[Int32[Array, " entry"], Int[Array, "slot channel"]]:
    """The code at every place of the order, and the sums of every slot's missing values, if they are set apart."""
    rules, block_size = plan.rules, plan.entries_per_block
    num_slots = slots.stop.size

    def read(block, carry):
        code, missing = carry
        start = block * block_size
        entry, slot = (lax.dynamic_slice(x, (start,), (block_size,)) for x in (order, entries.slot))
        own = scene.codes.at[feature.number, entries.row[entry]].get(mode="promise_in_bounds").astype(jnp.int32)
        if rules.sets_missing_apart:
            sums = _sums(entries, entry, rules.measure)
            used = (own == feature.missing_code) & (start + jnp.arange(block_size, dtype=jnp.int32) < size)
            missing = missing.at[jnp.where(used, slot, num_slots)].add(sums.T, mode="drop")
        return lax.dynamic_update_slice(code, own, (start,)), missing

    missing = jnp.zeros((num_slots, rules.measure.num_channels), entries.value.dtype)
    return lax.fori_loop(0, num_blocks, read, (jnp.zeros(order.size, jnp.int32), missing))


def _score(
    scene: Scene, entries: Entries, slots: _Level, size, feature: Feature, order, code, missing, num_blocks, plan: Plan
) -> tuple[_Sorted, Float[Array, " slot"], Int32[Array, " slot"]]:
    """Scores the threshold behind every entry; also the best gain of every slot, and how many cuts it tried."""
    rules, block_size = plan.rules, plan.entries_per_block
    measure, num_slots = rules.measure, slots.stop.size
    missing_before = jnp.cumsum(missing, axis=0, dtype=missing.dtype) - missing
    padded_code, padded_slot = (jnp.pad(x, (0, 1), constant_values=-1) for x in (code, entries.slot))

    def score_block(block, carry):
        written, best, num_tried, before = carry
        start = block * block_size
        at = start + jnp.arange(block_size, dtype=jnp.int32)
        entry = lax.dynamic_slice(order, (start,), (block_size,))
        own, following = (lax.dynamic_slice(padded_code, (start + i,), (block_size,)) for i in (0, 1))
        slot, slot_after = (lax.dynamic_slice(padded_slot, (start + i,), (block_size,)) for i in (0, 1))
        in_use = at < size
        is_known = in_use & ((own != feature.missing_code) | (not rules.sets_missing_apart))
        sums = jnp.where(is_known, _sums(entries, entry, measure), 0)
        so_far = before[:, None] + cumulative_sum(sums)
        place, before_here = jax.tree.map(
            lambda x: lax.dynamic_slice_in_dim(x, start, block_size, axis=-1), (slots.place_at, slots.before_at)
        )
        inside, missing_here = so_far - before_here, jnp.zeros_like(sums[:, :1])
        if rules.sets_missing_apart:
            inside = inside + missing_before.at[slot].get(mode="clip").T
            missing_here = missing.at[slot].get(mode="clip").T
        found = threshold_candidates(inside, missing_here, feature, place, scene.units, rules)
        ends_here = (slot_after != slot) | (at + 1 >= size)
        is_cut = is_known & (ends_here | (following != own))
        if rules.has_close_values:
            is_cut &= ends_here | (following >= feature.first_apart.at[own].get(mode="clip"))
        # Without the barrier XLA computes the gains anew for everything that reads them.
        gain = lax.optimization_barrier(jnp.where(is_cut, found.gain, -jnp.inf))
        home = jnp.where(in_use, slot, num_slots)
        best = best.at[home].max(gain, mode="drop")
        if rules.is_c45:
            num_tried = num_tried.at[home].add((gain > -jnp.inf).astype(jnp.int32), mode="drop")
        written = _write(written, found._replace(gain=gain), start, rules.is_c45)
        return written, best, num_tried, so_far[:, -1]

    blank = jnp.zeros(order.size, jnp.float64)
    written = _Sorted(code, blank, jnp.zeros(order.size, jnp.int32), blank)
    carry = (
        written,
        jnp.full(num_slots, -jnp.inf, jnp.float64),
        jnp.zeros(num_slots, jnp.int32),
        jnp.zeros(measure.num_channels, entries.value.dtype),
    )
    return lax.fori_loop(0, num_blocks, score_block, carry)[:3]


def _write(written: _Sorted, found, start: Int32[Array, ""], is_c45: bool) -> _Sorted:
    """Writes down a block of candidates."""
    put = lambda all_, new: lax.dynamic_update_slice(all_, new, (start,))  # noqa: E731
    return written._replace(
        gain=put(written.gain, found.gain),
        missing_branch=put(written.missing_branch, jnp.broadcast_to(found.missing_branch, found.gain.shape)),
        information=put(written.information, found.information) if is_c45 else written.information,
    )


def _first_of_best(
    entries: Entries, gain: Float[Array, " entry"], least: Float[Array, " slot"], num_blocks, plan: Plan
) -> Int32[Array, " slot"]:
    """The first place of every slot whose gain is at least so much."""
    size = plan.entries_per_block

    def look(block, first):
        slot, own = (lax.dynamic_slice(x, (block * size,), (size,)) for x in (entries.slot, gain))
        wins = (own >= least.at[slot].get(mode="clip")) & (own > -jnp.inf)
        at = block * size + jnp.arange(size, dtype=jnp.int32)
        return first.at[jnp.where(wins, slot, least.size)].min(at, mode="drop")

    return lax.fori_loop(0, num_blocks, look, jnp.full(least.shape, NO_CODE, jnp.int32))


def _sums(entries: Entries, entry: Int32[Array, " entry"], measure: Measure) -> Int[Array, "channel entry"]:
    """What some entries add to sums."""
    value = entries.value[:, entry]
    if measure.num_classes:
        classes = jnp.arange(measure.num_classes, dtype=jnp.int32)[:, None]
        sums = [jnp.where(of_output[entry] == classes, value[:1], 0) for of_output in entries.label]
    else:
        sums = [value[: 1 + measure.num_outputs]]
    if measure.counts_rows:
        sums.append((value[:1] > 0).astype(value.dtype))
    return jnp.concatenate(sums)
