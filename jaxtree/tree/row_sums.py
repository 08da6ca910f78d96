"""The exact sums over rows that a fitted model keeps, so that it can take rows and give them back."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64


class RowSums(NamedTuple):
    """Sums of rows at all nodes, in whole numbers of units.

    Attributes:
        weight: The unit of weights.
        target: The unit of weighted targets.
        moment: The unit of moments.
        center: The number that is subtracted from the targets of every output.
        is_scaled: Whether weights are in fixed point; if not, their unit is 1.
        sums: The weight of every class, the outputs side by side; or weight, targets and moment. None where the
            weights of classes are whole, so that the nodes have them.
    """

    weight: float
    target: float
    moment: float
    center: Float64[np.ndarray, " output"]
    is_scaled: bool
    sums: Int64[np.ndarray, "channel node"] | None
