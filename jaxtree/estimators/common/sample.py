"""The rows of a fit: as they came, divided, and encoded."""

import warnings
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float64, Int, Real, UInt
from sklearn.model_selection import train_test_split

from jaxtree.errors import IdentifierWarning, InvalidInputError
from jaxtree.estimators.common.conventions import generator_of
from jaxtree.estimators.common.growing import EncodedSample
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import take_rows
from jaxtree.table.target import ClassTarget

FEW_CLASSES = 20
"""Of more classes than these, two rows have one, or else the target looks like an identifier."""

MANY_CLASSES = 100
"""Of more classes than these, ten rows have one."""

Weights: TypeAlias = Float64[np.ndarray, " row"] | None
"""The weight of every row; None is 1."""


class Sample(NamedTuple):
    """A table as it came, its target in codes or numbers, and the weights of its rows.

    Attributes:
        X: The table.
        target: Classes as codes, a negative one for a class that fit has not seen; or numbers.
        num_classes: The number of classes of every output; empty for numbers.
        weight: The weight of every row; None is 1.
    """

    X: Any
    target: Real[np.ndarray, "output row"]
    num_classes: tuple[int, ...]
    weight: Weights

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.target.shape[1]

    def take(self, rows: Int[np.ndarray, " taken"]) -> "Sample":
        """Returns some of the rows.

        Raises InvalidInputError if the table has another number of rows than the target.
        """
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(X=take_rows(self.X, rows, self.num_rows), target=self.target[:, rows], weight=weight)

    def without_weightless_rows(self) -> "Sample":
        """Returns the rows of some weight: categories and bins are to be those of the table without the others, too."""
        return self if self.weight is None or self.weight.all() else self.take(np.flatnonzero(self.weight))

    def split(self, fraction: float, seed: Any) -> tuple["Sample", "Sample"]:
        """Divides the rows at random into those to grow on and a share of so large a fraction to validate with.

        Classes of one output keep their shares, if every class has two rows.

        Raises:
            InvalidInputError: A part would have no row.
        """
        train, held = (self.take(rows) for rows in self.split_rows(fraction, seed))
        return train, held

    def split_rows(self, fraction: float, seed: Any) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " held"]]:
        """Returns the rows of both parts of `split`."""
        num_held = round(fraction * self.num_rows)
        if not 0 < num_held < self.num_rows:
            raise InvalidInputError(
                f"validation_fraction {fraction} of {self.num_rows} rows leaves a part without rows; pass X_val and "
                "y_val, or another fraction"
            )
        strata = None
        if len(self.num_classes) == 1:
            fits_all = min(fraction, 1 - fraction) * self.num_rows >= self.num_classes[0]
            strata = self.target[0] if fits_all and np.all(np.bincount(self.target[0]) != 1) else None
        parts = train_test_split(
            np.arange(self.num_rows), test_size=num_held, random_state=generator_of(seed), stratify=strata
        )
        train, held = map(np.sort, parts)
        return train, held


class Encoded(NamedTuple):
    """A fitted encoder, and the codes of the table that it was fitted on."""

    encoder: Encoder
    codes: UInt[np.ndarray, "feature row"]


class PreparedFit(NamedTuple):
    """The rows of a fit when growth begins.

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


def note_identifiers(target: ClassTarget) -> None:
    """Warns of a target that looks like an identifier, or like numbers: nearly every row has a class of its own."""
    for classes in target.classes:
        rows_of_class = target.num_rows / max(len(classes), 1)
        if (len(classes) > FEW_CLASSES and rows_of_class < 2) or (len(classes) > MANY_CLASSES and rows_of_class < 10):
            warnings.warn(
                f"y has {len(classes)} classes in {target.num_rows} rows, {rows_of_class:.1f} rows a class: it looks "
                "like an identifier, of which nothing can be learned, or like numbers, which a regressor takes",
                IdentifierWarning,
                stacklevel=3,
            )
