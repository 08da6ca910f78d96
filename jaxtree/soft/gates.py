"""Gates of soft trees: how an inner node divides rows, as a plane of the rows' features and a share that goes right.

Planes and their values are computed in NumPy where arrays are NumPy's, as predictions on the host are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike, OptionalArray, library_of
from jaxtree.errors import InvalidInputError, instance_of, present
from jaxtree.soft.choices import CHOICES
from jaxtree.soft.form import SoftForm
from jaxtree.soft.functions import Elementwise, function_of, name_of
from jaxtree.soft.sides import SIDES


class ObliqueGate(NamedTuple):
    """Gates that divide by a plane, any sum of features; or by a function of the same parameters.

    Attributes:
        weight: The weight of each feature.
        bias: Is added to the sum.
        missing: Added for each indicator, whatever the temperature; None where rows have no indicators.
    """

    weight: Float[AnyArray, "*tree node feature"]
    bias: Float[AnyArray, "*tree node"]
    missing: OptionalArray


class AxisGate(NamedTuple):
    """Gates that compare one feature, or a mean of features that training narrows to one, with a threshold.

    Attributes:
        selection: The logits of the features; the form's choice makes the features' shares of them.
        threshold: Is subtracted from the mean.
        log_sharpness: The logarithm of the factor of the difference.
        missing: The value of the gate where a feature of full share is missing, whatever the temperature; a column an
            indicator. None where rows have no indicators.
    """

    selection: Float[AnyArray, "*tree node feature"]
    threshold: Float[AnyArray, "*tree node"]
    log_sharpness: Float[AnyArray, "*tree node"]
    missing: OptionalArray


class HardGate(NamedTuple):
    """Gates that compare one feature with a threshold of its own; rows go to one side, and gradients to both.

    Attributes:
        selection: The logits of the features: the greatest is compared.
        threshold: The threshold that a gate has for each feature.
        missing: Above 0 a row goes right where the feature that is compared is missing; a column an indicator. None
            where rows have no indicators.
    """

    selection: Float[AnyArray, "*tree gate feature"]
    threshold: Float[AnyArray, "*tree gate feature"]
    missing: OptionalArray


Gate = ObliqueGate | AxisGate | HardGate


class GatePlanes(NamedTuple):
    """Gates of any kind as planes.

    Attributes:
        weight: The weight of each feature.
        bias: Is added to the sum.
        scale: Multiplies the sum: the temperature is in it.
        missing: Added for each indicator; None where rows have no indicators.
    """

    weight: Float[AnyArray, "node feature"]
    bias: Float[AnyArray, " node"]
    scale: Float[AnyArray, " node"]
    missing: OptionalArray


def shares_to_the_right(
    gate: Gate, form: SoftForm, x: Float[Array, "row feature"], temperature: FloatLike
) -> Float[Array, "gate row"]:
    """The probability of every row to go right at every gate: the form's side of the gate's value.

    For hard gates the probability is 0 or 1, with the slope of the form's side: gradients pass as if it were the share
    (the straight-through estimator of Bengio, Leonard and Courville, 2013).
    """
    gate, side = jax.tree.map(jnp.asarray, gate), function_of(form.side, SIDES)
    if callable(form.gate):
        return side(_values_by_function(instance_of(ObliqueGate, gate), form.gate, x, temperature))
    planes = planes_of(gate, form, temperature)
    if not isinstance(gate, HardGate):
        return side(plane_values(planes, x))
    # A sum with one factor that is 1 is exact if products are: devices that round them need to be told.
    value = plane_values(planes, x, precision=lax.Precision.HIGHEST)
    return straight_through((value > 0).astype(value.dtype), side(value))


def _values_by_function(
    gate: ObliqueGate, function: Callable[..., Any], x: Float[Array, "row feature"], temperature: FloatLike
) -> Float[Array, "gate row"]:
    """The values of gates that are a function of weights, bias and features."""
    of_rows = jax.vmap(function, in_axes=(None, None, 0))
    value = jax.vmap(of_rows, in_axes=(0, 0, None))(gate.weight, gate.bias, x) / temperature
    return _with_missing(value, gate.missing, x, None)


def straight_through(hard: Float[Array, "*batch"], soft: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Returns what is hard, with the gradients of what is soft."""
    return hard + (soft - lax.stop_gradient(soft))


def planes_of(gate: Gate, form: SoftForm, temperature: FloatLike = 1.0) -> GatePlanes:
    """Returns gates as planes; those of hard gates have one weight that is 1.

    Raises:
        InvalidInputError: The gates are a function.
    """
    if callable(form.gate):
        raise InvalidInputError(
            f"gates that are a function, as gate={name_of(form.gate)}, are no planes: such a tree has no hard form"
        )
    if isinstance(gate, HardGate):
        chosen = jax.nn.one_hot(jnp.argmax(gate.selection, axis=-1), form.num_features, dtype=gate.selection.dtype)
        share = straight_through(chosen, function_of(form.choice, CHOICES)(gate.selection))
        scale = jnp.ones(share.shape[0], share.dtype) / temperature
        threshold = share * gate.threshold
        return _planes_of_shares(share, threshold, -jnp.sum(threshold, axis=1), scale, form.missing, gate.missing)
    if isinstance(gate, AxisGate):
        share = feature_shares(gate.selection, temperature, form.choice)
        scale = either.exp(gate.log_sharpness) / temperature
        threshold = share * gate.threshold[:, None]
        return _planes_of_shares(share, threshold, -gate.threshold, scale, form.missing, gate.missing)
    return GatePlanes(gate.weight, gate.bias, either.ones_like(gate.bias) / temperature, gate.missing)


def feature_shares(
    selection: Float[AnyArray, "node feature"], temperature: FloatLike = 1.0, choice: str | Elementwise = "softmax"
) -> Float[AnyArray, "node feature"]:
    """The share of every feature in an axis gate."""
    largest = either.max(selection, axis=-1, keepdims=True)
    if isinstance(largest, Array):
        largest = lax.stop_gradient(largest)
    # The largest is 0 before it is divided: afterwards its rounding error could be large.
    logits = (selection - largest) / temperature
    if choice == "softmax":
        return either.softmax(logits, axis=-1)
    return library_of(selection).asarray(function_of(choice, CHOICES)(jnp.asarray(logits)), selection.dtype)


def _planes_of_shares(
    share: Float[AnyArray, "gate feature"],
    threshold: Float[AnyArray, "gate feature"],
    bias: Float[AnyArray, " gate"],
    scale: Float[AnyArray, " gate"],
    missing: tuple[tuple[int, ...], ...],
    missing_value: OptionalArray,
) -> GatePlanes:
    """The planes of gates that have shares of features, and the threshold of each times its share.

    Where the selected feature is missing, only the gate's value for that is left.
    """
    if not missing:
        return GatePlanes(share, bias, scale, None)
    indicated = np.zeros((len(missing), share.shape[1]))
    for row, features in zip(indicated, missing, strict=True):
        row[list(features)] = 1
    of_indicator = library_of(share).asarray(indicated, share.dtype).T  # feature indicator
    known_weight = _product(threshold, of_indicator, lax.Precision.HIGHEST)
    known_weight = either.pad(known_weight, ((0, 0), (share.shape[1] - len(missing), 0)))
    share_missing = _product(share, of_indicator, lax.Precision.HIGHEST)
    return GatePlanes(share + known_weight, bias, scale, present(missing_value) * share_missing)


def plane_values(
    planes: GatePlanes, x: Float[AnyArray, "row feature"], *, precision: lax.Precision | None = None
) -> Float[AnyArray, "node row"]:
    """The values of all gates for all rows, in one matrix product, and one for missing values.

    Above 0 a row goes right with a probability of more than half.
    """
    # The scale comes last: where a value is missing the sum is exactly 0, but may not be once its terms are large.
    value = (_product(planes.weight, x.T, precision) + planes.bias[:, None]) * planes.scale[:, None]
    return _with_missing(value, planes.missing, x, precision)


def _with_missing(
    value: Float[AnyArray, "node row"],
    missing: OptionalArray,
    x: Float[AnyArray, "row feature"],
    precision: lax.Precision | None,
) -> Float[AnyArray, "node row"]:
    """The values of gates with what they add for the indicators of rows."""
    if missing is None:
        return value
    return value + _product(missing, x[:, x.shape[1] - missing.shape[1] :].T, precision)


def _product(
    left: Float[AnyArray, "one inner"], right: Float[AnyArray, "inner other"], precision: lax.Precision | None
) -> Float[AnyArray, "one other"]:
    """The product of matrices; of JAX's with a precision."""
    if library_of(left, right) is np:
        return left @ right
    return jnp.matmul(left, right, precision=precision)
