"""Rows of a fit of soft estimators: as training takes them, and divided for validation."""

from typing import Any

import numpy as np

from jaxtree.dataset.splitting import split_groups, split_rows
from jaxtree.soft.epochs import TrainingRows, make_rows
from jaxtree.soft.inputs import Inputs, SoftSample
from jaxtree.soft.scores import ScoredTarget


def training_rows(sample: SoftSample, inputs: Inputs) -> TrainingRows:
    """Returns the rows as training takes them; weights are 1 in the mean."""
    return make_rows(inputs.transform(sample.values), sample.target, sample.weight / sample.weight.mean())


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
