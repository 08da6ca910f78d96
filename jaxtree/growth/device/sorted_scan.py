"""Exact thresholds of features with many codes: scans of the entries of every node in the order of their codes.

The entries are sorted by slot. For every scanned feature, each level sorts their places anew by slot and code, in one
sort of 64-bit words; the same places of all orders therefore belong to one node. The cost of a node is its entries, for
any number of codes. Orders that are kept and partitioned among the children take as long, and twice the code.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Int32, Int64

from jaxtree.growth.device.candidates import Candidates, SplitScorer, threshold_candidates
from jaxtree.growth.device.histogram import sums_of_entries
from jaxtree.growth.device.split import NO_CODE, Split, corrected, no_split, trimmed
from jaxtree.growth.device.state import State, node_context
from jaxtree.growth.inputs.whole_numbers import cumulative_sum
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import Entries, FeatureContext, GrowthConstants, NodeContext, Windows

BITS_OF_WORD = 63
"""Bits of a whole number without its sign."""


class _Scanned(NamedTuple):
    """The results of a scan for every entry, by slot and code."""

    code: Int32[Array, " entry"]
    gain: Float[Array, " entry"]
    missing_branch: Int32[Array, " entry"]
    information: Float[Array, " entry"]


class _Slots(NamedTuple):
    """The arrays, over slots and entries, that all features of a level share.

    Attributes:
        context: The nodes of the slots.
        stop: Where the entries of every slot end.
        context_at: The node of every entry.
        before_at: The sums of all nodes before that of every entry.
        entries: The entries.
        size: The number of entries that have a slot; they are the first.
        num_blocks: The number of blocks that these lie in.
    """

    context: NodeContext
    stop: Int32[Array, " slot"]
    context_at: NodeContext
    before_at: Int[Array, "channel entry"]
    entries: Entries
    size: Int32[Array, ""]
    num_blocks: Int32[Array, ""]


class _Codes(NamedTuple):
    """The codes of one feature in their order.

    Attributes:
        order: The entries.
        code: The code of each.
        missing: The sums of every slot's missing values, if they are set apart.
    """

    order: Int32[Array, " entry"]
    code: Int32[Array, " entry"]
    missing: Int[Array, "slot channel"]


def scan_features(problem: GrowthConstants, state: State, windows: Windows, *, plan: LoopPlan) -> Split:
    """Returns the best threshold of every scanned feature at every slot, arrays of shape (scanned, slot)."""
    slots = _look_up(problem, state, windows, plan)
    listed = problem.lists[-1]

    def scan_next(i, splits):
        found = trimmed(_scan_feature(problem, slots, listed[i], plan=plan), plan)
        return jax.tree.map(lambda all_, one: all_.at[i].set(one), splits, found)

    splits = no_split((plan.num_scanned, slots.stop.size), plan)
    return lax.fori_loop(0, jnp.sum(problem.is_there(listed), dtype=jnp.int32), scan_next, splits)


def _look_up(problem: GrowthConstants, state: State, windows: Windows, plan: LoopPlan) -> _Slots:
    """Looks up once the arrays of the entries' nodes that every feature needs."""
    frontier, entries, num_slots = state.frontier, state.entries, _most_slots(state.entries, plan)
    context = node_context(problem, state.nodes, frontier.node[:num_slots], plan.rules)
    is_used = jnp.arange(num_slots, dtype=jnp.int32) < frontier.size
    sums = jnp.where(is_used[:, None], context.stats.sums, 0)
    before = jnp.cumsum(sums, axis=0, dtype=sums.dtype) - sums
    at = jnp.minimum(entries.slot, num_slots - 1)
    # Which features are open is asked of nodes, not of entries.
    context_at = jax.tree.map(lambda x: x[at], context._replace(open_sets=None))
    stats = context_at.stats
    columns = {name: getattr(stats, name).T for name in ("sums", "center", "parameters")}
    context_at = context_at._replace(stats=stats._replace(**columns))
    num_blocks = -(-entries.size // plan.entries_per_block)
    return _Slots(context, windows.stop[:num_slots], context_at, before[at].T, entries, entries.size, num_blocks)


def _most_slots(entries: Entries, plan: LoopPlan) -> int:
    """The most nodes that a level may have, of two entries or more or roots, rounded up to whole chunks."""
    most = min(plan.capacity, entries.slot.size // 2 + plan.num_roots)
    return min(plan.capacity, -(-most // plan.num_slots) * plan.num_slots)


def _scan_feature(problem: GrowthConstants, slots: _Slots, number: Int32[Array, ""], *, plan: LoopPlan) -> Split:
    """The best threshold of one feature at every slot."""
    feature = problem.take_features(number)
    codes = _sort_by_code(problem, slots, feature, plan)
    written, best, num_tried = _score(problem, slots, feature, codes, plan)
    judge = SplitScorer(plan.rules, slots.context, problem.units)
    tolerance = judge.tolerance(best)
    chosen = _first_of_best(slots, written.gain, best - tolerance, plan)
    at = jnp.minimum(chosen, codes.order.size - 1)
    following = jnp.minimum(at + 1, codes.order.size - 1)
    best = judge.rounded(best, tolerance)
    split = Split(
        gain=best,
        feature=jnp.full(best.shape, number),
        code=written.code[at],
        next_code=jnp.where(following < slots.stop, written.code[following], NO_CODE),
        missing_branch=written.missing_branch[at],
        information=written.information[at],
        subset=jnp.zeros((best.size, plan.num_words), jnp.uint32),
    )
    return corrected(split, num_tried, slots.context) if plan.rules.is_c45 else split


def _sort_by_code(problem: GrowthConstants, slots: _Slots, feature: FeatureContext, plan: LoopPlan) -> _Codes:
    """Sorts the entries by slot and code."""
    entries, num_slots = slots.entries, slots.stop.size
    code = problem.codes.at[feature.number, entries.row].get(mode="promise_in_bounds").astype(jnp.int64)
    # Entries without a slot stay behind all others, where they are.
    slot = jnp.minimum(entries.slot, num_slots).astype(jnp.int64)
    code = jnp.where(slot < num_slots, jnp.minimum(code, plan.num_bins - 1), 0)
    order, code = _sorted_places(slot, code, num_slots=num_slots, num_codes=plan.num_bins)
    return _Codes(order, code, _sum_missing(slots, feature, order, code, plan))


def _sorted_places(
    slot: Int64[Array, " entry"], code: Int64[Array, " entry"], *, num_slots: int, num_codes: int
) -> tuple[Int32[Array, " entry"], Int32[Array, " entry"]]:
    """The places of entries in the order of slot, code and place, and their codes.

    One word holds all three, except those of many millions of entries.
    """
    place = jnp.arange(slot.size, dtype=jnp.int32)
    code_bits, place_bits = (num_codes - 1).bit_length(), (slot.size - 1).bit_length()
    key = slot << code_bits | code
    if num_slots.bit_length() + code_bits + place_bits > BITS_OF_WORD:
        key, place = lax.sort((key, place), num_keys=1, is_stable=True)
    else:
        word = lax.sort(key << place_bits | place.astype(jnp.int64), is_stable=False)
        key, place = word >> place_bits, (word & ((1 << place_bits) - 1)).astype(jnp.int32)
    return place, (key & ((1 << code_bits) - 1)).astype(jnp.int32)


def _sum_missing(
    slots: _Slots, feature: FeatureContext, order: Int32[Array, " entry"], code: Int32[Array, " entry"], plan: LoopPlan
) -> Int[Array, "slot channel"]:
    """The sums of every slot's missing values, if they are set apart."""
    rules, size, entries, num_slots = plan.rules, plan.entries_per_block, slots.entries, slots.stop.size
    missing = jnp.zeros((num_slots, rules.num_channels), entries.value.dtype)
    if not rules.separates_missing:
        return missing

    def add_block(block, missing):
        entry, own, slot = (lax.dynamic_slice(x, (block * size,), (size,)) for x in (order, code, entries.slot))
        sums = sums_of_entries(entries.label[:, entry], entries.value[:, entry], rules)
        return missing.at[jnp.where(own == feature.missing_code, slot, num_slots)].add(sums.T, mode="drop")

    return lax.fori_loop(0, slots.num_blocks, add_block, missing)


def _score(
    problem: GrowthConstants, slots: _Slots, feature: FeatureContext, codes: _Codes, plan: LoopPlan
) -> tuple[_Scanned, Float[Array, " slot"], Int32[Array, " slot"]]:
    """Scores the threshold after every entry; also returns every slot's best gain and number of cuts."""
    rules, block_size = plan.rules, plan.entries_per_block
    order, code, missing = codes
    num_slots, entries = slots.stop.size, slots.entries
    missing_before = jnp.cumsum(missing, axis=0, dtype=missing.dtype) - missing
    padded_code, padded_slot = (jnp.pad(x, (0, 1), constant_values=-1) for x in (code, entries.slot))

    def score_block(block, carry):
        written, best, num_tried, before = carry
        start = block * block_size
        at = start + jnp.arange(block_size, dtype=jnp.int32)
        entry = lax.dynamic_slice(order, (start,), (block_size,))
        own, following = (lax.dynamic_slice(padded_code, (start + i,), (block_size,)) for i in (0, 1))
        slot, slot_after = (lax.dynamic_slice(padded_slot, (start + i,), (block_size,)) for i in (0, 1))
        in_use = at < slots.size
        is_known = in_use & ((own != feature.missing_code) | (not rules.separates_missing))
        sums = jnp.where(is_known, sums_of_entries(entries.label[:, entry], entries.value[:, entry], rules), 0)
        so_far = before[:, None] + cumulative_sum(sums)
        node, before_here = jax.tree.map(
            lambda x: lax.dynamic_slice_in_dim(x, start, block_size, axis=-1), (slots.context_at, slots.before_at)
        )
        inside, missing_here = so_far - before_here, jnp.zeros_like(sums[:, :1])
        if rules.separates_missing:
            inside = inside + missing_before.at[slot].get(mode="clip").T
            missing_here = missing.at[slot].get(mode="clip").T
        found = threshold_candidates(SplitScorer(rules, node, problem.units), feature, inside, missing_here)
        ends_here = (slot_after != slot) | (at + 1 >= slots.size)
        is_cut = is_known & (ends_here | (following != own))
        if rules.has_close_values:
            is_cut &= ends_here | (following >= feature.next_separable.at[own].get(mode="clip"))
        # Without the barrier XLA computes the gains again for every reader.
        gain = lax.optimization_barrier(jnp.where(is_cut, found.gain, -jnp.inf))
        home = jnp.where(in_use, slot, num_slots)
        best = best.at[home].max(gain, mode="drop")
        if rules.is_c45:
            num_tried = num_tried.at[home].add((gain > -jnp.inf).astype(jnp.int32), mode="drop")
        written = _write(written, found._replace(gain=gain), start, rules.is_c45)
        return written, best, num_tried, so_far[:, -1]

    blank = jnp.zeros(order.size, jnp.float64)
    written = _Scanned(code, blank, jnp.zeros(order.size, jnp.int32), blank)
    carry = (
        written,
        jnp.full(num_slots, -jnp.inf, jnp.float64),
        jnp.zeros(num_slots, jnp.int32),
        jnp.zeros(rules.num_channels, entries.value.dtype),
    )
    return lax.fori_loop(0, slots.num_blocks, score_block, carry)[:3]


def _write(written: _Scanned, found: Candidates, start: Int32[Array, ""], is_c45: bool) -> _Scanned:
    """Stores a block of candidates."""
    put = lambda all_, new: lax.dynamic_update_slice(all_, new, (start,))  # noqa: E731
    return written._replace(
        gain=put(written.gain, found.gain),
        missing_branch=put(written.missing_branch, jnp.broadcast_to(found.missing_branch, found.gain.shape)),
        information=put(written.information, found.information) if is_c45 else written.information,
    )


def _first_of_best(
    slots: _Slots, gain: Float[Array, " entry"], least: Float[Array, " slot"], plan: LoopPlan
) -> Int32[Array, " slot"]:
    """The first place of every slot whose gain is at least `least`."""
    size = plan.entries_per_block

    def look(block, first):
        slot, own = (lax.dynamic_slice(x, (block * size,), (size,)) for x in (slots.entries.slot, gain))
        wins = (own >= least.at[slot].get(mode="clip")) & (own > -jnp.inf)
        at = block * size + jnp.arange(size, dtype=jnp.int32)
        return first.at[jnp.where(wins, slot, least.size)].min(at, mode="drop")

    return lax.fori_loop(0, slots.num_blocks, look, jnp.full(least.shape, NO_CODE, jnp.int32))
