"""The cells that entries add to, and ways to add to them; which way is fast depends on the device.

A *cell base* is the cell of an entry without its code.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int, Int32

from jaxtree.arrays import MOST_WRITTEN_OUT
from jaxtree.errors import InternalError
from jaxtree.growth.inputs.bundles import ResolvedRules
from jaxtree.growth.inputs.objective import COUNTS_ROW, NO_LABEL

LOW_DIGIT = 255
"""The greatest of a number's digits to the base 256, the first excepted, which has the sign."""

MOST_OF_A_DIGIT, MOST_EXACT = 2**8, 2**24
"""Whole numbers up to these sizes are exact in bfloat16 and in float32."""

MOST_ENTRIES = MOST_EXACT // MOST_OF_A_DIGIT
"""Entries whose digits have a sum that is exact in float32, in any order."""


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
    """The cell to which an entry adds one of its numbers.

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

    def add(
        flat: Int[Array, " cell"], cell: Int32[Array, " entry"], added: Int[Array, " entry"]
    ) -> Int[Array, " cell"]:
        index = (start + cell + code).reshape(-1)
        return flat.at[index].add(jnp.broadcast_to(added, code.shape).reshape(-1), mode="promise_in_bounds")

    flat = over_additions(add, tables.reshape(-1), base, value, num_bins=num_bins, rules=rules)
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

    Units that multiply matrices take numbers of 8 bits (bfloat16) and sum them in 24 (float32); a TPU multiplies none
    of 64. So the digits of what entries add, to the base 256, are summed one after another, as many as the longest has:
    of weights of 1, one. The first digit has the sign. No two numbers that an entry adds are in one row, so that one
    product adds all.
    """
    if code.shape[1] > MOST_ENTRIES:
        raise InternalError(f"{code.shape[1]} entries are too many for an exact product")
    num_digits = _digits_of(base, value, rules)
    row = jnp.arange(tables.shape[1] // num_bins, dtype=jnp.int32)[:, None]
    is_code = (code[:, :, None] == jnp.arange(num_bins, dtype=jnp.int32)).astype(jnp.bfloat16)
    blank = jnp.zeros((len(row), code.shape[1]), jnp.bfloat16)

    def add_digit(number, tables):
        put = lambda adds, cell, added: jnp.where(  # noqa: E731
            cell // num_bins == row, _digit(added, number, num_digits).astype(jnp.bfloat16), adds
        )
        adds = over_additions(put, blank, base, value, num_bins=num_bins, rules=rules)
        sums = jnp.einsum("re,teb->trb", adds, is_code, preferred_element_type=jnp.float32)
        shift = 8 * number.astype(tables.dtype)
        return tables + (sums.astype(jnp.int32).astype(tables.dtype) << shift).reshape(tables.shape)

    return lax.fori_loop(jnp.int32(0), num_digits, add_digit, tables)


def over_additions(
    add: Callable[[Any, Int32[Array, " entry"], Int[Array, " entry"]], Any],
    start: Any,
    base: Int32[Array, "base entry"],
    value: Int[Array, "value entry"],
    *,
    num_bins: int,
    rules: ResolvedRules,
) -> Any:
    """Calls `add(carry, cell, added)` for all that entries add: the cells, without the code, and the numbers added.

    Where there are many channels a loop calls it, so that programs do not grow with their number.
    """
    places = places_of(rules)
    of_values = [place for place in places if place.added != COUNTS_ROW]

    def add_value(carry: Any, place: Any) -> Any:
        number, past, added = place
        return add(carry, base[number] + past * num_bins, value[added])

    if len(of_values) > MOST_WRITTEN_OUT:
        table = jnp.array(of_values, jnp.int32)
        start = lax.fori_loop(0, len(of_values), lambda at, carry: add_value(carry, table[at]), start)
    else:
        start = functools.reduce(add_value, of_values, start)
    for number, past, _ in set(places) - set(of_values):
        start = add(start, base[number] + past * num_bins, (value[0] > 0).astype(value.dtype))
    return start


def _digit(
    values: Int[Array, " entry"], number: Int32[Array, ""], num_digits: Int32[Array, ""]
) -> Int[Array, " entry"]:
    """A digit of the values to the base 256: from 0 to 255, and of the first one from -256 to 255."""
    rest = values >> 8 * number.astype(values.dtype)
    return jnp.where(number == num_digits - 1, rest, rest & LOW_DIGIT)


def _digits_of(
    base: Int32[Array, "base entry"], value: Int[Array, "value entry"], rules: ResolvedRules
) -> Int32[Array, ""]:
    """The number of digits of the longest that entries add: k of -256**k to 256**k - 1."""
    # A negative number has the digits of the one that is left of it without its sign: -256 those of 255.
    larger = lambda most, _, own: jnp.maximum(most, jnp.max(jnp.where(own < 0, ~own, own)))  # noqa: E731
    most = over_additions(larger, jnp.zeros((), value.dtype), base, value, num_bins=1, rules=rules)
    num_digits = jnp.int32(1)
    for number in range(1, most.dtype.itemsize):
        num_digits = num_digits + (most >> 8 * number > 0).astype(jnp.int32)
    return num_digits
