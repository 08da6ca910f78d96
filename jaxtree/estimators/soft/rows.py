"""Rows of a fit of soft estimators, and the trainings on them: parts of a fit, which jobs make at other times."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Float64, Int, PRNGKeyArray

from jaxtree.dataset.arguments import read_arguments
from jaxtree.dataset.sample import Sample, generator_of, split_groups, split_rows
from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.common.fold_rows import Fold
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, TrainingRows, make_rows
from jaxtree.soft.inputs import Inputs, SoftSample
from jaxtree.soft.model import SoftTree
from jaxtree.soft.runs import Run, Validation, keys_apart
from jaxtree.soft.scores import ScoredTarget, padded_rows
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.target import encode_classes


class SoftPart(NamedTuple):
    """Rows that models of a fit learn from, and others that compare their epochs: with folds there are several parts.

    Attributes:
        rows: The rows to train on, as training takes them.
        held: The rows on which epochs are compared; None for none.
        held_rows: The same as training takes them.
        number: The numbers of these among the rows of the fit; None of rows that are not among them.
    """

    rows: TrainingRows
    held: SoftSample | None = None
    held_rows: TrainingRows | None = None
    number: Int[np.ndarray, " held"] | None = None

    @property
    def x(self) -> Float[np.ndarray, "row column"]:
        """The inputs of the rows to train on, without padding."""
        return np.asarray(self.rows.x)[: int(self.rows.num_rows)]

    def judging(self) -> TrainingRows:
        """Returns the rows that were held out, with the targets that losses are of: labels are not smoothed."""
        rows, held = present(self.held_rows), present(self.held)
        return rows._replace(target=padded_rows(held.target, rows.x.shape[0]))


class SoftRows(NamedTuple):
    """The rows of a fit, which searches read once for many settings.

    Attributes:
        sample: The rows to train on.
        parts: The same and those on which epochs are compared, as training takes them; with folds one a fold.
    """

    sample: SoftSample
    parts: list[SoftPart]


class SoftTask(NamedTuple):
    """A fit that has begun: what is trained.

    Attributes:
        sample: The rows.
        parts: The rows as training takes them: models take turns at them.
        runs: The training of every model.
        config: The settings that their program is compiled for.
        stump: A tree that takes the trained one's place if that is worse; None for none.
    """

    sample: SoftSample
    parts: list[SoftPart]
    runs: list[Run]
    config: TrainingConfig
    stump: SoftTree | None = None


def runs_of(
    models: Any,
    rows: Sequence[tuple[TrainingRows, Validation | None]],
    key: PRNGKeyArray,
    num_epochs: int,
    numbers: Hyperparameters,
) -> list[Run]:
    """Returns the training of every model of a fit; models, or their progress, have an axis of models in front.

    Models take turns at the rows to train on and to compare epochs on.
    """
    models = jax.tree.map(np.asarray, models)
    keys = keys_apart(jax.random.split(key, jax.tree.leaves(models)[0].shape[0]))
    return [
        Run(jax.tree.map(lambda part, i=i: part[i], models), own, run_key, num_epochs, numbers, validation)
        for i, (run_key, (own, validation)) in enumerate(zip(keys, itertools.cycle(rows), strict=False))
    ]


def training_rows(sample: SoftSample, inputs: Inputs) -> TrainingRows:
    """Returns the rows as training takes them; weights are 1 in the mean."""
    return rows_of_inputs(inputs.transform(sample.values), sample)


def ordered_inputs(
    sample: SoftSample, inputs: Inputs, target: Float64[np.ndarray, "row mean"] | None, seed: Any
) -> Float[np.ndarray, "row column"]:
    """Returns the inputs of the rows of a fit: statistics of categories are those of rows before, at random.

    Args:
        sample: The rows.
        inputs: How rows are made of values.
        target: The columns that statistics are means of; None where there are none.
        seed: The seed of the order of the rows.
    """
    if target is None or not inputs.has_statistics:
        return inputs.transform(sample.values)
    order = generator_of(seed).permutation(len(target))
    return inputs.transform_ordered(sample.values, target, sample.weight, order)


def rows_of_inputs(x: Float[np.ndarray, "row column"], sample: SoftSample) -> TrainingRows:
    """Returns the rows of inputs as training takes them; weights are 1 in the mean."""
    return make_rows(x, sample.target, sample.weight / sample.weight.mean())


def parts_of_folds(
    x: Float[np.ndarray, "row column"], sample: SoftSample, trained: SoftSample, folds: Sequence[Fold]
) -> list[SoftPart]:
    """Returns a part for every fold: the rows of the others, and those that it holds out.

    Args:
        x: The inputs of all rows.
        sample: The rows.
        trained: The same, with targets as training takes them.
        folds: The folds.
    """
    parts = []
    for fold in folds:
        is_learned = np.ones(len(x), bool)
        is_learned[fold.held] = is_learned[fold.left_out] = False
        learned, held = (rows_of_inputs(x[rows], trained.take(rows)) for rows in (is_learned, fold.held))
        parts.append(SoftPart(learned, sample.take(fold.held), held, fold.held))
    return parts


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
