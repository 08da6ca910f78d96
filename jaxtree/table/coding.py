"""Numbers to codes, block by block and in threads."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64, Num

from jaxtree.table.binning import Bins, comparison_dtype, round_down_to_float32
from jaxtree.table.cells import CellTable, Codes, Scratch, count_edges_below, make_cell_table, take
from jaxtree.table.columns import NumberColumn
from jaxtree.table.sparse import SparseVector
from jaxtree.table.threads import ROWS_AT_A_TIME, block_starts, map_in_threads

_SMALL_COLUMN = 4096  # rows; up to here a binary search is done before the table of cells is made
_ROWS_OF_TILE = 512  # a tile of a matrix stays in cache while it is transposed

_Matrix = Num[np.ndarray, "row column"]


class _Counter(NamedTuple):
    """Counts the edges below numbers; by a binary search if there is no table."""

    edges: Float64[np.ndarray, " edge"]
    table: CellTable | None

    def count(self, values: Float[np.ndarray, " row"], count: Codes, scratch: Scratch) -> None:
        if self.table is None:
            count[:] = np.searchsorted(self.edges, values, side="left")
        else:
            count_edges_below(values, self.table, count, scratch)


def bin_columns(
    columns: Sequence[NumberColumn], bins: Sequence[Bins], codes: Sequence[Codes], matrix: _Matrix | None = None
) -> None:
    """Writes the code of every number into `codes`, an array a column.

    Args:
        columns: The columns.
        bins: Their bins.
        codes: Where to write.
        matrix: The matrix whose columns they are, if they are one's.
    """
    counters = _make_counters(columns, [b.edges for b in bins], codes)

    def bin_block(number: int, values: Float[np.ndarray, " row"], out: Codes, scratch: Scratch) -> None:
        counters[number].count(values, out, scratch)
        _mark_missing(columns[number], bins[number], values, out)

    _map_blocks(bin_block, columns, codes, matrix)


def bin_and_widen(
    columns: Sequence[NumberColumn], bins: Sequence[Bins], codes: Sequence[Codes], matrix: _Matrix | None = None
) -> list[Bins]:
    """Does what `bin_columns` does, and returns the bins widened to the lowest and highest of these numbers.

    Edges stay. A bin in which a row has another value than those that edges were fitted on is no longer exact.

    The number of bins whose highest value lies below a number is its code, unless it lies between two bins; and then it
    is below the lowest value of the bin that it is given, and is looked at again. That is one look-up more than to
    count edges, where comparing with both ends of every number's bin would take two.
    """
    counters = _make_counters(columns, [b.high for b in bins], codes)
    bottoms = [_bottoms(b, comparison_dtype(c.values.dtype)) for b, c in zip(bins, columns, strict=True)]

    def bin_block(
        number: int, values: Float[np.ndarray, " row"], out: Codes, scratch: Scratch
    ) -> Int64[np.ndarray, " between"]:
        counters[number].count(values, out, scratch)
        index, is_between, bottom = scratch.like(values)
        np.copyto(index, out)
        take(bottoms[number], index, bottom)
        between = np.flatnonzero(np.less(values, bottom, out=is_between))
        _mark_missing(columns[number], bins[number], values, out)
        return between

    blocks = _map_blocks(bin_block, columns, codes, matrix)
    starts = block_starts(len(codes[0]) if columns else 0)
    widened = []
    for number, column in enumerate(columns):
        rows = np.concatenate([start + block[number] for start, block in zip(starts, blocks, strict=True)])
        widened.append(_widen(np.asarray(column.values)[rows], bins[number], codes[number], rows))
    return widened


def bin_parts(
    bin_them: Callable, columns: Sequence[NumberColumn], bins: Sequence[Bins], codes: Sequence[Codes]
) -> list[Any]:
    """Bins columns of which some are sparse: of these a zero and the entries alone, so that zeros cost a fill.

    Args:
        bin_them: A function of columns, their bins, and the arrays that it writes codes to.
        columns: The columns.
        bins: Their bins.
        codes: Where to write.

    Returns:
        What the function returns, column by column.
    """

    def bin_one(column: NumberColumn, own: Bins, out: Codes) -> Any:
        vector = column.values
        if not isinstance(vector, SparseVector):
            return bin_them([column], [own], [out])
        parts = vector.distinct_parts()
        part_codes = np.empty(len(parts), out.dtype)
        result = bin_them([NumberColumn(column.name, parts, column.has_missing)], [own], [part_codes])
        vector.spread(part_codes, out)
        return result

    return map_in_threads(bin_one, columns, bins, codes, num_rows=len(codes[0]) if len(codes) else 0)


def _make_counters(
    columns: Sequence[NumberColumn], edges: Sequence[Float64[np.ndarray, " _edge"]], codes: Sequence[Codes]
) -> list[_Counter]:
    def make(column: NumberColumn, column_edges: Float64[np.ndarray, " edge"], out: Codes) -> _Counter:
        if len(out) <= _SMALL_COLUMN:
            return _Counter(column_edges, None)
        dtype = comparison_dtype(column.values.dtype)
        return _Counter(column_edges, make_cell_table(column_edges, dtype, out.dtype))

    num_rows = len(codes[0]) if len(codes) else 0
    return map_in_threads(make, columns, edges, codes, num_rows=num_rows)


def _mark_missing(column: NumberColumn, bins: Bins, values: Float[np.ndarray, " row"], out: Codes) -> None:
    if column.has_missing:
        out[np.isnan(values)] = bins.num_bins


def _bottoms(bins: Bins, dtype: np.dtype) -> Float[np.ndarray, " code"]:
    """The lowest value of every bin; of what is above all bins none, so that it is looked at again."""
    if not bins.num_bins:  # nothing can be widened
        return np.full(1, -np.inf, dtype)
    bottoms = np.append(bins.low, np.inf)
    return bottoms if dtype == np.float64 else -round_down_to_float32(-bottoms)


def _widen(values: Num[np.ndarray, " found"], bins: Bins, codes: Codes, rows: Int64[np.ndarray, " found"]) -> Bins:
    """Writes the codes of rows whose values lie between bins, and returns the bins widened to them."""
    if not len(rows):
        return bins
    codes[rows] = code = np.searchsorted(bins.edges, values, side="left")
    low, high = bins.low.copy(), bins.high.copy()
    np.minimum.at(low, code, values)
    np.maximum.at(high, code, values)
    return Bins(low + 0.0, high + 0.0, bins.edges, np.array_equal(low, high))


def _map_blocks(
    function: Callable[[int, Float[np.ndarray, " row"], Codes, Scratch], Any],
    columns: Sequence[NumberColumn],
    codes: Sequence[Codes],
    matrix: _Matrix | None,
) -> list[list[Any]]:
    """Calls a function with the number of every column, a block of its values and of its codes, and scratch arrays.

    Returns what it returns, by block and column.
    """
    if not columns:
        return []
    num_rows, local = len(codes[0]), threading.local()

    def map_block(start: int) -> list[Any]:
        if not hasattr(local, "scratch"):
            local.scratch = Scratch(min(num_rows, ROWS_AT_A_TIME), 0 if matrix is None else len(columns))
        block, scratch = slice(start, start + ROWS_AT_A_TIME), local.scratch
        values = _values_of_block(columns, matrix, block, scratch)
        return [function(number, x, codes[number][block], scratch) for number, x in enumerate(values)]

    return map_in_threads(map_block, block_starts(num_rows), num_rows=num_rows)


def _values_of_block(
    columns: Sequence[NumberColumn], matrix: _Matrix | None, block: slice, scratch: Scratch
) -> Iterator[Float[np.ndarray, " row"]]:
    """The numbers of every column in a block, one after the other in memory."""
    if matrix is None or matrix.dtype not in (np.float32, np.float64) or not matrix.flags.c_contiguous:
        return (np.ascontiguousarray(c.values[block], comparison_dtype(c.values.dtype)) for c in columns)
    rows = matrix[block]
    transposed = scratch.transposed(rows)
    for start in range(0, len(rows), _ROWS_OF_TILE):
        tile = slice(start, start + _ROWS_OF_TILE)
        transposed[:, tile] = rows[tile].T
    return iter(transposed)
