"""Histograms of a level's first slots as products of matrices, where that is cheaper than adding entry after entry.

One factor says which cells an entry adds to, and how much; the other which code it has. Of models that share rows in
one order the second is the same, and is made once for all. The work grows with the slots, that of a scatter does not:
the levels near the root are products, see `Costs.prefers_product`. All models of a batch take the same way.
"""

import functools

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt

from jaxtree.growth.plan.costs import BYTES_OF_A_DIGIT
from jaxtree.growth.plan.loops import most_of_models
from jaxtree.growth.plan.plan import Plan, TablePlan
from jaxtree.growth.sums.cells import MOST_ENTRIES, compare_digit, digits_of


def number_of_way(
    num_used: Int32[Array, ""], in_row_order: Bool[Array, ""], sizes: tuple[int, ...]
) -> Int32[Array, ""]:
    """Which of the sizes of products holds the nodes of a chunk; their number if none does, or if rows were sorted."""
    used = most_of_models(num_used)
    is_sorted = most_of_models((~in_row_order).astype(jnp.int32)) > 0
    too_few = sum(((used > size).astype(jnp.int32) for size in sizes), start=jnp.int32(0))
    return jnp.where(is_sorted, jnp.int32(len(sizes)), too_few)


def sum_by_products(
    codes: UInt[Array, "feature row"],
    features: Int32[Array, " grouped"],
    base: Int32[Array, "base entry"],
    value: Int[Array, "value entry"],
    *,
    num_slots: int,
    table: TablePlan,
    plan: Plan,
) -> Int[Array, "grouped cell"]:
    """Sums the cells of the first slots for a group of features, from entries in the order of the rows."""
    num_entries, rules = value.shape[1], plan.rules
    num_rows = num_slots * rules.num_channels
    numbers = len(features) * table.num_bins + plan.num_models * num_rows
    size = _entries_of_product(num_entries, numbers, plan.costs.bytes_per_product)
    past_all = num_rows * table.num_bins

    num_digits = digits_of(base, value, rules)

    def add_block(number, block, tables):
        # The last block begins earlier if it would reach past the entries, and leaves out those that were added.
        at = jnp.minimum(block * size, num_entries - size)
        is_new = at + jnp.arange(size, dtype=jnp.int32) >= block * size
        own = jnp.where(is_new, lax.dynamic_slice_in_dim(base, at, size, axis=1), past_all)
        code = lax.dynamic_slice_in_dim(codes, at, size, axis=1).at[features].get(mode="clip").astype(jnp.int32)
        added = lax.dynamic_slice_in_dim(value, at, size, axis=1)
        digit = (number, num_digits)
        return compare_digit(tables, own, code, added, digit, num_bins=table.num_bins, rules=rules)

    # The number of blocks is known, so that the host of a GPU waits for the loop over digits alone.
    add_digit = lambda number, tables: lax.fori_loop(  # noqa: E731
        0, -(-num_entries // size), functools.partial(add_block, number), tables
    )
    return lax.fori_loop(jnp.int32(0), num_digits, add_digit, jnp.zeros((len(features), past_all), value.dtype))


def _entries_of_product(num_entries: int, numbers: int, most_bytes: int) -> int:
    """The entries of one product, with so many numbers each: as many as memory and exact sums allow.

    >>> _entries_of_product(1_000_000, 28 * 256, 2**28), _entries_of_product(1000, 8, 2**28)
    (16384, 1000)
    """
    most = max(most_bytes // (BYTES_OF_A_DIGIT * numbers), 1)
    return min(num_entries, MOST_ENTRIES, 1 << (most.bit_length() - 1))
