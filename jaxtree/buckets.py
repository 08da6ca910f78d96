"""Sizes rounded up to buckets, so that data of a like size share one compiled program.

Rows are padded with weight 0, features with features of no codes, classes and bins with empty ones, and nodes with
leaves that no walk reaches. Codes are the largest array of a fit, and XLA copies an array of NumPy unless it begins at
a multiple of 64 bytes; so codes are written to an array that has both, the bucket and the beginning.
"""

import bisect
import math
from typing import Any

import numpy as np
from jaxtyping import UInt8, UInt16

Codes = UInt8[np.ndarray, "feature row"] | UInt16[np.ndarray, "feature row"]

Padded = UInt8[np.ndarray, "padded_feature padded_row"] | UInt16[np.ndarray, "padded_feature padded_row"]

_ALIGNMENT = 64
_NOTE = 16  # bytes at the end, which hold how many features and rows there are


def round_up(size: int, least: int) -> int:
    """A size rounded up to a quarter of a power of two, and to the least one.

    >>> [round_up(size, 4) for size in (1, 5, 9, 31, 33)]
    [4, 5, 10, 32, 40]
    """
    if size <= least:
        return least
    step = 1 << max((size - 1).bit_length() - 3, 0)
    return -(-size // step) * step


def row_bucket(num_rows: int) -> int:
    """Rows rounded up to a quarter of a power of two, 2048 at least."""
    return round_up(num_rows, 2048)


def feature_bucket(num_features: int) -> int:
    """Features rounded up to a multiple of 8; the padding costs nothing but its codes."""
    return -(-num_features // 8) * 8


def feature_round(num_drawn: int) -> int:
    """Features that nodes draw, rounded up to a quarter of a power of two."""
    return round_up(num_drawn, 4) if num_drawn > 4 else max(num_drawn, 1)


def bin_bucket(num_bins: int) -> int:
    """Codes rounded up to 2, 8, 32, 256, 1024, 4096, 16384 or 65536."""
    sizes = (2, 8, 32, 256, 1024, 4096, 16384, 65536)
    return sizes[bisect.bisect_left(sizes, num_bins)]


def subset_bins(num_codes: int) -> int:
    """Codes rounded up to a power of two, 8 at least, where the best subset is found by comparing all pairs of them."""
    return max(8, 1 << (num_codes - 1).bit_length())


def class_bucket(num_classes: int) -> int:
    """Classes rounded up to a power of two, 2 at least; more than 64 to a quarter of one, as nodes have all."""
    return round_up(num_classes, 64) if num_classes > 64 else max(2, 1 << (num_classes - 1).bit_length())


def node_bucket(num_nodes: int) -> int:
    """Nodes rounded up to a power of two, 128 at least."""
    return max(128, 1 << (num_nodes - 1).bit_length())


def capacity_bucket(num_nodes: int, num_classes: int = 0) -> int:
    """Capacity of a table rounded up to a power of two, 4096 at least; of more than 64 classes to a quarter of one."""
    return round_up(num_nodes, 4096) if num_classes > 64 else max(4096, 1 << (num_nodes - 1).bit_length())


def pad_to(values: Any, size: int, fill: int = 0) -> Any:
    """Pads an array's first axis to a size, on the host.

    >>> pad_to(np.array([[1], [2]]), 3, fill=-1).tolist()
    [[1], [2], [-1]]
    """
    values = np.asarray(values)
    if len(values) == size:
        return values
    return np.pad(values, [(0, size - len(values))] + [(0, 0)] * (values.ndim - 1), constant_values=fill)


def empty_codes(num_features: int, num_rows: int, dtype: np.dtype) -> Codes:
    """Returns an array for codes: the corner of an aligned one of zeros whose sizes are buckets."""
    shape = feature_bucket(num_features), row_bucket(num_rows)
    whole = aligned_zeros(shape, dtype)
    whole.base[-_NOTE:] = np.array([num_features, num_rows], np.int64).view(np.uint8)
    return whole[:num_features, :num_rows]


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Returns an array of zeros that XLA does not copy.

    >>> aligned_zeros((2, 3), np.dtype(np.int32)).ctypes.data % 64
    0
    """
    size = math.prod(shape) * dtype.itemsize
    raw = np.zeros(size + _ALIGNMENT + _NOTE, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def pad_codes(codes: Codes) -> Padded:
    """Returns codes with zeros behind them, up to buckets of features and rows.

    Codes of `empty_codes`, and codes that have these sizes, are not copied.

    >>> codes = empty_codes(2, 3000, np.dtype(np.uint8))
    >>> padded = pad_codes(codes)
    >>> padded.shape, np.shares_memory(padded, codes)
    ((8, 3072), True)
    """
    shape = feature_bucket(len(codes)), row_bucket(codes.shape[1])
    if codes.shape == shape and codes.flags.c_contiguous:
        return codes
    if not _is_corner(codes, shape):
        corner = empty_codes(len(codes), codes.shape[1], codes.dtype)
        corner[:] = codes
        codes = corner
    raw: Any = codes.base
    start = codes.ctypes.data - raw.ctypes.data
    return raw[start : start + math.prod(shape) * codes.itemsize].view(codes.dtype).reshape(shape)


def _is_corner(codes: Codes, shape: tuple[int, int]) -> bool:
    """Whether `empty_codes` returned the array, and not one of which it is a part."""
    raw, itemsize = codes.base, codes.itemsize
    if not isinstance(raw, np.ndarray) or raw.dtype != np.uint8:
        return False
    if raw.shape != (math.prod(shape) * itemsize + _ALIGNMENT + _NOTE,):
        return False
    is_whole = tuple(raw[-_NOTE:].view(np.int64)) == codes.shape
    starts = codes.ctypes.data - raw.ctypes.data == -raw.ctypes.data % _ALIGNMENT
    return is_whole and starts and codes.strides == (shape[1] * itemsize, itemsize)
