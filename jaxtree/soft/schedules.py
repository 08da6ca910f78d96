"""How temperature and learning rates change while a model is trained.

A schedule is a function of *progress*, the share of all steps that are done, from 0 to 1. It is traced, and so are the
numbers that it is given: many trees with schedules of their own train as one program.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtree.arrays import FloatLike

Annealing: TypeAlias = Callable[[FloatLike, FloatLike, FloatLike], Float[Array, ""]]
"""A function of the first temperature, the last, and the progress."""
Decay: TypeAlias = Callable[[FloatLike], Float[Array, ""]]
"""A function from progress to a factor of the learning rates."""


def geometric(first: FloatLike, last: FloatLike, progress: FloatLike) -> Float[Array, ""]:
    r"""$T_0^{1-s}\, T_1^s$: the temperature falls by the same factor at every step.

    >>> round(float(geometric(1.0, 0.01, 0.5)), 3)
    0.1
    """
    return jnp.asarray(first * (last / first) ** progress)


def linear(first: FloatLike, last: FloatLike, progress: FloatLike) -> Float[Array, ""]:
    r"""$(1-s)\, T_0 + s\, T_1$."""
    return jnp.asarray(first + (last - first) * progress)


def cosine(progress: FloatLike) -> Float[Array, ""]:
    r"""$(1 + \cos \pi s) / 2$ (Loshchilov and Hutter, 2017), down to a hundredth.

    >>> [round(float(cosine(at)), 3) for at in (0.0, 0.5, 1.0)]
    [1.0, 0.505, 0.01]
    """
    return 0.01 + 0.99 * (1 + jnp.cos(math.pi * jnp.asarray(progress))) / 2


def constant(progress: FloatLike) -> Float[Array, ""]:
    """1 all the time."""
    return jnp.ones_like(jnp.asarray(progress, float))
