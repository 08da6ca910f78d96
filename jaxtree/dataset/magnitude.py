"""The units of targets and of weights: sizes whose squares are numbers, and the weight that counts as one row.

Growth squares targets. In float64 the square of 1e155 is infinite and that of 1e-163 is 0, and devices may take numbers
below 2e-308 for 0. A power of two as factor changes no digit of a target, and no split.

`min_child_weight`, `min_hessian`, `reg_lambda` and the like count in rows. Weights have no unit of their own: all of
them times a constant are the same weights. A doubled row is one of twice the weight, though. So where all weights are
whole multiples of the least one, they count rows, and the least weight is one row; else the mean weight is one row.
CatBoost takes the mean in both cases, XGBoost and LightGBM take weights as they are.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Real

from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.tree import Tree
from jaxtree.tree.model import MOST_SUM

MOST_EXPONENT = 400
"""Targets between 2**-400 and 2**400 are left as they are: their squares, times weights, are numbers."""


def exponent_of(target: Float64[np.ndarray, "output row"]) -> int:
    """Returns the exponent of the largest target where it is beyond `MOST_EXPONENT`, else 0."""
    largest = np.max(np.abs(target), initial=0.0)
    exponent = int(np.frexp(largest)[1])
    return exponent if largest and abs(exponent) > MOST_EXPONENT else 0


MOST_TARGET = 2.0**1004
"""The largest target: the sum over a hundred thousand trees is a number, too."""

MOST_WEIGHT_EXPONENT = 30
"""Weights whose largest is between 2**-30 and 2**30 are left as they are: sums of their products are numbers."""


class Magnitude(NamedTuple):
    """The power of two that targets are divided by before growth.

    Attributes:
        exponent: Its exponent; 0 for classes, and for numbers of usual size.
        degree: The power of the targets' unit that a gain is in.
    """

    exponent: int = 0
    degree: int = 0

    @classmethod
    def of(cls, target: Real[np.ndarray, "output row"], objective: Objective) -> "Magnitude":
        """Returns the magnitude of a target."""
        return cls(exponent_of(target), objective.criterion.degree) if isinstance(objective, Numbers) else cls()

    def divide(self, target: Real[np.ndarray, "output row"]) -> Real[np.ndarray, "output row"]:
        """Returns the target divided by the power of two."""
        return np.ldexp(target, -self.exponent) if self.exponent else target

    def scale(self, limits: Limits) -> Limits:
        """Returns limits in units of the targets as limits for the divided targets."""
        if not self.exponent:
            return limits
        with np.errstate(over="ignore", under="ignore"):
            least = np.ldexp(np.asarray(limits.min_impurity_decrease, np.float64), -self.degree * self.exponent)
        return limits._replace(min_impurity_decrease=least)

    def restore(self, tree: Tree) -> Tree:
        """Returns a tree of divided targets in the targets' own unit.

        Impurities and gains that float64 does not hold become infinite, or 0.
        """
        if not self.exponent:
            return tree
        with np.errstate(over="ignore", under="ignore"):
            return dataclasses.replace(
                tree,
                target_sum=np.ldexp(tree.target_sum, self.exponent),
                impurity=np.ldexp(tree.impurity, self.degree * self.exponent),
                gain=np.ldexp(tree.gain, self.degree * self.exponent),
            )


def weight_exponent_of(weight: Float64[np.ndarray, " row"] | None) -> int:
    """Returns the exponent of the largest weight where it is beyond `MOST_WEIGHT_EXPONENT`, else 0."""
    exponent = 0 if weight is None else int(np.frexp(np.max(weight, initial=0.0))[1])
    return exponent if abs(exponent) > MOST_WEIGHT_EXPONENT else 0


def restore_weights(tree: Tree, exponent: int) -> Tree:
    """Returns a tree that was grown with weights divided by a power of two, in the weights' own unit."""
    if not exponent:
        return tree
    fields = ("weight", "count", "target_sum")
    return dataclasses.replace(tree, **{name: np.ldexp(getattr(tree, name), exponent) for name in fields})


def check_sums(target: Float64[np.ndarray, "output row"], weight: Float64[np.ndarray, " row"] | None) -> None:
    """Raises InvalidInputError if a sum of targets, over rows or over trees, may be no number, or too large."""
    total = target.shape[1] if weight is None else float(weight.sum())
    largest = float(np.max(np.abs(target), initial=0.0))
    with np.errstate(over="ignore"):
        is_allowed = largest <= MOST_TARGET and np.float64(largest) * total <= MOST_SUM
    if not is_allowed:
        raise InvalidInputError(
            f"y is too large to be summed: its largest value must be at most {MOST_TARGET:.3g}, got {largest:g}, and "
            f"that times the weight of all rows, {total:g}, at most {MOST_SUM:.3g}; divide y, or sample_weight, by a "
            "constant"
        )


def check_counts(values: Real[np.ndarray, "output row"], total: float, wanted: str = "positive") -> None:
    """Raises InvalidInputError unless all targets are 0 or more and one is positive; `wanted` is scikit-learn's word.

    >>> check_counts(np.array([[0.0, 2.0]]), 2.0)
    """
    if values.min() < 0:
        raise InvalidInputError(
            f"Some value(s) of y are negative which is not allowed for Poisson regression: the least is {values.min()}"
        )
    if total <= 0:
        raise InvalidInputError(f"Sum of y is not {wanted} which is necessary for Poisson regression: all are 0")


def check_gains(tree: Tree, needed_by: str) -> None:
    """Raises InvalidInputError if gains are infinite, by which splits cannot be compared."""
    if not np.isfinite(tree.gain).all():
        raise InvalidInputError(
            f"{needed_by} compares gains of splits, which are infinite for so large values of y: divide y by a constant"
        )


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
