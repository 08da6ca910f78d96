"""The sum of one loss over several targets, a score for each."""

from typing import Any

import numpy as np
from jaxtyping import Float, Real, Shaped

from jaxtree.errors import instance_of
from jaxtree.lazy import Array, jax, jnp
from jaxtree.losses.domain import require
from jaxtree.losses.loss import BaseLoss, Loss, given


def of_outputs(loss: BaseLoss, num_outputs: int) -> BaseLoss:
    """Returns the sum of a loss over the columns of a target, each with a score of its own.

    Args:
        loss: A loss of one target and one score, of single rows.
        num_outputs: The number of columns; of one the loss is returned as it is.

    Raises:
        InvalidInputError: The loss is another one.

    Example:
        >>> from jaxtree.losses.numbers import absolute
        >>> both = of_outputs(absolute(), 2)
        >>> both.values(jnp.array([[3.0], [1.0]]), jnp.array([[1.0, 2.0]]), {}).tolist()
        [3.0]
        >>> both.start(np.array([[1.0, 5.0], [2.0, 6.0], [9.0, 9.0]]), np.ones(3), {}).tolist()
        [2.0, 6.0]
    """
    if num_outputs == 1:
        return loss
    is_plain = isinstance(loss, Loss) and loss.num_scores == 1 and not loss.needs
    require(is_plain, f"{loss} has one target: take 'squared_error', or a Loss of several scores", num_outputs)
    loss = instance_of(Loss, loss)
    return Loss(
        given(_of_each, of_one=loss.function),
        num_outputs,
        "one" if loss.hessian == "one" else "diagonal",
        is_convex=loss.is_convex,
        link=loss.link,
        constant=given(_starts, loss=loss),
        domain=loss.domain,
        moves_with_target=loss.moves_with_target,
        degree=loss.degree,
        name=loss.name,
        parameters=(*loss.parameters, ("num_outputs", num_outputs)),
    )


def _of_each(
    scores: Float[Array, " score"], target: Real[Array, " score"], extras: Any, of_one: Any
) -> Float[Array, " score"]:
    return jax.vmap(lambda score, own: jnp.sum(of_one(score[None], own, extras)))(scores, target)


def _starts(
    target: Shaped[np.ndarray, "row output"], weight: Shaped[np.ndarray, " row"], loss: Loss
) -> Float[np.ndarray, " output"]:
    return np.concatenate([loss.start(column, weight, {}) for column in target.T])
