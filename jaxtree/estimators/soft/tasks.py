"""Parts of a fit of a soft model, which searches make at other times: rows that are read, and trainings that begin."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, TrainingRows
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.model import SoftTree
from jaxtree.soft.runs import Run, Validation, keys_apart


class SoftRows(NamedTuple):
    """The rows of a fit, which searches read once for many settings.

    Attributes:
        sample: The rows to train on.
        held: Those on which epochs are compared; None for none.
        rows: The rows to train on, as training takes them.
        held_rows: Those of `held`.
    """

    sample: SoftSample
    held: SoftSample | None
    rows: TrainingRows
    held_rows: TrainingRows | None


class SoftTask(NamedTuple):
    """A fit that has begun: what is trained.

    Attributes:
        sample: The rows.
        held: Those on which epochs are compared; None for none.
        runs: The training of every model.
        config: What is compiled for them.
        stump: A tree that takes the trained one's place if that is worse; None for none.
    """

    sample: SoftSample
    held: SoftSample | None
    runs: list[Run]
    config: TrainingConfig
    stump: SoftTree | None = None


def runs_of(
    models: Any,
    rows: TrainingRows,
    key: PRNGKeyArray,
    num_epochs: int,
    numbers: Hyperparameters,
    validation: Validation | None,
) -> list[Run]:
    """Returns the training of every model of a fit; models, or their progress, have an axis of models in front."""
    models = jax.tree.map(np.asarray, models)
    keys = keys_apart(jax.random.split(key, jax.tree.leaves(models)[0].shape[0]))
    return [
        Run(jax.tree.map(lambda part, i=i: part[i], models), rows, own, num_epochs, numbers, validation)
        for i, own in enumerate(keys)
    ]
