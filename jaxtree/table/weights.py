"""Weights of rows: how much each counts in fit, by itself and by its class."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.target import ClassTarget, finite_numbers, read_array

_ALL_ZERO = "Sample weights must contain at least one non-zero number."  # scikit-learn's words, as others below


def check_sample_weight(sample_weight: Any, num_rows: int) -> Float64[np.ndarray, " row"] | None:
    """Returns the weight of every row: what was given, or a number for all rows; None stays None.

    Raises:
        InvalidInputError: If it is not a number or a vector with a weight for every row, or if a weight is missing,
            infinite or negative, or if all are zero.
        InvalidTypeError: If a weight is not a number, or an array has no axis.

    >>> check_sample_weight([1, 0, 2], num_rows=3)
    array([1., 0., 2.])
    >>> check_sample_weight(0.5, num_rows=2)
    array([0.5, 0.5])
    """
    if sample_weight is None:
        return None
    weight = read_array("sample_weight", sample_weight)
    if weight.ndim == 0 and isinstance(sample_weight, np.ndarray):  # no number, and no vector either
        number = np.array(finite_numbers("sample_weight", weight[None])[0])
        raise InvalidTypeError(
            f"Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got scalar `{number!r}` instead. "
            "Pass sample_weight as a number, or as a vector with one for every row"
        )
    if weight.ndim == 0:
        weight = np.full(num_rows, weight)
    if weight.ndim != 1:
        raise InvalidInputError(
            f"Sample weights must be 1D array or scalar, got {weight.ndim}D array. Expected either a scalar value or a "
            f"1D array of length {num_rows}."
        )
    if weight.shape != (num_rows,):
        raise InvalidInputError(f"sample_weight.shape == {weight.shape}, expected {(num_rows,)}!")
    weight = finite_numbers("sample_weight", weight)
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise InvalidInputError(
            f"Negative values in data passed to `sample_weight`: sample_weight must not be negative: row {row} has "
            f"{weight[row]}"
        )
    if not weight.any():
        raise InvalidInputError(f"{_ALL_ZERO} sample_weight is zero for every row")
    return weight


def class_weights(
    class_weight: Any, target: ClassTarget, counts: Sequence[Int[np.ndarray, " _class"]] | None = None
) -> Float64[np.ndarray, " row"] | None:
    r"""Returns the factor by which the class of every row multiplies its weight; None stays None.

    Args:
        class_weight: A dict from class to factor, 1 for classes that it leaves out; for several outputs a list with a
            dict for each, whose factors are multiplied. "balanced": $n / (k\, n_c)$ for a class that $n_c$ of $n$ rows
            have, of $k$ classes that any row has. As in scikit-learn's trees, rows count once here whatever their
            sample weight.
        target: The classes.
        counts: The rows of every class, an array an output, if the target has a part of the rows only.

    Raises:
        InvalidInputError: If it is something else, if a dict names a class that the target does not have, if a factor
            is not a finite number of at least 0, or if all rows' factors are zero.

    >>> from jaxtree.table import encode_classes
    >>> class_weights("balanced", encode_classes(["a", "a", "a", "b"]))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    >>> class_weights({"b": 3}, encode_classes(["a", "b"]))
    array([1., 3.])
    """
    if class_weight is None:
        return None
    weight = np.ones(target.codes.shape[1])
    for output, given in enumerate(_by_output(class_weight, len(target.codes))):
        classes, codes = target.classes[output].tolist(), target.codes[output]
        count = np.bincount(codes) if counts is None else counts[output]
        is_balanced = isinstance(given, str)
        factor = count.sum() / (len(count) * count) if is_balanced else _listed(given, classes, target.absent[output])
        weight *= factor[codes]
    if counts is None and not weight.any():
        raise InvalidInputError(f"{_ALL_ZERO} class_weight is zero for the classes of all rows")
    return weight


def _by_output(class_weight: Any, num_outputs: int) -> Sequence:
    """Returns "balanced", or a dict, for each output."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return ["balanced"] * num_outputs
    if num_outputs == 1:
        if isinstance(class_weight, Mapping):
            return [class_weight]
        raise InvalidInputError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    if not isinstance(class_weight, list | tuple) or not all(isinstance(given, Mapping) for given in class_weight):
        raise InvalidInputError(
            "For multi-output, class_weight should be a list of dicts, or the string 'balanced'. It may also be None, "
            f"got {class_weight!r}"
        )
    if len(class_weight) != num_outputs:
        raise InvalidInputError(
            "For multi-output, number of elements in class_weight should match number of outputs. Got "
            f"{len(class_weight)} element(s) while having {num_outputs} outputs."
        )
    return class_weight


def _listed(given: Mapping, classes: list, absent: tuple) -> Float64[np.ndarray, " class"]:
    unknown = [name for name in given if name not in classes and name not in absent]
    if unknown:
        raise InvalidInputError(
            f"class_weight has weights for {unknown}, which are no classes of the target: these are "
            f"{[*classes, *absent]}"
        )
    for name, factor in given.items():
        is_number = isinstance(factor, int | float | np.number | np.bool_) and not np.iscomplexobj(factor)
        if not (is_number and 0 <= factor < np.inf):
            raise InvalidInputError(f"class_weight of {name!r} must be a finite number of at least 0, got {factor!r}")
    return np.array([given.get(name, 1) for name in classes], np.float64)
