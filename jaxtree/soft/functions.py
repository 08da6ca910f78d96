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
from jaxtyping import Array, Float

from jaxtree.arrays import FloatLike
from jaxtree.errors import InvalidInputError

Elementwise: TypeAlias = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]
Schedule: TypeAlias = Callable[[FloatLike], FloatLike]


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
        found = _shape_of_result(given, shapes)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInputError(f"{name}={name_of(given)} must be a function of arrays of JAX: {reason}") from error
    wanted = shapes[min(len(shapes), 2) - 1]
    if found != wanted:
        raise InvalidInputError(
            f"{name}={name_of(given)} must return numbers of the shape {wanted} for arguments of the shapes "
            f"{', '.join(map(str, shapes))}, got {found}"
        )


@functools.cache
def _shape_of_result(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> Any:
    """The shape of what a function returns; what it is instead if that is no array of floats."""
    result = jax.eval_shape(function, *(jax.ShapeDtypeStruct(shape, jnp.zeros(0).dtype) for shape in shapes))
    is_numbers = isinstance(result, jax.ShapeDtypeStruct) and jnp.issubdtype(result.dtype, jnp.floating)
    return result.shape if is_numbers else result


def check_schedule(name: str, schedule: Schedule, *, may_be_0: bool) -> None:
    """Raises InvalidInputError unless a schedule has finite numbers above 0, or from 0, at both ends of a training."""
    for done in (0.0, 1.0):
        try:
            value = float(schedule(done))
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise InvalidInputError(
                f"{name}={name_of(schedule)} must be a function of the share of the training that is done: {reason}"
            ) from error
        if not math.isfinite(value) or value < 0 or (value == 0 and not may_be_0):
            least = "numbers of 0 or more" if may_be_0 else "numbers above 0"
            raise InvalidInputError(f"{name}={name_of(schedule)} must return {least}, got {value} at the share {done}")
