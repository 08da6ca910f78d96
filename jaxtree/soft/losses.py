"""Losses, which training makes small: how far the output of every row is from its target.

A loss is a function `(output, target) -> loss of every row`. An *output* is what `apply` returns: the logits of classes
(or their log probabilities), or numbers. A target is whatever the loss takes, such as a class code a row. Any such
function will do; those that take a parameter are made once a value, so that programs are shared. Here are those of
classes; those of numbers, counts, distributions, times and orders are the losses of `jaxtree.boosting`, whose scores
outputs are.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxtree.errors import InvalidInputError
from jaxtree.soft.scores import ScoredTarget

Loss: TypeAlias = Callable[[Float[Array, "row output"], Any], Float[Array, " row"]]


def cross_entropy(output: Float[Array, "row class"], target: Int[Array, " row"]) -> Float[Array, " row"]:
    r"""Minus the log probability of the row's class, $-\log p_y$, the output's softmax being $p$.

    >>> round(float(cross_entropy(jnp.log(jnp.array([[0.25, 0.75]])), jnp.array([1]))[0]), 3)
    0.288
    """
    log_probability = jax.nn.log_softmax(output)
    return -jnp.take_along_axis(log_probability, target[:, None], axis=1)[:, 0]


def cross_entropy_of_shares(
    output: Float[Array, "row class"], target: Float[Array, "row class"]
) -> Float[Array, " row"]:
    r"""Cross entropy with labels of which every class has a share, $-\sum_c t_c \log p_c$.

    >>> round(float(cross_entropy_of_shares(jnp.log(jnp.array([[0.25, 0.75]])), jnp.array([[0.0, 1.0]]))[0]), 3)
    0.288
    """
    return -jnp.sum(target * jax.nn.log_softmax(output), axis=1)


@functools.cache
def smoothed_cross_entropy(smoothing: float) -> Loss:
    r"""Makes the cross entropy with smoothed labels (Szegedy et al., 2016).

    It is $-(1-\epsilon)\log p_y - \frac{\epsilon}{k} \sum_c \log p_c$ for $k$ classes.

    Raises:
        InvalidInputError: The smoothing is below 0, or 1 or more.
    """
    if not 0 <= smoothing < 1:
        raise InvalidInputError(f"the smoothing of labels must be at least 0 and below 1, got {smoothing}")

    def loss(output: Float[Array, "row class"], target: Int[Array, " row"]) -> Float[Array, " row"]:
        spread = -jax.nn.log_softmax(output).mean(axis=1)
        return (1 - smoothing) * cross_entropy(output, target) + smoothing * spread

    return loss


def zero_one(output: Float[Array, "row class"], target: Any) -> Float[Array, " row"]:
    r"""1 where the most probable class is not the row's, or not a teacher's, else 0.

    It has no gradient: checkpoints are compared by it.

    >>> zero_one(jnp.log(jnp.array([[0.25, 0.75], [0.25, 0.75]])), jnp.array([1, 0])).tolist()
    [0.0, 1.0]
    """
    target = target.target if isinstance(target, ScoredTarget) else target
    label = target if target.ndim == 1 else target.argmax(axis=1)
    return (output.argmax(axis=1) != label).astype(output.dtype)


def distillation(output: Float[Array, "row class"], target: Float[Array, "row class"]) -> Float[Array, " row"]:
    r"""Cross entropy with a teacher's probabilities, $-\sum_c t_c \log p_c$ (Hinton, Vinyals and Dean, 2015).

    It is least where $p = t$; a row of ones and zeros makes it `cross_entropy`.
    """
    return cross_entropy_of_shares(output, target)
