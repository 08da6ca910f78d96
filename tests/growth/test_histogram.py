"""Pairs of numbers, sorted by the first and then the second."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.growth.inputs.whole_numbers import sort_pairs


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
