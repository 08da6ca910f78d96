"""Exact sums over rows as products of matrices of zeros and ones with whole numbers.

Factors are of bfloat16, on a CPU of float32, and add up in float32. Numbers are cut into limbs of 8 bits, and chunks
have so few rows that no sum comes near 2**24: all sums are exact.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int32

LIMB = 8
"""Bits of a limb."""

MOST_ROWS = 2**14
"""The rows of a chunk: the sum of as many limbs has 22 bits."""


def rows_of_chunk(num_rows: int, cells_of_row: int, most_cells: int) -> int:
    """Returns how many rows are multiplied at once: a power of two that divides the number of all.

    >>> rows_of_chunk(2048, 100, 2**24), rows_of_chunk(2048, 2**15, 2**24)
    (2048, 512)
    """
    most = max(1, min(MOST_ROWS, num_rows, most_cells // max(cells_of_row, 1)))
    return min(1 << (most.bit_length() - 1), num_rows & -num_rows)


def operand_type(platform: str) -> Any:
    """Returns the type of factors: accelerators multiply bfloat16, which holds limbs as well."""
    return jnp.float32 if platform == "cpu" else jnp.bfloat16


def product(left: Float[Array, "*left row"], right: Float[Array, "right row"]) -> Int32[Array, "*left right"]:
    """Returns the sums over rows of the products of two factors, which are exact."""
    sums = lax.dot_general(
        left, right, (((left.ndim - 1,), (1,)), ((), ())),
        precision=lax.Precision.HIGHEST, preferred_element_type=jnp.float32,
    )  # fmt: skip
    return sums.astype(jnp.int32)
