"""Models of a batch that pause: their states leave the batch for the host, and come back to the slots of another."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from jaxtree.boosting.many_rounds import ManyStates
from jaxtree.tree.forest import Forest


class Paused(NamedTuple):
    """A paused model in host memory.

    Attributes:
        states: Its state, and the scores that are kept; those of one slot.
        losses: The mean loss of every evaluation after each round.
        forest: A tree a round, if trees are kept.
    """

    states: ManyStates
    losses: Float[np.ndarray, "round evaluation"]
    forest: Forest | None

    @property
    def num_rounds(self) -> int:
        """The number of rounds made."""
        return len(self.losses)


def state_in_slot(states: ManyStates, slot: int) -> ManyStates:
    """Returns what a slot holds, on the host; it outlives the batch."""
    return jax.tree.map(lambda own: np.array(own[slot]), states)


@functools.partial(jax.jit, donate_argnums=0)
def put_in_slot(states: ManyStates, slot: Any, own: ManyStates) -> ManyStates:
    """Returns the states of a batch with those of a model in a slot; the memory of the old ones is used again."""
    return jax.tree.map(lambda all_, one: all_.at[slot].set(one), states, own)
