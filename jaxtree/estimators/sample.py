"""What a fit is made of: the target, the rows before they are encoded and parts of them, and what growth works on."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Real, UInt
from sklearn.model_selection import train_test_split

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.growing import EncodedSample
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import take_rows


class Sample(NamedTuple):
    """A table as it came, its target in codes or numbers, and the weights of its rows.

    Attributes:
        X: The table.
        target: Classes as codes, a negative one for a class that the estimator does not know; or numbers.
        num_classes: The number of classes of every output; empty for numbers.
        weight: The weight of every row; None is 1.
    """

    X: Any
    target: Real[np.ndarray, "output row"]
    num_classes: tuple[int, ...]
    weight: Float64[np.ndarray, " row"] | None

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.target.shape[1]

    def take(self, rows: Int[np.ndarray, " taken"]) -> "Sample":
        """Some of the rows.

        Raises InvalidInputError if the table has another number of rows than the target.
        """
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(X=take_rows(self.X, rows, self.num_rows), target=self.target[:, rows], weight=weight)


class FitTarget(NamedTuple):
    """The target of a fit.

    Attributes:
        values: Classes as codes, or numbers.
        num_classes: The number of classes of every output; empty for numbers.
        factor: By what the class of every row multiplies its weight; None is 1.
    """

    values: Real[np.ndarray, "output row"]
    num_classes: tuple[int, ...]
    factor: Float64[np.ndarray, " row"] | None

    def weigh(self, weight: Float64[np.ndarray, " row"] | None) -> Float64[np.ndarray, " row"] | None:
        """The weights of rows times those of their classes."""
        if self.factor is None:
            return weight
        return self.factor if weight is None else weight * self.factor


class Encoded(NamedTuple):
    """A fitted encoder, and the codes of the table that it was fitted on."""

    encoder: Encoder
    codes: UInt[np.ndarray, "feature row"]


class PreparedFit(NamedTuple):
    """What a fit has made of its arguments when growth begins.

    Attributes:
        sample: The rows of some weight.
        encoded: Those that the tree is grown on.
        validation: Those that it is pruned with, if its pruning asks for any.
        has_weight: Which rows of the table have some weight; None if all have.
    """

    sample: Sample
    encoded: EncodedSample
    validation: Sample | None
    has_weight: Bool[np.ndarray, " row"] | None


def without_weightless_rows(sample: Sample) -> Sample:
    """The sample without rows of weight 0: categories and bins are to be those of the table without them, too."""
    if sample.weight is None or sample.weight.all():
        return sample
    return sample.take(np.flatnonzero(sample.weight))


def split_sample(sample: Sample, fraction: float, seed: Any) -> tuple[Sample, Sample]:
    """Divides a sample at random into a part to grow on and a part to validate with, of so large a share of the rows.

    Classes of one output keep their shares, if every class has two rows.

    Raises:
        InvalidInputError: A part would have no row.
    """
    rows = np.arange(sample.num_rows)
    if not 0 < round(fraction * rows.size) < rows.size:
        raise InvalidInputError(
            f"validation_fraction {fraction} of {rows.size} rows leaves a part without rows; pass X_val and y_val, or "
            "another fraction"
        )
    train, held = train_test_split(
        rows, test_size=round(fraction * rows.size), random_state=seed, stratify=_strata(sample, fraction)
    )
    return sample.take(np.sort(train)), sample.take(np.sort(held))


def _strata(sample: Sample, fraction: float) -> Int[np.ndarray, " row"] | None:
    """The class of every row where both parts can have rows of every class."""
    if len(sample.num_classes) != 1:
        return None
    least_part = min(fraction, 1 - fraction) * sample.num_rows
    has_two: Bool[np.ndarray, " class"] = np.bincount(sample.target[0]) != 1
    return sample.target[0] if has_two.all() and least_part >= sample.num_classes[0] else None
