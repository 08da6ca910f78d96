"""Stretches: every entry is added once, however entries are divided into stretches, parts and blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxtree.growth.inputs.whole_numbers import sort_pairs
from jaxtree.growth.plan.costs import Costs
from jaxtree.growth.sums import histogram

SMALL_PARTS = Costs(least_entries_per_part=4, most_entries_per_part=16)


def mark(at, size, tables):
    """Counts how often every entry is added."""
    (seen,) = tables
    return (lax.dynamic_update_slice(seen, lax.dynamic_slice(seen, (at,), (size,)) + 1, (at,)),)


@pytest.mark.parametrize("num_entries", [12, 16, 64, 96, 256, 100])
def test_all_entries_are_added_once(num_entries):
    (seen,) = histogram._over_all(mark, num_entries, (jnp.zeros(num_entries, jnp.int32),), SMALL_PARTS)
    np.testing.assert_array_equal(seen, 1)


@pytest.mark.parametrize("first", [0, 3, 8, 15, 64])
@pytest.mark.parametrize("number", [0, 1, 7, 20, 33])
def test_entries_of_blocks_are_added_once_and_no_others(first, number):
    size, num_entries = 4, 512
    last = min(first + number, num_entries // size)
    blocks = jnp.int32(first), jnp.int32(last)
    (seen,) = histogram._over_blocks(mark, num_entries, blocks, size, (jnp.zeros(num_entries, jnp.int32),), SMALL_PARTS)
    entry = np.arange(num_entries)
    np.testing.assert_array_equal(seen, (entry >= first * size) & (entry < last * size))


@pytest.mark.parametrize("dtype, most", [(np.int32, 2**31 - 1), (np.uint32, 2**32 - 1)])
def test_pairs_are_sorted_as_whole_pairs(dtype, most):
    rng = np.random.default_rng(0)
    first = np.append(rng.integers(0, 5, 100) * (most // 5), most).astype(dtype)
    second = rng.permutation(101).astype(np.int32)
    with jax.enable_x64(True):
        found = sort_pairs(jnp.asarray(first), jnp.asarray(second))
    order = np.lexsort((second, first))
    np.testing.assert_array_equal(found[0], first[order])
    np.testing.assert_array_equal(found[1], second[order])
