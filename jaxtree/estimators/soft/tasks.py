"""Parts of a fit of a soft model, which searches make at other times: rows that are read, and trainings that begin."""

from typing import NamedTuple

from jaxtree.soft.epochs import TrainingConfig, TrainingRows, make_rows
from jaxtree.soft.inputs import Inputs, SoftSample
from jaxtree.soft.runs import Run


class SoftRows(NamedTuple):
    """What a fit reads of its table, and searches read once for many settings.

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
        runs: The training of every model.
        config: What is compiled for them.
    """

    sample: SoftSample
    runs: list[Run]
    config: TrainingConfig


def training_rows(sample: SoftSample, inputs: Inputs) -> TrainingRows:
    """Returns the rows as training takes them; weights are 1 in the mean."""
    return make_rows(inputs.transform(sample.values), sample.target, sample.weight / sample.weight.mean())
