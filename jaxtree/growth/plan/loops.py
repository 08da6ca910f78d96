"""Loops over blocks, and reductions across the axis of models that `jax.vmap` maps over.

The host ends the loops of a GPU: it waits until all work before is done and reads the condition, once more than the
loop has rounds. That takes as long as a kernel of a level does. So where there is at most one block, no loop is made;
a CPU and a TPU end their loops themselves, and gain from not working on an empty block.

A condition that differs from model to model makes `jax.vmap` take both ways for all. So what only changes how long a
program takes is decided once: all models get the greatest of their numbers, or the mean. A model alone keeps its own.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int32

from jaxtree.growth.plan.plan import Plan

Carry = TypeVar("Carry")


def over_blocks(
    first: Int32[Array, ""] | int,
    stop: Int32[Array, ""] | int,
    body: Callable[[Int32[Array, ""], Carry], Carry],
    carry: Carry,
    *,
    most: int,
    plan: Plan,
) -> Carry:
    """Runs `carry = body(block, carry)` for every block from `first` to `stop`, as `lax.fori_loop` does.

    Args:
        first: The first block.
        stop: The block after the last.
        body: The work on a block; it must change nothing where the block is empty.
        carry: The result before the first block.
        most: The number of blocks that there may be.
        plan: Static sizes.
    """
    if most == 1 and plan.backend.host_ends_loops:
        return body(jnp.int32(0), carry)
    return lax.fori_loop(first, stop, body, carry)


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
