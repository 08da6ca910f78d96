r"""Gates of a soft tree: numbers that say how far a row goes to the right at every inner node, and steps of them.

A gate's *value* is 0 on its border; a *step* makes of it the probability to go right. Some columns of the rows, the
last ones, may be *indicators*: 1 where other features are missing. A gate's value is

$$z = \frac{w^\top x + b}{T} + m^\top i,$$

with the row's features $x$, its indicators $i$ (which are among the features, too), and the temperature $T$. What $m$
says does not get sharper as $T$ falls: of a missing value it can hold C4.5's share of each branch.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray, FloatLike, OptionalArray
from jaxtree.soft.entmax import entmax15

GATES = ("oblique", "axis")
STEPS = ("sigmoid", "smooth_step", "hard")
SELECTORS = ("softmax", "entmax", "onehot")


class ObliqueGate(NamedTuple):
    """Gates that divide by a plane: any sum of features.

    Attributes:
        weight: What each feature counts.
        bias: What is added.
        missing: What each indicator adds, whatever the temperature; None where rows have no indicators.
    """

    weight: Float[AnyArray, "*tree node feature"]
    bias: Float[AnyArray, "*tree node"]
    missing: OptionalArray


class AxisGate(NamedTuple):
    """Gates that compare one feature, or a mean of features that training narrows to one, with a threshold.

    Attributes:
        selection: The logits of the features, of which a selector makes shares.
        threshold: What is compared with.
        log_sharpness: The logarithm of the factor of the difference.
        missing: The value of the gate where a feature of full share is missing, whatever the temperature; a column an
            indicator. None where rows have no indicators.
    """

    selection: Float[AnyArray, "*tree node feature"]
    threshold: Float[AnyArray, "*tree node"]
    log_sharpness: Float[AnyArray, "*tree node"]
    missing: OptionalArray


Gate = ObliqueGate | AxisGate


class Planes(NamedTuple):
    """Gates of any kind as planes.

    Attributes:
        weight: What each feature counts.
        bias: What is added.
        scale: What the sum is multiplied with: the temperature is in it.
        missing: What each indicator adds to that; None where rows have no indicators.
    """

    weight: Float[AnyArray, "node feature"]
    bias: Float[AnyArray, " node"]
    scale: Float[AnyArray, " node"]
    missing: OptionalArray


def feature_shares(
    selection: Float[Array, "node feature"], selector: str, temperature: FloatLike = 1.0
) -> Float[Array, "node feature"]:
    """The share of every feature in an axis gate: "softmax", "entmax" (1.5), or all to the "onehot" largest one.

    The gradient of "onehot" is that of "softmax" (straight through).

    Example:
        >>> feature_shares(jnp.array([[2.0, 1.0, -1.0]]), "entmax").round(2).tolist()
        [[0.8299999833106995, 0.17000000178813934, 0.0]]
    """
    # The largest is 0 before it is divided: afterwards its rounding error could be large.
    logits = (selection - lax.stop_gradient(jnp.max(selection, axis=-1, keepdims=True))) / temperature
    if selector == "entmax":
        return entmax15(logits)
    share = jax.nn.softmax(logits, axis=-1)
    if selector == "onehot":
        chosen = jax.nn.one_hot(jnp.argmax(selection, axis=-1), selection.shape[-1], dtype=share.dtype)
        return _straight_through(chosen, share)
    return share


def indicator_matrix(
    missing: tuple[tuple[int, ...], ...], num_features: int, dtype: np.dtype | type = np.float64
) -> Float[np.ndarray, "indicator feature"]:
    """Which features each indicator speaks of."""
    matrix = np.zeros((len(missing), num_features), dtype)
    for row, features in zip(matrix, missing, strict=True):
        row[list(features)] = 1
    return matrix


def oblique_planes(gate: ObliqueGate, temperature: FloatLike = 1.0) -> Planes:
    """The planes of oblique gates."""
    return Planes(gate.weight, gate.bias, jnp.ones_like(gate.bias) / temperature, gate.missing)


def axis_planes(
    gate: AxisGate, missing: tuple[tuple[int, ...], ...], selector: str, temperature: FloatLike = 1.0
) -> Planes:
    """The planes of axis gates.

    Where the selected feature is missing, nothing is compared: what is left is the gate's value for that.

    Args:
        gate: The gates.
        missing: The features that each indicator, the last features, speaks of.
        selector: How logits become shares.
        temperature: Of the selector and of the comparison.
    """
    share = feature_shares(gate.selection, selector, temperature)
    scale = jnp.exp(gate.log_sharpness) / temperature
    if not missing:
        return Planes(share, -gate.threshold, scale, None)
    speaks_of = jnp.asarray(indicator_matrix(missing, share.shape[1]), share.dtype)
    share_missing = share @ speaks_of.T  # node indicator
    known_weight = jnp.pad(share_missing * gate.threshold[:, None], ((0, 0), (share.shape[1] - len(missing), 0)))
    assert gate.missing is not None
    return Planes(share + known_weight, -gate.threshold, scale, gate.missing * share_missing)


def plane_values(planes: Planes, x: Float[Array, "row feature"]) -> Float[Array, "node row"]:
    """The values of all gates for all rows, in one matrix product, and one for what is missing."""
    # The scale comes last: where a value is missing the sum is exactly 0, but may not be once its terms are large.
    value = (planes.weight @ x.T + planes.bias[:, None]) * planes.scale[:, None]
    if planes.missing is None:
        return value
    return value + planes.missing @ x[:, x.shape[1] - planes.missing.shape[1] :].T


def smooth_step(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r"""$-2z^3 + \tfrac32 z + \tfrac12$ between -1/2 and 1/2, exactly 0 below and exactly 1 above.

    Source: Hazimeh et al., "The Tree Ensemble Layer", 2020, eq. 4, with a band of width 1.

    Example:
        >>> smooth_step(jnp.array([-0.5, 0.0, 0.25, 0.5])).tolist()
        [0.0, 0.5, 0.84375, 1.0]
    """
    inside = jnp.clip(z + 0.5, 0, 1)
    return inside * inside * (3 - 2 * inside)


def hard_step(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """1 where z is above 0, else 0; its gradient is the sigmoid's (straight through).

    Example:
        >>> hard_step(jnp.array([-1.0, 0.0, 1.0])).tolist(), float(jax.grad(hard_step)(0.0))
        ([0.0, 0.0, 1.0], 0.25)
    """
    soft = jax.nn.sigmoid(z)
    return _straight_through((z > 0).astype(soft.dtype), soft)


_STEP_FUNCTIONS: dict[str, Callable] = {
    "sigmoid": jax.nn.sigmoid,
    "smooth_step": smooth_step,
    "hard": hard_step,
}


def step(z: Float[Array, "*shape"], kind: str) -> Float[Array, "*shape"]:
    """The probability to go right of every gate's value."""
    return _STEP_FUNCTIONS[kind](z)


def log_steps(z: Float[Array, "*shape"], kind: str) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """The logarithms of the probabilities to go left and right; those of 0 are minus infinity, with gradient 0."""
    if kind == "sigmoid":
        rest = jnp.log1p(jnp.exp(-jnp.abs(z)))
        return jnp.minimum(-z, 0) - rest, jnp.minimum(z, 0) - rest
    right = step(z, kind)
    left = smooth_step(-z) if kind == "smooth_step" else 1 - right  # the first is more exact near 0
    return log_or_never(left), log_or_never(right)


def log_or_never(probability: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The logarithm, and minus infinity with gradient 0 where the probability is 0."""
    possible = probability > 0
    return jnp.where(possible, jnp.log(jnp.where(possible, probability, 1)), -jnp.inf)


def _straight_through(hard: Float[Array, "*shape"], soft: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """`hard`, with the gradient of `soft`."""
    return hard + (soft - lax.stop_gradient(soft))
