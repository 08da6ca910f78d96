"""Weights and targets rounded so that a tree does not depend on the batch in which it grows.

Growth sums in fixed point, with a unit that follows from all entries of a batch (see `jaxtree.growth.whole_numbers`).
Multiples of a coarser unit, chosen here from the whole table alone, are summed exactly in every batch.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Real

from jaxtree.growth.whole_numbers import BITS

EXACT_BITS = 52
"""Bits of a sum that float64 holds with a bit to spare for half a unit, where a batch's targets are centred."""

MOST_ENTRIES = 2**21
"""Entries of a batch up to which sums are exact; of one tree as many as it has."""

LEAST_DRAWS_BITS = 4
"""Bits of the greatest count of a row in a bootstrap sample of equal chances, except once in a billion forests."""


class RoundedTarget(NamedTuple):
    """Targets less a constant, as multiples of a power of two.

    Attributes:
        values: The targets less the offset.
        offset: The constant of every output.
    """

    values: Float64[np.ndarray, "output row"]
    offset: Float64[np.ndarray, " output"]


def round_weights(weight: Float64[np.ndarray, " entry"], most: float, num_rows: int) -> Float64[np.ndarray, " entry"]:
    """Returns weights as multiples of one power of two: for up to two million rows 2**-40 of the greatest.

    Args:
        weight: The weights.
        most: The bound of the weights of all trees.
        num_rows: Rows of the table.
    """
    unit = 2.0 ** (int(np.frexp(most)[1]) - (BITS - _bits(max(MOST_ENTRIES, num_rows))))
    return np.round(weight / unit) * unit


def round_targets(
    target: Float64[np.ndarray, "output row"], *, total: int | float, most_count: int, centred: bool
) -> RoundedTarget:
    """Returns targets as multiples of a power of two, so that sums of them are exact in float64, too.

    For a million rows the unit is 2**-32 of half the range of the targets, for a hundred thousand 2**-35 of it.

    Args:
        target: The targets.
        total: The sum of the weights of a tree.
        most_count: The bound of the weights.
        centred: Whether the middle of the range may be taken off.
    """
    low, high = target.min(axis=1), target.max(axis=1)
    offset = low / 2 + high / 2 if centred else np.zeros(len(target))
    size = np.frexp(np.max(np.abs(target - offset[:, None])))[1]
    counts = max(LEAST_DRAWS_BITS, _bits(most_count))
    # A batch is centred anew, by half the range at most and half a unit.
    bits = min(EXACT_BITS - _bits(total), BITS - _bits(max(MOST_ENTRIES, target.shape[1])) - counts - 2)
    unit = np.ldexp(1.0, int(size) - bits)
    return RoundedTarget(np.round((target - offset[:, None]) / unit) * unit, offset)


def restore(
    sums: Float[np.ndarray, "node output"], weight: Real[np.ndarray, " node"], offset: Float64[np.ndarray, " output"]
) -> Float64[np.ndarray, "node output"]:
    """Returns the sums of targets from those of rounded targets."""
    return sums + weight.astype(np.float64)[:, None] * offset


def _bits(number: int | float) -> int:
    """Bits of numbers up to this one."""
    return max(math.ceil(number) - 1, 0).bit_length()
