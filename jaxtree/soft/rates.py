"""Learning rates: those of the parts of a model, and the schedules by which they fall over a training.

A schedule of them is a function of the share of all steps that are done, from 0 to 1, to a factor; it is traced.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from jaxtree.arrays import FloatLike
from jaxtree.soft.functions import Schedule


class LearningRates(NamedTuple):
    """Learning rates of the parts of a model; steps of the optimiser are multiplied by them.

    Attributes:
        gate: The rate of gates.
        leaf: The rate of leaves.
        other: The rate of every parameter with none of these names on its path, such as the weights of a mixture.
    """

    gate: FloatLike = 0.02
    leaf: FloatLike = 0.2
    other: FloatLike = 0.01


def cosine(progress: FloatLike) -> Float[Array, ""]:
    r"""$(1 + \cos \pi s) / 2$ (Loshchilov and Hutter, 2017), down to a hundredth.

    >>> [round(float(cosine(at)), 3) for at in (0.0, 0.5, 1.0)]
    [1.0, 0.505, 0.01]
    """
    return 0.01 + 0.99 * (1 + jnp.cos(math.pi * jnp.asarray(progress))) / 2


def constant(progress: FloatLike) -> Float[Array, ""]:
    """1 all the time."""
    return jnp.ones_like(jnp.asarray(progress, float))


def scheduled(rates: LearningRates, decay: Schedule | LearningRates, done: FloatLike) -> LearningRates:
    """Returns the rates of a step: those given times the factors of one schedule, or of one for each part.

    >>> scheduled(LearningRates(1.0, 2.0, 3.0), lambda done: 1 - done, 0.5)
    LearningRates(gate=0.5, leaf=1.0, other=1.5)
    """
    if isinstance(decay, LearningRates):
        return LearningRates(*(schedule(done) * rate for schedule, rate in zip(decay, rates, strict=True)))
    factor = decay(done)
    return LearningRates(*(factor * rate for rate in rates))


def rates_of_parts(model: PyTree, rates: LearningRates) -> PyTree:
    """The learning rate of every array: that of the first part of its path that names one, 0 of stops, or `other`."""

    def rate_of(path: tuple, _: Any) -> FloatLike:
        names = [getattr(step, "name", getattr(step, "key", None)) for step in path]
        if names[-2:] == ["leaf", "stop"]:
            return 0.0
        return next((getattr(rates, name) for name in names if name in LearningRates._fields), rates.other)

    return jax.tree_util.tree_map_with_path(rate_of, model)
