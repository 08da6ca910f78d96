"""Weights and targets as whole numbers, so that sums are exact and do not depend on order.

A *unit* is a power of two, the value of the whole number 1. It is chosen so that the sum over all entries stays
below 2**61. With n entries of positive weight a weight is therefore exact to 2**-(61 - log2 n) of the largest weight,
a target to as much of half the targets' range: for a million rows 41 bits, for a thousand 51. Whole-number weights
keep the unit 1.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int64

from jaxtree.arrays import IntLike

BITS = 61
"""Bits of a sum, one short of what 64-bit integers hold beside their sign."""


def exponent(values: Float[Array, "..."]) -> Int64[Array, ""]:
    """The least e with all values below 2**e in size; exact, so that no device's logarithm decides it."""
    return jnp.frexp(jnp.max(jnp.abs(values), initial=0.0))[1].astype(jnp.int64)


def unit_of(num_terms: IntLike, *exponents: Int64[Array, ""]) -> Float[Array, ""]:
    """The unit for a sum of so many terms, each below two to the sum of the exponents."""
    most = jnp.maximum(jnp.asarray(num_terms, jnp.float64) - 1, 0)
    bits = BITS - jnp.frexp(most)[1]
    return jnp.ldexp(jnp.float64(1), (sum(exponents, start=jnp.int64(0)) - bits).astype(jnp.int32))


def to_fixed_point(values: Float[Array, "*shape"], unit: Float[Array, ""]) -> Int64[Array, "*shape"]:
    """The values as whole numbers of units, rounded to the nearest."""
    return jnp.round(values / unit).astype(jnp.int64)
