"""Loops over blocks.

The host ends the loops of a GPU: it waits until all work before is done and reads the condition, once more than the
loop has rounds. Each wait takes as long as a kernel of a level does. So where there is at most one block, no loop is
made; a CPU and a TPU end their loops themselves, and gain from not working on an empty block.
"""

from collections.abc import Callable
from typing import TypeVar

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32

from jaxtree.growth.plan.plan import LoopPlan

Carry = TypeVar("Carry")


def over_blocks(
    first: Int32[Array, ""] | int,
    stop: Int32[Array, ""] | int,
    body: Callable[[Int32[Array, ""], Carry], Carry],
    carry: Carry,
    *,
    most: int,
    plan: LoopPlan,
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
    if most == 1 and plan.backend.loop_conditions_on_host:
        return body(jnp.int32(0), carry)
    return lax.fori_loop(first, stop, body, carry)
