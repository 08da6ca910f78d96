"""Fixed point: weights and targets as whole numbers of a unit.

Weights and targets become whole numbers, so that sums are exact and do not depend on order. A *unit* is a power of two,
the value of the whole number 1, chosen so that the sum over all entries stays below 2**61. With n entries of positive
weight a weight is therefore exact to 2**-(61 - log2 n) of the largest weight, and a target to the same fraction of half
the targets' range: 41 bits for a million rows, 51 for a thousand. Whole-number weights keep the unit 1.
"""

import functools

import numpy as np
from jaxtyping import Float, Int64

from jaxtree.arrays import AnyArray, FloatLike, IntLike, library_of

BITS = 61
"""Bits of a sum: two fewer than 64-bit integers hold without their sign."""

LEAST_EXPONENT, MOST_EXPONENT = -1022, 1023
"""Exponents of 64-bit floats."""


def exponent(values: FloatLike) -> IntLike:
    """The least e with all values below 2**e in size; exact, so that it does not depend on a device's logarithm."""
    library = library_of(values)
    most = library.max(library.abs(values), initial=0.0)
    least_power = LEAST_EXPONENT + library.sum(most >= powers_of_two(), dtype=np.int64)
    return library.where(most > 0, least_power, 0)


def unit_of(num_terms: IntLike, *exponents: IntLike, bits: int = BITS) -> FloatLike:
    """The unit in which a sum of `num_terms` terms, each below two to the sum of the exponents, fits into `bits`."""
    library = library_of(num_terms, *exponents)
    most = library.maximum(library.asarray(num_terms, np.float64) - 1, 0)
    power = sum(exponents, start=np.int64(0)) - (bits - exponent(most))
    return library.asarray(powers_of_two())[library.clip(power, LEAST_EXPONENT, MOST_EXPONENT) - LEAST_EXPONENT]


@functools.cache
def powers_of_two() -> Float[np.ndarray, " exponent"]:
    """All powers of two among 64-bit floats. A TPU has none, and `jnp.frexp` of them does not compile (JAX 0.10)."""
    return np.ldexp(1.0, np.arange(LEAST_EXPONENT, MOST_EXPONENT + 1))


def to_fixed_point(values: Float[AnyArray, "*shape"], unit: FloatLike) -> Int64[AnyArray, "*shape"]:
    """The values as whole numbers of units, rounded to the nearest."""
    return library_of(values).round(values / unit).astype(np.int64)
