"""Losses of functions: a function of JAX as a loss, and the scores that a boosting starts from, in a program."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.boosting.selection import quantiles_of_groups
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.functional.double import in_floats, is_wide
from jaxtree.functional.stack import as_given, with_derivatives
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.losses.domain import NUMBERS
from jaxtree.losses.loss import BaseLoss, Derivatives, Extras, Loss, weighted
from jaxtree.losses.start import newton_start, solve

DIGITS_OF_START = 40
"""Binary digits of the scores that a boosting starts from; the last ones of a sum depend on the program around it."""


@dataclasses.dataclass(frozen=True)
class FunctionLoss(BaseLoss):
    """A function of scores and targets as a loss, see `jaxtree.functional.fit`.

    Attributes:
        function: The function.
        num_scores: The number of scores of a row.
        has_axis: Whether it takes scores of shape (row, output), and not (row,).
        is_total: Whether it returns one number for all rows, which may depend on one another, and not one a row.
        is_wide: Whether its user has types of 64 bits; it is traced by these.
    """

    function: Callable[..., Any]
    num_scores: int
    has_axis: bool
    is_total: bool
    is_wide: bool
    renewal = None
    domain = NUMBERS
    needs = ()

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def hessian(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The kind of second derivatives: 1 for a number for all rows, or else the diagonal."""
        return "one" if self.is_total else "diagonal"

    def call(self, scores: Float[Array, "score row"], target: Any, extras: Any) -> Any:
        """Returns what the function does of scores and targets."""
        with jax.enable_x64(self.is_wide):
            scores, target, extras = in_floats((scores, target, extras), jnp.result_type(float))
            more = (extras,) if extras else ()
            return self.function(as_given(scores, self.has_axis), target, *more)

    def values(
        self, scores: Float[AnyArray, "score row"], target: Shaped[AnyArray, "row *output"], extras: Extras
    ) -> Float[Array, " row"]:
        """Returns the loss of every row, or for each that of all."""
        return jnp.broadcast_to(self.call(scores, target, extras), scores.shape[1])

    def derivatives(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, "row *output"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Derivatives:
        """Returns gradients, and the sizes of the diagonals of Hessians, or 1."""
        slope = jax.grad(lambda point: jnp.sum(self.call(point, target, extras)).astype(scores.dtype))
        if self.is_total:
            gradient = slope(scores)
            return weighted((gradient, jnp.ones_like(gradient)), weight, scores.dtype)
        gradient, along = jax.linearize(slope, scores)
        units = jnp.eye(self.num_scores, dtype=scores.dtype)[:, :, None]
        curvature = jax.vmap(lambda unit: jnp.sum(along(jnp.broadcast_to(unit, scores.shape)) * unit, axis=0))(units)
        return weighted((gradient, jnp.abs(curvature)), weight, scores.dtype)


def as_loss(
    loss: Any, num_scores: int, has_axis: bool, target: Shaped[AnyArray, "row *output"], extras: Any
) -> BaseLoss:
    """Returns a loss of one's own, or a function, as a loss of this number of scores.

    Raises:
        InvalidInputError: The loss has another number of scores, or the function returns neither a number nor one a
            row.
        InvalidTypeError: It is neither a loss nor a function.
    """
    if isinstance(loss, BaseLoss):
        if loss.num_scores != num_scores:
            raise InvalidInputError(f"num_outputs must be {loss.num_scores} for {loss}, got {num_scores}")
        if isinstance(loss, Loss) and loss.units_at is not None:
            raise InvalidInputError(f"loss must measure its scores in one unit, which {loss} does not")
        return loss
    if not callable(loss):
        raise InvalidTypeError(f"loss must be a loss of jaxtree.boosting or a function of scores, got {loss!r}")
    own = FunctionLoss(loss, num_scores, has_axis, is_total=False, is_wide=is_wide())
    num_rows = target.shape[0]
    returned = jax.eval_shape(own.call, jax.ShapeDtypeStruct((num_scores, num_rows), np.float32), target, extras)
    shape = getattr(returned, "shape", None)
    if shape not in ((), (num_rows,)):
        raise InvalidInputError(f"loss must return one number, or one for each of {num_rows} rows, got {returned}")
    return dataclasses.replace(own, is_total=shape == ())


def start_of(
    loss: BaseLoss, target: Shaped[Array, "row *output"], weight: Float[Array, " row"], extras: Extras
) -> Float[Array, " score"]:
    """Returns the scores that are best for all rows together, in a program; 0 for a function.

    Their derivatives are those of the minimum, by the theorem of implicit functions. Needs 64-bit types.
    """
    if isinstance(loss, FunctionLoss):
        return jnp.zeros(loss.num_scores)
    if loss.renewal is not None:
        values = jnp.broadcast_to(target.astype(np.float64), (loss.num_scores, len(weight)))
        if "offset" in extras:
            values = values - jnp.broadcast_to(extras["offset"].T, values.shape)
        whole = to_fixed_point(weight, unit_of(jnp.sum(weight > 0), exponent(weight)))
        levels = jnp.broadcast_to(jnp.asarray(loss.renewal, np.float64), loss.num_scores)
        return quantiles_of_groups(values, whole, jnp.zeros(len(weight), np.int32), levels, num_groups=1)[:, 0]
    constant = lax.stop_gradient((target, weight, dict(extras)))
    first = jnp.zeros((1, loss.num_scores))
    if jnp.issubdtype(target.dtype, jnp.floating) and target[0].size in (1, loss.num_scores) and target.ndim < 3:
        known, own = constant[0].reshape(len(weight), -1), constant[1]
        mean = jnp.sum(jnp.where(own[:, None] > 0, known * own[:, None], 0), axis=0) / jnp.sum(own)
        first = jnp.concatenate([first, jnp.broadcast_to(mean, first.shape)])
    best = lax.stop_gradient(newton_start(first, *constant, jnp.ones(loss.num_scores), loss=loss))
    shared = jnp.broadcast_to(best[:, None], (len(best), len(weight)))
    gradient, hessian = (jnp.sum(own, axis=-1) for own in loss.derivatives(shared, target, weight, extras))
    matrix = lax.stop_gradient(jnp.diag(hessian) if hessian.ndim == 1 else hessian)
    # With few digits, so that all programs have the same; a TPU cannot cut them.
    cut = functools.partial(lax.reduce_precision, exponent_bits=11, mantissa_bits=DIGITS_OF_START)
    best = lax.platform_dependent(best, tpu=lambda own: own, default=cut)
    return with_derivatives(best, -solve(matrix, gradient))
