"""Functions of one's own where a name may stand, and schedules.

They are static: a program is compiled for them, and two are the same if they are one object. So define a function once,
and not anew in every fit. A *schedule* is a function of the share of a training that is done, from 0 to 1: schedules of
optax are such functions where they end after one step, as `optax.linear_schedule(1.0, 0.1, transition_steps=1)`.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtree.arrays import FloatLike
from jaxtree.errors import InvalidInputError, reason_of

Elementwise: TypeAlias = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]
Schedule: TypeAlias = Callable[[FloatLike], FloatLike]

ROUNDING = 1e-3
"""By how much shares, and their sums, may miss their limits."""


def function_of(given: str | Elementwise, known: Mapping[str, Elementwise]) -> Elementwise:
    """Returns the function that a name stands for, or the function that is given.

    >>> function_of("abs", {"abs": jnp.abs}) is jnp.abs, function_of(jnp.tanh, {}) is jnp.tanh
    (True, True)
    """
    return known[given] if isinstance(given, str) else given


def name_of(given: Any) -> str:
    """Returns a name, or that of a function.

    >>> name_of("sigmoid"), name_of(jnp.tanh)
    ('sigmoid', 'tanh')
    """
    return given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)


def check_function(name: str, given: Any, known: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> None:
    """Raises InvalidInputError unless an option is a known name, or a function that JAX can trace.

    Args:
        name: The name of the option.
        given: Its value.
        known: The names.
        shapes: The shapes of arguments that a function is tried with; it must return the shape of the second, or of the
            only one.
    """
    if isinstance(given, str) and given in known:
        return
    if isinstance(given, str) or not callable(given):
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, known))}, or a function, got {given!r}")
    try:
        found, kind = _result_of(given, shapes)
    except Exception as error:
        raise InvalidInputError(
            f"{name}={name_of(given)} must be a function of arrays of JAX: {reason_of(error)}"
        ) from error
    wanted = shapes[min(len(shapes), 2) - 1]
    if (found, kind) != (wanted, "float"):
        raise InvalidInputError(
            f"{name}={name_of(given)} must return floats of the shape {wanted} for arguments of the shapes "
            f"{', '.join(map(str, shapes))}, got {kind} of the shape {found}"
        )


@functools.cache
def _result_of(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, str]:
    """The shape of what a function returns, and its kind: "float", or the name of another type."""
    result = jax.eval_shape(function, *(jax.ShapeDtypeStruct(shape, jnp.zeros(0).dtype) for shape in shapes))
    if not isinstance(result, jax.ShapeDtypeStruct):
        return None, type(result).__name__
    return result.shape, "float" if jnp.issubdtype(result.dtype, jnp.floating) else result.dtype.name


@functools.cache
def check_side(side: Elementwise) -> None:
    """Raises InvalidInputError unless a function rises from 0 or more to 1 at most, and is 1/2 at 0.

    >>> check_side(jnp.tanh)
    Traceback (most recent call last):
    jaxtree.errors.InvalidInputError: side=tanh must return shares from 0 to 1, got -1.0 for -8.0
    """
    values = np.linspace(-8, 8, 33)
    shares = _check_shares("side", side, values)
    falls = np.diff(shares) < -ROUNDING
    if falls.any():
        first = int(np.argmax(falls))
        pairs = " and ".join(f"{shares[at]:.6g} for {values[at]}" for at in (first, first + 1))
        raise InvalidInputError(f"side={name_of(side)} must return shares that do not fall, got {pairs}")
    middle = shares[len(shares) // 2]
    if abs(middle - 0.5) > ROUNDING:
        raise InvalidInputError(f"side={name_of(side)} must return 0.5 for 0, got {middle:.6g}")


@functools.cache
def check_choice(choice: Elementwise) -> None:
    """Raises InvalidInputError unless a function returns shares that sum to 1 along the last axis."""
    sums = _check_shares("choice", choice, np.array([[0.0, 0.0, 0.0], [2.0, -1.0, 0.5]])).sum(axis=-1)
    wrong = sums[np.abs(sums - 1) > ROUNDING]
    if wrong.size:
        raise InvalidInputError(
            f"choice={name_of(choice)} must return shares that sum to 1 along the last axis, got the sum {wrong[0]:.6g}"
        )


def _check_shares(name: str, function: Elementwise, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The shares that a function returns for some values, after a check that they are from 0 to 1."""
    with jax.ensure_compile_time_eval():
        shares = np.asarray(function(jnp.asarray(values, jnp.zeros(0).dtype)))
    is_share = (shares >= -ROUNDING) & (shares <= 1 + ROUNDING)
    if not is_share.all():
        first = np.unravel_index(np.argmin(is_share), shares.shape)
        raise InvalidInputError(
            f"{name}={name_of(function)} must return shares from 0 to 1, got {shares[first]:.6} for {values[first]}"
        )
    return shares


def check_schedule(name: str, schedule: Schedule, *, may_be_0: bool) -> None:
    """Raises InvalidInputError unless a schedule has finite numbers above 0, or from 0, at both ends of a training."""
    try:
        jax.eval_shape(schedule, jax.ShapeDtypeStruct((), jnp.zeros(0).dtype))
        ends = [(done, float(schedule(done))) for done in (0.0, 1.0)]
    except Exception as error:
        raise InvalidInputError(
            f"{name}={name_of(schedule)} must be a function in JAX of the share of the training that is done: "
            f"{reason_of(error)}"
        ) from error
    for done, value in ends:
        if not math.isfinite(value) or value < 0 or (value == 0 and not may_be_0):
            least = "numbers of 0 or more" if may_be_0 else "numbers above 0"
            raise InvalidInputError(f"{name}={name_of(schedule)} must return {least}, got {value} at the share {done}")
