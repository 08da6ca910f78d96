"""The scores that all rows start from: those that are best for all rows together."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled, options_of_small_programs

MOST_STEPS = 200
ENOUGH = 1e-12
"""Steps end where the last one was expected to lower the mean loss by less than this share of it."""


def weighted_quantile(values: Float[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"], level: float) -> float:
    """Returns a quantile of weighted rows, the one at which the pinball loss is least.

    Where all values between two rows are as good, it is their middle: the median of an even number of rows.

    >>> weighted_quantile(np.array([4.0, 1.0, 2.0, 3.0]), np.ones(4), 0.5)
    2.5
    """
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    below = np.cumsum(weight[order], dtype=np.float64)
    # Sums of weights are rounded: two that should be equal differ in the last digits.
    wanted = level * below[-1]
    slack = 1e-12 * below[-1]
    first = min(np.searchsorted(below, wanted - slack), len(order) - 1)
    last = min(np.searchsorted(below, wanted + slack, side="right"), len(order) - 1)
    return float((values[order[first]] + values[order[last]]) / 2)


def best_constant(
    loss: Any,
    target: Shaped[AnyArray, "row *output"],
    weight: Shaped[AnyArray, " row"],
    extras: Any,
    first: Float[np.ndarray, " score"],
) -> Float[np.ndarray, " score"]:
    """Returns the scores that make a loss least if all rows share them, by Newton steps from the first ones.

    Steps are damped (Levenberg, 1944; Marquardt, 1963), so that the loss never rises. It ends after `MOST_STEPS`; of a
    loss that is least at infinity it returns a point at which hardly anything is left to win.
    """
    with jax.enable_x64(True):
        arrays = jax.tree.map(_in_double, (first, target, weight, dict(extras)))
        return np.asarray(_newton(*arrays, loss=loss))


class _Point(NamedTuple):
    """Scores on the way, their mean loss, the damping of the next step, and whether the end is reached."""

    scores: Float[Array, " score"]
    value: Float[Array, ""]
    damping: Float[Array, ""]
    is_done: Bool[Array, ""]
    num_steps: Int[Array, ""]


@compiled("loss", what=lambda *_, loss: f"the start of {loss}", options=options_of_small_programs)
def _newton(
    first: Float[Array, " score"],
    target: Shaped[Array, "row *output"],
    weight: Float[Array, " row"],
    extras: Any,
    *,
    loss: Any,
) -> Float[Array, " score"]:
    """Damped Newton steps on the scores that all rows share."""
    total = jnp.sum(weight)

    def mean_at(scores: Float[Array, " score"]) -> Float[Array, ""]:
        return loss.mean(_shared(scores, weight), target, weight, extras)

    def step(point: _Point) -> _Point:
        derivatives = loss.derivatives(_shared(point.scores, weight), target, weight, extras)
        slope = jnp.sum(derivatives.gradient, axis=-1) / total
        curvature = jnp.sum(derivatives.hessian, axis=-1) / total
        matrix = jnp.diag(curvature) if curvature.ndim == 1 else curvature
        move = jnp.linalg.solve(matrix + point.damping * jnp.eye(len(slope)), slope)
        value = mean_at(point.scores - move)
        is_better = value <= point.value
        # Where the step is refused because nothing is left to win, the promise is as small.
        is_done = jnp.dot(move, slope) <= ENOUGH * (1 + jnp.abs(point.value))
        damping = jnp.where(is_better, jnp.maximum(point.damping / 10, 1e-14), jnp.maximum(point.damping, 1e-10) * 10)
        return _Point(
            jnp.where(is_better, point.scores - move, point.scores),
            jnp.where(is_better, value, point.value),
            damping,
            is_done,
            point.num_steps + 1,
        )

    at_first = _Point(first, mean_at(first), jnp.asarray(1e-10), jnp.asarray(False), jnp.asarray(0))
    return jax.lax.while_loop(lambda at: ~at.is_done & (at.num_steps < MOST_STEPS), step, at_first).scores


def _shared(scores: Float[Array, " score"], weight: Float[Array, " row"]) -> Float[Array, "score row"]:
    return jnp.broadcast_to(scores[:, None], (len(scores), len(weight)))


def _in_double(values: Shaped[AnyArray, "..."]) -> Shaped[Array, "..."]:
    values = np.asarray(values)
    return jnp.asarray(values, np.float64) if values.dtype.kind == "f" else jnp.asarray(values)
