"""Parts of other libraries' files, which may come from anywhere: nothing in them is executed, and all is checked.

JSON and UBJSON (Universal Binary JSON, draft 12, as XGBoost writes it) become dicts, lists, numbers and strings, or
arrays of numbers. Memory is in proportion to the size of the file.
"""

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Shaped

from jaxtree.errors import ModelFileError
from jaxtree.files.container import shortened
from jaxtree.files.records import require

DEEPEST = 200
"""The levels of nested objects that a file may have."""

LONGEST_FILE = 2**32
"""The bytes of a file that are read."""

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_WORDS: dict[bytes, Any] = {b"Z": None, b"T": True, b"F": False}


def read_bytes(path: str | os.PathLike) -> bytes:
    """Returns the content of a file; raises ModelFileError if it is too long, and OSError if it cannot be read."""
    with open(path, "rb") as opened:
        require(os.fstat(opened.fileno()).st_size <= LONGEST_FILE, "it is longer than 4 GiB")
        return opened.read(LONGEST_FILE)


def parse_object(data: bytes | bytearray | str) -> dict[str, Any]:
    r"""Returns the object of a text of JSON, or of UBJSON.

    >>> parse_object('{"a": [1]}'), parse_object(b"{i\x01a[$i#i\x02\x01\x02}")
    ({'a': [1]}, {'a': array([1, 2], dtype=int8)})
    """
    if not isinstance(data, str):
        data = bytes(data)
        if data[:1] == b"{" and data[1:2] in _NUMBERS:
            return _UniversalBinary(data).parse()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is no JSON ({shortened(error)})") from None
    require(isinstance(value, dict), "it is no object of JSON")
    return value


class _UniversalBinary:
    """A reader of UBJSON."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def parse(self) -> dict[str, Any]:
        """Returns the object at the beginning."""
        return self._value(self._take(1), 0)

    def _take(self, number: int) -> bytes:
        require(0 <= number <= len(self._data) - self._at, "it is cut short")
        self._at += number
        return self._data[self._at - number : self._at]

    def _number(self, kind: bytes) -> int | float:
        require(kind in _NUMBERS, f"it has a number of unknown kind {kind!r}")
        dtype = np.dtype(_NUMBERS[kind])
        return np.frombuffer(self._take(dtype.itemsize), dtype)[0].item()

    def _length(self) -> int:
        length = self._number(self._take(1))
        require(isinstance(length, int) and length >= 0, "it has a length that is none")
        return int(length)

    def _text(self) -> str:
        return self._take(self._length()).decode("utf-8", "replace")

    def _value(self, kind: bytes, depth: int) -> Any:
        require(depth <= DEEPEST, "it is nested too deeply")
        if kind in _NUMBERS:
            return self._number(kind)
        if kind in _WORDS:
            return _WORDS[kind]
        if kind in (b"S", b"H"):
            return self._text()
        if kind == b"C":
            return self._take(1).decode("latin-1")
        if kind == b"{":
            return self._object(depth)
        require(kind == b"[", f"it has a value of unknown kind {kind!r}")
        return self._array(depth)

    def _object(self, depth: int) -> dict[str, Any]:
        made = {}
        while self._data[self._at : self._at + 1] != b"}":
            name = self._text()
            made[name] = self._value(self._take(1), depth + 1)
        self._at += 1
        return made

    def _array(self, depth: int) -> Any:
        mark = self._data[self._at : self._at + 1]
        if mark == b"$":
            kind = self._take(2)[1:]
            require(self._take(1) == b"#" and kind in _NUMBERS, "it has an array of unknown kind")
            dtype, length = np.dtype(_NUMBERS[kind]), self._length()
            return np.frombuffer(self._take(length * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        if mark == b"#":
            self._at += 1
            length = self._length()
            require(length <= len(self._data) - self._at, "it is cut short")
            return [self._value(self._take(1), depth + 1) for _ in range(length)]
        made = []
        while self._data[self._at : self._at + 1] != b"]":
            made.append(self._value(self._take(1), depth + 1))
        self._at += 1
        return made


def part(owner: Any, *names: str) -> Any:
    """Returns a part of nested objects; raises ModelFileError if there is none.

    >>> part({"a": {"b": 3}}, "a", "b")
    3
    """
    for name in names:
        require(isinstance(owner, dict) and name in owner, f"it has no {name!r}")
        owner = owner[name]
    return owner


def text_of(value: Any, name: str) -> str:
    """Returns a string; raises ModelFileError of another value."""
    require(isinstance(value, str), f"{name} must be a string, got {shortened(value)}")
    return value


def object_of(value: Any, name: str) -> dict[str, Any]:
    """Returns an object; raises ModelFileError of another value."""
    require(isinstance(value, dict), f"{name} must be an object, got {shortened(value)}")
    return value


def list_of(value: Any, name: str) -> list[Any]:
    """Returns a list; raises ModelFileError of another value."""
    require(isinstance(value, list | np.ndarray), f"{name} must be a list, got {shortened(value)}")
    return value if isinstance(value, list) else value.tolist()


def whole_number(value: Any, name: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """Returns a whole number, which may be written as a string; raises ModelFileError of another value.

    >>> whole_number("3", "num_class")
    3
    """
    try:
        made = int(value) if isinstance(value, str | int | np.integer) else None
    except ValueError:
        made = None
    if made is None or not least <= made <= most:
        raise ModelFileError(f"{name} must be a whole number from {least} to {most}, got {shortened(value)}")
    return made


def number_of(value: Any, name: str) -> float:
    """Returns a finite number, which may be written as a string; raises ModelFileError of another value."""
    try:
        made = float(value) if isinstance(value, str | int | float | np.number) else np.nan
    except (ValueError, OverflowError):
        made = np.nan
    require(np.isfinite(made), f"{name} must be a finite number, got {shortened(value)}")
    return made


def floats_of(values: Any, name: str, size: int | None = None) -> Float64[np.ndarray, " number"]:
    """Returns numbers of a list in float64; raises ModelFileError if they are none, or not so many."""
    return _numbers(values, name, size).astype(np.float64)


def ints_of(values: Any, name: str, size: int | None = None) -> Int64[np.ndarray, " number"]:
    """Returns whole numbers of a list; raises ModelFileError if they are none, not so many, or of more than 32 bits."""
    numbers = _numbers(values, name, size)
    with np.errstate(invalid="ignore"):
        fits = (np.abs(numbers.astype(np.float64)) < 2**32).all() and (numbers == np.floor(numbers)).all()
    require(fits, f"{name} has a value that is no whole number, or too large")
    return numbers.astype(np.int64)


def _numbers(values: Any, name: str, size: int | None) -> Shaped[np.ndarray, " number"]:
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        array = np.asarray(None)
    is_vector = array.ndim == 1 and (array.dtype.kind in "iufb" or not array.size)
    require(is_vector and isinstance(values, list | tuple | np.ndarray), f"{name} is no list of numbers")
    array = array.astype(np.int8) if array.dtype.kind == "b" else array
    array = array if array.size else np.zeros(0)
    require(size is None or len(array) == size, f"{name} must have {size} numbers, got {len(array)}")
    return array


def names_of(given: Sequence[Any], number: int, default: str) -> tuple[tuple[str, ...], bool]:
    """Returns the names of columns and whether they are names of their own; `default` is that of a nameless one.

    >>> names_of(["Column_0", "Column_1"], 2, "Column_{}"), names_of(["a", "b"], 2, "Column_{}")
    ((('x0', 'x1'), False), (('a', 'b'), True))
    """
    require(len(given) in (0, number), f"it has {len(given)} names of {number} columns")
    are_names = all(isinstance(name, str) for name in given) and len(set(given)) == len(given)
    require(are_names, "its columns have names that are no strings, or twice the same")
    if not given or all(name == default.format(place) for place, name in enumerate(given)):
        return tuple(f"x{place}" for place in range(number)), False
    return tuple(given), True
