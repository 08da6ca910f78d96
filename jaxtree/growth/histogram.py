"""Histograms of one chunk of a level: the sums of every (slot, channel, bin) cell, feature by feature.

The channel is part of the cell, not a vector in it, so that scalar scatters fill a table of any number of
channels: for classes one scatter an output, for numbers one for the weight and one for each output. A *cell
base* is the cell of an entry but for its code; entries outside the chunk have a base past the table, in a
strip of cells that nobody reads.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt

from jaxtree.growth import native
from jaxtree.growth.accumulate import add_by_scatter, add_to_all, channels_of_entry, copy_stride
from jaxtree.growth.backends import Accumulation
from jaxtree.growth.frontier import Entries
from jaxtree.growth.measure import Measure
from jaxtree.growth.plan import Plan, TablePlan
from jaxtree.growth.scene import Scene

Tables = tuple[Int[Array, " cell"], ...]
Window = tuple[Int32[Array, ""], Int32[Array, ""]]
"""The first and the last (exclusive) of some entries."""

AddPart = Callable[[Int32[Array, ""], int, Tables], Tables]
"""Adds the entries from a place on, so many of them, to tables."""

PARTS = 4
"""Parts of a *stretch* of entries, whose cells are looked up independently of one another.

XLA divides a program among the cores of a CPU only where more than eight operations are ready to run (jaxlib 0.10).
Four features and four parts are sixteen, and take a fifth to a third less time on two cores.
"""
LEAST_ENTRIES_PER_PART, MOST_ENTRIES_PER_PART = 2**13, 2**16
"""Smaller parts cost more to hand to another core than they save; larger ones leave its cache."""


def cell_bases(
    entries: Entries,
    first_slot: Int32[Array, ""],
    num_used: Int32[Array, ""],
    window: Window,
    base: Int32[Array, "base entry"],
    *,
    table: TablePlan,
    plan: Plan,
) -> Int32[Array, "base entry"]:
    """Writes the cell bases of every entry of the window's blocks into `base`."""
    if not base.size:
        return base
    size = plan.entries_per_block
    measure = plan.rules.measure
    strip = plan.num_slots * measure.num_channels * table.num_bins
    stride = copy_stride(num_used, plan)
    has_copies = plan.backend.accumulation == Accumulation.COPIES

    def write_block(block, base):
        slot = lax.dynamic_slice(entries.slot, (block * size,), (size,))
        label = lax.dynamic_slice(entries.label, (jnp.zeros_like(block), block * size), (len(entries.label), size))
        own = slot - first_slot
        inside = (own >= 0) & (own < (num_used if has_copies else plan.num_slots))
        if has_copies:
            copy = jnp.arange(size, dtype=jnp.int32) & (plan.num_slots // stride - 1)
            own = own + copy * stride
        cell = (own * measure.num_channels + _first_channels(label, measure)) * table.num_bins
        return lax.dynamic_update_slice(base, jnp.where(inside, cell, strip), (jnp.zeros_like(block), block * size))

    return lax.fori_loop(*_blocks(window, plan), write_block, base)


def blank_bases(entries: Entries, plan: Plan) -> Int32[Array, "base entry"]:
    """Room for the cell bases of all entries; the kernel in C++ needs none."""
    measure = plan.rules.measure
    number = measure.num_outputs + measure.counts_rows if measure.num_classes else 1
    is_native = plan.backend.accumulation == Accumulation.NATIVE
    return jnp.zeros((0 if is_native else number, entries.row.size), jnp.int32)


def _blocks(window: Window, plan: Plan) -> tuple[Int32[Array, ""], Int32[Array, ""]]:
    """The first and the last (exclusive) block that a window lies in."""
    return window[0] // plan.entries_per_block, -(-window[1] // plan.entries_per_block)


def _first_channels(label: Int[Array, "label entry"], measure: Measure) -> Int32[Array, "base entry"]:
    """The channels that the bases of every entry stand for: those of its classes and of rows, or channel 0."""
    if not measure.num_classes:
        return jnp.zeros((1, label.shape[1]), jnp.int32)
    channels = [label[output] + output * measure.num_classes for output in range(measure.num_outputs)]
    if measure.counts_rows:
        channels.append(jnp.full_like(label[0], measure.num_channels - 1))
    return jnp.stack(channels)


def group_histograms(
    scene: Scene,
    entries: Entries,
    base: Int32[Array, "base entry"],
    features: Int32[Array, " grouped"],
    first_slot: Int32[Array, ""],
    window: Window,
    in_row_order: Bool[Array, ""],
    *,
    table: TablePlan,
    plan: Plan,
) -> Int[Array, "grouped cell"]:
    """Sums the cells of a group of features, a table each.

    Reshaped to (slot, channel, bin), with the strip cut off, a table is the chunk's histogram.
    """
    codes, num_cells, blocks = scene.codes, _num_cells(table, plan), _blocks(window, plan)
    if plan.backend.accumulation == Accumulation.NATIVE:
        is_there = scene.num_codes.at[features].get(mode="fill", fill_value=0) > 0
        features = jnp.where(is_there, features, native.NO_FEATURE)
        return _native_tables(codes, entries, features, first_slot, window, in_row_order, table=table, plan=plan)
    empty = jnp.zeros((table.features_per_group, num_cells), entries.value.dtype)
    if plan.backend.accumulation != Accumulation.SCATTER:
        at = lambda row, slot: (features[:, None], row)  # noqa: E731
        return _tables_at_once(codes, entries, base, at, blocks, empty, table, plan)

    def fill(i, tables):
        first = i * table.features_side_by_side
        some = [features[first + j] for j in range(table.features_side_by_side)]
        filled = _tables(codes, entries, base, some, blocks, in_row_order, num_cells, table, plan)
        return lax.dynamic_update_slice(tables, jnp.stack(filled), (first, jnp.zeros_like(first)))

    return lax.fori_loop(0, jnp.int32(table.features_per_group // table.features_side_by_side), fill, empty)


def place_histograms(
    codes: UInt[Array, "feature row"],
    entries: Entries,
    base: Int32[Array, "base entry"],
    features: Int32[Array, "drawn slot"],
    first_slot: Int32[Array, ""],
    window: Window,
    *,
    table: TablePlan,
    plan: Plan,
) -> Int[Array, "drawn cell"]:
    """Sums the cells where every slot looks at features of its own, a table for the first of each, the second ..."""
    size, num_cells, blocks = plan.entries_per_block, _num_cells(table, plan), _blocks(window, plan)
    if plan.backend.accumulation == Accumulation.NATIVE:
        not_in_order = jnp.bool_(False)
        return _native_tables(codes, entries, features, first_slot, window, not_in_order, table=table, plan=plan)
    empty = jnp.zeros((len(features), num_cells), entries.value.dtype)
    slot_in_chunk = lambda slot: jnp.clip(slot - first_slot, 0, plan.num_slots - 1)  # noqa: E731
    if plan.backend.accumulation != Accumulation.SCATTER:
        at = lambda row, slot: (features[:, slot_in_chunk(slot)], row)  # noqa: E731
        return _tables_at_once(codes, entries, base, at, blocks, empty, table, plan)
    # Where there are several tables, a code of another's feature may be past this one's.
    most_code = jnp.int32(table.num_bins - 1)

    def fill(i, tables):
        looked = features[i]

        def add_block(block, filled):
            row, slot, some_base, value = (
                lax.dynamic_slice_in_dim(x, block * size, size, axis=-1)
                for x in (entries.row, entries.slot, base, entries.value)
            )
            feature = looked[slot_in_chunk(slot)]
            code = codes.at[feature, row].get(mode="promise_in_bounds").astype(jnp.int32)
            code = jnp.minimum(code, most_code) if len(plan.tables) > 1 else code
            return add_by_scatter(filled, some_base, code, value, table.num_bins, plan.rules.measure)

        filled = lax.fori_loop(blocks[0], blocks[1], add_block, jnp.zeros(num_cells, entries.value.dtype))
        return lax.dynamic_update_slice(tables, filled[None], (i, jnp.zeros_like(i)))

    return lax.fori_loop(0, jnp.int32(len(features)), fill, empty)


def _native_tables(
    codes, entries: Entries, features, first_slot, window: Window, in_row_order, *, table: TablePlan, plan: Plan
) -> Int[Array, "looked cell"]:
    """The tables of all given features, by the kernel in C++."""
    return native.sum_tables(
        codes,
        (entries.slot, entries.row, entries.label, entries.value),
        features,
        native.Place(*window, in_row_order, first_slot),
        channels=channels_of_entry(plan.rules.measure),
        shape=native.TableShape(plan.num_slots, plan.rules.measure.num_channels, table.num_bins),
        num_cells=_num_cells(table, plan),
    )


def _tables_at_once(
    codes, entries: Entries, base, at: Callable, blocks, empty, table: TablePlan, plan: Plan
) -> Int[Array, "looked cell"]:
    """The tables of all given features, block after block of entries; `at` says where the codes of rows stand."""
    size = plan.entries_per_block

    def add_block(block, tables):
        row, slot, some_base, value = (
            lax.dynamic_slice_in_dim(x, block * size, size, axis=-1)
            for x in (entries.row, entries.slot, base, entries.value)
        )
        code = codes.at[at(row, slot)].get(mode="promise_in_bounds").astype(jnp.int32)
        code = jnp.minimum(code, table.num_bins - 1) if len(plan.tables) > 1 else code
        return add_to_all(tables, some_base, code, value, table=table, plan=plan)

    return lax.fori_loop(blocks[0], blocks[1], add_block, empty)


def _num_cells(table: TablePlan, plan: Plan) -> int:
    """Cells of a feature's table: those of every slot, and the strip."""
    channels = plan.rules.measure.num_channels
    # A scatter of numbers reaches past its base by a channel each.
    past = 0 if plan.rules.measure.num_classes else channels
    return (plan.num_slots * channels + 1 + past) * table.num_bins


def _tables(
    codes, entries: Entries, base, features, blocks, in_row_order, num_cells: int, table: TablePlan, plan: Plan
) -> Tables:
    """The tables of a few features."""
    empty = tuple(jnp.zeros(num_cells, entries.value.dtype) for _ in features)

    def add_in_order(at, size, tables: Tables) -> Tables:
        some = [lax.dynamic_slice(codes, (feature, at), (1, size))[0] for feature in features]
        some_base, value = _cut((base, entries.value), at, size)
        return _add_all(tables, some, some_base, value, table, plan)

    def add_by_lookup(at, size, tables: Tables) -> Tables:
        row, some_base, value = _cut((entries.row, base, entries.value), at, size)
        some = [codes.at[feature, row].get(mode="promise_in_bounds") for feature in features]
        return _add_all(tables, some, some_base, value, table, plan)

    in_order = lambda: _over_all(add_in_order, base.shape[1], empty)  # noqa: E731
    by_lookup = lambda: _over_blocks(add_by_lookup, base.shape[1], blocks, plan.entries_per_block, empty)  # noqa: E731
    if not plan.starts_in_row_order:
        return by_lookup()
    if not plan.sorts:
        return in_order()
    return lax.cond(in_row_order, in_order, by_lookup)


def _over_all(add: AddPart, num_entries: int, tables: Tables) -> Tables:
    """Adds all entries, in stretches of equal parts where these come out even."""
    number = PARTS
    while num_entries // number > MOST_ENTRIES_PER_PART:
        number *= 2
    size = num_entries // number
    if num_entries % number or size < LEAST_ENTRIES_PER_PART:
        return add(jnp.int32(0), num_entries, tables)
    return lax.fori_loop(jnp.int32(0), number // PARTS, lambda at, tables: _add_stretch(add, at, size, tables), tables)


def _over_blocks(add: AddPart, num_entries: int, blocks, block_size: int, tables: Tables) -> Tables:
    """Adds the entries of some blocks: in stretches as far as they fill any, and one by one on both sides."""
    first, last = blocks
    size = min(MOST_ENTRIES_PER_PART // 2, 1 << max((num_entries // PARTS).bit_length() - 2, 0))
    if size < LEAST_ENTRIES_PER_PART or size % block_size:
        return lax.fori_loop(first, last, lambda block, tables: add(block * block_size, block_size, tables), tables)
    blocks_per_stretch = PARTS * size // block_size
    begin = -(-first // blocks_per_stretch)
    end = jnp.maximum(last // blocks_per_stretch, begin)
    tables = lax.fori_loop(begin, end, lambda at, tables: _add_stretch(add, at, size, tables), tables)
    num_before = jnp.minimum(begin * blocks_per_stretch, last) - first
    behind = jnp.minimum(end * blocks_per_stretch, last)

    def add_other(number, tables):
        block = jnp.where(number < num_before, first + number, behind + number - num_before)
        return add(block * block_size, block_size, tables)

    return lax.fori_loop(jnp.int32(0), num_before + last - behind, add_other, tables)


def _add_stretch(add: AddPart, number: Int32[Array, ""], size: int, tables: Tables) -> Tables:
    """Adds the entries of a stretch, part by part."""
    for part in range(PARTS):
        tables = add((number * PARTS + part) * size, size, tables)
    return tables


def _cut(arrays, at: Int32[Array, ""], size: int) -> list[Array]:
    """Some entries of arrays whose last axis has one for each."""
    return [lax.dynamic_slice_in_dim(array, at, size, axis=-1) for array in arrays]


def _add_all(tables: Tables, codes: list, base, value, table: TablePlan, plan: Plan) -> Tables:
    """Adds entries to the tables of a few features, given their codes."""
    measure = plan.rules.measure
    return tuple(
        add_by_scatter(filled, base, code.astype(jnp.int32), value, table.num_bins, measure)
        for filled, code in zip(tables, codes, strict=True)
    )
