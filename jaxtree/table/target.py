"""Targets: a class or a number for every row.

A target has one *output*, or several side by side in the columns of a matrix or data frame. Each is encoded by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from jaxtyping import Float64, Int, Int32, Integer, Shaped

from jaxtree.blocks import blocks_of
from jaxtree.errors import InvalidInputError, InvalidTypeError, warn_user
from jaxtree.lazy import DataFrame, Series, issparse, nw
from jaxtree.table.columns import TableColumn, as_array, is_missing
from jaxtree.table.reading import declared_categories, read_words
from jaxtree.table.sources import as_frame

_COLUMN_WARNING = (  # scikit-learn's words
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for "
    "example using ravel()."
)
_MOST_COUNTED = 2**16

NUMBERS = (Real, Decimal, np.bool_)
"""Types of numbers, those of Python's `fractions` among them."""

MOST_CLASSES = 10
"""The most distinct whole numbers of a target that are taken for classes where nobody says what they are."""

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

        warn_user(_COLUMN_WARNING, DataConversionWarning)
    classes, codes, declared, absent = zip(*map(_encode, outputs, _prefixes(len(outputs))), strict=True)
    return ClassTarget(classes, np.array(codes), declared, absent)


def in_classes(target: ClassTarget, classes: tuple[Shaped[np.ndarray, " _class"], ...]) -> ClassTarget:
    """Returns a target in the codes of other classes, which are in ascending order and have all of its own.

    >>> in_classes(encode_classes(["b", "c"]), (np.array(["a", "b", "c"]),)).codes
    array([[1, 2]], dtype=int32)
    """
    parts = zip(classes, target.classes, target.codes, strict=True)
    codes = np.stack([np.searchsorted(names, own)[own_codes] for names, own, own_codes in parts]).astype(np.int32)
    orders = tuple(np.arange(len(names), dtype=np.int32) for names in classes)
    return ClassTarget(classes, codes, orders, ((),) * len(classes))


def has_classes(y: Any) -> bool:
    """Returns whether a target is taken for classes where nobody says what it is.

    Classes are words, truth values, categories, whole numbers of at most `MOST_CLASSES` values, and any two whole
    numbers, also where their type has others.

    >>> [has_classes(y) for y in (["a", "b"], [True, False], [1, 2, 3], [0.0, 1.0, 1.0], [0.5, 1.5, 1.5], range(99))]
    [True, True, True, True, False, False]
    """
    (values, categories), *_ = _read_outputs(y)[0]
    if categories is not None or isinstance(values, TableColumn):
        return True
    known = typed(values)
    if known.dtype.kind not in "iuf":
        return True
    distinct = np.unique(known)
    if known.dtype.kind == "f":
        return len(distinct) <= 2 and bool((distinct == np.floor(distinct)).all())
    return len(distinct) <= MOST_CLASSES


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
    pairs = zip(_prefixes(len(outputs)), outputs, strict=True)
    numbers = [finite_numbers(f"{prefix}y", _numbers_of(values)) for prefix, (values, _) in pairs]
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
    frame = y if type(y) is np.ndarray else _frame_of(y)
    if isinstance(frame, Series | DataFrame) and frame.shape[-1]:
        series = [frame] if isinstance(frame, Series) else list(frame.iter_columns())
        return [_read_series(one) for one in series], len(frame.shape)
    values = as_array("y", y)
    if values.dtype.names is not None:
        raise InvalidTypeError(
            f"y has the fields {', '.join(map(repr, values.dtype.names))}: pass one of them; events and times are for "
            'GradientBoostingRegressor(loss="cox")'
        )
    if values.ndim == 1:
        categories = getattr(getattr(y, "dtype", None), "categories", None)  # of a bare Categorical of pandas
        return [(values, None if categories is None else tuple(categories.tolist()))], 1
    if values.ndim == 2 and values.shape[1]:
        return [(column, None) for column in values.T], 2
    raise InvalidInputError(
        f"y should be a 1d array, or have a column for each output, got an array of shape {values.shape} instead."
    )


def _read_series(series: Series) -> Output:
    """Returns an output; words of polars and Arrow are not made Python's one by one."""
    (_, categories) = declared_categories(series) or (None, None)
    is_of_arrow = series.implementation.is_pyarrow() and series.dtype == nw.Categorical
    if is_of_arrow or (series.dtype == nw.String and not series.implementation.is_pandas()):
        column = read_words("y", series)
        if column.has_categories:
            return column, categories
    return as_array("y", series.to_native()), categories


def _frame_of(y: Any) -> Any:
    if type(y).__module__.startswith("pyarrow") and hasattr(y, "dictionary_encode") and not hasattr(y, "chunks"):
        y = import_module("pyarrow").chunked_array([y])  # an array alone is no series to narwhals
    try:
        return as_frame(y)
    except InvalidInputError:  # of outputs with one name, which do not matter
        return y


def _numbers_of(values: Values) -> Shaped[np.ndarray, " row"]:
    """The values of an output; categories as they are, for the message that refuses them."""
    if not isinstance(values, TableColumn):
        return values
    return np.asarray(values.numbers()) if values.kind == "boolean" else values.items()


def _prefixes(num_outputs: int) -> list[str]:
    """Returns how messages name every output, if there are several."""
    return [""] if num_outputs == 1 else [f"output {position} of " for position in range(num_outputs)]


def _encode(output: Output, prefix: str) -> tuple:
    """The fields of `ClassTarget` for one output."""
    values, categories = output
    try:
        classes, codes = _classes_of(values)
    except TypeError as error:
        raise InvalidTypeError(f"{prefix}y must be all strings, all numbers or all booleans: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{prefix and prefix + 'y: '}{error}") from error
    codes = codes.astype(np.int32, copy=False)
    if categories is None:
        return classes, codes, np.arange(len(classes), dtype=np.int32), ()
    position = {value: position for position, value in enumerate(classes.tolist())}
    declared = np.array([position[category] for category in categories if category in position], np.int32)
    absent = tuple(category for category in categories if category not in position)
    return classes, codes, declared, absent


def _classes_of(y: Values) -> tuple[Shaped[np.ndarray, " class"], Int[np.ndarray, " row"]]:
    """The distinct values in ascending order, and the position of every row's among them."""
    if isinstance(y, TableColumn):
        if y.has_categories:
            return _classes_of_categories(y)
        y = y.items()
    values: Any = y
    if y.dtype.kind not in "iu":
        of_words = _classes_of_words(y) if y.dtype.kind in "OU" else None
        if of_words is not None:
            return of_words
        _refuse_missing(y)
        values = typed(y)
    if values.size and values.dtype.kind in "iu" and values.dtype != np.uint64:
        low, high = int(values.min()), int(values.max())
        if high - low < _MOST_COUNTED:
            return _classes_of_integers(values, low, high)
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    values = column_or_1d(values)
    # One value says what it would of all, without sorting these, and without its warning of many classes.
    fractions = values[values % 1 != 0] if values.dtype.kind == "f" else values
    check_classification_targets(fractions[:1])
    return np.unique(values, return_inverse=True)


def _classes_of_words(
    y: Shaped[np.ndarray, " row"],
) -> tuple[Shaped[np.ndarray, " class"], Int32[np.ndarray, " row"]] | None:
    """The classes of strings, which are looked up row by row and sorted once; None of objects that are no strings.

    To sort a million strings takes seconds, to look them up tenths.
    """
    if y.ndim != 1 or not len(y):
        return None
    number: dict[str, int] = {}
    try:
        codes = np.fromiter((number.setdefault(word, len(number)) for word in y.tolist()), np.int32, len(y))
    except TypeError:  # of values that are no keys
        return None
    if not all(isinstance(word, str) for word in number) or any(map(is_missing, number)):
        return None
    words = sorted(number)
    place = np.empty(len(words), np.int32)
    place[[number[word] for word in words]] = np.arange(len(words))
    return np.array(words, y.dtype), place[codes]


def _classes_of_categories(y: TableColumn) -> tuple[Shaped[np.ndarray, " class"], Int[np.ndarray, " row"]]:
    codes = np.asarray(y.values)
    missing = np.flatnonzero(codes == len(y.categories))
    if len(missing):
        raise InvalidInputError(
            f"Input y contains NaN or another missing value (None): every row needs a class, and row {missing[0]} "
            "has none"
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
    blocks = blocks_of(len(y))
    for block in blocks:
        present[np.subtract(y[block], low, dtype=np.int64)] = True
    code = present.cumsum(dtype=np.int32) - 1
    for block in blocks:
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


def typed(values: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Returns objects without missing values that are all truth values or all numbers as an array of that type.

    Tables leave columns of objects behind where rows with missing values were dropped. Anything else stays as it is,
    and so do integers of more than 64 bits.

    >>> typed(np.array([True, False], object)), typed(np.array([Decimal("1.5"), 2], object))
    (array([ True, False]), array([1.5, 2. ]))
    """
    if values.dtype != object or not values.size:
        return values
    types = set(map(type, values.flat))
    if all(issubclass(one, bool | np.bool_) for one in types):
        return values.astype(bool)
    try:
        if all(issubclass(one, Integral | np.bool_) for one in types):
            return values.astype(np.int64)
        return values.astype(np.float64) if all(issubclass(one, NUMBERS) for one in types) else values
    except OverflowError:
        return values


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
        if not isinstance(value, NUMBERS):
            raise InvalidTypeError(
                f"{name} must be numbers: row {row} has {value!r}, a {type(value).__name__}; turn it into a float"
            )
        try:
            numbers[row] = value
        except OverflowError:
            numbers[row] = np.inf
    return numbers
