"""Fields: what rows have beside targets and weights, such as offsets, groups and events, that a loss asks for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int32, Shaped

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import is_missing

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
    arrays = {name: _as_rows(name, values, num_rows) for name, values in given.items() if values is not None}
    for name, values in arrays.items():
        if values.shape[:1] != (num_rows,):
            sizes = name == "group" and values.dtype.kind in "iu" and values.sum() == num_rows
            hint = "; sizes of groups become groups of rows by np.repeat(np.arange(len(sizes)), sizes)" if sizes else ""
            raise InvalidInputError(
                f"{name} must have a value for each of {num_rows} rows, got shape {values.shape}{hint}"
            )
        if values.dtype == bool:
            arrays[name] = values.astype(np.int32)
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
