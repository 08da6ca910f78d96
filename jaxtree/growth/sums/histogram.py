"""Histograms of one chunk of a level: the sums of every (slot, channel, bin) cell, one table per feature.

An entry adds a whole number to one cell of every table for each channel that it counts for; the order of additions
does not matter. The channel is part of the cell, not a vector in it, so that scalar scatters fill a table of any
number of channels. A *cell base* is the cell of an entry without its code; entries outside the chunk have a base past
the table, in a strip of cells that is never read. The method of addition depends on the device, see `Accumulation`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt

from jaxtree.growth.inputs.bundles import ResolvedRules
from jaxtree.growth.inputs.objective import COUNTS_ROW, NO_LABEL
from jaxtree.growth.plan.backends import Accumulation
from jaxtree.growth.plan.loops import over_blocks
from jaxtree.growth.plan.plan import Plan, TablePlan
from jaxtree.growth.plan.problem import Entries, NodeContext, Problem
from jaxtree.growth.sums import warp_histogram
from jaxtree.growth.sums.cells import bases_of, compare, scatter_at_once
from jaxtree.growth.sums.products import number_of_way, sum_by_products

FEW_SLOTS, COPIES = 4, 16
"""The first slots, and the copies of their cells where many threads would add to these at the same time."""

Window = tuple[Int32[Array, ""], Int32[Array, ""]]
"""The first and the last (exclusive) entry of a range."""

PartOf = Callable[[Int32[Array, " entry"], Int32[Array, " entry"]], Int32[Array, "looked entry"]]
"""Returns the parts of the entries of given rows and slots of the chunk, for every table."""


class Chunk(NamedTuple):
    """Slots whose nodes are split together, and the entries that are read for them.

    Attributes:
        slot: The slots, `num_slots` adjacent ones; the first `num_used` hold nodes.
        node: Their nodes.
        context: The context of each node.
        num_used: The number of nodes.
        entries: The entries.
        window: The first and the last (exclusive) entry that the nodes' windows lie in.
        in_row_order: Whether entry e is row e.
        bases: The cell bases of all entries, for every table plan.
    """

    slot: Int32[Array, " slot"]
    node: Int32[Array, " slot"]
    context: NodeContext
    num_used: Int32[Array, ""]
    entries: Entries
    window: Window
    in_row_order: Bool[Array, ""]
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


def blank_bases(entries: Entries, plan: Plan) -> Int32[Array, "base entry"]:
    """Space for the cell bases of all entries."""
    return jnp.zeros((len(bases_of(plan.rules)), entries.row.size), jnp.int32)


def write_bases(chunk: Chunk, number: int, *, plan: Plan) -> Int32[Array, "base entry"]:
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


def blocks_of(window: Window, plan: Plan) -> tuple[Int32[Array, ""], Int32[Array, ""]]:
    """The first and the last (exclusive) block that a window lies in."""
    return window[0] // plan.entries_per_block, -(-window[1] // plan.entries_per_block)


class _Source(NamedTuple):
    """The data that the tables of some features are summed from.

    Attributes:
        codes: Codes of every feature.
        chunk: The slots and their entries.
        base: The cell bases of the table plan.
        table: The table plan.
        plan: Static sizes.
    """

    codes: UInt[Array, "feature row"]
    chunk: Chunk
    base: Int32[Array, "base entry"]
    table: TablePlan
    plan: Plan

    @property
    def num_cells(self) -> int:
        """The number of cells of a feature's table: those of every slot, and the strip."""
        rules = self.plan.rules
        # Channels without a label reach past their common base, one each.
        plain = [channel for label, channel, _ in rules.additions if label == NO_LABEL]
        past = max(plain) - min(plain) if plain else 0
        return (self.plan.num_slots * rules.num_channels + 1 + past) * self.table.num_bins

    @property
    def where(self) -> dict[str, Any]:
        """The facts that the ways to add to cells need."""
        return {"num_bins": self.table.num_bins, "rules": self.plan.rules}

    @property
    def blocks(self) -> tuple[Int32[Array, ""], Int32[Array, ""]]:
        """The blocks of entries that are read where entries are not in row order."""
        return blocks_of(self.chunk.window, self.plan)

    def slot_in_chunk(self, slot: Int32[Array, " entry"]) -> Int32[Array, " entry"]:
        """The places of the entries' slots in the chunk; arbitrary for slots outside."""
        return jnp.clip(slot - self.chunk.slot[0], 0, self.plan.num_slots - 1)

    def code_at(self, feature: Int32[Array, "..."], row: Int32[Array, " entry"]) -> Int32[Array, "..."]:
        """Codes below the table's number of bins; a code of another table's feature may be past it."""
        return self._below_bins(self.codes.at[feature, row].get(mode="promise_in_bounds"))

    def codes_of_block(self, features: Int32[Array, " looked"], row: Int32[Array, " entry"], first):
        """The codes of adjacent entries; those of entries in the order of the rows are not looked up one by one."""
        plan = self.plan
        in_order = lambda: lax.dynamic_slice_in_dim(self.codes, first, row.size, axis=1).at[features].get(mode="clip")  # noqa: E731
        look_up = lambda: self.code_at(features[:, None], row)  # noqa: E731
        if plan.stays_in_row_order:
            return self._below_bins(in_order())
        if not plan.starts_in_row_order or plan.backend.host_ends_loops:
            return look_up()
        return lax.cond(self.chunk.in_row_order, lambda: self._below_bins(in_order()), look_up)

    def _below_bins(self, code: UInt[Array, "..."]) -> Int32[Array, "..."]:
        code = code.astype(jnp.int32)
        return jnp.minimum(code, jnp.int32(self.table.num_bins - 1)) if len(self.plan.tables) > 1 else code

    def finished(self, tables: Int[Array, "looked cell"]) -> Int[Array, "looked cell"]:
        """The tables, summed over all devices."""
        return self.plan.devices.total(tables)

    @property
    def num_copies(self) -> int:
        """The copies of the first slots' cells, which lie behind all others; for few entries there are none."""
        has_any = self.plan.backend.accumulation == Accumulation.COPIES and self.plan.costs.copies_of_sums > 1
        return COPIES if has_any and self.plan.num_slots >= FEW_SLOTS else 0

    @property
    def cells_of_few(self) -> int:
        """The number of cells of the first slots."""
        return FEW_SLOTS * self.plan.rules.num_channels * self.table.num_bins

    def blank(self, num_tables: int) -> Int[Array, "looked cell_or_copy"]:
        """Tables before anything is added, and the copies."""
        shape = (num_tables, self.num_cells + self.num_copies * self.cells_of_few)
        return jnp.zeros(shape, self.chunk.entries.value.dtype)

    def in_copies(self, base: Int32[Array, "base entry"]) -> Int32[Array, "base entry"]:
        """The cell bases, those of the first slots in one of the copies, which entries take in turns."""
        if not self.num_copies:
            return base
        copy = self.num_cells + jnp.arange(base.shape[1], dtype=jnp.int32) % self.num_copies * self.cells_of_few
        return jnp.where(base < self.cells_of_few, base + copy, base)

    def folded(self, tables: Int[Array, "looked cell_or_copy"]) -> Int[Array, "looked cell"]:
        """The tables, with the copies of the first slots' cells added."""
        if not self.num_copies:
            return tables
        copies = tables[:, self.num_cells :].reshape(len(tables), self.num_copies, self.cells_of_few)
        first = jnp.sum(copies, axis=1, dtype=tables.dtype)
        # Without the barrier XLA would repeat the concatenation in every sum that reads it: 5 of an H200's 16 ms.
        return lax.optimization_barrier(jnp.concatenate([first, tables[:, self.cells_of_few : self.num_cells]], axis=1))


def group_histograms(
    problem: Problem, chunk: Chunk, features: Int32[Array, " grouped"], number: int, *, plan: Plan
) -> Int[Array, "grouped cell"]:
    """Sums the cells of a group of features of a table plan, one table each.

    Without its strip, and reshaped to (slot, channel, bin), a table is the chunk's histogram.
    """
    table = plan.tables[number]
    source = _Source(problem.codes, chunk, chunk.bases[number], table, plan)
    add_up = lambda: _tables_at_once(source, features[:, None])  # noqa: E731
    sizes = plan.sizes_of_products(table)
    if not sizes:
        return source.finished(add_up())
    ways = [functools.partial(_tables_by_products, source, features, size) for size in sizes]
    # The last size may have room for all slots.
    ways += [add_up] * (sizes[-1] < plan.num_slots or not plan.stays_in_row_order)
    return source.finished(lax.switch(number_of_way(chunk.num_used, chunk.in_row_order, sizes), ways))


def _tables_by_products(source: _Source, features: Int32[Array, " grouped"], size: int) -> Int[Array, "grouped cell"]:
    """The tables of a group of features, of the first slots alone."""
    plan, entries, table = source.plan, source.chunk.entries, source.table
    sums = sum_by_products(source.codes, features, source.base, entries.value, num_slots=size, table=table, plan=plan)
    return jnp.pad(sums, ((0, 0), (0, source.num_cells - sums.shape[1])))


def sampled_histograms(
    problem: Problem, chunk: Chunk, features: Int32[Array, "sampled slot"], number: int, *, plan: Plan
) -> Int[Array, "sampled cell"]:
    """Sums the cells where every slot has its own features: one table for the first of each, one for the second ..."""
    source = _Source(problem.codes, chunk, chunk.bases[number], plan.tables[number], plan)
    return source.finished(_tables_at_once(source, features))


def _tables_at_once(source: _Source, features: Int32[Array, "looked slot_or_all"]) -> Int[Array, "looked cell"]:
    """The tables of all given features, the same for all slots or those of each, block after block of entries."""
    entries, plan, is_for_all = source.chunk.entries, source.plan, features.shape[1] == 1
    size, accumulation = plan.entries_per_block, plan.backend.accumulation

    def add_block(block, tables):
        row, slot, base, value = _cut((entries.row, entries.slot, source.base, entries.value), block * size, size)
        if accumulation == Accumulation.SHARED:
            return warp_histogram.add_at_once(tables, source.codes, features, row, base, value, **source.where)
        if is_for_all:
            code = source.codes_of_block(features[:, 0], row, block * size)
        else:
            code = source.code_at(features[:, source.slot_in_chunk(slot)], row)
        add = compare if accumulation == Accumulation.COMPARE else scatter_at_once
        return add(tables, source.in_copies(base), code, value, **source.where)

    blank = source.blank(len(features))
    return source.folded(over_blocks(*source.blocks, add_block, blank, most=plan.num_blocks, plan=plan))


def histograms_of_parts(
    problem: Problem, chunk: Chunk, num_tables: int, number: int, part_of: PartOf, *, plan: Plan
) -> Int[Array, "looked cell"]:
    """Sums the cells of several tables at once, where the numbers of parts take the place of entries' codes."""
    source = _Source(problem.codes, chunk, chunk.bases[number], plan.tables[number], plan)
    entries, size = chunk.entries, plan.entries_per_block
    add = compare if plan.backend.accumulation == Accumulation.COMPARE else scatter_at_once

    def add_block(block, tables):
        row, slot, base, value = _cut((entries.row, entries.slot, source.base, entries.value), block * size, size)
        parts = part_of(row, source.slot_in_chunk(slot))
        return add(tables, source.in_copies(base), parts, value, **source.where)

    blank = source.blank(num_tables)
    tables = over_blocks(*source.blocks, add_block, blank, most=plan.num_blocks, plan=plan)
    return source.finished(source.folded(tables))


def _cut(arrays: tuple[Array, ...], at: Int32[Array, ""], size: int) -> list[Array]:
    """A range of entries of arrays whose last axis is the entries."""
    return [lax.dynamic_slice_in_dim(array, at, size, axis=-1) for array in arrays]
