"""Vectors that stand beside a table, such as targets and weights: what they are read from, and what they may hold."""

from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float64, Shaped

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import is_missing


def read_array(name: str, values: Any) -> Shaped[np.ndarray, "..."]:
    """Returns an array of what NumPy understands; a masked value becomes None.

    Raises InvalidInputError if rows differ in length.

    >>> read_array("y", np.ma.array([1, 2], mask=[False, True]))
    array([1, None], dtype=object)
    """
    if isinstance(values, np.ma.MaskedArray):
        is_masked, values = np.ma.getmaskarray(values), np.ma.getdata(values)
        if not is_masked.any():
            return values
        values = values.astype(object)
        values[is_masked] = None
        return values
    if hasattr(values, "to_pylist"):  # NumPy misreads a dictionary array of pyarrow that has nulls
        values = values.to_pylist()
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must be a vector, or rows of one length: {error}") from error


def finite_numbers(name: str, values: Shaped[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
    """Returns numbers, truth values included, as float64.

    Raises:
        InvalidInputError: If a value is missing, infinite or complex; the message names the first row of those.
        InvalidTypeError: If a value is not a number.

    >>> finite_numbers("y", np.array([True, 2, 0.5], object))
    array([1. , 2. , 0.5])
    """
    numbers = _as_float64(name, values)
    is_finite = np.isfinite(numbers)
    if is_finite.all():
        return numbers
    row = int(is_finite.argmin())
    if np.isnan(numbers[row]):
        raise InvalidInputError(f"Input {name} contains NaN: row {row} has no number")
    raise InvalidInputError(
        f"Input {name} contains infinity or a value too large for dtype('float64'): row {row} has {values[row]}"
    )


def _as_float64(name: str, values: Shaped[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
    """Returns the values as float64: NaN for a missing one, infinity for one that is too large."""
    if values.dtype.kind == "c":
        raise InvalidInputError(f"Complex data not supported: {name} has dtype {values.dtype}")
    if values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            return values.astype(np.float64, copy=False)
    return np.array([_as_float(name, row, value) for row, value in enumerate(values.tolist())], np.float64)


def _as_float(name: str, row: int, value: Any) -> float:
    if is_missing(value):
        return np.nan
    if not isinstance(value, Real | np.bool_):
        raise InvalidTypeError(
            f"{name} must be numbers: row {row} has {value!r}, a {type(value).__name__}; turn it into a float"
        )
    try:
        return float(value)
    except OverflowError:
        return np.inf
