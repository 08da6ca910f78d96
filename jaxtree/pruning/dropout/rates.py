"""Rates: the probability of every node to be collapsed by itself.

Functions take the paper's p and q, or any `rates` of the nodes with batch axes in front.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.errors import InvalidInputError
from jaxtree.programs import compiled
from jaxtree.pruning.dropout.skeleton import Skeleton
from jaxtree.pruning.inputs import check_numbers
from jaxtree.tree import Tree

Rate = FloatLike

LARGEST_GROWTH = 1e30
"""Bound of (1+q)^l, so that p = 0 stays 0 at any depth."""

MOST_LEVELS = 2**20
"""Levels where nothing better is known; what lies deeper has the last level's rate."""


def check_rates(p: Rate, q: Rate) -> tuple[Rate, Rate]:
    """Returns p and q if they are rates of dropout; traced ones cannot be checked.

    Raises:
        InvalidInputError: p or q is out of its range.
    """
    check_numbers("dropout p", p, most=1.0)
    check_numbers("dropout q", q)
    return p, q


def collapse_probability(depth: Int[AnyArray, " node"], p: Rate, q: Rate) -> Float[Array, "... node"]:
    r"""$\min(1, p\,(1+q)^{d-1})$ for nodes at depth d; the root's is of no account.

    Where the minimum is just reached, the gradient is that of its second part.

    Example:
        >>> collapse_probability(np.array([1, 2, 3]), 0.25, 1.0).tolist()
        [0.25, 0.5, 1.0]
    """
    return rates_at_depth(jnp.asarray(depth), p, q)


def survival(num_levels: int, p: Rate, q: Rate) -> Float[Array, "... level"]:
    """Probability that a node at depth d and all above it are kept, for d = 0 to `num_levels - 1`."""
    depth = jnp.arange(num_levels)
    kept = jnp.where(depth > 0, 1 - collapse_probability(depth, p, q), 1)
    return jnp.cumprod(kept, axis=-1)


def node_rates(tree: Tree, p: Rate, q: Rate = 0.0) -> Float[Array, "... node"]:
    r"""The rates of the paper: $\min(1, p\,(1+q)^{d-1})$ at depth d, and 0 for the root.

    Args:
        tree: A tree with its root at node 0.
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.

    Raises:
        InvalidInputError: p or q is out of its range.
    """
    depth = jnp.asarray(tree.depth)
    return jnp.where(depth > 0, collapse_probability(depth, *check_rates(p, q)), 0)


def level_rates(tree: Tree, rates: Float[AnyArray, "... level"]) -> Float[Array, "... node"]:
    """The rates of the nodes when every level has one.

    Args:
        tree: A tree with its root at node 0.
        rates: The rate of the children of the root, of their children, and so on, from 0 to 1; what lies deeper than
            there are levels has the last one's.

    Raises:
        InvalidInputError: There is no level, or a rate is out of its range.
    """
    check_numbers("a rate of dropout", rates, most=1.0)
    if not rates.shape[-1]:
        raise InvalidInputError("dropout needs the rate of one level at least, got none")
    depth, rates = jnp.asarray(tree.depth), jnp.asarray(rates, jnp.result_type(float))
    return jnp.where(depth > 0, jnp.take(rates, depth - 1, axis=-1, mode="clip"), 0)


def rates_of(
    tree: Tree, skeleton: Skeleton, p: Rate | None, q: Rate, rates: Float[AnyArray, "... node"] | None, dtype
) -> Float[Array, "... padded"]:
    """The rates of all nodes of a skeleton, by p and q or as given; 0 for the root and the padding.

    Raises:
        InvalidInputError: Neither or both are given, or their values or shapes are not allowed.
    """
    if (p is None) == (rates is None):
        given = "neither" if p is None else "both"
        raise InvalidInputError(f"dropout needs p (and q), or rates, and not both; got {given}")
    if rates is None:
        return _rates_of_nodes(skeleton.depth, *check_rates(p, q), dtype=dtype)
    check_numbers("a rate of dropout", rates, most=1.0)
    if rates.ndim == 0 or rates.shape[-1] != tree.depth.shape[-1]:
        raise InvalidInputError(f"rates must have {tree.depth.shape[-1]} nodes in their last axis, got {rates.shape}")
    library = jnp if isinstance(rates, jax.Array) else np
    padding = skeleton.depth.shape[0] - rates.shape[-1]
    padded = library.pad(rates, [(0, 0)] * (rates.ndim - 1) + [(0, padding)])
    return jnp.asarray(jnp.where(skeleton.depth > 0, padded, 0), dtype)


def rates_at_depth(
    depth: Int[AnyArray, " node"], p: Rate, q: Rate, *, num_levels: int = MOST_LEVELS, dtype=float
) -> Float[Array, "... node"]:
    """`collapse_probability` of no more than so many levels, which is cheaper, in a type of its own."""
    p, q = (jnp.asarray(rate, dtype)[..., None] for rate in (p, q))
    rate = p * _growth(q, jnp.clip(depth - 1, 0, num_levels - 1), num_levels)
    # At p = 1, the end of its range, `minimum` would halve the gradient.
    return jnp.where(rate > 1, 1, rate)


@compiled("dtype")
def _rates_of_nodes(depth, p, q, *, dtype) -> Float[Array, "... node"]:
    return jnp.where(depth > 0, rates_at_depth(depth, p, q, num_levels=depth.shape[0], dtype=dtype), 0)


def _growth(
    q: Float[Array, "*setting 1"], level: Int[Array, " node"], num_levels: int
) -> Float[Array, "*setting node"]:
    """(1+q)^l by multiplications alone, which are the same on every device, and whose gradient is finite."""

    def square(bit, state):
        growth, power = state
        growth = jnp.minimum(growth * jnp.where((level >> bit) & 1, power, 1), LARGEST_GROWTH)
        return growth, jnp.minimum(power * power, LARGEST_GROWTH)

    ones = jnp.ones_like(q * level)
    return lax.fori_loop(0, (num_levels - 1).bit_length(), square, (ones, 1 + q))[0]
