r"""1.5-entmax: a softmax that can give exactly 0.

$p_i = \max(0,\, x_i/2 - \tau)^2$, with the $\tau$ for which they sum to 1 (Peters, Niculae and Martins, "Sparse
Sequence-to-Sequence Models", 2019).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.custom_jvp
def entmax15(logits: Float[Array, "node feature"]) -> Float[Array, "node feature"]:
    r"""1.5-entmax of every row, exactly, by sorting.

    With the $k$ largest logits in the support, $\tau$ solves a quadratic: with $u = x/2$, mean $M$ and sum of squared
    deviations $S$ of those, $\tau = M - \sqrt{(1 - S)/k}$; the support is the largest k with $\tau_k \le u_{(k)}$.

    Example:
        >>> entmax15(jnp.array([[4.0, 0.0, 0.0]])).tolist()
        [[1.0, 0.0, 0.0]]
    """
    half = (logits - jnp.max(logits, axis=-1, keepdims=True)) / 2
    return jnp.square(jnp.maximum(half - _threshold(half), 0))


@entmax15.defjvp
def _entmax15_jvp(primals, tangents):
    r"""$dp = s\,(dx - \bar{d})$, with $s = \sqrt{p}$ and $\bar d$ the mean of $dx$ weighted by $s$."""
    probability = entmax15(*primals)
    slope = jnp.sqrt(probability)
    mean = jnp.sum(slope * tangents[0], axis=-1, keepdims=True) / jnp.sum(slope, axis=-1, keepdims=True)
    return probability, slope * (tangents[0] - mean)


def _threshold(half: Float[Array, "node feature"]) -> Float[Array, "node 1"]:
    descending = -jnp.sort(-half, axis=-1)
    size = jnp.arange(1, half.shape[-1] + 1, dtype=half.dtype)
    # What lies 1 below the largest is never in the support; without it the squares lose no digits.
    near = jnp.maximum(descending, -1)
    mean = jnp.cumsum(near, axis=-1) / size
    deviation = jnp.cumsum(jnp.square(near), axis=-1) - size * jnp.square(mean)
    threshold = mean - jnp.sqrt(jnp.maximum(1 - deviation, 0) / size)
    support = jnp.sum(threshold <= descending, axis=-1, keepdims=True)
    return jnp.take_along_axis(threshold, support - 1, axis=-1)
