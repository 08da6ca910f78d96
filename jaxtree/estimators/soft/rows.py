"""Rows of a fit of soft estimators, and the trainings on them: parts of a fit, which jobs make at other times."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Float64, PRNGKeyArray

from jaxtree.dataset.arguments import read_arguments
from jaxtree.dataset.sample import Sample, generator_of, split_groups, split_rows
from jaxtree.errors import InvalidInputError
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, TrainingRows, make_rows
from jaxtree.soft.inputs import Inputs, SoftSample
from jaxtree.soft.model import SoftTree
from jaxtree.soft.runs import Run, Validation, keys_apart
from jaxtree.soft.scores import ScoredTarget
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.target import encode_classes


class SoftRows(NamedTuple):
    """The rows of a fit, which searches read once for many settings.

    Attributes:
        sample: The rows to train on.
        held: The rows on which epochs are compared; None for none.
        rows: The rows to train on, as training takes them.
        held_rows: The rows of `held`, as training takes them.
    """

    sample: SoftSample
    held: SoftSample | None
    rows: TrainingRows
    held_rows: TrainingRows | None


class SoftTask(NamedTuple):
    """A fit that has begun: what is trained.

    Attributes:
        sample: The rows.
        held: The rows on which epochs are compared; None for none.
        runs: The training of every model.
        config: The settings that their program is compiled for.
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


def training_rows(sample: SoftSample, inputs: Inputs) -> TrainingRows:
    """Returns the rows as training takes them; weights are 1 in the mean."""
    return _rows(inputs.transform(sample.values), sample)


def ordered_rows(
    sample: SoftSample, inputs: Inputs, target: Float64[np.ndarray, "row mean"] | None, seed: Any
) -> TrainingRows:
    """Returns the rows of a fit as training takes them: statistics of categories are those of rows before, at random.

    Args:
        sample: The rows.
        inputs: How rows are made of values.
        target: The columns that statistics are means of; None where there are none.
        seed: The seed of the order of the rows.
    """
    if target is None or not inputs.has_statistics:
        return training_rows(sample, inputs)
    order = generator_of(seed).permutation(len(target))
    return _rows(inputs.transform_ordered(sample.values, target, sample.weight, order), sample)


def _rows(x: Float[np.ndarray, "row column"], sample: SoftSample) -> TrainingRows:
    return make_rows(x, sample.target, sample.weight / sample.weight.mean())


def split_sample(
    sample: SoftSample, num_classes: tuple[int, ...], fraction: float, seed: Any
) -> tuple[SoftSample, SoftSample]:
    """Divides rows at random into those to learn from and a share of so large a fraction to validate with.

    Rows of a group stay together, and classes keep their shares.

    Args:
        sample: The rows.
        num_classes: The number of classes; empty for numbers.
        fraction: The share.
        seed: The seed of the division.

    Raises:
        InvalidInputError: A part would have no row, or no group.
    """
    target, group = sample.target, None
    if isinstance(target, ScoredTarget):
        target, group = target.target, target.extras.get("group")
    if group is not None:
        parts = split_groups(group, fraction, seed)
    elif num_classes and target.ndim == 1:
        parts = split_rows(target[None], num_classes, fraction, seed)
    else:
        parts = split_rows(np.empty((1, len(target))), (), fraction, seed)
    train, held = map(sample.take, parts)
    return train, held


def check_classes(sample: Sample, X: Any, y: Any) -> None:
    """Raises InvalidInputError if rows of some weight have a class that is not among those of the sample's outputs.

    Args:
        sample: The rows.
        X: The table that they were read from.
        y: Its target, as it was given.
    """
    is_there = slice(None) if sample.weight is None else sample.weight > 0
    if not sample.outputs.classes or not (sample.target[:, is_there] < 0).any():
        return
    known = sample.outputs.classes[0].tolist()
    given = y.classes if isinstance(y, ClassProbabilities) else encode_classes(read_arguments(X, y).y).classes[0]
    unknown = [name for name in given.tolist() if name not in known]
    raise InvalidInputError(f"y has the classes {unknown}; known are {known}")
