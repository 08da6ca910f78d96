"""From a table and its target to the rows that soft trees are trained on."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Real, Shaped
from sklearn.model_selection import train_test_split

from jaxtree.errors import InvalidInputError
from jaxtree.soft.courses import Rows, make_rows
from jaxtree.soft.inputs import Inputs


class Sample(NamedTuple):
    """Values of a table with targets and weights.

    Attributes:
        values: Numbers and codes of categories, NaN where one is missing: `Encoder.values`.
        target: Class codes, a row of class shares, or numbers.
        weight: The weight of every row.
    """

    values: Real[np.ndarray, "row value"]
    target: Shaped[np.ndarray, "row *output"]
    weight: Float[np.ndarray, " row"]

    def take(self, rows: Int[np.ndarray, " taken"] | Bool[np.ndarray, " row"]) -> "Sample":
        """Some of the rows."""
        return Sample(*(part[rows] for part in self))

    def with_weight_only(self) -> "Sample":
        """The rows of some weight."""
        return self if self.weight.all() else self.take(self.weight > 0)

    def as_rows(self, inputs: Inputs) -> Rows:
        """The rows as training takes them; weights are 1 in the mean."""
        return make_rows(inputs.transform(self.values), self.target, self.weight / self.weight.mean())


def split_sample(sample: Sample, fraction: float, seed: Any) -> tuple[Sample, Sample]:
    """Holds out a share of the rows, of every class alike where each has two rows.

    Raises:
        InvalidInputError: Nothing is left to train on, or to judge by.
    """
    labels = sample.target if sample.target.ndim == 1 else None
    if labels is not None and np.bincount(labels.astype(np.int64)).min(initial=2) < 2:
        labels = None
    try:
        kept, held = train_test_split(
            np.arange(len(sample.values)), test_size=fraction, random_state=seed, stratify=labels
        )
    except ValueError as error:
        raise InvalidInputError(f"validation_fraction={fraction} of {len(sample.values)} rows: {error}") from None
    return sample.take(np.sort(kept)), sample.take(np.sort(held))
