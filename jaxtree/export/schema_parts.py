"""A schema as JSON and arrays, and back."""

from typing import Any

import numpy as np
from jaxtyping import Float64, Shaped

from jaxtree.errors import ModelFileError
from jaxtree.export.json_values import from_json, to_json
from jaxtree.export.model_file import ModelFile
from jaxtree.table.binning import Bins
from jaxtree.table.columns import MAX_CODES
from jaxtree.table.fitting import make_schema
from jaxtree.table.schema import Column, Schema
from jaxtree.table.times import KINDS, NANOSECONDS, TimeScale

_KINDS = ("numeric", "ordered", "categorical", "boolean")
_ARRAYS = ("low", "high", "edges")
_MOST_DAYS = 2**63 // 86_400

_Array = Shaped[np.ndarray, "..."]


def split_schema(schema: Schema) -> ModelFile:
    """Returns the columns as JSON, and the bins of all numeric ones as arrays, column after column."""
    columns = [
        {
            "name": to_json(column.name),
            "kind": column.kind if column.time is None else column.time.kind,
            "categories": to_json(list(column.categories)),
            "num_bins": None if column.bins is None else column.bins.num_bins,
            "is_exact": column.bins is not None and bool(column.bins.exact),
            "has_missing": bool(column.has_missing),
            **({} if column.time is None else {"origin": list(column.time.origin)}),
        }
        for column in schema.columns
    ]
    bins = [column.bins for column in schema.columns if column.bins is not None]
    arrays = {f"schema.{name}": np.concatenate([np.zeros(0), *(getattr(b, name) for b in bins)]) for name in _ARRAYS}
    return ModelFile({"columns": columns}, arrays)


def join_schema(parts: ModelFile, *, onehot: bool) -> Schema:
    """Returns the schema whose parts these are.

    Args:
        parts: The content of a file of unknown origin.
        onehot: Whether a categorical column is a feature for each category.

    Raises:
        ModelFileError: They are not those of a schema.
    """
    described = parts.header.get("columns")
    if not isinstance(described, list) or not described or not all(isinstance(column, dict) for column in described):
        raise ModelFileError("its columns are no list of columns")
    sizes = [_num_bins(column) for column in described]
    known = [size for size in sizes if size is not None]
    low, high = (_numbers(parts, name, sum(known)) for name in _ARRAYS[:2])
    edges = _numbers(parts, "edges", sum(max(size - 1, 0) for size in known))
    columns, first, first_edge = [], 0, 0
    for column, size in zip(described, sizes, strict=True):
        bins = None
        if size is not None:
            end, last_edge = first + size, first_edge + max(size - 1, 0)
            bins = _bins(low[first:end], high[first:end], edges[first_edge:last_edge], column)
            first, first_edge = end, last_edge
        columns.append(_column(column, bins))
    return make_schema(tuple(columns), onehot=onehot)


def _num_bins(column: dict[str, Any]) -> int | None:
    size = column.get("num_bins")
    if size is not None and (type(size) is not int or not 0 <= size <= MAX_CODES):
        raise ModelFileError("a column has an impossible number of bins")
    return size


def _numbers(parts: ModelFile, name: str, size: int) -> Float64[np.ndarray, " value"]:
    array = parts.arrays.get(f"schema.{name}")
    if array is None or array.dtype != np.float64 or array.shape != (size,):
        raise ModelFileError(f"array 'schema.{name}' is missing, or not of the type and length that columns have")
    if np.isnan(array).any():
        raise ModelFileError(f"array 'schema.{name}' has NaN")
    return array


def _bins(low: _Array, high: _Array, edges: _Array, column: dict[str, Any]) -> Bins:
    is_exact = _truth(column, "is_exact")
    in_order = bool((low <= high).all() and (high[:-1] <= edges).all() and (edges < low[1:]).all())
    if not in_order or (is_exact and not np.array_equal(low, high)):
        raise ModelFileError("the bins of a column are not in ascending order")
    return Bins(low.copy(), high.copy(), edges.copy(), is_exact)


def _column(column: dict[str, Any], bins: Bins | None) -> Column:
    name, kind = column.get("name"), column.get("kind")
    categories = from_json(column.get("categories"))
    time = _time(column) if isinstance(kind, str) and kind in KINDS else None
    kind = kind if time is None else "numeric"
    if not isinstance(name, str) or kind not in _KINDS or not isinstance(categories, list):
        raise ModelFileError("a column has no name, kind or categories")
    if not all(map(_is_category, categories)):
        raise ModelFileError(f"column {name[:40]!r} has categories that are none")
    if (kind == "numeric") != (bins is not None) or (bins is not None and categories) or len(categories) > MAX_CODES:
        raise ModelFileError(f"column {name[:40]!r} has bins or categories that do not fit its kind")
    if len(set(categories)) != len(categories) or (kind == "boolean" and categories != [False, True]):
        raise ModelFileError(f"column {name[:40]!r} has categories that do not fit its kind")
    return Column(name, kind, tuple(categories), bins, _truth(column, "has_missing"), time)


def _time(column: dict[str, Any]) -> TimeScale:
    """How times become numbers; a file that says so is refused by readers that know of no times."""
    origin = column.get("origin")
    if not isinstance(origin, list) or len(origin) != 2 or not all(type(part) is int for part in origin):
        raise ModelFileError("a column of dates or durations has no origin")
    day, nanosecond = origin
    if abs(day) > _MOST_DAYS or not 0 <= nanosecond < NANOSECONDS or (column["kind"] == "duration" and any(origin)):
        raise ModelFileError("a column of dates or durations has an impossible origin")
    return TimeScale(column["kind"], (day, nanosecond))


def _is_category(value: Any) -> bool:
    """Whether a value is a string, or a number of NumPy's that is not missing."""
    return isinstance(value, str) or (isinstance(value, float) and value == value) or _is_integer(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and abs(value) < 2**64


def _truth(column: dict[str, Any], name: str) -> bool:
    value = column.get(name)
    if not isinstance(value, bool):
        raise ModelFileError(f"a column has {name} neither true nor false")
    return value
