"""Histograms of one chunk of a level: the weight of every (slot, class, bin) cell, feature by feature.

The class is part of the cell, not a vector in it, so that one scalar scatter fills a table of any
number of classes. A *cell base* is the cell of an entry but for its code; entries outside the chunk
have a base past the table, in a strip of cells that nobody reads.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt

from jaxtree.growth.frontier import Entries
from jaxtree.growth.plan import Plan

Tables = tuple[Int[Array, " cell"], ...]


def cell_bases(
    entries: Entries,
    base: Int32[Array, " entry"],
    first_slot: Int32[Array, ""],
    blocks: tuple[Int32[Array, ""], Int32[Array, ""]],
    *,
    plan: Plan,
) -> Int32[Array, " entry"]:
    """Writes the cell base of every entry of the blocks (first and last, exclusive) into `base`."""
    size = plan.entries_per_block
    cells_per_slot = plan.num_classes * plan.num_bins

    def write_block(block, base):
        slot = lax.dynamic_slice(entries.slot, (block * size,), (size,))
        label = lax.dynamic_slice(entries.label, (block * size,), (size,))
        inside = (slot >= first_slot) & (slot < first_slot + plan.num_slots)
        cell = (slot - first_slot) * cells_per_slot + label * plan.num_bins
        return lax.dynamic_update_slice(base, jnp.where(inside, cell, plan.num_slots * cells_per_slot), (block * size,))

    return lax.fori_loop(*blocks, write_block, base)


def group_histograms(
    codes: UInt[Array, "feature row"],
    entries: Entries,
    base: Int32[Array, " entry"],
    group: Int32[Array, ""],
    blocks: tuple[Int32[Array, ""], Int32[Array, ""]],
    in_row_order: Bool[Array, ""],
    *,
    plan: Plan,
) -> Int[Array, "grouped cell"]:
    """Sums the weights of every cell for a group of features, a table each.

    Reshaped to (slot, class, bin), with the strip cut off, a table is the chunk's histogram.
    """
    num_cells = (plan.num_slots * plan.num_classes + 1) * plan.num_bins
    first_feature = group * plan.features_per_group

    def fill(i, tables):
        first = i * plan.features_side_by_side
        features = [first_feature + first + j for j in range(plan.features_side_by_side)]
        filled = _tables(codes, entries, base, features, blocks, in_row_order, num_cells, plan)
        return lax.dynamic_update_slice(tables, jnp.stack(filled), (first, jnp.zeros_like(first)))

    empty = jnp.zeros((plan.features_per_group, num_cells), entries.weight.dtype)
    return lax.fori_loop(0, jnp.int32(plan.features_per_group // plan.features_side_by_side), fill, empty)


def _tables(codes, entries: Entries, base, features, blocks, in_row_order, num_cells: int, plan: Plan) -> Tables:
    """The tables of a few features, whose scatters do not depend on one another: a CPU runs them on several cores."""
    empty = tuple(jnp.zeros(num_cells, entries.weight.dtype) for _ in features)

    def add(block, tables: Tables) -> Tables:
        return _add_block(codes, entries, base, features, block, tables, size=plan.entries_per_block)

    by_lookup = lambda: lax.fori_loop(blocks[0], blocks[1], add, empty)  # noqa: E731
    if not plan.starts_in_row_order:
        return by_lookup()
    if not plan.sorts:
        return _in_row_order(codes, entries, base, features, empty)
    return lax.cond(in_row_order, lambda: _in_row_order(codes, entries, base, features, empty), by_lookup)


def _in_row_order(codes, entries: Entries, base, features, tables: Tables) -> Tables:
    """Adds all entries, entry e being row e: no row is looked up."""
    cells = [base + codes[feature].astype(jnp.int32) for feature in features]
    return tuple(_add(table, cell, entries.weight) for table, cell in zip(tables, cells, strict=True))


def _add_block(codes, entries: Entries, base, features, block, tables: Tables, *, size: int) -> Tables:
    """Adds one block of entries."""
    row, base, weight = (lax.dynamic_slice(x, (block * size,), (size,)) for x in (entries.row, base, entries.weight))
    cells = [base + codes.at[feature, row].get(mode="promise_in_bounds").astype(jnp.int32) for feature in features]
    return tuple(_add(table, cell, weight) for table, cell in zip(tables, cells, strict=True))


def _add(table: Int[Array, " cell"], cell: Int32[Array, " entry"], weight: Int[Array, " entry"]) -> Int[Array, " cell"]:
    return table.at[cell].add(weight, mode="promise_in_bounds")
