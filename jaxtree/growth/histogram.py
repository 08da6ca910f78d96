"""Histograms of one chunk of a level: the sums of every (slot, channel, bin) cell, feature by feature.

The channel is part of the cell, not a vector in it, so that scalar scatters fill a table of any number of
channels: for classes one scatter an output, for numbers one for the weight and one for each output. A *cell
base* is the cell of an entry but for its code; entries outside the chunk have a base past the table, in a
strip of cells that nobody reads.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt

from jaxtree.growth.frontier import Entries
from jaxtree.growth.measure import Measure
from jaxtree.growth.plan import Plan, TablePlan

Tables = tuple[Int[Array, " cell"], ...]


def cell_bases(
    entries: Entries,
    first_slot: Int32[Array, ""],
    blocks: tuple[Int32[Array, ""], Int32[Array, ""]],
    base: Int32[Array, "base entry"],
    *,
    table: TablePlan,
    plan: Plan,
) -> Int32[Array, "base entry"]:
    """Writes the cell bases of every entry of the blocks (first and last, exclusive) into `base`."""
    size = plan.entries_per_block
    measure = plan.rules.measure
    strip = plan.num_slots * measure.num_channels * table.num_bins

    def write_block(block, base):
        slot = lax.dynamic_slice(entries.slot, (block * size,), (size,))
        label = lax.dynamic_slice(entries.label, (jnp.zeros_like(block), block * size), (len(entries.label), size))
        inside = (slot >= first_slot) & (slot < first_slot + plan.num_slots)
        channel = _first_channels(label, measure)
        cell = ((slot - first_slot) * measure.num_channels + channel) * table.num_bins
        return lax.dynamic_update_slice(base, jnp.where(inside, cell, strip), (jnp.zeros_like(block), block * size))

    return lax.fori_loop(*blocks, write_block, base)


def num_bases(measure: Measure) -> int:
    """How many cell bases an entry has."""
    return measure.num_outputs + measure.counts_rows if measure.num_classes else 1


def _first_channels(label: Int[Array, "label entry"], measure: Measure) -> Int32[Array, "base entry"]:
    """The channels that the bases of every entry stand for: those of its classes and of rows, or channel 0."""
    if not measure.num_classes:
        return jnp.zeros((1, label.shape[1]), jnp.int32)
    channels = [label[output] + output * measure.num_classes for output in range(measure.num_outputs)]
    if measure.counts_rows:
        channels.append(jnp.full_like(label[0], measure.num_channels - 1))
    return jnp.stack(channels)


def group_histograms(
    codes: UInt[Array, "feature row"],
    entries: Entries,
    base: Int32[Array, "base entry"],
    features: Int32[Array, " grouped"],
    blocks: tuple[Int32[Array, ""], Int32[Array, ""]],
    in_row_order: Bool[Array, ""],
    *,
    table: TablePlan,
    plan: Plan,
) -> Int[Array, "grouped cell"]:
    """Sums the cells of a group of features, a table each.

    Reshaped to (slot, channel, bin), with the strip cut off, a table is the chunk's histogram.
    """
    num_cells = (plan.num_slots * plan.rules.measure.num_channels + 1) * table.num_bins
    # A scatter of numbers reaches past its base by a channel each.
    num_cells += table.num_bins * (plan.rules.measure.num_channels if not plan.rules.measure.num_classes else 0)

    def fill(i, tables):
        first = i * table.features_side_by_side
        some = [features[first + j] for j in range(table.features_side_by_side)]
        filled = _tables(codes, entries, base, some, blocks, in_row_order, num_cells, table, plan)
        return lax.dynamic_update_slice(tables, jnp.stack(filled), (first, jnp.zeros_like(first)))

    empty = jnp.zeros((table.features_per_group, num_cells), entries.value.dtype)
    return lax.fori_loop(0, jnp.int32(table.features_per_group // table.features_side_by_side), fill, empty)


def _tables(
    codes, entries: Entries, base, features, blocks, in_row_order, num_cells: int, table: TablePlan, plan: Plan
) -> Tables:
    """The tables of a few features, whose scatters do not depend on one another: a CPU runs them on several cores."""
    empty = tuple(jnp.zeros(num_cells, entries.value.dtype) for _ in features)
    size = plan.entries_per_block

    def add_block(block, tables: Tables) -> Tables:
        row, some_base, value = (
            lax.dynamic_slice_in_dim(x, block * size, size, axis=-1) for x in (entries.row, base, entries.value)
        )
        some = [codes.at[feature, row].get(mode="promise_in_bounds") for feature in features]
        return _add_all(tables, some, some_base, value, table, plan)

    in_order = lambda: _add_all(empty, [codes[feature] for feature in features], base, entries.value, table, plan)  # noqa: E731
    by_lookup = lambda: lax.fori_loop(blocks[0], blocks[1], add_block, empty)  # noqa: E731
    if not plan.starts_in_row_order:
        return by_lookup()
    if not plan.sorts:
        return in_order()
    return lax.cond(in_row_order, in_order, by_lookup)


def _add_all(tables: Tables, codes: list, base, value, table: TablePlan, plan: Plan) -> Tables:
    """Adds entries to the tables of a few features, given their codes."""
    measure = plan.rules.measure
    return tuple(
        _add(filled, base, code.astype(jnp.int32), value, table.num_bins, measure)
        for filled, code in zip(tables, codes, strict=True)
    )


def _add(
    table: Int[Array, " cell"],
    base: Int32[Array, "base entry"],
    code: Int32[Array, " entry"],
    value: Int[Array, "value entry"],
    num_bins: int,
    measure: Measure,
) -> Int[Array, " cell"]:
    """Adds what entries sum: their weights by class, or weight and targets; and ones, where rows are counted."""
    add = lambda table, cell, value: table.at[cell].add(value, mode="promise_in_bounds")  # noqa: E731
    if measure.num_classes:
        for output in range(measure.num_outputs):
            table = add(table, base[output] + code, value[0])
    else:
        for channel in range(1 + measure.num_outputs):
            table = add(table, base[0] + channel * num_bins + code, value[channel])
    if measure.counts_rows:
        cell = base[-1] + code if measure.num_classes else base[0] + (measure.num_channels - 1) * num_bins + code
        table = add(table, cell, (value[0] > 0).astype(value.dtype))
    return table
