"""The target of a classifier, turned into codes."""

from typing import Any

import numpy as np
from jaxtyping import Int32, Shaped
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from jaxtree.errors import InvalidInputError, InvalidTypeError


def encode_target(y: Any) -> tuple[Shaped[np.ndarray, " class"], Int32[np.ndarray, " row"]]:
    """Returns the classes of a target in ascending order, and the position of every row's class among them.

    Raises:
        InvalidInputError: If the target is not a vector (or a single column, with a warning), has missing values, or is
            continuous.
        InvalidTypeError: If it mixes values that cannot be put in order, such as strings and numbers.

    >>> encode_target(["yes", "no", "yes"])
    (array(['no', 'yes'], dtype='<U3'), array([1, 0, 1], dtype=int32))
    """
    if y is None:
        raise InvalidInputError("y should be a 1d array: fit requires y to be passed, but the target y is None")
    y = _without_missing(np.asarray(y))
    try:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InvalidTypeError(f"y must be all strings, all numbers or all booleans: {error}") from error
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    return classes, codes.astype(np.int32)


def _without_missing(y: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Raises InvalidInputError where a class is missing, by the name that scikit-learn gives to the mistake."""
    if y.dtype.kind == "f":
        if np.isnan(y).any():
            raise InvalidInputError("Input y contains NaN: every row needs a class")
        if np.isinf(y).any():
            raise InvalidInputError("Input y contains infinity")
    if y.dtype.kind == "O":
        for value in y.flat:
            if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and np.isnan(value)):
                raise InvalidInputError(
                    f"Input y contains NaN or another missing value ({value}): every row needs a class"
                )
    return y


def check_same_length(num_rows: int, y: Any) -> None:
    """Raises InvalidInputError unless y has as many rows as the table.

    >>> check_same_length(2, ["yes", "no"])
    """
    num_targets = len(y) if hasattr(y, "__len__") else 0
    if num_targets != num_rows:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: [{num_rows}, {num_targets}]"
        )
