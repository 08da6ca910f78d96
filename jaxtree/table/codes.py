"""The array that codes are written to, made so that growth takes it as it is.

Growth wants sizes rounded up to buckets, and XLA copies an array of NumPy unless it begins at a multiple of 64 bytes.
Codes are the largest array of a fit; so they are written to one that has both from the start.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import UInt8, UInt16

from jaxtree.buckets import feature_bucket, row_bucket

Codes = UInt8[np.ndarray, "feature row"] | UInt16[np.ndarray, "feature row"]

Padded = UInt8[np.ndarray, "padded_feature padded_row"] | UInt16[np.ndarray, "padded_feature padded_row"]

_ALIGNMENT = 64
_NOTE = 16  # bytes at the end, which say how many features and rows there are


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
    """Returns codes with zeros behind them, up to buckets of features and rows; codes of `empty_codes` are not copied.

    >>> codes = empty_codes(2, 3000, np.dtype(np.uint8))
    >>> padded = pad_codes(codes)
    >>> padded.shape, np.shares_memory(padded, codes)
    ((8, 3072), True)
    """
    shape = feature_bucket(len(codes)), row_bucket(codes.shape[1])
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
