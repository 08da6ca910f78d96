"""Bins and codes of columns by the kernel in C++, on the host; see native/src/binning.

NumPy does the same with the same results, see `jaxtree.table.binning`. Columns are *described*: by where they are in
memory, the bytes from one number to the next, and the number of their type.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, Num, UInt

from jaxtree.cores import num_cores
from jaxtree.kernels.choose import TYPES, Attributes, call_kernel

FEW_CELLS = 20_000
"""Numbers up to which one thread works: to wake another would take longer."""

NO_NUMBERS = Attributes({})

Described = Int64[np.ndarray, "column field"]


class Cuts(NamedTuple):
    """Beginnings of the bins of columns.

    Attributes:
        first: The first place of every bin among the numbers of a column in order; behind the last bin anything.
        num_bins: The number of bins of every column.
        is_exact: Whether every distinct number has one.
        num_distinct: The distinct numbers of the first bin and of the last; 0 where a column is exact.
        num_known: How many numbers are not missing.
    """

    first: Int64[np.ndarray, "column bin"]
    num_bins: Int64[np.ndarray, " column"]
    is_exact: Bool[np.ndarray, " column"]
    num_distinct: Int64[np.ndarray, "column 2"]
    num_known: Int64[np.ndarray, " column"]


def is_readable(dtype: np.dtype) -> bool:
    """Returns whether the kernel reads numbers of a type.

    >>> is_readable(np.dtype("float32")), is_readable(np.dtype("float16")), is_readable(np.dtype(">f8"))
    (True, False, False)
    """
    return dtype.kind in "iuf" and dtype in TYPES


def described(columns: Num[np.ndarray, "column row"]) -> Described:
    """Describes columns that lie in one array, which must outlive the calls that read them."""
    result = np.empty((len(columns), 3), np.int64)
    result[:, 0] = columns.ctypes.data + columns.strides[0] * np.arange(len(columns))
    result[:, 1:] = columns.strides[1], TYPES[columns.dtype]
    return result


def ordered_columns(columns: Described, num_rows: int, dtype: np.dtype) -> Float[np.ndarray, "column row"]:
    """Returns the numbers of columns in ascending order, missing ones last.

    Args:
        columns: The columns.
        num_rows: The number of their rows.
        dtype: The type in which the numbers of all compare.
    """
    shape, num_threads = (len(columns), num_rows), _threads_for(num_rows * len(columns))
    return call_kernel("jaxtree_order_columns", [(shape, dtype)], [columns], NO_NUMBERS, num_threads=num_threads)[0]


def cut_columns(
    ordered: Float[np.ndarray, "column row"], tails: Sequence[Float64[np.ndarray, " _cut"]], max_bins: int
) -> Cuts:
    """Returns where the bins of columns begin.

    Args:
        ordered: Their numbers, see `ordered_columns`.
        tails: The share of a bin that lies beyond each cut through it, outwards: of every column's first bin and last.
        max_bins: The most bins of a column.
    """
    num_tails = np.array(list(map(len, tails)), np.int64)
    shares = np.zeros((len(tails), num_tails.max(initial=0)))
    shares[np.arange(shares.shape[1]) < num_tails[:, None]] = np.concatenate(tails)
    results = [((len(ordered), min(max_bins, ordered.shape[1])), np.int64), ((len(ordered), 5), np.int64)]
    first, facts = call_kernel(
        "jaxtree_cut_columns",
        results,
        [ordered, shares, num_tails],
        _most_bins(max_bins),
        num_threads=_threads_for(ordered.size),
    )
    return Cuts(first, facts[:, 0], facts[:, 1] == 1, facts[:, 2:4], facts[:, 4])


class BinEnds(NamedTuple):
    """The bins of columns, one column after the other.

    Attributes:
        num_bins: The number of bins of every column.
        edge: The limit above every bin.
        low: The lowest number of every bin.
        high: The highest.
    """

    num_bins: Int64[np.ndarray, " column"]
    edge: Float64[np.ndarray, " bin"]
    low: Float64[np.ndarray, " bin"]
    high: Float64[np.ndarray, " bin"]


def code_columns(
    columns: Described,
    bins: BinEnds,
    codes: UInt[np.ndarray, "column row"] | Sequence[UInt[np.ndarray, " row"]],
    *,
    widen: bool,
) -> tuple[Float64[np.ndarray, " bin"], Float64[np.ndarray, " bin"]]:
    """Writes the codes of columns, and returns the lowest and the highest number of every bin, of these rows, too.

    Args:
        columns: The columns.
        bins: Their bins.
        codes: Where to write, without gaps between the codes of a column: in one array, or an array each, of one type.
        widen: Whether numbers of these rows count; else the ends are as they were.
    """
    num_rows, bytes_of_code = len(codes[0]), codes[0].itemsize
    is_whole = isinstance(codes, np.ndarray)
    addresses = described(codes)[:, 0].copy() if is_whole else np.array([own.ctypes.data for own in codes], np.int64)
    attributes = Attributes(
        {"num_rows": np.int64(num_rows), "bytes_of_code": np.int64(bytes_of_code), "widens": bool(widen)}
    )
    results = [(bins.low.shape, np.float64)] * 2
    num_threads, arrays = _threads_for(num_rows * len(columns)), [columns, addresses, *bins]
    low, high = call_kernel("jaxtree_code_columns", results, arrays, attributes, num_threads=num_threads)
    return low, high


def _threads_for(num_cells: int) -> int:
    return num_cores() if num_cells > FEW_CELLS else 1


@functools.lru_cache
def _most_bins(max_bins: int) -> Attributes:
    return Attributes({"max_bins": np.int64(max_bins)})
