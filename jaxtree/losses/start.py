"""The scores that all rows start from: those that are best for all rows together."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.lazy import Array, jax, jnp

MOST_STEPS = 200
ENOUGH = 1e-12
"""Steps end where the last one was expected to lower the mean loss by less than this share of it."""


def weighted_quantile(values: Float[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"], level: float) -> float:
    """Returns a quantile of weighted rows, the one at which the pinball loss is least.

    Where all values between two rows are as good, it is their middle: the median of an even number of rows.

    >>> weighted_quantile(np.array([4.0, 1.0, 2.0, 3.0]), np.ones(4), 0.5)
    2.5
    """
    return float(weighted_quantiles(values, weight, np.array([level]))[0])


def weighted_quantiles(
    values: Float[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"], levels: Float[np.ndarray, " level"]
) -> Float[np.ndarray, " level"]:
    """Returns the same for several levels."""
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    below = np.cumsum(weight[order], dtype=np.float64)
    # Sums of weights are rounded: two that should be equal differ in the last digits.
    wanted = levels * below[-1]
    slack = 1e-12 * below[-1]
    first = np.minimum(np.searchsorted(below, wanted - slack), len(order) - 1)
    last = np.minimum(np.searchsorted(below, wanted + slack, side="right"), len(order) - 1)
    return (values[order[first]] + values[order[last]]) / 2


def guesses(
    target: Shaped[AnyArray, "row *output"], weight: Shaped[AnyArray, " row"], num_scores: int
) -> Float[np.ndarray, "guess score"]:
    """Returns scores of which one may be close to the best: 0, and where most targets, or their logarithms, lie.

    >>> guesses(np.array([1.0, 2.0, 9.0]), np.ones(3), 1)[:3].tolist()
    [[0.0], [2.0], [4.0]]
    """
    target, weight, zeros = np.asarray(target), np.asarray(weight), np.zeros((1, num_scores))
    if target.dtype.kind not in "fiu" or target.ndim > 2 or (target.ndim == 2 and target.shape[1] != num_scores):
        return zeros
    columns = target.reshape(len(target), -1).T.astype(np.float64)
    medians = np.array([weighted_quantile(column, weight, 0.5) for column in columns])
    means = np.array([np.average(np.where(weight > 0, column, 0), weights=weight) for column in columns])
    logarithms = np.log(np.where(means > 0, means, 1))
    centers = [medians, means, logarithms]
    of_first = [np.append(center[:1], np.zeros(num_scores - 1)) for center in centers]
    of_all = [np.broadcast_to(center, num_scores) for center in centers]
    return np.concatenate([zeros, of_first, of_all] if num_scores > 1 else [zeros, of_all])


def best_constant(
    loss: Any,
    target: Shaped[AnyArray, "row *output"],
    weight: Shaped[AnyArray, " row"],
    extras: Any,
    first: Float[np.ndarray, "guess score"],
) -> Float[np.ndarray, " score"]:
    """Returns the scores that make a loss least if all rows share them, by Newton steps from the best of the first.

    Steps are damped (Levenberg, 1944; Marquardt, 1963), so that the loss never rises, and made longer where slopes stay
    what they were. It ends after `MOST_STEPS`; of a loss that is least at infinity it returns a point at which hardly
    anything is left to win.
    """
    units = loss.units(first[0])
    with jax.enable_x64(True):
        arrays = jax.tree.map(_in_double, (first, target, weight, dict(extras)))
        return np.asarray(newton_start(*arrays, np.ones(first.shape[1]) if units is None else units, loss=loss))


class _Point(NamedTuple):
    """Scores on the way, their mean loss, what the next step is made by, and whether the end is reached."""

    scores: Float[Array, " score"]
    value: Float[Array, ""]
    damping: Float[Array, ""]
    stretch: Float[Array, ""]
    move: Float[Array, " score"]
    promise: Float[Array, ""]
    is_done: Bool[Array, ""]
    num_steps: Int[Array, ""]


@compiled("loss", what=lambda *_, loss: f"the start of {loss}", options=options_of_small_programs)
def newton_start(
    first: Float[Array, "guess score"],
    target: Shaped[Array, "row *output"],
    weight: Float[Array, " row"],
    extras: Any,
    units: Float[Array, " score"],
    *,
    loss: Any,
) -> Float[Array, " score"]:
    """Damped Newton steps, in the units of the scores, on the scores that all rows share."""
    total = jnp.sum(weight)

    def mean_at(scores: Float[Array, " score"]) -> Float[Array, ""]:
        return loss.mean(_shared(scores, weight), target, weight, extras)

    def step(point: _Point) -> _Point:
        derivatives = loss.derivatives(_shared(point.scores, weight), target, weight, extras)
        slope = units * jnp.sum(derivatives.gradient, axis=-1) / total
        curvature = jnp.sum(derivatives.hessian, axis=-1) / total
        matrix = (jnp.diag(curvature) if curvature.ndim == 1 else curvature) * jnp.outer(units, units)
        # A loss without curvature, or with a bound in its place, makes short steps.
        is_short = jnp.dot(point.move, slope) > point.promise / 2
        stretch = jnp.where(is_short, 4 * point.stretch, point.stretch)
        move = stretch * solve(matrix + point.damping * jnp.eye(len(slope)), slope)
        value = mean_at(point.scores - units * move)
        is_better, promise = value <= point.value, jnp.dot(move, slope)
        # Where the step is refused because nothing is left to win, the promise is as small.
        is_done = promise <= stretch * ENOUGH * jnp.abs(point.value)
        damping = jnp.maximum(point.damping, 1e-10) * jnp.where(stretch > 1, 1, 10)
        return _Point(
            jnp.where(is_better, point.scores - units * move, point.scores),
            jnp.where(is_better, value, point.value),
            jnp.where(is_better, jnp.maximum(point.damping / 10, 1e-14), damping),
            jnp.where(is_better & is_short, stretch, 1.0),
            jnp.where(is_better, move, 0.0),
            jnp.where(is_better, promise, 0.0),
            is_done,
            point.num_steps + 1,
        )

    values = jnp.stack([mean_at(scores) for scores in first])
    values = jnp.where(jnp.isnan(values), jnp.inf, values)
    # The first of the least; `argmin` fails in a user's program of 32 bits.
    best = jnp.min(jnp.where(values == jnp.min(values), jnp.arange(len(values)), len(values) - 1))
    start, zero = first[best], jnp.asarray(0.0)
    at_first = _Point(
        start, values[best], zero + 1e-10, zero + 1, jnp.zeros_like(start), zero, jnp.asarray(False), jnp.asarray(0)
    )
    return jax.lax.while_loop(lambda at: ~at.is_done & (at.num_steps < MOST_STEPS), step, at_first).scores


def solve(matrix: Float[Array, "score score"], values: Float[Array, " score"]) -> Float[Array, " score"]:
    """Returns the solution of linear equations; of a single one by a division, for a TPU solves none of 64 bits."""
    return values / matrix[0] if len(values) == 1 else jnp.linalg.solve(matrix, values)


def _shared(scores: Float[Array, " score"], weight: Float[Array, " row"]) -> Float[Array, "score row"]:
    return jnp.broadcast_to(scores[:, None], (len(scores), len(weight)))


def _in_double(values: Shaped[AnyArray, "..."]) -> Shaped[Array, "..."]:
    values = np.asarray(values)
    return jnp.asarray(values, np.float64) if values.dtype.kind == "f" else jnp.asarray(values)
