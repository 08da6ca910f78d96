"""The features that a node may split by, where not every node may split by all.

Two rules close features. *Sets* of features may occur together on a path from the root: a node keeps those sets that
contain all features above it, and only the features of these are open. And the nodes of a *level* share a random draw
of the features.
"""

from collections.abc import Iterable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Int32, UInt32

from jaxtree.growth.device.state import Nodes
from jaxtree.growth.plan.problem import GrowthConstants, NodeContext

BITS_PER_WORD = 32

NEVER = 2**33
"""The rank of a feature that is not drawn from, above all others."""


def sets_in_bits(sets: Sequence[Iterable[int]], num_features: int) -> UInt32[np.ndarray, "feature word"]:
    """Returns the sets that every feature belongs to, a bit each.

    >>> sets_in_bits([[0, 1], [1, 2]], 3).tolist()
    [[1], [3], [2]]
    """
    bits = np.zeros((num_features, -(-max(len(sets), 1) // BITS_PER_WORD)), np.uint32)
    for number, features in enumerate(sets):
        bits[list(features), number // BITS_PER_WORD] |= np.uint32(1 << number % BITS_PER_WORD)
    return bits


def open_features(problem: GrowthConstants, context: NodeContext) -> Bool[Array, "feature _"]:
    """Whether a node may split by a feature: a column a node, or one for all where no rule tells nodes apart."""
    is_open = (problem.num_codes > 0)[:, None]
    if context.level_seed is not None:
        number = jnp.arange(len(is_open), dtype=jnp.uint32)[:, None]
        is_open = is_open & is_drawn(context.level_ranks(number), is_open, context.limits["level_features"])
    if context.open_sets is not None:
        shared = problem.sets[:, None, :] & context.open_sets
        is_open = is_open & jnp.any(shared != 0, axis=-1)
    return is_open


def is_drawn(
    rank: UInt32[Array, "feature slot"], is_there: Bool[Array, "feature _"], most: Int32[Array, " slot"]
) -> Bool[Array, "feature slot"]:
    """Whether a feature is among the first `most` of those that are there."""
    rank = in_order(rank, is_there)
    return rank <= last_rank(rank, most)


def in_order(rank: UInt32[Array, "feature slot"], is_there: Bool[Array, "feature _"]) -> Int[Array, "feature slot"]:
    """The ranks of features; those that are not there come after all others."""
    return jnp.where(is_there, rank.astype(jnp.int64), NEVER)


def last_rank(rank: Int[Array, "feature slot"], most: Int32[Array, " slot"]) -> Int[Array, " slot"]:
    """The rank of the last of the first `most` features."""
    last = jnp.minimum(most, rank.shape[0]) - 1
    return jnp.take_along_axis(lax.sort(rank, dimension=0), last[None, :], axis=0)[0]


def hand_down_sets(
    problem: GrowthConstants,
    nodes: Nodes,
    feature: Int32[Array, " slot"],
    node: Int32[Array, " slot"],
    child: Int32[Array, "slot branch"],
) -> Nodes:
    """Gives every child the open sets of its parent that contain the feature between them."""
    if problem.sets is None:
        return nodes
    left = nodes.sets[node] & problem.sets[feature]
    return nodes._replace(sets=nodes.sets.at[child].set(left[:, None, :], mode="drop"))
