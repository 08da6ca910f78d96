"""Decisions that models which `jax.vmap` maps over make together.

A condition that differs from model to model makes `jax.vmap` take both ways for all. So what only changes how long a
program takes is decided once: of a number that every model has, all get the greatest or the mean. For a model alone
that is its own.
"""

from typing import Any

import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int32


@custom_vmap
def most_of_models(number: Int32[Array, ""]) -> Int32[Array, ""]:
    """The greatest of the models' numbers.

    Example:
        >>> import jax
        >>> jax.vmap(most_of_models)(jnp.array([3, 5, 1])).tolist()
        [5, 5, 5]
    """
    return number


@most_of_models.def_vmap
def _most(axis_size: int, in_batched: list[bool], number: Any) -> tuple[Any, bool]:
    return jnp.max(number, axis=0), False


@custom_vmap
def mean_of_models(number: Float[Array, ""]) -> Float[Array, ""]:
    """The mean of the models' numbers.

    Example:
        >>> import jax
        >>> jax.vmap(mean_of_models)(jnp.array([3.0, 5.0, 1.0])).tolist()
        [3.0, 3.0, 3.0]
    """
    return number


@mean_of_models.def_vmap
def _mean(axis_size: int, in_batched: list[bool], number: Any) -> tuple[Any, bool]:
    return jnp.mean(number, axis=0), False
