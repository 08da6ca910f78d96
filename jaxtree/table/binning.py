r"""Numbers into bins, and their codes.

Bin $b$ of a column holds the numbers $x$ with $e_{b-1} < x \le e_b$, where $e$ are the column's *edges*; numbers
outside the fitted range fall in the first or last bin. A column is *exact* if every distinct value has a bin of its
own. The code past the last bin means missing (NaN).

The bins of other columns are about equally full but for *tails*: where the first or last bin would hold many distinct
values, it is divided at quantiles in geometric steps towards the end. So a threshold may separate a few extreme rows,
which equally full bins would hide among a 255th of all.

All numbers compare as float64, so that two numbers fall in one bin exactly if no edge lies between them. scikit-learn
casts its input to float32, and ONNX compares in float32: values that differ only past float32 are distinct here and
the same there.

Edges below a number are counted fast: the upper 16 bits of a float32 say which *cell* it lies in. Cells follow each
other as numbers do, so that the bin of a number lies between the bins of the ends of its cell; a few steps of a binary
search settle which it is.
"""

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int64, Integer, Num, Real, Shaped, UInt, UInt8, UInt16

from jaxtree.blocks import by_blocks, in_threads, threads_for
from jaxtree.kernels import library
from jaxtree.table.columns import SparseVector

MAX_EXACT_ROWS = 100_000  # of a table that has as many bins as codes allow, if their number is left open
NUM_BINS_OF_LONG_TABLE = 255  # past that; an uint8 holds as many codes, and one for missing

_NUM_CELLS = 2**16
_UPPER_HALF = 1 if sys.byteorder == "little" else 0
SMALL_COLUMN = 4096  # rows; up to here a binary search is done before the table of cells is made
_ROWS_OF_TILE = 512  # a tile of a matrix stays in cache while it is transposed

_STEPS_A_HALVING = 2  # cuts of a tail for every halving of the rows beyond
_LEAST_VALUES_OF_TAIL = 6  # distinct ones in its outermost bin
_LEAST_BINS_A_STEP = 16  # of all bins, for every cut of a tail

Codes = UInt8[np.ndarray, " row"] | UInt16[np.ndarray, " row"]
CodesOfColumns = UInt8[np.ndarray, "column row"] | UInt16[np.ndarray, "column row"] | Sequence[Codes]
"""The codes of columns: in one array, or an array each."""

Values = Float[np.ndarray, " row"]
Columns = Num[np.ndarray, "column row"] | Sequence[Num[np.ndarray, " row"]]
"""Columns of numbers of one length: in one array, or an array each."""


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a numeric column.

    Attributes:
        low: The smallest value of every bin in the fitted table.
        high: The largest.
        edges: The limits between the bins; halfway between the one's `high` and the other's `low`, of the rows
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

    @classmethod
    def of_codes(cls, number: int) -> "Bins":
        """Returns the bins of the codes 0, 1, ... themselves."""
        codes = np.arange(number, dtype=np.float64)
        return cls(codes, codes, midpoint(codes[:-1], codes[1:]), exact=True)

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


@dataclass(frozen=True, eq=False)
class BinTable(Sequence[Bins]):
    """The bins of many columns, one column after the other in arrays: as a sequence, those of each.

    Attributes:
        num_bins: The number of bins of every column.
        low: The smallest value of every bin.
        high: The largest.
        edge: The limit above every bin; infinite above the last of a column.
        is_exact: Whether every bin of a column holds one distinct value.

    >>> BinTable.of([Bins.of_codes(2), Bins.of_codes(0), Bins.of_codes(3)])[2].edges
    array([0.5, 1.5])
    """

    num_bins: Int64[np.ndarray, " column"]
    low: Float64[np.ndarray, " bin"]
    high: Float64[np.ndarray, " bin"]
    edge: Float64[np.ndarray, " bin"]
    is_exact: Bool[np.ndarray, " column"]

    def __post_init__(self):
        """Makes the arrays read-only: a schema is shared."""
        for array in vars(self).values():
            array.setflags(write=False)

    @classmethod
    def of(cls, columns: Iterable[Bins]) -> "BinTable":
        """Returns the bins of some columns in arrays."""
        bins = list(columns)
        ends = [(own.low, own.high, np.append(own.edges, np.inf)[: own.num_bins]) for own in bins]
        low, high, edge = map(np.concatenate, zip((np.zeros(0),) * 3, *ends, strict=True))
        num_bins = np.array([own.num_bins for own in bins], np.int64)
        return cls(num_bins, low, high, edge, np.array([own.exact for own in bins], bool))

    @classmethod
    def joined(cls, places: Sequence[Int[np.ndarray, " _column"]], tables: "Sequence[BinTable]") -> "BinTable":
        """Returns the bins of parts of the columns in the order of their places, which come first."""
        return cls.chained(tables).take(np.argsort(np.concatenate(places), kind="stable"))

    @classmethod
    def chained(cls, tables: "Sequence[BinTable]") -> "BinTable":
        """Returns the bins of the columns of several tables, one table after the other."""
        if len(tables) == 1:
            return tables[0]
        return cls(*map(np.concatenate, zip(*map(operator.attrgetter("arrays"), tables), strict=True)))

    @property
    def arrays(self) -> tuple[Shaped[np.ndarray, " _item"], ...]:
        """All of its arrays."""
        return self.num_bins, self.low, self.high, self.edge, self.is_exact

    @cached_property
    def start(self) -> Int64[np.ndarray, " column"]:
        """The place of every column's first bin."""
        return np.cumsum(self.num_bins) - self.num_bins

    def __len__(self) -> int:
        """The number of columns."""
        return len(self.num_bins)

    def __getitem__(self, column: Any) -> Any:
        """Returns the bins of a column."""
        start, number = int(self.start[column]), int(self.num_bins[column])
        own = slice(start, start + number)
        edges = self.edge[start : start + max(number - 1, 0)]
        return Bins(self.low[own], self.high[own], edges, bool(self.is_exact[column]))

    def take(self, columns: Int[np.ndarray, " _column"]) -> "BinTable":
        """Returns the bins of some columns, in their order."""
        if len(columns) == len(self) and (columns == np.arange(len(self))).all():
            return self
        num_bins = self.num_bins[columns]
        stop = np.cumsum(num_bins)
        bins = np.arange(num_bins.sum()) + np.repeat(self.start[columns] - (stop - num_bins), num_bins)
        return BinTable(num_bins, self.low[bins], self.high[bins], self.edge[bins], self.is_exact[columns])

    def with_ranges(self, low: Float64[np.ndarray, " bin"], high: Float64[np.ndarray, " bin"]) -> "BinTable":
        """Returns the bins with other ends."""
        column = np.repeat(np.arange(len(self)), self.num_bins)
        is_exact = np.bincount(column[low != high], minlength=len(self)) == 0
        return BinTable(self.num_bins, low, high, self.edge, is_exact)

    def count_edges_below(self, values: Float[np.ndarray, "column row"]) -> Int64[np.ndarray, "column row"]:
        """Returns the code of every number of all columns: how many edges lie below it; that of a missing one for NaN.

        >>> bins = BinTable.of([Bins.of_codes(2), Bins.of_codes(3)])
        >>> bins.count_edges_below(np.array([[0.2, 7.0, np.nan], [0.2, 1.5, np.nan]]))
        array([[0, 1, 2],
               [0, 1, 3]])
        """
        first, number = self.start[:, None], self.num_bins[:, None]
        last = np.broadcast_to(first + number - 1, values.shape)
        code = first_not_below(self.edge, values, np.broadcast_to(first, values.shape), last) - first
        return np.where(np.isnan(values), number, code)

    def __eq__(self, other: object) -> bool:
        """Compares the numbers, not the arrays' identity."""
        return isinstance(other, BinTable) and all(map(np.array_equal, self.arrays, other.arrays))

    def __hash__(self) -> int:
        """Hashes the numbers."""
        return hash(tuple(array.tobytes() for array in self.arrays))


def comparison_dtype(dtype: np.dtype) -> np.dtype:
    """Returns float32 for numbers that it holds exactly, and float64 for all others."""
    return np.result_type(dtype, np.float32) if dtype.kind in "iuf" else np.dtype(np.float64)


def fit_bins(values: Values, max_bins: int) -> Bins:
    """Fits the bins of a column: one a value, or if these are more than `max_bins`, equally full ones with tails.

    A value never straddles an edge, and no bin is empty. The bins depend on the order of the values alone, and on how
    often each occurs in relation to the others.

    >>> fit_bins(np.array([3.0, 1.0, 2.0, 1.0, np.nan]), max_bins=3).edges
    array([1.5, 2.5])
    >>> fit_bins(np.array([3.0, 1.0, 2.0, 1.0, np.nan]), max_bins=2).edges
    array([1.5])
    """
    ordered = np.sort(values)  # NaN comes last
    ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
    exact = _count_distinct(ordered) <= max_bins
    first = _first_row_of_values(ordered) if exact else _first_row_of_bins(ordered, max_bins)
    last = np.append(first[1:], len(ordered))[: len(first)] - 1
    low, high = (ordered[at].astype(np.float64) + 0.0 for at in (first, last))  # + 0.0 turns -0.0 into 0.0
    return Bins(low, high, midpoint(high[:-1], low[1:]), exact)


def fit_columns(columns: Columns, max_bins: int) -> BinTable:
    """Fits the bins of columns of numbers, of one length, as `fit_bins` does those of each."""
    if library.load() is None:
        num_threads = threads_for(_num_rows(columns))
        alike = map(_as_comparable, columns)
        return BinTable.of(in_threads(partial(fit_bins, max_bins=max_bins), alike, num_threads=num_threads))
    if isinstance(columns, np.ndarray):
        return _fit_by_kernel(columns, comparison_dtype(columns.dtype), max_bins)
    places, tables = [], []
    dtype_of = [comparison_dtype(own.dtype) for own in columns]
    for dtype in dict.fromkeys(dtype_of):
        own = [place for place, other in enumerate(dtype_of) if other == dtype]
        places.append(np.array(own))
        tables.append(_fit_by_kernel([columns[place] for place in own], dtype, max_bins))
    return BinTable.joined(places, tables)


def _fit_by_kernel(columns: Columns, dtype: np.dtype, max_bins: int) -> BinTable:
    """Fits the bins of columns whose numbers compare as one type."""
    from jaxtree.kernels import binning as kernel  # which needs JAX

    readable = _readable(columns)
    ordered = kernel.ordered_columns(_described(readable), _num_rows(columns), dtype)
    none = np.zeros(0)
    cuts = kernel.cut_columns(ordered, [none] * (2 * len(columns)), max_bins)
    tails = [_tail(number, max_bins) if number else none for number in cuts.num_distinct.reshape(-1).tolist()]
    if any(map(len, tails)):
        cuts = kernel.cut_columns(ordered, tails, max_bins)
    column = np.repeat(np.arange(len(columns)), cuts.num_bins)
    first = cuts.first[np.arange(cuts.first.shape[1]) < cuts.num_bins[:, None]]
    end = cuts.num_bins[cuts.num_bins > 0].cumsum() - 1  # of every column that has a bin
    last = np.append(first[1:], 0)[: len(first)] - 1
    last[end] = cuts.num_known[column[end]] - 1
    low, high = (ordered[column, at].astype(np.float64) + 0.0 for at in (first, last))
    edge = np.append(midpoint(high[:-1], low[1:]), 0.0)[: len(low)]
    edge[end] = np.inf
    return BinTable(cuts.num_bins, low, high, edge, cuts.is_exact)


def _num_rows(columns: Columns) -> int:
    return len(columns[0]) if len(columns) else 0


def _as_comparable(values: Num[np.ndarray, " row"]) -> Values:
    return np.ascontiguousarray(values, comparison_dtype(values.dtype))


def _readable(columns: Columns) -> Columns:
    """Returns columns in types that the kernel reads."""
    from jaxtree.kernels.binning import is_readable

    if isinstance(columns, np.ndarray):
        return columns if is_readable(columns.dtype) else columns.astype(comparison_dtype(columns.dtype))
    return [own if is_readable(own.dtype) else _as_comparable(own) for own in columns]


def _described(columns: Columns) -> Int64[np.ndarray, "column field"]:
    """Returns where the kernel finds columns."""
    from jaxtree.kernels.binning import described

    return (
        described(columns)
        if isinstance(columns, np.ndarray)
        else np.concatenate([described(own[None]) for own in columns])
    )


def rank_columns(
    values: Float[np.ndarray, "column row"],
) -> tuple[BinTable, UInt8[np.ndarray, "column row"] | UInt16[np.ndarray, "column row"]]:
    """Fits the bins of columns that have no more rows than bins, each value its own, and returns the codes of the rows.

    Where there are few rows, most of the time of `fit_bins` is that of the calls of one column.

    >>> bins, codes = rank_columns(np.array([[3.0, 1.0, 2.0], [7.0, np.nan, 7.0]]))
    >>> [own.edges.tolist() for own in bins], codes.tolist()
    ([[1.5, 2.5], []], [[2, 0, 1], [0, 1, 0]])
    """
    num_columns, num_rows = values.shape
    values = np.ascontiguousarray(values)
    place = values.argsort(axis=1)  # NaN comes last
    place += np.arange(0, values.size, num_rows)[:, None]
    ordered = values.reshape(-1)[place]
    is_known = ~np.isnan(ordered)
    is_new = is_known.copy()
    is_new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    rank = is_new.cumsum(axis=1, dtype=np.int32)
    codes = np.empty(values.shape, np.uint8 if num_rows <= NUM_BINS_OF_LONG_TABLE else np.uint16)
    codes.reshape(-1)[place] = rank - is_known  # NaN has the rank of the last value
    value = ordered[is_new].astype(np.float64) + 0.0  # turns -0.0 into 0.0
    num_bins = rank[:, -1].astype(np.int64)
    edge = np.empty_like(value)
    edge[:-1] = midpoint(value[:-1], value[1:])
    edge[num_bins.cumsum()[num_bins > 0] - 1] = np.inf
    return BinTable(num_bins, value, value, edge, np.ones(num_columns, bool)), codes


def _count_distinct(ordered: Values) -> int:
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1


def _first_row_of_values(ordered: Values) -> Int64[np.ndarray, " value"]:
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return np.flatnonzero(is_new)


class _Cuts(NamedTuple):
    """The starts of bins.

    Attributes:
        num_shares: The number of equal shares that the rows are divided into, each of an equally full bin.
        place: The beginning of every bin but the first, in shares.
    """

    num_shares: int
    place: Float64[np.ndarray, " cut"]


def _first_row_of_bins(ordered: Values, max_bins: int) -> Int64[np.ndarray, " bin"]:
    """Returns which of the ordered numbers, of which there are more than bins, begin a bin."""
    share = len(ordered) / max_bins
    begin = partial(_cut_between_rows, ordered)
    if (ordered[int(share) :] == ordered[: len(ordered) - int(share)]).any():
        rows = _first_row_of_values(ordered)
        begin = partial(_cut_between_values, rows, np.diff(rows, append=len(ordered)))
    first = begin(_cuts(max_bins, np.zeros(0), np.zeros(0)))
    tails = [_tail(_count_distinct(end), max_bins) for end in (ordered[: first[1]], ordered[first[-1] :])]
    return begin(_cuts(max_bins, *tails)) if any(map(len, tails)) else first


@functools.lru_cache(maxsize=4096)
def _tail(num_values: int, max_bins: int) -> Float64[np.ndarray, " step"]:
    """Returns how much of a bin at an end of a column lies beyond each cut through it, outwards.

    Args:
        num_values: The number of distinct values in the bin.
        max_bins: The most bins of the column.
    """
    steps = int(_STEPS_A_HALVING * np.log2(max(num_values / _LEAST_VALUES_OF_TAIL, 1)))
    steps = min(steps, max_bins // _LEAST_BINS_A_STEP)
    tail = np.geomspace(1, _LEAST_VALUES_OF_TAIL / num_values, steps + 1)[1:]
    tail.setflags(write=False)
    return tail


def _cuts(max_bins: int, low: Float64[np.ndarray, " low"], high: Float64[np.ndarray, " high"]) -> _Cuts:
    """Returns the cuts between equally full bins, of which the first and last are cut again."""
    num_shares = max_bins - len(low) - len(high)
    return _Cuts(num_shares, np.concatenate([low[::-1], np.arange(1, num_shares), num_shares - high]))


def _cut_between_rows(ordered: Values, cuts: _Cuts) -> Int64[np.ndarray, " bin"]:
    """Does what `_cut_between_values` does where no value fills a bin.

    A cut is moved to the nearer end of its value.
    """
    row = len(ordered) / cuts.num_shares * cuts.place
    value = ordered[row.astype(np.int64)]
    start, stop = (np.searchsorted(ordered, value, side) for side in ("left", "right"))
    first = np.where((start + stop) / 2 >= row, start, stop)
    return np.unique(np.append(first[first < len(ordered)], 0))


def _cut_between_values(
    rows: Int64[np.ndarray, " value"], count: Int64[np.ndarray, " value"], cuts: _Cuts
) -> Int64[np.ndarray, " bin"]:
    """Returns the first rows of the distinct values that begin a bin.

    A value that fills a bin by itself counts as one bin and no more, so that the others share the rest.

    Args:
        rows: The first row of every value.
        count: The number of its rows.
        cuts: Where bins would begin if every number were another.
    """
    share = _share_of_bin(count, cuts.num_shares)
    middle = np.cumsum(np.minimum(count, share))
    middle -= np.minimum(count, share) / 2
    first = np.searchsorted(middle, share * cuts.place)
    return rows[np.unique(np.append(first[first < len(count)], 0))]


def _share_of_bin(count: Int64[np.ndarray, " value"], max_bins: int) -> float:
    r"""Returns the share $s$ of a bin for which $\sum_v \min(n_v, s) = s B$, for counts $n_v$ and $B$ bins."""
    share, num_heavy = float(count.sum() / max_bins), 0
    while np.count_nonzero(count > share) != num_heavy:
        is_heavy = count > share
        num_heavy = np.count_nonzero(is_heavy)
        share = float(count[~is_heavy].sum() / (max_bins - num_heavy))
    return share


def round_down_to_float32(edges: Float64[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Rounds towards minus infinity, so that `x <= edge` has the same answer as before for every float32 `x`."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = edges.astype(np.float32)
        return np.where(rounded > edges, np.nextafter(rounded, np.float32(-np.inf)), rounded)


class _CellTable(NamedTuple):
    """The edges of a column, with a first guess at the bin of every number."""

    edges: Float[np.ndarray, " padded_edge"]  # followed by infinities
    first_bin: UInt[np.ndarray, " cell"]  # of every cell: the number of edges in lower cells
    steps: tuple[int, ...]  # descending powers of two, one less in sum than 2 to their number


def bin_columns(
    columns: Columns | Sequence[Any], bins: BinTable, codes: CodesOfColumns, *, widen: bool = False
) -> BinTable:
    """Writes the code of every number into `codes`, an array a column, and returns the bins, widened or as they were.

    Widened bins reach to the lowest and highest of these numbers; edges stay. A bin in which a row has another value
    than those that edges were fitted on is no longer exact.

    Args:
        columns: The columns, as numbers or a `SparseVector`, or an array of all. A sparse one has a zero and the
            entries binned alone, so that zeros cost a fill.
        bins: Their bins.
        codes: Where to write.
        widen: Whether to widen the bins.
    """
    if not isinstance(columns, np.ndarray) and any(isinstance(own, SparseVector) for own in columns):
        num_threads = threads_for(len(columns[0]))
        parts = in_threads(partial(_bin_column, widen=widen), columns, bins, codes, num_threads=num_threads)
        return BinTable.of(parts) if widen else bins
    if not len(columns):
        return bins
    if library.load() is None:
        own = _bin_by_numpy(columns, bins, codes, widen=widen)
        return BinTable.of(own) if widen else bins
    from jaxtree.kernels import binning as kernel  # which needs JAX

    readable = _readable(columns)
    ends = kernel.BinEnds(bins.num_bins, bins.edge, bins.low, bins.high)
    low, high = kernel.code_columns(_described(readable), ends, codes, widen=widen)
    return bins.with_ranges(low, high) if widen else bins


def _bin_column(vector: Any, bins: Bins, codes: Codes, *, widen: bool) -> Bins:
    """Bins a column that may be sparse."""
    if not isinstance(vector, SparseVector):
        return bin_columns([vector], BinTable.of([bins]), [codes], widen=widen)[0]
    parts = vector.distinct_parts()
    part_codes = np.empty(len(parts), codes.dtype)
    (bins,) = bin_columns([parts], BinTable.of([bins]), [part_codes], widen=widen)
    vector.spread(part_codes, codes)
    return bins


def _bin_by_numpy(columns: Columns, table: BinTable, codes: CodesOfColumns, *, widen: bool) -> list[Bins]:
    """Does what `bin_columns` does, without the kernel.

    To widen, the bins whose highest value lies below a number are counted. Their count is its code, unless it lies
    between two bins; and then it is below the lowest value of the bin that it is given, and its code is found again. So
    widening takes one look-up more than to count edges, where comparing with both ends of every number's bin would take
    two.
    """
    num_rows, bins = _num_rows(columns), list(table)
    dtypes = [comparison_dtype(own.dtype) for own in columns]
    ends = [own.high if widen else own.edges for own in bins]
    counters = in_threads(_make_counter, dtypes, ends, codes, num_threads=threads_for(num_rows))
    bottoms = list(map(_bottoms, bins, dtypes)) if widen else []

    def bin_block(block: slice) -> list[Any]:
        """Returns the rows of every column whose values lie between bins, if bins are widened."""
        between = []
        for number, values in enumerate(_values_of_block(columns, block)):
            out = codes[number][block]
            out[:] = counters[number](values)
            if widen:
                between.append(block.start + np.flatnonzero(values < _look_up(bottoms[number], out)))
            out[np.isnan(values)] = bins[number].num_bins
        return between

    blocks = by_blocks(bin_block, num_rows)
    if not widen:
        return bins
    rows = [np.concatenate(of_column) for of_column in zip(*blocks, strict=True)]
    values = (np.asarray(column)[at] for column, at in zip(columns, rows, strict=True))
    return list(map(_widen, values, bins, codes, rows))


def _make_counter(
    dtype: np.dtype, edges: Float64[np.ndarray, " edge"], codes: Codes
) -> Callable[[Values], Int[np.ndarray, " row"]]:
    """Returns a function that counts the edges below numbers; by a binary search where there are few."""
    if len(codes) <= SMALL_COLUMN:
        return edges.searchsorted
    return partial(_count_edges_below, _make_cell_table(edges, dtype, codes.dtype))


def _bottoms(bins: Bins, dtype: np.dtype) -> Float[np.ndarray, " code"]:
    """The lowest value of every bin; infinity above all bins, so that the code of a number there is found again."""
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


def _values_of_block(columns: Columns, block: slice) -> Iterator[Values]:
    """The numbers of every column in a block, one after the other in memory."""
    if not isinstance(columns, np.ndarray) or columns.dtype not in (np.float32, np.float64):
        return (_as_comparable(own[block]) for own in columns)
    rows = columns[:, block]
    transposed = np.empty(rows.shape, rows.dtype)
    for start in range(0, rows.shape[1], _ROWS_OF_TILE):
        tile = slice(start, start + _ROWS_OF_TILE)
        transposed[:, tile] = rows[:, tile]
    return iter(transposed)


def _make_cell_table(edges: Float64[np.ndarray, " edge"], dtype: np.dtype, code_dtype: np.dtype) -> _CellTable:
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
    return _CellTable(padded, np.concatenate([first_bin[half:], first_bin[half - 1 :: -1]]), steps)


def _cell_of(values: Values) -> UInt16[np.ndarray, " row"]:
    """Returns the upper 16 bits of each value as a float32."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(np.float32, copy=False).view(np.uint16)[_UPPER_HALF::2]


def _count_edges_below(table: _CellTable, values: Values) -> Codes:
    """Returns how many edges lie below each number; of NaN anything.

    The numbers lie one after the other in memory, and have the dtype that the table was made for.
    """
    count = _look_up(table.first_bin, _cell_of(values))
    for step in table.steps:
        is_above = values > _look_up(table.edges[step - 1 :], count)
        count += is_above.astype(count.dtype) * count.dtype.type(step)
    return count


def _look_up(table: Real[np.ndarray, " entry"], index: Integer[np.ndarray, " row"]) -> Real[np.ndarray, " row"]:
    """Returns entries of a table; no index is out of range, and "clip" is the fastest mode."""
    return np.take(table, index, mode="clip")


def first_not_below(
    ascending: Float64[np.ndarray, " code"],
    target: Float[np.ndarray, "*node"],
    first: Int[np.ndarray, "*node"],
    last: Int[np.ndarray, "*node"],
) -> Int[np.ndarray, "*node"]:
    """Returns the first place from `first` on whose value is not below the target, at most `last`; by bisection."""
    while (is_open := first < last).any():
        middle = (first + last) // 2
        is_below = (ascending[middle] < target) & is_open
        first, last = np.where(is_below, middle + 1, first), np.where(is_below, last, middle)
    return first


def nearest(
    ascending: Float64[np.ndarray, " code"],
    target: Float64[np.ndarray, " node"],
    first: Int[np.ndarray, " node"],
    last: Int[np.ndarray, " node"],
) -> Int[np.ndarray, " node"]:
    """Returns the place from `first` to `last` whose value is nearest to the target; the lower of two equally near."""
    above = first_not_below(ascending, target, first, last)
    below = np.maximum(above - 1, first)
    with np.errstate(over="ignore"):
        is_below_nearer = target - ascending[below] <= ascending[above] - target
    return np.where(is_below_nearer, below, above)
