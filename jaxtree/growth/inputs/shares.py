"""The objective of classes of which rows have shares, such as the probabilities that another model predicts."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Real

from jaxtree.arrays import AnyArray, concrete_or_none, library_of
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.objective import NO_LABEL, Addition, EntryWeights, Quantised, Units
from jaxtree.growth.inputs.standard_objectives import Classes
from jaxtree.kernels.fixed_point import to_fixed_point
from jaxtree.kernels.mesh import Devices


@dataclasses.dataclass(frozen=True)
class Shares(Classes):
    """Classes of one output, of which every row has shares; scored by an impurity of their weights.

    A target is a share of every class, from 0 to 1; the shares of a row add up to 1. A row adds its weight times its
    shares to the sums of the classes, so that trees are those of rows of one class each with such weights. It is still
    one row for limits that count rows.

    Example:
        >>> from jaxtree.growth import Data, Limits, Rules, Sizes, grow
        >>> codes, shares = np.array([[0, 0, 1, 1]], np.uint8), np.array([[0.75, 1, 0, 0.25], [0.25, 0, 1, 0.75]])
        >>> tree = grow(Data(codes, shares), None, Limits(), Rules(Shares(2)), Sizes(2, 3)).tree
        >>> tree.count.tolist(), tree.num_rows.tolist()
        ([[2.0, 2.0], [1.75, 0.25], [0.25, 1.75]], [4, 2, 2])
    """

    target_type = np.float64
    has_fractions = True

    @property
    def additions(self) -> tuple[Addition, ...]:
        """A row adds its weight times its shares; the first value, its weight, says that it is there."""
        return tuple(Addition(NO_LABEL, number, 1 + number) for number in range(self.num_classes))

    def __post_init__(self) -> None:
        """Checks that there is one output."""
        super().__post_init__()
        if self.num_outputs != 1:
            raise InvalidInputError(f"shares are those of the classes of one output, got {self.num_outputs}")

    def check_target(self, target: Any) -> None:
        """Raises InvalidInputError if targets on the host are no shares."""
        values = concrete_or_none(target)
        if values is not None and values.size and not np.all((values >= 0) & (values <= 1)):
            raise InvalidInputError(f"shares must be from 0 to 1, got {values.min()} to {values.max()}")

    def quantise(self, target: Real[AnyArray, "class entry"], weights: EntryWeights, devices: Devices) -> Quantised:
        """Returns the weight of every row, and the weights of its classes."""
        library = library_of(target)
        one, none = library.float64(1), library.zeros(1, np.float64)
        used = library.where(weights.real > 0, target * weights.real, 0.0)
        value = library.concatenate([weights.whole.astype(np.int64)[None], to_fixed_point(used, weights.unit)])
        label = library.zeros((0, target.shape[1]), np.int32)
        return Quantised(label, value, Units(weights.unit, one, one, none, weights.is_scaled))
