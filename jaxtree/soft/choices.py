r"""Maps from logits to shares that sum to 1: how much of every column a gate reads while it is trained.

They differ in how soon a share is exactly 0. All are the point of the simplex that is nearest to the logits, with a
penalty that spreads it: $\arg\max_p\, p^\top z + H_\alpha(p)$ with Tsallis' entropy of $\alpha = 1$ (softmax), 3/2
(entmax15) or 2 (sparsemax). Shares grow with all logits alike, so that only differences count.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray

NEWTON_STEPS = 8
"""Steps to the threshold of `entmax15`: with 60,000 columns shares sum to 1 up to rounding. A sort takes longer."""


@jax.custom_jvp
def sparsemax(logits: Float[AnyArray, "*batch column"]) -> Float[Array, "*batch column"]:
    r"""Returns the nearest point of the simplex, $\max(z - \tau, 0)$ (Martins and Astudillo, 2016).

    Example:
        >>> sparsemax(jnp.array([1.0, 0.5, -1.0])).tolist()
        [0.75, 0.25, 0.0]
    """
    shifted = logits - jnp.max(logits, axis=-1, keepdims=True)
    ordered = jnp.sort(shifted, axis=-1, descending=True)
    threshold = (jnp.cumsum(ordered, axis=-1) - 1) / jnp.arange(1, shifted.shape[-1] + 1, dtype=shifted.dtype)
    # It is the threshold of the most columns that are all above theirs.
    number = jnp.sum(threshold <= ordered, axis=-1, keepdims=True)
    return jnp.maximum(shifted - jnp.take_along_axis(threshold, number - 1, axis=-1), 0)


@sparsemax.defjvp
def _sparsemax_jvp(primals, tangents):
    (logits,), (change,) = primals, tangents
    shares = sparsemax(logits)
    is_in = (shares > 0).astype(shares.dtype)
    mean = jnp.sum(is_in * change, axis=-1, keepdims=True) / jnp.sum(is_in, axis=-1, keepdims=True)
    return shares, is_in * (change - mean)


@jax.custom_jvp
def entmax15(logits: Float[AnyArray, "*batch column"]) -> Float[Array, "*batch column"]:
    r"""Returns $\max(z / 2 - \tau, 0)^2$, with $\tau$ so that they sum to 1 (Peters, Niculae and Martins, 2019).

    Example:
        >>> entmax15(jnp.array([0.0, 0.0, -3.0])).round(3).tolist()
        [0.5, 0.5, 0.0]
    """
    shifted = (logits - jnp.max(logits, axis=-1, keepdims=True)) / 2

    def one_step(_, threshold):
        # The length of what is above falls from 1 or more, and is convex: no step goes beyond the threshold.
        above = jnp.maximum(shifted - threshold, 0)
        length = jnp.sqrt(jnp.sum(above**2, axis=-1, keepdims=True))
        return threshold + (length - 1) * length / jnp.sum(above, axis=-1, keepdims=True)

    threshold = jax.lax.fori_loop(0, NEWTON_STEPS, one_step, -jnp.ones_like(shifted[..., :1]))
    return jnp.maximum(shifted - threshold, 0) ** 2


@entmax15.defjvp
def _entmax15_jvp(primals, tangents):
    (logits,), (change,) = primals, tangents
    shares = entmax15(logits)
    root = jnp.sqrt(shares)
    mean = jnp.sum(root * change, axis=-1, keepdims=True) / jnp.sum(root, axis=-1, keepdims=True)
    return shares, root * (change - mean)


CHOICES = {"softmax": jax.nn.softmax, "entmax15": entmax15, "sparsemax": sparsemax}
"""The maps by name."""
