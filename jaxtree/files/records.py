"""Records as JSON and arrays, and back; their annotations define how they are written, and what is checked in reading.

A *record* is a dataclass or NamedTuple. Its fields are annotated as records, arrays of jaxtyping, scalars, Literals,
tuples, lists and dicts of one of these, unions, or `Any`, which may be all that parameters of estimators are. A record
is written as an object of its fields, in a union below its name. An array of numbers is written as its shape; its
numbers follow those of the same field of earlier records, in one array of the file. Other values stand as JSON has
them, or are an object of one member, whose name is their kind: a tuple, a dict, a vector of any dtype, a number that
JSON lacks, a pruning, a criterion of `jaxtree.criteria`, or a loss of boosting.

In reading, every value must be of its type; arrays must have the dtype and the axes of their annotation, and axes of
one name in one record the same length. `check` then checks what annotations cannot express.
"""

import dataclasses
import functools
import importlib
import math
import re
from collections import defaultdict
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from jaxtyping import AbstractArray, Shaped

from jaxtree.criteria import CRITERIA
from jaxtree.errors import InvalidInputError, JaxtreeError, ModelFileError
from jaxtree.files.container import Arrays, ModelFile, shortened
from jaxtree.lazy import Array

_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PADDING_OF_STRINGS, _SMALL_TEXT = 16, 2**16
"""An array of strings may have 16 times the characters of its strings, and 65,536 more."""

_KINDS = "biufUO"
"""NumPy's letters for the kinds of arrays that are written: truth values, numbers, strings, and objects of these."""
_Anything: Any = Shaped[np.ndarray, "..."]
_MOST = 2**31
"""The length that no axis reaches."""


@functools.singledispatch
def check(record: Any) -> None:
    """Raises ModelFileError if a record from a file is none of its type; each type registers a check of its own."""


def require(holds: Any, message: str) -> None:
    """Raises ModelFileError with a message unless something holds."""
    if not holds:
        raise ModelFileError(message)


def require_finite(record: Any, *names: str) -> None:
    """Raises ModelFileError unless all numbers in some fields of a record are finite."""
    for name in names:
        require(np.isfinite(getattr(record, name)).all(), f"{name} has a value that is not finite")


def write_record(record: Any, kind: Any) -> ModelFile:
    """Returns a record as JSON and arrays.

    Args:
        record: The record.
        kind: Its class.

    Raises:
        InvalidInputError: A field annotated as `Any` holds what files do not keep.

    >>> from jaxtree.soft.scales import Quantile
    >>> header, arrays = write_record(Quantile(np.array([1.0, 2.0]), np.array([0.25, 0.75])), Quantile)
    >>> header, arrays["value"]
    ({'value': [2], 'share': [2]}, array([1., 2.]))
    >>> read_record(ModelFile(header, arrays), Quantile)
    Quantile(value=array([1., 2.]), share=array([0.25, 0.75]))
    """
    parts: dict[str, list] = defaultdict(list)
    header = _write(record, kind, "", parts)
    return ModelFile(header, {name: np.concatenate(arrays) for name, arrays in parts.items()})


def read_record(content: ModelFile, kind: Any) -> Any:
    """Returns the record of a class that JSON and arrays of unknown origin stand for.

    Raises:
        ModelFileError: They stand for none.
    """
    reader = _Reader(content.arrays)
    for name, array in content.arrays.items():
        require(array.ndim == 1, f"array {shortened(name)} has more than one axis")
    record = reader.read(content.header, kind, "")
    for name, array in content.arrays.items():
        require(reader.position[name] == array.size, f"array {shortened(name)} has more numbers than are described")
    return record


def _write(value: Any, kind: Any, name: str, parts: dict[str, list]) -> Any:
    alternatives = _alternatives(kind)
    if isinstance(value, np.ndarray | Array) and any(map(_is_array, alternatives)):
        array = np.asarray(value)
        parts[name].append(array.ravel())
        return list(array.shape)
    if record := next((one for one in alternatives if _is_record(one) and isinstance(value, one)), None):
        fields = {
            field: _write(getattr(value, field), hint, _joined(name, field), parts)
            for field, hint in _hints(record).items()
        }
        return fields if len(alternatives) == 1 else {record.__name__: fields}
    match get_origin(kind), get_args(kind):
        case (one, (part, *_)) if one in (tuple, list):
            return [_write(item, part, name, parts) for item in value]
        case (one, (_, part)) if one is dict:
            return {key: _write(item, part, _joined(name, key), parts) for key, item in dict(value).items()}
    return to_json(value)


class _Reader:
    """Reads records, and counts how many numbers of every array are read."""

    def __init__(self, arrays: Arrays):
        self.arrays = arrays
        self.position: dict[str, int] = defaultdict(int)
        self._axes: dict[str, Any] = {}

    def read(self, given: Any, kind: Any, name: str) -> Any:
        """Returns the value that JSON stands for by an annotation."""
        alternatives = _alternatives(kind)
        records = {one.__name__: one for one in alternatives if _is_record(one)}
        if len(alternatives) == 1 and records:
            return self._read_record(given, kind, name)
        if isinstance(given, dict) and len(given) == 1 and set(given) <= set(records):
            (tag, fields), *_ = given.items()
            return self._read_record(fields, records[tag], name)
        arrays = [one for one in alternatives if _is_array(one)]
        if arrays and isinstance(given, list):
            return self._read_array(given, arrays[0], name)
        match get_origin(kind), get_args(kind):
            case (one, (part, *rest)) if one in (tuple, list):
                length = len(rest) + 1 if rest and rest[0] is not ... else None
                require(isinstance(given, list) and length in (None, len(given)), f"{name} is none of its type")
                return one(self.read(item, part, name) for item in given)
            case (one, (_, part)) if one is dict:
                require(isinstance(given, dict), f"{name} is none of its type")
                return {key: self.read(item, part, _joined(name, key)) for key, item in given.items()}
        value = from_json(given)
        is_of_type = any(_fits(value, one) for one in alternatives)
        require(is_of_type, f"{name} must be {_named(kind)}, got {shortened(repr(given))}")
        return value

    def _read_record(self, given: Any, kind: Any, name: str) -> Any:
        hints = _hints(kind)
        has_parts = isinstance(given, dict) and set(given) <= set(hints) <= set(given) | _may_lack(kind)
        require(has_parts, f"{name} does not have the parts of {kind.__name__}")
        outer, self._axes = self._axes, {}
        fields = {
            field: self.read(given[field], hints[field], _joined(name, field)) for field in hints if field in given
        }
        self._axes = outer
        record = kind(**fields)
        check(record)
        return record

    def _read_array(self, shape: list, kind: Any, name: str) -> Shaped[np.ndarray, "..."]:
        require(all(type(length) is int and 0 <= length < _MOST for length in shape), f"{name} has an impossible shape")
        start = self.position[name]
        end = self.position[name] = start + math.prod(shape)
        numbers = self.arrays.get(name, np.zeros(0))
        try:
            array = numbers[start:end].reshape(shape).copy()
        except ValueError:
            raise ModelFileError(f"array {name} has fewer numbers than are described, or an impossible shape") from None
        fits = isinstance(array, kind) and self._have_axes_of_record(kind, array.shape)
        require(fits, f"{name} must be {_named(kind)}, got {array.dtype} of shape {array.shape}")
        return array

    def _have_axes_of_record(self, kind: Any, shape: tuple[int, ...]) -> bool:
        """Whether axes of an array are as long as those of the same name in the arrays of the record before it.

        The context of jaxtyping in which names are kept would load JAX.
        """
        names: list[str] = getattr(kind, "dim_str", "...").split()
        lengths: list[Any] = [*shape]
        several = next((place for place, axis in enumerate(names) if axis.startswith(("*", "..."))), None)
        if several is not None:
            end = several + len(lengths) - len(names) + 1
            lengths[several:end] = [tuple(lengths[several:end])]
        named = [(axis, length) for axis, length in zip(names, lengths, strict=True) if axis.lstrip("*").isidentifier()]
        return all(self._axes.setdefault(axis, length) == length for axis, length in named)


def _alternatives(kind: Any) -> tuple:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))


def _is_array(kind: Any) -> bool:
    if kind is np.ndarray:
        return True
    is_typed = isinstance(kind, type) and issubclass(kind, AbstractArray)
    return is_typed and kind.array_type is np.ndarray and kind.dtypes is not _Anything.dtypes


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The annotations of the fields that a record is made of."""
    is_tuple, hints = not dataclasses.is_dataclass(kind), get_type_hints(kind)
    names = kind._fields if is_tuple else [field.name for field in dataclasses.fields(kind) if field.init]
    return {name: hints[name] for name in names}


def _may_lack(kind: type) -> set[str]:
    """The fields that older files do not have: those of a dataclass that are None if not given."""
    if not dataclasses.is_dataclass(kind):
        return set()
    return {field.name for field in dataclasses.fields(kind) if field.kw_only and field.default is None}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value that is no record is of a type."""
    if get_origin(kind) is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, AbstractArray):
        return isinstance(value, kind)
    return kind is Any or type(value) is kind or (value is None and kind in (None, NoneType))


def _named(kind: Any) -> str:
    """An annotation in words."""
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if len(_alternatives(kind)) > 1:
        return " or ".join(map(_named, _alternatives(kind)))
    return "None" if kind is NoneType else getattr(kind, "__name__", str(kind))


def _joined(name: str, field: str) -> str:
    return f"{name}.{field}" if name else field


def to_json(value: Any) -> Any:
    """Returns a value as JSON has it.

    Args:
        value: None, a truth value, number or string; a list, tuple, set, dict or vector of such; a pruning, a criterion
            or a loss of boosting. A number of NumPy or JAX becomes one of Python.

    Raises:
        InvalidInputError: It is, or holds, something else.

    >>> to_json([1, None, (2.5, float("inf"))])
    [1, None, {'tuple': [2.5, {'number': 'inf'}]}]
    >>> from_json({"tuple": [2.5, {"number": "inf"}]})
    (2.5, inf)
    """
    is_scalar = isinstance(value, np.generic | np.ndarray | Array) and not value.ndim
    plain: Any = value.item() if is_scalar else value
    match plain:
        case None | bool() | int() | str():
            return plain
        case float():
            return plain if math.isfinite(plain) else {"number": str(plain)}
        case list():
            return [to_json(part) for part in plain]
        case tuple():
            return {"tuple": [to_json(part) for part in plain]}
        case set() | frozenset():
            return {"set": [to_json(part) for part in sorted(plain, key=repr)]}
        case dict():
            return {"dict": [[to_json(key), to_json(part)] for key, part in plain.items()]}
        case np.ndarray() if plain.dtype.kind in _KINDS and plain.ndim == 1:
            return {"array": [plain.dtype.newbyteorder("<").str, to_json(plain.tolist())]}
        case np.random.RandomState() | np.random.Generator():
            raise InvalidInputError("it is a random generator: set it to None or a seed")
    if is_pruning(value):
        kind: Any = type(value)
        fields = {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(kind)}
        return {"pruning": [kind.__name__, fields]}
    for name, criterion in CRITERIA.items():
        if value is criterion:
            return {"criterion": name}
    if any(kind.__name__ == "BaseLoss" for kind in type(value).__mro__):
        made_by = _losses().maker_of(value)
        if made_by is None:
            return {"loss of the user": list(_losses().describe_absent_loss(value))}
        return {"loss": [made_by[0], {name: to_json(part) for name, part in made_by[1].items()}]}
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        raise InvalidInputError(
            f"{name} is a function of the user's own, and model files hold no code; joblib.dump keeps functions that "
            "other programs can import"
        )
    raise InvalidInputError(f"a model file holds numbers, strings, and lists and vectors of these, got {value!r}")


def from_json(value: Any) -> Any:
    """Returns the value that JSON stands for.

    Args:
        value: A value from `to_json`, or anything else from a parser of JSON.

    Raises:
        ModelFileError: It stands for nothing.
    """
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    try:
        match value:
            case {"number": str(name)}:
                return _NUMBERS[name]
            case {"tuple": list(parts)}:
                return tuple(map(from_json, parts))
            case {"set": list(parts)}:
                return set(map(from_json, parts))
            case {"dict": list(pairs)}:
                return {from_json(key): from_json(part) for key, part in pairs}
            case {"array": [str(dtype), list(parts)]}:
                return _as_vector(dtype, from_json(parts))
            case {"pruning": [str(name), dict(fields)]}:
                return _prunings()[name](**{key: from_json(part) for key, part in fields.items()})
            case {"criterion": str(name)}:
                return CRITERIA[name]
            case {"loss": [str(name), dict(fields)]}:
                return _losses().make_shipped_loss(name, {key: from_json(part) for key, part in fields.items()})
            case {"loss of the user": [name, num_scores, link]}:
                return _losses().make_absent_loss(name, num_scores, link)
    except JaxtreeError:
        raise
    except (TypeError, ValueError, LookupError, OverflowError):
        raise ModelFileError(f"its header has a {next(iter(value))} that is none") from None
    raise ModelFileError("its header has a value of an unknown kind")


def _as_vector(dtype: str, parts: list) -> Shaped[np.ndarray, " value"]:
    """An array of one axis, which holds its values as they are."""
    width = re.fullmatch(rf"[<|][{_KINDS}](\d{{0,8}})", dtype)
    if width is None or not all(part is None or isinstance(part, bool | int | float | str) for part in parts):
        raise ModelFileError("its header has an array of an unknown type")
    if "U" in dtype:
        dtype = _type_of_strings(parts, declared=int(width[1] or 0))
    array = np.array(parts, dtype)
    if repr(array.tolist()) != repr(parts):
        raise ModelFileError("its header has an array whose values are not of its type")
    return array


def _type_of_strings(parts: list, *, declared: int) -> str:
    """The type of an array of strings, all of which such an array keeps as long as the longest may be.

    It is the declared one, a narrower one if that would take much more memory than the strings do, or, of one long
    string among many short ones, that of objects.
    """
    lengths = [len(str(part)) for part in parts]
    longest, most = max(lengths, default=0), _PADDING_OF_STRINGS * (sum(lengths) + len(parts)) + _SMALL_TEXT
    if longest > declared:
        raise ModelFileError("its header has an array of too long strings")
    if len(parts) * declared <= most:
        return f"<U{declared}"
    return f"<U{max(longest, 1)}" if len(parts) * longest <= most else "O"


def is_pruning(value: Any) -> bool:
    """Whether a value is one of jaxtree's prunings."""
    return type(value) in _prunings().values()


def _losses() -> Any:
    """The room's file about losses, which is imported where a file has one."""
    return importlib.import_module("jaxtree.files.losses")


def _prunings() -> dict[str, type]:
    """The classes of prunings by name."""
    prunings = importlib.import_module("jaxtree.estimators.common.prunings")
    return {kind.__name__: kind for kind in (*prunings.PRUNINGS, prunings.Union)}
