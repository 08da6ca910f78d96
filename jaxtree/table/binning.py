r"""Numbers into bins.

Bin $b$ of a column holds the numbers $x$ with $e_{b-1} < x \le e_b$, where $e$ are the column's *edges*; numbers
outside the fitted range fall in the first or last bin. A column is *exact* if every distinct value has a bin of its
own. The code past the last bin means missing (NaN).

All numbers compare as float64, so that two numbers fall in one bin exactly if no edge lies between them. scikit-learn
casts its input to float32, and ONNX compares in float32: values that differ only past float32 are told apart here and
not there.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, Num, UInt, UInt8, UInt16, UInt32

from jaxtree.table.columns import NumberColumn

MAX_FITTED_ROWS = 200_000
MAX_EXACT_ROWS = 50_000  # of a table that has a bin for every distinct value, if the number of bins is left open
NUM_BINS_OF_LONG_TABLE = 255  # past that; an uint8 holds as many codes, and one for missing

ROWS_AT_A_TIME = 65_536  # a block of a column stays in cache, and is long enough that threads seldom wait for Python

_SMALL_COLUMN = 4096  # rows; up to here a binary search is done before the table of cells is made
_NUM_CELLS = 2**16


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a numeric column.

    Attributes:
        low: The smallest value of every bin in the fitted table.
        high: The largest.
        edges: What separates a bin from the next; halfway between the one's `high` and the other's `low`, of the rows
            that edges were fitted on.
        exact: Whether every bin holds one distinct value.
    """

    low: Float64[np.ndarray, " bin"]
    high: Float64[np.ndarray, " bin"]
    edges: Float64[np.ndarray, " edge"]
    exact: bool

    def __post_init__(self):
        """Makes the arrays read-only: a schema is shared."""
        for array in (self.low, self.high, self.edges):
            array.setflags(write=False)

    @property
    def num_bins(self) -> int:
        """The number of bins, which is also the code of a missing value."""
        return len(self.low)

    def __eq__(self, other: object) -> bool:
        """Compares the numbers, not the arrays' identity."""
        return isinstance(other, Bins) and self._contents == other._contents

    def __hash__(self) -> int:
        """Hashes the numbers."""
        return hash(self._contents)

    @property
    def _contents(self) -> tuple:
        return self.exact, self.low.tobytes(), self.high.tobytes(), self.edges.tobytes()


def midpoint(
    below: Float64[np.ndarray, "*shape"], above: Float64[np.ndarray, "*shape"]
) -> Float64[np.ndarray, "*shape"]:
    """Returns the middle of `below <= above`, or `below` where rounding would bring it up to `above`.

    So `below <= midpoint < above` wherever the two differ, and nothing overflows.
    """
    middle = below / 2 + above / 2
    return np.where(middle < above, middle, below)


def sample_rows(num_rows: int) -> Int64[np.ndarray, " row"]:
    """Returns, in ascending order, the rows that edges are fitted on: at most 200,000.

    Of a larger table these are the rows whose number has the lowest hash (the finaliser of SplitMix64: Steele, Lea and
    Flood, 2014, "Fast splittable pseudorandom number generators"; a bijection, so there are no ties). They depend on
    the number of rows alone.

    >>> sample_rows(4)
    array([0, 1, 2, 3])
    """
    if num_rows <= MAX_FITTED_ROWS:
        return np.arange(num_rows)
    row_hash = np.arange(1, num_rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    row_hash = (row_hash ^ (row_hash >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    row_hash = (row_hash ^ (row_hash >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    row_hash ^= row_hash >> np.uint64(31)
    limit = np.partition(row_hash, MAX_FITTED_ROWS - 1)[MAX_FITTED_ROWS - 1]
    return np.flatnonzero(row_hash <= limit)


def fit_columns(columns: Sequence[NumberColumn], max_bins: int) -> list[Bins]:
    """Fits the bins of every column, on a sample of the rows if there are many."""
    if not columns:
        return []
    num_rows = len(columns[0].values)
    rows = sample_rows(num_rows) if num_rows > MAX_FITTED_ROWS else slice(None)
    fit = partial(_fit_sampled, rows=rows, max_bins=max_bins)
    return map_in_threads(fit, columns, num_rows=num_rows)


def widen_bins(
    columns: Sequence[NumberColumn],
    bins: Sequence[Bins],
    codes: Sequence[UInt8[np.ndarray, " row"] | UInt16[np.ndarray, " row"]],
) -> list[Bins]:
    """Returns the bins with the lowest and highest value of all rows, where edges were fitted on a sample of them.

    Edges stay, and so do codes. A bin in which a row has another value than the sample is no longer exact.
    """
    num_rows = len(columns[0].values) if columns else 0
    if num_rows <= MAX_FITTED_ROWS:
        return list(bins)
    bounds = [_bounds_of(b, comparison_dtype(column.values.dtype)) for column, b in zip(columns, bins, strict=True)]

    def rows_outside(start: int) -> list[Int64[np.ndarray, " found"]]:
        block = slice(start, start + ROWS_AT_A_TIME)
        return [
            start + np.flatnonzero(_is_outside(column.values[block], out[block], *ends))
            for column, out, ends in zip(columns, codes, bounds, strict=True)
        ]

    blocks = map_in_threads(rows_outside, range(0, num_rows, ROWS_AT_A_TIME), num_rows=num_rows)
    return list(map(_widen, columns, bins, codes, map(np.concatenate, zip(*blocks, strict=True))))


def _bounds_of(bins: Bins, dtype: np.dtype) -> tuple[Float[np.ndarray, " code"], Float[np.ndarray, " code"]]:
    """Returns the lowest and highest value of every code; NaN for the missing one, which nothing is outside of."""
    return np.append(bins.low, np.nan).astype(dtype), np.append(bins.high, np.nan).astype(dtype)


def _is_outside(
    values: Num[np.ndarray, " row"],
    codes: UInt8[np.ndarray, " row"] | UInt16[np.ndarray, " row"],
    low: Float[np.ndarray, " code"],
    high: Float[np.ndarray, " code"],
) -> Bool[np.ndarray, " row"]:
    values = np.ascontiguousarray(values, low.dtype)
    return (values < low.take(codes, mode="clip")) | (values > high.take(codes, mode="clip"))


def _widen(
    column: NumberColumn,
    bins: Bins,
    codes: UInt8[np.ndarray, " row"] | UInt16[np.ndarray, " row"],
    rows: Int64[np.ndarray, " found"],
) -> Bins:
    low, high = bins.low.copy(), bins.high.copy()
    np.minimum.at(low, codes[rows], column.values[rows])
    np.maximum.at(high, codes[rows], column.values[rows])
    return Bins(low, high, bins.edges, np.array_equal(low, high))


def _fit_sampled(column: NumberColumn, rows: Int64[np.ndarray, " fitted"] | slice, max_bins: int) -> Bins:
    return fit_bins(column.values[rows].astype(comparison_dtype(column.values.dtype)), max_bins)


def comparison_dtype(dtype: np.dtype) -> np.dtype:
    """Returns float32 for numbers that it holds exactly, and float64 for all others."""
    return np.result_type(dtype, np.float32) if dtype.kind in "iuf" else np.dtype(np.float64)


def fit_bins(values: Float[np.ndarray, " row"], max_bins: int) -> Bins:
    """Fits the bins of a column: one a value, or if these are more than `max_bins`, with about equally many rows each.

    A value never straddles an edge, and no bin is empty.

    >>> fit_bins(np.array([3.0, 1.0, 2.0, 1.0, np.nan]), max_bins=3).edges
    array([1.5, 2.5])
    >>> fit_bins(np.array([3.0, 1.0, 2.0, 1.0, np.nan]), max_bins=2).edges
    array([1.5])
    """
    ordered = np.sort(values)  # NaN comes last
    ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    first = np.flatnonzero(is_new)
    exact = len(first) <= max_bins
    if not exact:
        first = first[_first_value_of_bins(np.diff(first, append=len(ordered)), max_bins)]
    last = np.append(first[1:], len(ordered))[: len(first)] - 1
    low, high = (ordered[at].astype(np.float64) + 0.0 for at in (first, last))  # + 0.0 turns -0.0 into 0.0
    return Bins(low, high, midpoint(high[:-1], low[1:]), exact)


def _first_value_of_bins(count: Int64[np.ndarray, " value"], max_bins: int) -> Int64[np.ndarray, " bin"]:
    """Returns which of the distinct values, of which there are more than bins, begin a bin.

    A value that fills a bin by itself counts as one bin and no more, so that the others share the rest.
    """
    share = _share_of_bin(count, max_bins)
    fill = np.minimum(count, share)
    middle = np.cumsum(fill) - fill / 2
    cuts = np.searchsorted(middle, share * np.arange(1, max_bins))
    return np.unique(np.append(cuts[cuts < len(count)], 0))


def _share_of_bin(count: Int64[np.ndarray, " value"], max_bins: int) -> float:
    r"""Returns the share $s$ of a bin for which $\sum_v \min(n_v, s) = s B$, for counts $n_v$ and $B$ bins."""
    is_heavy = np.zeros(len(count), bool)
    while True:
        share = float(count[~is_heavy].sum() / (max_bins - np.count_nonzero(is_heavy)))
        if np.array_equal(count > share, is_heavy):
            return share
        is_heavy = count > share


class _CellTable(NamedTuple):
    """The edges of a column, with a first guess at the bin of every number.

    The upper 16 bits of a float32 say which *cell* it lies in. Cells follow each other as numbers do, so that the bin
    of a number lies between the bins of the ends of its cell; a few steps of a binary search settle which it is.
    """

    edges: Float[np.ndarray, " padded_edge"]  # followed by infinities
    first_bin: UInt[np.ndarray, " cell"]  # the number of edges in lower cells
    steps: tuple[int, ...]  # descending powers of two, one less in sum than 2 to their number


def round_down_to_float32(edges: Float64[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Rounds towards minus infinity, so that `x <= edge` has the same answer as before for every float32 `x`."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = edges.astype(np.float32)
        return np.where(rounded > edges, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _cell_of(values: Float[np.ndarray, " row"]) -> UInt32[np.ndarray, " row"]:
    """Returns the upper 16 bits of each value as a float32."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(np.float32, copy=False).view(np.uint32) >> np.uint32(16)


def _make_cell_table(edges: Float64[np.ndarray, " edge"], dtype: np.dtype, code_dtype: np.dtype) -> _CellTable:
    edges = edges if dtype == np.float64 else round_down_to_float32(edges)
    cell = _cell_of(edges + 0.0).astype(np.int64)
    half = _NUM_CELLS // 2
    # In the order of numbers: a negative one is the lower, the larger its bits.
    rank = np.where(cell < half, half + cell, _NUM_CELLS - 1 - cell)
    num_edges = np.bincount(rank, minlength=_NUM_CELLS)
    first_bin = (np.cumsum(num_edges) - num_edges).astype(code_dtype)
    num_steps = int(num_edges.max()).bit_length()
    padded = np.append(edges, np.full(2**num_steps, np.inf, dtype))
    steps = tuple(2**step for step in reversed(range(num_steps)))
    return _CellTable(padded, np.concatenate([first_bin[half:], first_bin[half - 1 :: -1]]), steps)


def _bins_by_cell(values: Float[np.ndarray, " row"], table: _CellTable) -> UInt[np.ndarray, " row"]:
    code = table.first_bin.take(_cell_of(values), mode="clip")  # "clip" is the fastest mode; nothing is out of range
    for step in table.steps:
        is_above = values > table.edges[step - 1 :].take(code, mode="clip")
        code += is_above.astype(code.dtype) * code.dtype.type(step)
    return code


def _bins_by_search(
    values: Float[np.ndarray, " row"], edges: Float64[np.ndarray, " edge"]
) -> Int64[np.ndarray, " row"]:
    return np.searchsorted(edges, values, side="left")


def _bin_function(bins: Bins, dtype: np.dtype, code_dtype: np.dtype, num_rows: int) -> Callable:
    """Returns the faster function from numbers to bins."""
    if num_rows <= _SMALL_COLUMN:
        return partial(_bins_by_search, edges=bins.edges)
    return partial(_bins_by_cell, table=_make_cell_table(bins.edges, dtype, code_dtype))


def bin_columns(
    columns: Sequence[NumberColumn],
    bins: Sequence[Bins],
    codes: Sequence[UInt8[np.ndarray, " row"] | UInt16[np.ndarray, " row"]],
) -> None:
    """Writes the code of every number into `codes`, an array a column."""
    if not columns:
        return
    num_rows = len(columns[0].values)
    dtypes = [comparison_dtype(column.values.dtype) for column in columns]
    functions = map_in_threads(
        lambda b, dtype, out: _bin_function(b, dtype, out.dtype, num_rows), bins, dtypes, codes, num_rows=num_rows
    )

    def bin_block(start: int) -> None:
        block = slice(start, start + ROWS_AT_A_TIME)
        for column, dtype, function, column_bins, out in zip(columns, dtypes, functions, bins, codes, strict=True):
            values = np.ascontiguousarray(column.values[block], dtype)
            out[block] = function(values)
            if column.has_missing:
                out[block][np.isnan(values)] = column_bins.num_bins

    map_in_threads(bin_block, range(0, num_rows, ROWS_AT_A_TIME), num_rows=num_rows)


def map_in_threads(function: Callable, *iterables: Iterable, num_rows: int) -> list:
    """Maps a function that spends its time in NumPy, which lets threads run side by side.

    Where a column has few rows, its work is too small to be worth a thread.
    """
    if num_rows <= ROWS_AT_A_TIME:
        return list(map(function, *iterables))
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, *iterables))
