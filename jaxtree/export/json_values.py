"""Values of Python in JSON and back, equal and of the same type.

What JSON has stands as it is. Everything else is an object of one member, whose name says what it is: a tuple, a dict,
an array, a number that JSON lacks.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Shaped

from jaxtree.errors import InvalidInputError, ModelFileError

_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MOST_TEXT = 2**26
"""Characters of an array of strings, all of which it keeps as long as the longest."""

_KINDS = "biufUO"
"""NumPy's letters for the kinds of arrays that are written: truth values, numbers, strings, and objects of these."""

Other = Callable[[Any], Any]
"""Writes or reads values that only the caller knows; returns NotImplemented for all others."""


def to_json(value: Any, other: Other = lambda value: NotImplemented) -> Any:
    """Returns a value as JSON has it.

    Args:
        value: None, a truth value, number or string; a list, tuple, dict or array of such. A number of NumPy becomes
            one of Python.
        other: Writes values of other kinds, as an object of one member.

    Raises:
        InvalidInputError: It is, or holds, something else.

    >>> to_json([1, None, (2.5, float("inf"))])
    [1, None, {'tuple': [2.5, {'number': 'inf'}]}]
    >>> from_json({"tuple": [2.5, {"number": "inf"}]})
    (2.5, inf)
    """
    written = other(value)
    if written is not NotImplemented:
        return written
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, list):
        return [to_json(part, other) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(part, other) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[to_json(key, other), to_json(part, other)] for key, part in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS and value.ndim == 1:
        return {"array": [value.dtype.newbyteorder("<").str, to_json(value.tolist(), other)]}
    raise InvalidInputError(f"a model file holds numbers, strings, and lists and vectors of these, got {value!r}")


def from_json(value: Any, other: Other = lambda value: NotImplemented) -> Any:
    """Returns the value that JSON stands for.

    Args:
        value: What `to_json` returned, or anything else that a parser of JSON returns.
        other: Reads objects of other kinds.

    Raises:
        ModelFileError: It stands for nothing.
    """
    if isinstance(value, list):
        return [from_json(part, other) for part in value]
    if not isinstance(value, dict):
        return value
    read = other(value)
    if read is not NotImplemented:
        return read
    match value:
        case {"number": str(name)} if name in _NUMBERS:
            return _NUMBERS[name]
        case {"tuple": list(parts)}:
            return tuple(from_json(part, other) for part in parts)
        case {"dict": list(pairs)} if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            return _as_dict([(from_json(key, other), from_json(part, other)) for key, part in pairs])
        case {"array": [str(dtype), list(parts)]}:
            return _as_array(dtype, [from_json(part, other) for part in parts])
    raise ModelFileError("its header has a value of an unknown kind")


def _as_dict(pairs: list[tuple[Any, Any]]) -> dict:
    try:
        return dict(pairs)
    except TypeError:
        raise ModelFileError("its header has a key that cannot be one") from None


def _as_array(dtype: str, parts: list) -> Shaped[np.ndarray, " value"]:
    """An array of one axis; each kind only of values that it holds as they are."""
    match = re.fullmatch(r"[<|]([biufUO])(\d{0,8})", dtype)
    if match is None:
        raise ModelFileError("its header has an array of an unknown type")
    kind, width = match.groups()
    allowed = {"b": bool, "i": int, "u": int, "f": int | float, "U": str}.get(kind, bool | int | float | str)
    if not all(isinstance(part, allowed) and (kind in "bO" or not isinstance(part, bool)) for part in parts):
        raise ModelFileError("its header has an array whose values are not of its type")
    if kind == "U":
        longest = max(map(len, parts), default=0)
        if longest > int(width or 0) or len(parts) * int(width) > _MOST_TEXT:
            raise ModelFileError("its header has an array of too long strings")
    try:
        return np.array(parts, np.dtype(dtype))
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError("its header has an array whose values are not of its type") from None
