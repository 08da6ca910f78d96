"""The arguments of `fit`: a table or a source, whose columns may also be the target, the weights and fields.

*Fields* are what else a loss asks for of rows: offsets, groups and events.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int32, Shaped

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.lazy import issparse
from jaxtree.table.columns import TableColumn, as_array, is_missing
from jaxtree.table.names import column_place
from jaxtree.table.reading import take_rows
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.summary import read_column
from jaxtree.table.target import typed
from jaxtree.table.weights import check_sample_weight, rows_of_weight

_OF_VALIDATION = "_val"
"""The ending of names of what validation rows have."""


class FitArguments(NamedTuple):
    """The arguments of `fit`, with the columns of a source in the place of their names.

    Attributes:
        X: The table; a source without the columns that are no features, one that is not read in parts as a table.
        y: The target.
        sample_weight: The weights.
        fields: The further data of rows, by name.
        beside: The columns of a source that are no features: target, weights and fields.
    """

    X: Any
    y: Any
    sample_weight: Any
    fields: dict[str, Any]
    beside: tuple[str, ...]

    def without_weightless_rows(self) -> "FitArguments":
        """Returns the rows of some weight of a table in memory; of one that is read in parts all.

        Raises:
            InvalidInputError: The weights are not allowed, or X has another number of rows than y.
        """
        is_there = None if is_source(self.X) else rows_of_weight(self.sample_weight, self.y)
        if is_there is None:
            return self
        rows = np.flatnonzero(is_there)
        values = {**self.fields, "sample_weight": check_sample_weight(self.sample_weight, len(is_there))}
        from jaxtree.sklearn_compat import safe_indexing  # which fits need, and predictions do not

        taken = {name: own if own is None else safe_indexing(own, rows) for name, own in values.items()}
        X, weight = take_rows(self.X, rows, len(is_there)), taken.pop("sample_weight")
        return self._replace(X=X, y=safe_indexing(self.y, rows), sample_weight=weight, fields=taken)


def read_arguments(X: Any, y: Any, sample_weight: Any = None, fields: Mapping[str, Any] | None = None) -> FitArguments:
    """Reads target, weights and fields where X is a source and they are names of its columns.

    Args:
        X: A table, or a source.
        y: A target, or the name of a column, or a list of several names; where fields are given also
            times and events in a structured array. A number names a column, see `jaxtree.table.names`.
        sample_weight: Weights, or the name of a column.
        fields: The further data of rows: arrays, or names of columns, by name; None where a model takes none.

    Raises:
        InvalidInputError: If there is no such column, or the source can be read only once.
    """
    given = dict(fields or {})
    if not is_source(X):
        y, given = (y, given) if fields is None else split_structured(y, given)
        return FitArguments(X, y, sample_weight, given, ())
    source = open_source(X, to_fit=True)
    beside: list[str] = []

    def read(given: Any, parameter: str) -> TableColumn:
        names = source.names
        beside.append(given if isinstance(given, str) else names[column_place(given, names, parameter)])
        return read_column(source, beside[-1])

    if _is_name(y):
        y = read(y, "y")
    elif isinstance(y, list | tuple) and y and all(isinstance(name, str) and name in source.names for name in y):
        y = [read(name, "y") for name in y]
    if _is_name(sample_weight):
        sample_weight = values_of(read(sample_weight, "sample_weight"))
    for name, column in given.items():
        if _is_name(column):
            given[name] = values_of(read(column, name))
    y, given = (y, given) if fields is None else split_structured(y, given)
    rows = source.without(beside)
    if source.is_whole:
        rows, y = next(iter(rows)).table, values_of(y)
    return FitArguments(rows, y, sample_weight, given, tuple(beside))


def _is_name(given: Any) -> bool:
    """Whether an argument is the name or the place of a column of a source, where rows have values."""
    return isinstance(given, str | int | np.integer) and not isinstance(given, bool)


def values_of(y: Any) -> Any:
    """Returns the values of a column that was read from a source, or of several; anything else as it is.

    >>> values_of(TableColumn("kind", "categorical", np.array([1, 0, 2], np.int32), True, ("a", "b")))
    array(['b', 'a', None], dtype=object)
    """
    if isinstance(y, TableColumn):
        return y.items()
    if isinstance(y, list) and y and all(isinstance(column, TableColumn) for column in y):
        return np.stack([values_of(column) for column in y], axis=1)
    return y


def plain_target(y: Any) -> Any:
    """Returns a target as scikit-learn's metrics and splitters take it: not as objects where it need not be.

    >>> plain_target(np.array([1.5, 2], object))
    array([1.5, 2. ])
    """
    y = values_of(y)
    if y is None or issparse(y) or getattr(getattr(y, "dtype", None), "kind", "O") != "O":
        return y
    values = as_array("y", y)
    plain = typed(values)
    return y if plain is values else plain  # strings stay in the type that declares their order


def vector_of_column(y: Any) -> Any:
    """Returns the values of a target of one column, of shape (rows, 1), as a vector; any other target as it is.

    >>> vector_of_column([[1.5], [2.0]]), vector_of_column(["no", "yes"])
    (array([1.5, 2. ]), ['no', 'yes'])
    """
    shape = np.shape(y)
    return np.asarray(plain_target(y)).reshape(-1) if len(shape) == 2 and shape[1] == 1 else y


class ValidationRows(NamedTuple):
    """The arguments of validation rows, not read.

    Attributes:
        X: The table.
        y: Its target.
        weight: The weight of every row; None for 1.
        fields: Arrays by name that the loss needs, such as offsets and events; a value a row.
    """

    X: Any
    y: Any
    weight: Any
    fields: dict[str, Any]


def split_validation(
    X_val: Any, y_val: Any, sample_weight_val: Any, extras: Mapping[str, Any]
) -> tuple[ValidationRows | None, dict[str, Any]]:
    """Returns the validation rows, None if there are none, and the extras of the other rows.

    Args:
        X_val: Their table.
        y_val: Their target.
        sample_weight_val: Their weights.
        extras: The extras of all rows; names that end in `_val` are those of validation rows.

    Raises:
        InvalidInputError: One of `X_val` and `y_val` is missing, or both are and something else of them is given.

    Example:
        >>> split_validation([[1.0]], [2.0], None, {"event": [0, 1], "event_val": [1]})
        (ValidationRows(X=[[1.0]], y=[2.0], weight=None, fields={'event': [1]}), {'event': [0, 1]})
    """
    others, fields = dict(extras), {}
    for name in extras:
        if name.endswith(_OF_VALIDATION):
            fields[name.removesuffix(_OF_VALIDATION)] = others.pop(name)
    if (X_val is None) != (y_val is None):
        raise InvalidInputError("X_val and y_val go together, got only one")
    if X_val is not None:
        return ValidationRows(X_val, y_val, sample_weight_val, fields), others
    if fields or sample_weight_val is not None:
        name = "sample_weight_val" if not fields else next(iter(fields)) + _OF_VALIDATION
        raise InvalidInputError(f"{name} is for validation rows: also pass X_val and y_val")
    return None, others


Fields = dict[str, Shaped[np.ndarray, "row *part"]]
"""Arrays by name, rows first."""

EXTRAS = ("offset", "group", "event", "upper")
"""The fields that jaxtree's own losses ask for."""


def split_structured(y: Any, extras: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Returns a target of times and the event of every row, of a structured array with a field for each.

    So scikit-survival has them: one field of truth values, and one of numbers. Any other target stays as it is.

    >>> y = np.array([(True, 2.5), (False, 4.0)], dtype=[("died", bool), ("days", float)])
    >>> time, extras = split_structured(y, {})
    >>> time, extras["event"]
    (array([2.5, 4. ]), array([ True, False]))
    """
    dtype = getattr(y, "dtype", None)
    names = getattr(dtype, "names", None)
    if names is None or dtype is None:
        return y, dict(extras)
    events = [name for name in names if dtype[name].kind == "b"]
    if len(names) != 2 or len(events) != 1 or "event" in extras:
        raise InvalidInputError(
            f"y has the fields {', '.join(map(repr, names))}: pass one as y, or for survival times an array of two "
            "fields, the event (booleans) and the time"
        )
    time = next(name for name in names if name not in events)
    return y[time], {**extras, "event": y[events[0]]}


def read_fields(given: Mapping[str, Any], num_rows: int) -> Fields:
    """Reads fields as arrays; names of groups become whole numbers.

    Raises:
        InvalidInputError: One has another number of rows, or is no array.
    """
    arrays = {}
    for name, column in given.items():
        if column is None:
            continue
        values = _as_rows(name, column, num_rows)
        if values.shape[:1] != (num_rows,):
            sizes = name == "group" and values.dtype.kind in "iu" and values.sum() == num_rows
            hint = "; sizes of groups become groups of rows by np.repeat(np.arange(len(sizes)), sizes)" if sizes else ""
            raise InvalidInputError(
                f"{name} must have a value for each of {num_rows} rows, got shape {values.shape}{hint}"
            )
        arrays[name] = values.astype(np.int32) if values.dtype == bool else values
    if "group" in arrays:
        arrays["group"] = numbers_of_groups("group", arrays["group"])
    return arrays


def numbers_of_groups(name: str, group: Any) -> Int32[np.ndarray, " row"]:
    """Returns groups as whole numbers from 0, in the ascending order of their names.

    Args:
        name: The name of the argument.
        group: The group of every row.

    Raises:
        InvalidInputError: A row has none.
        InvalidTypeError: Names are not of one kind.

    >>> numbers_of_groups("group", ["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    values = np.asarray(group)
    check_groups(name, values)
    try:
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int32)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise InvalidTypeError(f"{name} must be all words or all numbers, got {', '.join(kinds)}") from None


def check_groups(name: str, group: Any) -> None:
    """Raises InvalidInputError if a row has no group: which rows stay together would be unknown."""
    values = np.asarray(group)
    if values.dtype.kind == "O":
        lacks = np.array([is_missing(value) for value in values.ravel().tolist()], bool)
    elif values.dtype.kind in "fmM":
        lacks = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
    else:
        return
    if lacks.any():
        row, number = int(np.argmax(lacks)), int(lacks.sum())
        others = f", as {number - 1} others" if number > 1 else ""
        raise InvalidInputError(
            f"{name} must have a group for every row, and row {row} has {values.ravel()[row]}{others}: leave these "
            "rows out, or give each a group of its own"
        )


def _as_rows(name: str, values: Any, num_rows: int) -> Shaped[np.ndarray, "..."]:
    try:
        return np.asarray(values)
    except ValueError as error:
        what = f"got a {type(values).__name__} whose members differ in shape"
        raise InvalidInputError(f"{name} must have a value for each of {num_rows} rows, {what}") from error
