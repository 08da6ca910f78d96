"""Rows of a fit of soft estimators: as training takes them, and divided for validation."""

from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.dataset.splitting import generator_of, split_groups, split_rows
from jaxtree.soft.epochs import TrainingRows, make_rows
from jaxtree.soft.inputs import Inputs, SoftSample
from jaxtree.soft.scores import ScoredTarget


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
        seed: Of the order of the rows.
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
        seed: Of what is drawn.

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
