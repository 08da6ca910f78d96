"""Checks of the inputs of prunings, and their precision.

A pruning takes a number, or many in an array, and a tree of NumPy's or JAX's arrays. Rules are computed in float64
whatever the user's setting, so that a mask under `jit` equals the host's.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float, Real

from jaxtree.arrays import AnyArray, FloatLike, IntLike, is_traced, library_of
from jaxtree.errors import InvalidInputError
from jaxtree.tree import Tree

Number: TypeAlias = FloatLike | IntLike
"""One number or an array of them."""

SLACK = 1e-9
"""Sums that differ by less than this share of the whole are equal: those of exact arithmetic differ by 1e-15."""

P = ParamSpec("P")
T = TypeVar("T")


def check_numbers(name: str, value: Number, least: float = 0.0, most: float = np.inf) -> Real[AnyArray, "..."]:
    """Returns a parameter as an array; traced ones cannot be checked.

    Raises:
        InvalidInputError: A number lies outside its range, or is none.
    """
    if isinstance(value, Tracer):
        return value
    values = np.asarray(value)
    if values.dtype.kind not in "fiu" or not np.all((values >= least) & (values <= most)):
        allowed = f"of {least:g} or more" if most == np.inf else f"from {least:g} to {most:g}"
        raise InvalidInputError(f"{name} must be a number {allowed}, got {value!r}")
    return value if isinstance(value, jax.Array) else values


def check_whole_number(name: str, value: int) -> None:
    """Raises InvalidInputError if a value is not a whole number of 1 or more."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of 1 or more, got {value!r}")


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raises InvalidInputError if a word is not among those allowed."""
    if value not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_classes(tree: Tree, pruning: str, *, of_one_output: bool = False) -> None:
    """Raises InvalidInputError for a tree of numbers, or of several outputs where one is required."""
    wanted = "a tree of classes of one output" if of_one_output else "a tree of classes"
    outputs = len(tree.num_classes)
    if not outputs or (of_one_output and outputs > 1):
        given = f"{outputs} outputs" if outputs else "numbers"
        raise InvalidInputError(f"{pruning} needs {wanted}, got one of {given}")


def as_float64(values: Real[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    """The values in float64; of a JAX array only inside `in_float64`."""
    return library_of(values).asarray(values, np.float64)


def slack_of(stored: Real[AnyArray, "*shape"], least: float = SLACK) -> float:
    """The share of the whole by which sums of stored numbers may differ and be equal: more if they are in float32."""
    is_float = np.issubdtype(stored.dtype, np.floating)
    return max(least, 8 * float(np.finfo(stored.dtype).eps)) if is_float else least


def in_float64(function: Callable[P, T]) -> Callable[P, T]:
    """Makes a function compute in float64 where its arrays are JAX's; NumPy's are not touched."""

    @functools.wraps(function)
    def in_scope(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return in_scope


def call_in_float64(function: Callable[..., Any], *args: Any, **sizes: Any) -> Any:
    """Calls a function in float64, for a result on the host, unless something is traced."""
    if is_traced(*args):
        return function(*args, **sizes)
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(*args, **sizes))
