"""Many quantiles in one model: a score a level, and predictions that do not cross."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.boosting.loss import Loss, given
from jaxtree.boosting.losses import require, require_level

__all__ = ["quantiles"]


def _pinball(
    scores: Float[Array, " score"], target: Real[Array, ""], extras: Any, levels: tuple[float, ...]
) -> Float[Array, " score"]:
    above = target - scores
    level = jnp.asarray(levels, scores.dtype)
    return jnp.maximum(level * above, (level - 1) * above)


def _in_order(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    return either.sort(scores, axis=0)


def quantiles(levels: Sequence[FloatLike]) -> Loss:
    r"""$\sum_k \max(\tau_k (y - s_k), (\tau_k - 1)(y - s_k))$: quantiles of several levels $\tau_k$ in one model.

    All share the splits of a tree; a leaf has a number a level. Predictions are the scores of a row, sorted: quantiles
    that cross are never closer to the true ones than the same numbers in order (Chernozhukov, Fernández-Val and
    Galichon, 2010). As for `quantile`, 1 stands for curvature, and leaves take quantiles of $y - s_k$.

    Args:
        levels: Between 0 and 1, each above the one before it.

    Raises:
        InvalidInputError: They are not.

    Example:
        >>> loss = quantiles([0.1, 0.5, 0.9])
        >>> loss.predict(jnp.array([[1.0], [3.0], [2.0]]))[:, 0].tolist()
        [1.0, 2.0, 3.0]
    """
    numbers = tuple(float(level) for level in levels)
    require(len(numbers) > 0, "quantiles needs a level or more", list(numbers))
    for level in numbers:
        require_level(level, "quantiles")
    require(sorted(set(numbers)) == list(numbers), "levels of quantiles must rise", list(numbers))
    function = given(_pinball, levels=numbers)
    return Loss(
        function,
        num_scores=len(numbers),
        hessian="one",
        is_convex=True,
        link=_in_order,
        renewal=numbers,
        name="quantiles",
        parameters=function.keywords,
    )
