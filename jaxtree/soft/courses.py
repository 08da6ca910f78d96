"""What a training is told: a method that programs are compiled for, numbers that are traced, and rows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Shaped

from jaxtree.arrays import FloatLike
from jaxtree.buckets import row_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.soft.losses import Loss, cross_entropy
from jaxtree.soft.model import apply
from jaxtree.soft.regularisers import Penalties
from jaxtree.soft.schedules import Annealing, Decay, cosine, geometric

Predict = Callable[..., Float[Array, "row output"]]
"""A function of a model, rows and `temperature=`, such as `apply`."""

_ADAM = optax.adam(1.0)


class Rates(NamedTuple):
    """Learning rates of the parts of a model; steps of the optimiser are multiplied by them.

    Attributes:
        gate: Of gates.
        leaf: Of leaves.
        stop: Of stop gates.
        other: Of all that has none of these names on its path, such as the weights of a mixture.
    """

    gate: FloatLike = 0.02
    leaf: FloatLike = 0.2
    stop: FloatLike = 0.02
    other: FloatLike = 0.01


class Course(NamedTuple):
    """The numbers of a training. Arrays of several values in any of them train as many models, see `train_many`.

    Attributes:
        rates: The learning rates.
        first_temperature: The temperature of the gates in the first step.
        last_temperature: That in the last step.
        judging_temperature: That at which checkpoints are judged; None is the last one. Close to 0 it judges the tree
            that decides at every gate.
        noise: The standard deviation of normal noise that is added to the inputs of every step: a penalty on curvature
            (Bishop, *Training with noise is equivalent to Tikhonov regularization*, 1995). None leaves it out.
        averaging: How much of the average of the parameters remains in a step; 0 keeps the last parameters, 0.99 an
            average of about the last hundred steps (Polyak and Juditsky, 1992).
        penalties: What is added to the loss.
    """

    rates: Rates = Rates()
    first_temperature: FloatLike = 1.0
    last_temperature: FloatLike = 0.3
    judging_temperature: FloatLike | None = None
    noise: FloatLike | None = None
    averaging: FloatLike = 0.0
    penalties: Penalties = Penalties()


class Method(NamedTuple):
    """What a program of training is compiled for.

    Attributes:
        loss: The loss of every row, see `jaxtree.soft.losses`.
        judge: The loss that checkpoints are judged by; None is `loss`.
        predict: The model's outputs.
        optimizer: Any optimiser of optax that needs gradients alone. Its learning rate is multiplied by those of the
            course, so that it should be 1.
        batch_size: The most rows of a step; the batches of an epoch are equally large, within a row a batch.
        annealing: How the temperature changes.
        decay: How the learning rates change.
    """

    loss: Loss = cross_entropy
    judge: Loss | None = None
    predict: Predict = apply
    optimizer: optax.GradientTransformation = _ADAM
    batch_size: int = 256
    annealing: Annealing = geometric
    decay: Decay = cosine


class Rows(NamedTuple):
    """Rows to train on, or to judge by, padded with rows of weight 0; see `make_rows`.

    Attributes:
        x: The inputs.
        target: Whatever the loss takes: class codes, or numbers.
        weight: The weight of every row.
        num_rows: How many there are; those after them are padding.
    """

    x: Float[Array, "row feature"]
    target: Shaped[Array, "row *output"]
    weight: Float[Array, " row"]
    num_rows: Int[Array, ""]


def make_rows(x: Any, target: Any, weight: Any = None) -> Rows:
    """Pads rows to a bucket, so that tables of a like size share a program.

    >>> make_rows(np.ones((3, 2)), np.array([0, 1, 1])).x.shape
    (2048, 2)
    """
    x, target = np.asarray(x, np.float32), np.asarray(target)
    weight = np.ones(len(x), np.float32) if weight is None else np.asarray(weight, np.float32)
    if not len(x) == len(target) == len(weight) or not len(x):
        raise InvalidInputError(
            f"rows, targets and weights must be as many, and one at least, got {len(x)}, {len(target)}, {len(weight)}"
        )
    target = target.astype(np.int32 if target.dtype.kind in "iub" else np.float32)
    padding = row_bucket(len(x)) - len(x)
    padded = [np.pad(part, [(0, padding)] + [(0, 0)] * (part.ndim - 1)) for part in (x, target, weight)]
    return Rows(*map(jnp.asarray, padded), num_rows=jnp.int32(len(x)))
