r"""Stops: the probability that a row which comes to an inner node ends there.

A tree whose nodes stop rows with the rates of dropout pruning says what the mean of all its draws says (the infinite
vote): a row comes to a node if no node above is collapsed, and stops if the node itself is.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxtree.arrays import AnyArray, FloatLike

LARGEST_GROWTH = 1e30
"""Bound of (1+q)^l, so that p = 0 stays 0 at any depth, and gradients are finite."""


class NodeStop(NamedTuple):
    """A probability of every inner node, as a logit."""

    logit: Float[AnyArray, "*tree node"]

    def probability(self, depth: int) -> Float[Array, " node"]:
        """The probability of every inner node of a tree of so many levels."""
        return jax.nn.sigmoid(self.logit)


class LevelStop(NamedTuple):
    """A probability of every level below the root, as a logit; the root never stops rows."""

    logit: Float[AnyArray, "*tree level"]

    def probability(self, depth: int) -> Float[Array, " node"]:
        """The probability of every inner node of a tree of so many levels."""
        rate = jnp.pad(jax.nn.sigmoid(self.logit), (1, 0))
        return rate[levels(depth)]


class DropoutStop(NamedTuple):
    """The rates of dropout pruning, see `dropout_rates`: p as a logit, q as a logarithm."""

    p_logit: Float[AnyArray, "*tree"]
    q_log: Float[AnyArray, "*tree"]

    def probability(self, depth: int) -> Float[Array, " node"]:
        """The probability of every inner node of a tree of so many levels."""
        return dropout_rates(levels(depth), jax.nn.sigmoid(self.p_logit), jnp.exp(self.q_log))


class FixedStop(NamedTuple):
    """A probability of every inner node, as it is: for rates that are computed, and differentiated, elsewhere."""

    rate: Float[AnyArray, "*tree node"]

    def probability(self, depth: int) -> Float[Array, " node"]:
        """The probability of every inner node of a tree of so many levels."""
        return jnp.asarray(self.rate)


Stop = NodeStop | LevelStop | DropoutStop | FixedStop


def dropout_rates(level: Int[AnyArray, " node"], p: FloatLike, q: FloatLike) -> Float[Array, " node"]:
    r"""$\min(1, p\,(1+q)^{d-1})$ for nodes at depth d (Zhu and Zhou, 2023, eq. 13), and 0 for the root.

    Where the minimum is just reached, the gradient is that of its second part.

    Example:
        >>> dropout_rates(np.array([0, 1, 2, 3, 4]), 0.25, 1.0).tolist()
        [0.0, 0.25, 0.5, 1.0, 1.0]
    """
    above = np.maximum(np.asarray(level) - 1, 0)
    p, q = jnp.asarray(p, float), jnp.asarray(q, float)
    largest = LARGEST_GROWTH ** (1 / max(above.max(initial=0), 1))
    rate = p * jnp.minimum(1 + q, largest) ** above
    return jnp.where(level > 0, jnp.where(rate > 1, 1, rate), 0)


def levels(depth: int) -> Int[np.ndarray, " node"]:
    """The depth of every inner node."""
    return np.repeat(np.arange(depth), 2 ** np.arange(depth))
