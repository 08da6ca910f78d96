"""Targets, a class or a number for every row, and the weights of rows: each by itself, and each by its class.

A target has one *output*, or several side by side in the columns of a matrix or data frame. Each is encoded by itself.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Float64, Int, Int32, Integer, Shaped
from scipy.sparse import issparse

from jaxtree.blocks import blocks_of
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import TableColumn, as_array, is_missing
from jaxtree.table.reading import declared_categories
from jaxtree.table.sources import as_frame

_COLUMN_WARNING = (  # scikit-learn's words
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for "
    "example using ravel()."
)
_ALL_ZERO = "Sample weights must contain at least one non-zero number."  # scikit-learn's words, as others below
_MOST_COUNTED = 2**16

Values = Shaped[np.ndarray, " row"] | TableColumn
Output = tuple[Values, tuple | None]
"""The values of an output, and the categories that its dtype declares, if any."""


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Classes as codes.

    Attributes:
        classes: The classes that rows have, in ascending order, an array an output.
        codes: The position of every row's class among those of the output.
        declared: The positions in `classes` in the order in which the dtype of the target declares the classes; in
            ascending order if it declares none.
        absent: The declared classes that no row has.
    """

    classes: tuple[Shaped[np.ndarray, " _class"], ...]
    codes: Int32[np.ndarray, "output row"]
    declared: tuple[Int32[np.ndarray, " _class"], ...]
    absent: tuple[tuple, ...]

    @property
    def num_declared(self) -> tuple[int, ...]:
        """The number of declared classes of every output; of all its classes if none are declared."""
        return tuple(len(classes) + len(absent) for classes, absent in zip(self.classes, self.absent, strict=True))

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]


@dataclass(frozen=True, eq=False)
class NumberTarget:
    """Numbers, all of them finite.

    Attributes:
        values: The numbers of every output.
        is_vector: Whether the target is a vector or a single column, so that predictions are a vector too.
    """

    values: Float64[np.ndarray, "output row"]
    is_vector: bool

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.values.shape[1]


def encode_classes(y: Any) -> ClassTarget:
    """Returns the classes of a target in ascending order, and the position of every row's class among them.

    Args:
        y: A vector, or a matrix or data frame with a column for each of several outputs. A categorical dtype of pandas
            or pyarrow, and an Enum of polars, declare classes. A single column is read with scikit-learn's warning.

    Raises:
        InvalidInputError: If the target has another shape, has missing values, or is continuous.
        InvalidTypeError: If it mixes values that cannot be put in order, such as strings and numbers, or is sparse.

    >>> target = encode_classes(["yes", "no", "yes"])
    >>> target.classes, target.codes
    ((array(['no', 'yes'], dtype='<U3'),), array([[1, 0, 1]], dtype=int32))
    >>> target = encode_classes([["yes", "high"], ["no", "low"]])
    >>> [classes.tolist() for classes in target.classes], target.codes
    ([['no', 'yes'], ['high', 'low']], array([[1, 0], [0, 1]], dtype=int32))
    """
    outputs, num_axes = _read_outputs(y)
    if len(outputs) == 1 and num_axes == 2:
        from sklearn.exceptions import DataConversionWarning  # loads all of scikit-learn

        warnings.warn(_COLUMN_WARNING, DataConversionWarning, stacklevel=2)
    encoded = [_encode(*output, _prefix(position, outputs)) for position, output in enumerate(outputs)]
    classes, codes, declared, absent = zip(*encoded, strict=True)
    return ClassTarget(classes, np.stack(codes), declared, absent)


def encode_numbers(y: Any) -> NumberTarget:
    """Returns the numbers of a target; truth values are 0 and 1.

    Args:
        y: A vector, or a matrix or data frame with a column for each of several outputs.

    Raises:
        InvalidInputError: If the target has another shape, or if a value is missing or infinite.
        InvalidTypeError: If a value is not a number, or the target is sparse.

    >>> encode_numbers([1, 2.5])
    NumberTarget(values=array([[1. , 2.5]]), is_vector=True)
    """
    outputs, _ = _read_outputs(y)
    names = (f"{_prefix(position, outputs)}y" for position in range(len(outputs)))
    numbers = [finite_numbers(name, _numbers_of(values)) for name, (values, _) in zip(names, outputs, strict=True)]
    return NumberTarget(np.stack(numbers), len(numbers) == 1)


def _read_outputs(y: Any) -> tuple[Sequence[Output], int]:
    """Returns the outputs of a target, and its number of axes, 1 or 2."""
    if y is None:
        raise InvalidInputError("y should be a 1d array: fit requires y to be passed, but the target y is None")
    if issparse(y):
        raise InvalidTypeError(
            "y is a sparse matrix, and a sparse multilabel-indicator for y is not supported: pass y.toarray()"
        )
    columns = [y] if isinstance(y, TableColumn) else y
    if isinstance(columns, list) and columns and all(isinstance(column, TableColumn) for column in columns):
        outputs = [(column, column.categories if column.is_declared else None) for column in columns]
        return outputs, 2 if columns is y else 1
    frame = _frame_of(y)
    if isinstance(frame, nw.Series | nw.DataFrame) and frame.shape[-1]:
        series = [frame] if isinstance(frame, nw.Series) else list(frame.iter_columns())
        outputs = [(as_array("y", one.to_native()), (declared_categories(one) or (None, None))[1]) for one in series]
        return outputs, len(frame.shape)
    values = as_array("y", y)
    if values.ndim == 1:
        categories = getattr(getattr(y, "dtype", None), "categories", None)  # of a bare Categorical of pandas
        return [(values, None if categories is None else tuple(categories.tolist()))], 1
    if values.ndim == 2 and values.shape[1]:
        return [(column, None) for column in values.T], 2
    raise InvalidInputError(
        f"y should be a 1d array, or have a column for each output, got an array of shape {values.shape} instead."
    )


def _frame_of(y: Any) -> Any:
    try:
        return as_frame(y)
    except InvalidInputError:  # of outputs with one name, which do not matter
        return y


def _numbers_of(values: Values) -> Shaped[np.ndarray, " row"]:
    """The values of an output; categories as they are, for the message that refuses them."""
    if not isinstance(values, TableColumn):
        return values
    return np.asarray(values.numbers()) if values.kind == "boolean" else values.items()


def _prefix(position: int, outputs: Sequence[Output]) -> str:
    """Returns how a message names an output, if there are several."""
    return f"output {position} of " if len(outputs) > 1 else ""


def _encode(values: Values, categories: tuple | None, prefix: str) -> tuple:
    """The fields of `ClassTarget` for one output."""
    try:
        classes, codes = _classes_of(values)
    except TypeError as error:
        raise InvalidTypeError(f"{prefix}y must be all strings, all numbers or all booleans: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{prefix and prefix + 'y: '}{error}") from error
    position = {value: position for position, value in enumerate(classes.tolist())}
    categories = tuple(position) if categories is None else categories
    declared = np.array([position[category] for category in categories if category in position], np.int32)
    absent = tuple(category for category in categories if category not in position)
    return classes, codes.astype(np.int32, copy=False), declared, absent


def _classes_of(y: Values) -> tuple[Shaped[np.ndarray, " class"], Int[np.ndarray, " row"]]:
    """The distinct values in ascending order, and the position of every row's among them."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if isinstance(y, TableColumn):
        if y.has_categories:
            return _classes_of_categories(y)
        y = y.items()
    _refuse_missing(y)
    values: Any = column_or_1d(y)
    if values.size and values.dtype.kind in "iu" and values.dtype != np.uint64:
        low, high = int(values.min()), int(values.max())
        if high - low < _MOST_COUNTED:
            return _classes_of_integers(values, low, high)
    check_classification_targets(values)
    return np.unique(values, return_inverse=True)


def _classes_of_categories(y: TableColumn) -> tuple[Shaped[np.ndarray, " class"], Int[np.ndarray, " row"]]:
    codes = np.asarray(y.values)
    missing = np.flatnonzero(codes == len(y.categories))
    if len(missing):
        raise InvalidInputError(
            f"Input y contains NaN or another missing value in row {missing[0]}: every row needs a class"
        )
    present = np.flatnonzero(np.bincount(codes, minlength=len(y.categories)))
    classes, position = np.unique([y.categories[category] for category in present], return_inverse=True)
    class_of_category = np.zeros(len(y.categories), np.int32)
    class_of_category[present] = position
    return classes, class_of_category[codes]


def _classes_of_integers(
    y: Integer[np.ndarray, " row"], low: int, high: int
) -> tuple[Integer[np.ndarray, " class"], Int32[np.ndarray, " row"]]:
    """Counts integers that lie close together, which is faster than to sort them, and takes less memory."""
    present, codes = np.zeros(high - low + 1, bool), np.empty(len(y), np.int32)
    for block in blocks_of(len(y)):
        present[np.subtract(y[block], low, dtype=np.int64)] = True
    code = (np.cumsum(present) - 1).astype(np.int32)
    for block in blocks_of(len(y)):
        codes[block] = code[np.subtract(y[block], low, dtype=np.int64)]
    return (np.flatnonzero(present) + low).astype(y.dtype), codes


def _refuse_missing(y: Shaped[np.ndarray, " row"]) -> None:
    """Raises InvalidInputError where a class is missing, by the name that scikit-learn gives to the mistake."""
    if y.dtype.kind in "fmM":
        if np.isnan(y).any():
            raise InvalidInputError("Input y contains NaN: every row needs a class")
        if np.isinf(y).any():
            raise InvalidInputError("Input y contains infinity")
    missing = [value for value in y.flat if is_missing(value)] if y.dtype.kind == "O" else []
    if missing:
        raise InvalidInputError(
            f"Input y contains NaN or another missing value ({missing[0]}): every row needs a class"
        )


def finite_numbers(name: str, values: Shaped[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
    """Returns numbers, truth values included, as float64.

    Raises InvalidInputError if a value is missing, infinite or complex, and InvalidTypeError if it is not a number; the
    message names the first row of those.
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
    """The values as float64: NaN for a missing one, infinity for one that is too large."""
    if values.dtype.kind == "c":
        raise InvalidInputError(f"Complex data not supported: {name} has dtype {values.dtype}")
    if values.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            return values.astype(np.float64, copy=False)
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values.tolist()):
        if is_missing(value):
            continue
        if not isinstance(value, Real | np.bool_):
            raise InvalidTypeError(
                f"{name} must be numbers: row {row} has {value!r}, a {type(value).__name__}; turn it into a float"
            )
        try:
            numbers[row] = value
        except OverflowError:
            numbers[row] = np.inf
    return numbers


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
