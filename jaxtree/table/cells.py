"""The fast way to count the edges below a number.

The upper 16 bits of a float32 say which *cell* it lies in. Cells follow each other as numbers do, so that the bin of a
number lies between the bins of the ends of its cell; a few steps of a binary search settle which it is.
"""

import sys
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int64, Real, UInt8, UInt16

from jaxtree.table.binning import round_down_to_float32

Codes = UInt8[np.ndarray, " row"] | UInt16[np.ndarray, " row"]

_NUM_CELLS = 2**16
_UPPER_HALF = 1 if sys.byteorder == "little" else 0


class CellTable(NamedTuple):
    """The edges of a column, with a first guess at the bin of every number."""

    edges: Float[np.ndarray, " padded_edge"]  # followed by infinities
    first_bin: (
        UInt8[np.ndarray, " cell"] | UInt16[np.ndarray, " cell"]
    )  # of every cell: the number of edges in lower cells
    steps: tuple[int, ...]  # descending powers of two, one less in sum than 2 to their number


class Scratch:
    """Arrays that a thread writes anew for every block of a column."""

    def __init__(self, num_rows: int, num_columns: int):
        self._index, self._is_above = np.empty(num_rows, np.int64), np.empty(num_rows, bool)
        self._bytes = np.empty(8 * num_rows, np.uint8)
        self._transposed = np.empty(8 * num_rows * num_columns, np.uint8)

    def like(
        self, values: Float[np.ndarray, " row"]
    ) -> tuple[Int64[np.ndarray, " row"], Bool[np.ndarray, " row"], Float[np.ndarray, " row"]]:
        """Integers, truth values and numbers, as many as there are values, and of their dtype."""
        num_rows = len(values)
        return self._index[:num_rows], self._is_above[:num_rows], self._bytes.view(values.dtype)[:num_rows]

    def transposed(self, rows: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "column row"]:
        """An array for the columns of some rows, one after the other."""
        return self._transposed.view(rows.dtype)[: rows.size].reshape(rows.shape[1], len(rows))


def make_cell_table(edges: Float64[np.ndarray, " edge"], dtype: np.dtype, code_dtype: np.dtype) -> CellTable:
    """Makes the table of ascending edges, for numbers and codes of some dtypes."""
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
    return CellTable(padded, np.concatenate([first_bin[half:], first_bin[half - 1 :: -1]]), steps)


def _cell_of(values: Float[np.ndarray, " row"]) -> UInt16[np.ndarray, " row"]:
    """Returns the upper 16 bits of each value as a float32."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(np.float32, copy=False).view(np.uint16)[_UPPER_HALF::2]


def count_edges_below(values: Float[np.ndarray, " row"], table: CellTable, count: Codes, scratch: Scratch) -> None:
    """Writes how many edges lie below each number; of NaN anything.

    Args:
        values: Numbers, one after the other in memory, of the dtype that the table was made for.
        table: The edges.
        count: Where to write.
        scratch: At least as long.
    """
    index, is_above, edge = scratch.like(values)
    np.copyto(index, _cell_of(values))
    take(table.first_bin, index, count)
    for step in table.steps:
        np.copyto(index, count)
        take(table.edges[step - 1 :], index, edge)
        np.greater(values, edge, out=is_above)
        count += is_above.view(np.uint8) if step == 1 else is_above.astype(count.dtype) * count.dtype.type(step)


def take(table: Real[np.ndarray, " entry"], index: Int[np.ndarray, " row"], out: Real[np.ndarray, " row"]) -> None:
    """Looks up entries of a table; nothing is out of range, and "clip" is the fastest mode."""
    np.take(table, index, out=out, mode="clip")
