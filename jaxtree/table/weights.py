"""Weights of rows: each by itself, and each by its class."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import as_array
from jaxtree.table.probabilities import ShareTarget
from jaxtree.table.target import ClassTarget, finite_numbers

_ALL_ZERO = "Sample weights must contain at least one non-zero number."  # scikit-learn's words, as others below


def check_sample_weight(sample_weight: Any, num_rows: int) -> Float64[np.ndarray, " row"] | None:
    """Returns the weight of every row, from a vector or from one number for all rows; None stays None.

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
    weight = as_array("sample_weight", sample_weight)
    if weight.ndim == 0 and isinstance(sample_weight, np.ndarray):  # no number, and no vector either
        shown = weight.astype(np.float64) if weight.dtype.kind in "biuf" else weight
        raise InvalidTypeError(
            f"Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got scalar `{shown!r}` instead. "
            "Pass sample_weight as a number, or as a vector with one for every row"
        )
    if weight.ndim == 0:
        weight = np.full(num_rows, weight)
    if weight.shape != (num_rows,):
        raise InvalidInputError(
            "Sample weights must be 1D array or scalar, with a weight for every row: sample_weight.shape == "
            f"{weight.shape}, expected {(num_rows,)}!"
        )
    weight = finite_numbers("sample_weight", weight)
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise InvalidInputError(f"Negative values in data passed to `sample_weight`: row {row} has {weight[row]}")
    if not weight.any():
        raise InvalidInputError(f"{_ALL_ZERO} sample_weight is zero for every row")
    return weight


def rows_of_weight(sample_weight: Any, y: Any) -> Bool[np.ndarray, " row"] | None:
    """Returns which rows of a target have some weight; None if all have.

    Raises:
        InvalidInputError: The weights are not allowed.
        InvalidTypeError: They are no numbers.

    >>> rows_of_weight([1, 0, 2], ["a", "b", "c"]), rows_of_weight(2, ["a"])
    (array([ True, False,  True]), None)
    """
    if sample_weight is None or y is None:
        return None
    num_rows = y.shape[0] if getattr(y, "shape", ()) else len(y if hasattr(y, "__len__") else np.asarray(y))
    weight = check_sample_weight(sample_weight, num_rows)
    return None if weight is None or weight.all() else weight > 0


def read_weights(function: str, X: Any, given: Mapping[str, Any], *others: str) -> Float64[np.ndarray, " row"] | None:
    """Returns the weight of every row of a table, given to a function as `sample_weight`; None without any.

    Args:
        function: The name of the function.
        X: The table.
        given: The further arguments of the function about rows, by name.
        others: The arguments about rows that it takes beside weights.

    Raises:
        InvalidTypeError: Something else is given.
        InvalidInputError: The weights are not allowed.
    """
    for name in given:
        if name not in ("sample_weight", *others):
            known = " and ".join(("sample_weight", *others))
            raise InvalidTypeError(f"{function} got an unexpected keyword argument {name!r}; of rows it takes {known}")
    if given.get("sample_weight") is None:
        return None
    return check_sample_weight(given["sample_weight"], X.shape[0] if hasattr(X, "shape") else len(X))


def rows_there(X: Any, y: Any, weight: Float64[np.ndarray, " row"] | None) -> tuple[Any, Any, Any]:
    """Returns table, target and weights of the rows of some weight."""
    if weight is None or weight.all():
        return X, y, weight
    rows = np.flatnonzero(weight)
    from jaxtree.sklearn_compat import safe_indexing  # which fits need, and predictions do not

    return safe_indexing(X, rows), None if y is None else safe_indexing(y, rows), weight[rows]


def class_weights(
    class_weight: Any,
    target: ClassTarget,
    counts: Sequence[Int[np.ndarray, " _class"]] | None = None,
    sample_weight: Float64[np.ndarray, " row"] | None = None,
) -> Float64[np.ndarray, " row"] | None:
    r"""Returns the factor by which the class of every row multiplies its weight; None stays None.

    Args:
        class_weight: A dict from class to factor, 1 for classes that it leaves out; for several outputs a list with a
            dict for each, whose factors are multiplied. "balanced": $n / (k\, n_c)$ for a class that $n_c$ of $n$ rows
            have, of $k$ classes that any row has. Rows count with their sample weights, in proportion to the mean.
        target: The classes; a negative code is that of a row without weight.
        counts: The rows of every class, an array an output, if the target has a part of the rows only.
        sample_weight: The weight of every row.

    Raises:
        InvalidInputError: If it is something else, if a dict names a class that the target does not have, if a factor
            is not a finite number of at least 0, or if all rows' factors are zero.

    >>> from jaxtree.table.target import encode_classes
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
        there = slice(None) if sample_weight is None else np.flatnonzero(sample_weight)
        own = None if sample_weight is None else sample_weight[there]
        count = np.bincount(codes[there], own, len(classes)) if counts is None else counts[output]
        is_balanced = isinstance(given, str)
        factor = count.sum() / (len(count) * count) if is_balanced else _listed(given, classes, target.absent[output])
        weight *= factor[codes]
    if counts is None and not weight.any():
        raise InvalidInputError(f"{_ALL_ZERO} class_weight is zero for the classes of all rows")
    return weight


def weighted_shares(
    class_weight: Any, target: ShareTarget, sample_weight: Float64[np.ndarray, " row"] | None = None
) -> tuple[Float64[np.ndarray, "class row"], Float64[np.ndarray, " row"] | None]:
    r"""Returns shares of classes with the factors of these, and by what they multiply the weights of rows.

    A row's weight times its shares is what it was, times the factor of every class. With "balanced" the rows of a class
    are $n_c = \sum_i p_{ic}$ of probabilities $p$.

    Args:
        class_weight: As of `class_weights`.
        target: The shares.
        sample_weight: The weight of every row.

    Raises:
        InvalidInputError: As in `class_weights`.

    >>> from jaxtree.table.probabilities import ShareTarget
    >>> weighted_shares({"b": 3}, ShareTarget(np.array(["a", "b"]), np.array([[0.5], [0.5]])))
    (array([[0.25],
           [0.75]]), array([2.]))
    """
    if class_weight is None:
        return target.shares, None
    (given,) = _by_output(class_weight, 1)
    if isinstance(given, str):
        count = target.shares @ (np.ones(target.num_rows) if sample_weight is None else sample_weight)
        factor = count.sum() / (len(count) * count)
    else:
        factor = _listed(given, target.classes.tolist(), ())
    parts = target.shares * factor[:, None]
    weight = parts.sum(axis=0)
    if not weight.any():
        raise InvalidInputError(f"{_ALL_ZERO} class_weight is zero for the classes of all rows")
    return np.where(weight > 0, parts / np.where(weight > 0, weight, 1), target.shares), weight


def _by_output(class_weight: Any, num_outputs: int) -> Sequence:
    """Returns "balanced", or a dict, for each output."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return ["balanced"] * num_outputs
    of_outputs = [class_weight] if num_outputs == 1 else class_weight
    if not isinstance(of_outputs, list | tuple) or not all(isinstance(given, Mapping) for given in of_outputs):
        allowed = "a dict" if num_outputs == 1 else "a list of dicts, one for each output"
        raise InvalidInputError(f"class_weight must be None, 'balanced' or {allowed}, got {class_weight!r}")
    if len(of_outputs) != num_outputs:
        raise InvalidInputError(
            "For multi-output, number of elements in class_weight should match number of outputs. Got "
            f"{len(of_outputs)} element(s) while having {num_outputs} outputs."
        )
    return of_outputs


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
