"""Keys on the host draw what JAX's own do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import keys

SEEDS = (0, 1, 7, 123_456_789, 2**31 - 1, 2**31, 2**32 - 1)


@pytest.mark.parametrize("is_wide", [False, True])
def test_keys_and_numbers_are_those_of_jax(is_wide):
    with jax.enable_x64(is_wide):
        for seed in SEEDS:
            own, key = keys.key_of_seed(seed), jax.random.key(seed)
            np.testing.assert_array_equal(own, jax.random.key_data(key))
            assert keys.bits(own) == jax.random.bits(key, (), jnp.uint32)
            for number in (0, 1, 99, 2**32 - 1):
                child = jax.random.fold_in(key, np.uint32(number))
                np.testing.assert_array_equal(keys.fold_in(own, number), jax.random.key_data(child))
            np.testing.assert_array_equal(
                [keys.fold_in(own, number) for number in range(3)], jax.random.key_data(jax.random.split(key, 3))
            )


def test_many_keys_at_once_are_each_alone():
    many = np.stack([keys.key_of_seed(seed) for seed in SEEDS])
    np.testing.assert_array_equal(keys.bits(many), [keys.bits(own) for own in many])
    np.testing.assert_array_equal(keys.fold_in(many, 5), [keys.fold_in(own, 5) for own in many])
