"""Histograms of one chunk of a level: the sums of every (slot, channel, bin) cell, one table per feature.

An entry adds a whole number to one cell of every table for each channel that it counts for; the order of additions
does not matter. The channel is part of the cell, not a vector in it, so that scalar scatters fill a table of any
number of channels. A *cell base* is the cell of an entry without its code; entries outside the chunk have a base past
the table, in a strip of cells that is never read. The method of addition depends on the device, see `Accumulation`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int, Int32, UInt

from jaxtree.growth.device import warp_histogram
from jaxtree.growth.device.blocks import over_blocks
from jaxtree.growth.device.cells import bases_of, compare, scatter_at_once
from jaxtree.growth.inputs.bundles import ResolvedRules
from jaxtree.growth.inputs.objective import COUNTS_ROW, NO_LABEL
from jaxtree.growth.plan.backends import Accumulation
from jaxtree.growth.plan.plan import LoopPlan, TablePlan
from jaxtree.growth.plan.problem import Entries, GrowthConstants, NodeContext

Window = tuple[Int32[Array, ""], Int32[Array, ""]]
"""The first and the last (exclusive) entry of a range."""

PartOf = Callable[[Int32[Array, " entry"], Int32[Array, " entry"]], Int32[Array, "looked entry"]]
"""Returns the parts of the entries of given rows and slots of the chunk, for every table."""


class NodeChunk(NamedTuple):
    """Slots whose nodes are split together, and the entries that are read for them.

    Attributes:
        slot: The slots, `num_slots` adjacent ones; the first `num_used` hold nodes.
        node: Their nodes.
        context: The context of each node.
        num_used: The number of nodes.
        entries: The entries.
        window: The first and the last (exclusive) entry of the nodes, perhaps among others.
        bases: The cell bases of all entries, for every table plan.
    """

    slot: Int32[Array, " slot"]
    node: Int32[Array, " slot"]
    context: NodeContext
    num_used: Int32[Array, ""]
    entries: Entries
    window: Window
    bases: tuple[Int32[Array, "base entry"], ...]


def sums_of_entries(
    label: Int[Array, "label *entry"], value: Int[Array, "value *entry"], rules: ResolvedRules
) -> Int[Array, "channel *entry"]:
    """The numbers that every entry adds to each channel."""
    sums = []
    for number, _, added in rules.additions:
        if number != NO_LABEL:
            classes = jnp.arange(rules.objective.classes[number], dtype=jnp.int32)
            sums.append(jnp.where(label[number] == classes.reshape(-1, *[1] * (label.ndim - 1)), value[added], 0))
    plain = [added for number, _, added in rules.additions if number == NO_LABEL and added != COUNTS_ROW]
    if plain:
        sums.append(value[plain[0] : plain[-1] + 1])
    if rules.counts_rows:
        sums.append((value[:1] > 0).astype(value.dtype))
    return jnp.concatenate(sums)


def blank_bases(entries: Entries, plan: LoopPlan) -> Int32[Array, "base entry"]:
    """Space for the cell bases of all entries."""
    return jnp.zeros((len(bases_of(plan.rules)), entries.row.size), jnp.int32)


def write_bases(chunk: NodeChunk, number: int, *, plan: LoopPlan) -> Int32[Array, "base entry"]:
    """Returns the cell bases of a table plan, updated for the entries in the window's blocks."""
    table, entries, rules = plan.tables[number], chunk.entries, plan.rules
    size = plan.entries_per_block
    strip = plan.num_slots * rules.num_channels * table.num_bins

    def write_block(block, base):
        slot = lax.dynamic_slice(entries.slot, (block * size,), (size,))
        label = lax.dynamic_slice(entries.label, (jnp.zeros_like(block), block * size), (len(entries.label), size))
        own = slot - chunk.slot[0]
        inside = (own >= 0) & (own < plan.num_slots)
        cell = (own * rules.num_channels + _first_channels(label, rules)) * table.num_bins
        return lax.dynamic_update_slice(base, jnp.where(inside, cell, strip), (jnp.zeros_like(block), block * size))

    blocks = blocks_of(chunk.window, plan)
    return over_blocks(*blocks, write_block, chunk.bases[number], most=plan.num_blocks, plan=plan)


def _first_channels(label: Int[Array, "label entry"], rules: ResolvedRules) -> Int32[Array, "base entry"]:
    """The channels of the bases of every entry."""
    blank = lambda channel: jnp.full(label.shape[1], channel, jnp.int32)  # noqa: E731
    return jnp.stack([blank(c) if n == NO_LABEL else label[n] + c for n, c in bases_of(rules)])


def blocks_of(window: Window, plan: LoopPlan) -> tuple[Int32[Array, ""], Int32[Array, ""]]:
    """The first and the last (exclusive) block that a window lies in."""
    return window[0] // plan.entries_per_block, -(-window[1] // plan.entries_per_block)


def group_histograms(
    problem: GrowthConstants, chunk: NodeChunk, features: Int32[Array, " grouped"], number: int, *, plan: LoopPlan
) -> Int[Array, "grouped cell"]:
    """Sums the cells of a group of features of a table plan, one table each.

    Without its strip, and reshaped to (slot, channel, bin), a table is the chunk's histogram.
    """
    return sampled_histograms(problem, chunk, features[:, None], number, plan=plan)


def sampled_histograms(
    problem: GrowthConstants,
    chunk: NodeChunk,
    features: Int32[Array, "sampled slot_or_all"],
    number: int,
    *,
    plan: LoopPlan,
) -> Int[Array, "sampled cell"]:
    """Sums the cells where every slot has its own features: one table for the first of each, one for the second ..."""
    where = {"num_bins": plan.tables[number].num_bins, "rules": plan.rules}

    def add_block(tables, row, slot, base, value):
        if plan.backend.accumulation == Accumulation.SHARED:
            return warp_histogram.add_at_once(tables, problem.codes, features, row, base, value, **where)
        code = _read_codes(problem.codes, features, row, base, where["num_bins"], plan)
        return _add_to_cells(plan)(tables, base, code, value, **where)

    return _over_entries(chunk, len(features), number, add_block, plan)


def histograms_of_parts(
    problem: GrowthConstants, chunk: NodeChunk, num_tables: int, number: int, part_of: PartOf, *, plan: LoopPlan
) -> Int[Array, "looked cell"]:
    """Sums the cells of several tables at once, where the numbers of parts take the place of entries' codes."""
    where = {"num_bins": plan.tables[number].num_bins, "rules": plan.rules}

    def add_block(tables, row, slot, base, value):
        slot_in_chunk = jnp.clip(slot - chunk.slot[0], 0, plan.num_slots - 1)
        return _add_to_cells(plan)(tables, base, part_of(row, slot_in_chunk), value, **where)

    return _over_entries(chunk, num_tables, number, add_block, plan)


def _over_entries(
    chunk: NodeChunk, num_tables: int, number: int, add_block: Callable[..., Any], plan: LoopPlan
) -> Int[Array, "looked cell"]:
    """The tables to which `add_block` adds the chunk's entries, block after block, summed over all devices."""
    entries, size = chunk.entries, plan.entries_per_block
    arrays = (entries.row, entries.slot, chunk.bases[number], entries.value)
    blank = jnp.zeros((num_tables, _num_cells(plan.tables[number], plan)), entries.value.dtype)
    cut = lambda block: (lax.dynamic_slice_in_dim(array, block * size, size, axis=-1) for array in arrays)  # noqa: E731
    add = lambda block, tables: add_block(tables, *cut(block))  # noqa: E731
    tables = over_blocks(*blocks_of(chunk.window, plan), add, blank, most=plan.num_blocks, plan=plan)
    return plan.devices.total(tables)


def _num_cells(table: TablePlan, plan: LoopPlan) -> int:
    """The number of cells of a feature's table: those of every slot, and the strip."""
    # Channels without a label reach past their common base, one each.
    plain = [channel for label, channel, _ in plan.rules.additions if label == NO_LABEL]
    past = max(plain) - min(plain) if plain else 0
    return (plan.num_slots * plan.rules.num_channels + 1 + past) * table.num_bins


def _read_codes(
    codes: UInt[Array, "feature row"],
    features: Int32[Array, "table slot_or_all"],
    row: Int32[Array, " entry"],
    base: Int32[Array, "base entry"],
    num_bins: int,
    plan: LoopPlan,
) -> Int32[Array, "table entry"]:
    """The codes of entries for every table, whose feature is the same for all slots, or of each slot its own."""
    if plan.stays_in_row_order and features.shape[1] == 1:
        # Adjacent rows are not looked up one by one.
        code = lax.dynamic_slice_in_dim(codes, row[0], row.size, axis=1).at[features[:, 0]].get(mode="clip")
    else:
        slot = jnp.minimum(base[0] // (plan.rules.num_channels * num_bins), features.shape[1] - 1)
        code = codes.at[features[:, slot], row].get(mode="promise_in_bounds")
    # A code of another table's feature may be past the bins.
    return jnp.minimum(code.astype(jnp.int32), jnp.int32(num_bins - 1))


def _add_to_cells(plan: LoopPlan) -> Callable[..., Any]:
    """How a device adds to cells; Warp's kernel has its own way, of codes alone."""
    return compare if plan.backend.accumulation == Accumulation.COMPARE else scatter_at_once
