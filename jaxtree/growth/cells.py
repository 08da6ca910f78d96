"""The cells that entries add to, and ways to add to them; which way is fast depends on the device.

A *cell base* is the cell of an entry without its code.
"""

from collections.abc import Iterator
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int, Int32

from jaxtree.growth.inputs import ResolvedRules
from jaxtree.growth.objective import COUNTS_ROW, NO_LABEL

MOST_OF_A_BYTE = 255

MOST_EXACT = 2**24
"""Whole numbers up to this are exact in float32."""


class Base(NamedTuple):
    """The channel of a cell base: that of a label, or a fixed one."""

    label: int
    channel: int


def bases_of(rules: ResolvedRules) -> list[Base]:
    """One base per label, and one for the first of the channels that are the same for all entries."""
    additions = rules.additions
    plain = [addition.channel for addition in additions if addition.label == NO_LABEL]
    labelled = [Base(label, channel) for label, channel, _ in additions if label != NO_LABEL]
    return labelled + ([Base(NO_LABEL, min(plain))] if plain else [])


class Place(NamedTuple):
    """Where an entry adds one of its numbers.

    Attributes:
        base: The number of its cell base.
        past: The channels between the base's and that of the sum.
        added: The index of the entry's value that is added, or `COUNTS_ROW`.
    """

    base: int
    past: int
    added: int


def places_of(rules: ResolvedRules) -> tuple[Place, ...]:
    """The places of all numbers that an entry adds."""
    bases = bases_of(rules)
    number_of = {base.label: number for number, base in enumerate(bases)}
    return tuple(
        Place(number_of[label], channel - bases[number_of[label]].channel if label == NO_LABEL else 0, added)
        for label, channel, added in rules.additions
    )


def scatter(
    table: Int[Array, " cell"],
    base: Int32[Array, "base entry"],
    code: Int32[Array, " entry"],
    value: Int[Array, "value entry"],
    *,
    num_bins: int,
    rules: ResolvedRules,
) -> Int[Array, " cell"]:
    """Adds entries to one table, by one scatter per channel."""
    for cell, added in _additions(base, value, num_bins, rules):
        table = table.at[cell + code].add(added, mode="promise_in_bounds")
    return table


def scatter_at_once(
    tables: Int[Array, "table cell"],
    base: Int32[Array, "base entry"],
    code: Int32[Array, "table entry"],
    value: Int[Array, "value entry"],
    *,
    num_bins: int,
    rules: ResolvedRules,
) -> Int[Array, "table cell"]:
    """Adds entries to several tables, by one scatter per channel over a vector of indices.

    GPU programs of several scatters compile slowly, and run no faster.
    """
    start = jnp.arange(len(tables), dtype=jnp.int32)[:, None] * tables.shape[1]
    flat = tables.reshape(-1)
    for cell, added in _additions(base, value, num_bins, rules):
        index = (start + cell + code).reshape(-1)
        flat = flat.at[index].add(jnp.broadcast_to(added, code.shape).reshape(-1), mode="promise_in_bounds")
    return flat.reshape(tables.shape)


def compare(
    tables: Int[Array, "table cell"],
    base: Int32[Array, "base entry"],
    code: Int32[Array, "table entry"],
    value: Int[Array, "value entry"],
    *,
    num_bins: int,
    rules: ResolvedRules,
) -> Int[Array, "table cell"]:
    """Adds products of two matrices: the row of codes that an entry adds to, and the code in that row.

    A TPU multiplies numbers of 8 bits (bfloat16), sums them in 24 (float32), and has no products of 64. So the bytes of
    what entries add are summed one after another, as many as the longest has: of weights of 1, one.
    """
    assert MOST_OF_A_BYTE * code.shape[1] < MOST_EXACT, f"{code.shape[1]} entries are too many for an exact product"
    row = jnp.arange(tables.shape[1] // num_bins, dtype=jnp.int32)[:, None]
    for cell, added in _additions(base, value, num_bins, rules):
        is_row = cell // num_bins == row

        def add_byte(number, tables, is_row=is_row, added=added):
            is_code = (code[:, :, None] == jnp.arange(num_bins, dtype=jnp.int32)).astype(jnp.bfloat16)
            shift = 8 * number.astype(added.dtype)
            byte = ((added >> shift) & MOST_OF_A_BYTE).astype(jnp.bfloat16)
            adds = jnp.where(is_row, byte, jnp.bfloat16(0))
            sums = jnp.einsum("re,teb->trb", adds, is_code, preferred_element_type=jnp.float32)
            # Whole numbers wrap around, so that the bytes of negative ones add up, too.
            return tables + (sums.astype(jnp.int32).astype(tables.dtype) << shift).reshape(tables.shape)

        tables = lax.fori_loop(jnp.int32(0), _num_bytes(added), add_byte, tables)
    return tables


def _additions(
    base: Int32[Array, "base entry"], value: Int[Array, "value entry"], num_bins: int, rules: ResolvedRules
) -> Iterator[tuple[Array, Array]]:
    """The cells, without the code, that every entry adds to, and the numbers added."""
    for number, past, added in places_of(rules):
        cell = base[number] + past * num_bins if past else base[number]
        yield cell, (value[0] > 0).astype(value.dtype) if added == COUNTS_ROW else value[added]


def _num_bytes(values: Int[Array, " entry"]) -> Int32[Array, ""]:
    """The number of bytes of the longest value; those of the type if any is negative."""
    size, most = values.dtype.itemsize, jnp.max(values)
    needs_more = [(most >> 8 * number > 0).astype(jnp.int32) for number in range(size)]
    return jnp.where(jnp.min(values) < 0, size, sum(needs_more, start=jnp.int32(0)))
