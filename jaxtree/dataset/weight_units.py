"""The unit of weights: by which they are divided before second derivatives are compared with limits and penalties.

`min_child_weight`, `min_hessian`, `reg_lambda` and the like count in rows. Weights have no unit of their own: all of
them times a constant are the same weights. A doubled row is one of twice the weight, though. So where all weights are
whole multiples of the least one, they count rows, and the least weight is one row; else the mean weight is one row.
CatBoost takes the mean in both cases, XGBoost and LightGBM take weights as they are.
"""

import numpy as np
from jaxtyping import Float, Float64

MOST_ROWS = 32
"""The most rows that a mean weight is: were it more, a row of next to no weight would leave nothing of penalties."""

ROUNDING = 1e-9
"""How far multiples may be from whole ones, as a part of them: products with a constant are rounded."""


def unit_of(weight: Float[np.ndarray, " row"]) -> float:
    """Returns the weight that counts as one row; 1 where no weight is above 0.

    Args:
        weight: The weight of every row, 0 or more.

    Example:
        >>> unit_of(np.array([2e-9, 0.0, 6e-9])), unit_of(np.array([1.0, 2.5])), unit_of(np.zeros(3))
        (2e-09, 1.75, 1.0)
    """
    positive = weight[weight > 0].astype(np.float64)
    if not positive.size:
        return 1.0
    least, largest = float(positive.min()), float(positive.max())
    # Sums of the largest numbers would be infinite; shares of them have the same bits in any unit of a power of two.
    mean = largest * float(np.mean(positive / largest)) * (positive.size / weight.size)
    return least if mean <= MOST_ROWS * least and are_multiples(positive, least) else mean


def are_multiples(values: Float64[np.ndarray, " row"], least: float) -> bool:
    """Returns whether all values are whole multiples of the least, but for rounding.

    >>> are_multiples(np.array([0.1, 0.3]), 0.1), are_multiples(np.array([0.1, 0.25]), 0.1)
    (True, False)
    """
    with np.errstate(over="ignore"):
        ratio = values / least
    return bool(np.all(np.abs(ratio - np.rint(ratio)) <= ROUNDING * ratio)) if np.isfinite(ratio).all() else False
