"""Settings of a search: on what scale the values of a parameter stand, and mean learning curves over folds."""

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

LARGE_RATIO = 30.0
"""Positive values that differ by this factor stand on a logarithmic axis."""


class Scale(enum.Enum):
    """The axis of a parameter's values."""

    WORDS = "a line for each"
    LINEAR = "numbers at equal distances"
    LOGARITHMIC = "powers of 10"
    WITH_ZERO = "powers of 10, and 0 below them"


def is_number(value: Any) -> bool:
    """Returns whether a value of a parameter stands on an axis of numbers."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_) and np.isfinite(value)


def scale_of(values: Sequence[Any]) -> Scale:
    """Returns the scale on which values of a parameter stand.

    >>> scale_of([0.01, 0.1, 1.0]).name, scale_of([0, 1, 100]).name, scale_of([3, 4, 5]).name, scale_of([1, None]).name
    ('LOGARITHMIC', 'WITH_ZERO', 'LINEAR', 'WORDS')
    """
    if not all(is_number(value) for value in values):
        return Scale.WORDS
    numbers = np.array(values, np.float64)
    above = numbers[numbers > 0]
    if numbers.min() < 0 or not above.size or above.max() < LARGE_RATIO * above.min():
        return Scale.LINEAR
    return Scale.LOGARITHMIC if len(above) == len(numbers) else Scale.WITH_ZERO


def mean_curve(folds: Sequence[Any]) -> Float64[np.ndarray, " round"]:
    """Returns the mean of the folds' losses after every round, as long as all of them go on."""
    length = min(map(len, folds))
    return np.mean([np.asarray(curve[:length], np.float64) for curve in folds], axis=0)
