"""Random keys in files."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from jaxtree.errors import ModelFileError

_IMPLEMENTATIONS = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}
"""JAX's kinds of random keys, and the numbers that each is made of."""


def write_key(key: PRNGKeyArray) -> list:
    """Returns a key as JSON."""
    return [str(jax.random.key_impl(key)), np.asarray(jax.random.key_data(key)).tolist()]


def read_key(given: Any) -> PRNGKeyArray:
    """Returns the key that JSON stands for; raises ModelFileError if it stands for none."""
    match given:
        case [str(name), list(numbers)] if len(numbers) == _IMPLEMENTATIONS.get(name):
            if all(type(number) is int and 0 <= number < 2**32 for number in numbers):
                return jax.random.wrap_key_data(jnp.array(numbers, jnp.uint32), impl=name)
    raise ModelFileError("its random key is none")
