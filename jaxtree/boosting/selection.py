"""Weighted quantiles of groups of rows, exact, without a sort: the digits of a quantile are found one after another."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Float32, Int32, Int64, UInt32, UInt64

DIGIT_BITS = 4
"""Bits of a digit: of more the tables of counts are larger, of fewer there are more of them."""

SIGN, SIGN_OF_WORD = -(2**63), -(2**31)


def quantiles_of_groups(
    values: Float[Array, "score row"],
    weight: Int64[Array, " row"],
    group: Int32[Array, " row"],
    levels: Float[Array, " score"],
    *,
    num_groups: int,
) -> Float[Array, "score group"]:
    """Returns the least value of every group up to which the group has the part of its weight that is asked for.

    Args:
        values: Values of rows, one a score.
        weight: Weights of rows, as whole numbers; rows of weight 0 do not count.
        group: The group of every row.
        levels: The part of the weight, one a score.
        num_groups: The number of groups; one without weight has the value 0.
    """
    num_scores, base = len(values), 2**DIGIT_BITS
    key = _in_order(values)
    place = group + num_groups * jnp.arange(num_scores, dtype=jnp.int32)[:, None]
    whole = jnp.zeros(num_groups, jnp.int64).at[group].add(weight)
    asked = jnp.maximum(jnp.ceil(levels[:, None] * whole.astype(jnp.float64)).astype(jnp.int64), 1)

    def find_digit(number, state):
        weights, asked, found = state
        shift = (64 - DIGIT_BITS * (number + 1)).astype(jnp.uint64)
        digit = ((key >> shift) % base).astype(jnp.int32)
        table = jnp.zeros(asked.size * base, jnp.int64).at[place * base + digit].add(weights).reshape(-1, base)
        up_to = _running_sums(table)
        own = jnp.sum(up_to < asked[:, None], axis=1, dtype=jnp.int32)
        before = jnp.sum(jnp.where(jnp.arange(base) < own[:, None], table, 0), axis=1)
        # Only rows with the digits found so far are left.
        weights = jnp.where(own[place] == digit, weights, 0)
        return weights, asked - before, found | (own.astype(jnp.uint64) << shift)

    start = jnp.broadcast_to(weight, key.shape), asked.reshape(-1), jnp.zeros(asked.size, jnp.uint64)
    found = lax.fori_loop(0, 64 // DIGIT_BITS, find_digit, start)[2]
    return jnp.where(whole > 0, _from_order(found).reshape(num_scores, num_groups), 0.0)


def _running_sums(table: Int64[Array, "place digit"]) -> Int64[Array, "place digit"]:
    """Sums over the digits up to each, one column after the other."""
    columns = [table[:, 0]]
    for digit in range(1, table.shape[1]):
        columns.append(columns[-1] + table[:, digit])
    return jnp.stack(columns, axis=1)


def _in_order(values: Float[Array, "*shape"]) -> UInt64[Array, "*shape"]:
    """Whole numbers in the order of the values."""
    return lax.platform_dependent(values.astype(jnp.float64), tpu=pairs_in_order, default=_bits_in_order)


def _from_order(number: UInt64[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The values of whole numbers of `_in_order`."""
    return lax.platform_dependent(number, tpu=pairs_from_order, default=_bits_from_order)


def _bits_in_order(values: Float[Array, "*shape"]) -> UInt64[Array, "*shape"]:
    bits = lax.bitcast_convert_type(values, jnp.int64)
    return lax.bitcast_convert_type(bits ^ ((bits >> 63) | jnp.int64(SIGN)), jnp.uint64)


def _bits_from_order(number: UInt64[Array, "*shape"]) -> Float[Array, "*shape"]:
    bits = lax.bitcast_convert_type(number, jnp.int64)
    return lax.bitcast_convert_type(jnp.where(bits < 0, bits ^ jnp.int64(SIGN), ~bits), jnp.float64)


def pairs_in_order(values: Float[Array, "*shape"]) -> UInt64[Array, "*shape"]:
    """Whole numbers in the order of values that are sums of two 32-bit floats, as all 64-bit floats of a TPU are.

    Its compiler refuses to read the bits of 64-bit floats. The nearest 32-bit float decides, and then what is left.
    """
    nearest = values.astype(jnp.float32)
    rest = (values - nearest).astype(jnp.float32)
    return (_word_in_order(nearest).astype(jnp.uint64) << 32) | _word_in_order(rest)


def pairs_from_order(number: UInt64[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The values of whole numbers of `pairs_in_order`."""
    nearest, rest = (_word_from_order(word.astype(jnp.uint32)) for word in (number >> 32, number))
    return nearest.astype(jnp.float64) + rest.astype(jnp.float64)


def _word_in_order(values: Float32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    bits = lax.bitcast_convert_type(values, jnp.int32)
    return lax.bitcast_convert_type(bits ^ ((bits >> 31) | jnp.int32(SIGN_OF_WORD)), jnp.uint32)


def _word_from_order(number: UInt32[Array, "*shape"]) -> Float32[Array, "*shape"]:
    bits = lax.bitcast_convert_type(number, jnp.int32)
    return lax.bitcast_convert_type(jnp.where(bits < 0, bits ^ jnp.int32(SIGN_OF_WORD), ~bits), jnp.float32)
