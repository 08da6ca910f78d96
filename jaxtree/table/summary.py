"""The summary of a table, from which its schema is learned, made part by part.

A *summary* has the categories of every column, whether a value is missing, and the numbers of *sampled* rows: those
whose number in the whole table hashes lowest. Summaries of parts merge into that of the whole, in any order and
grouping; so edges depend neither on how a table is cut into parts nor on who reads them. A table that is held as a
whole is one part.
"""

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64, Num, UInt, UInt64

from jaxtree.blocks import blocks_of, by_blocks
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.binning import SMALL_COLUMN, Bins, BinTable, comparison_dtype, fit_columns, rank_columns
from jaxtree.table.columns import MAX_CODES, NO_STATISTICS, ColumnStatistics, TableColumn, as_categorical, recoded
from jaxtree.table.rare_words import note_identifiers, with_rare_words
from jaxtree.table.reading import NumberBlock, Table, read_table
from jaxtree.table.schema import Columns, Description, Schema
from jaxtree.table.sources import Source, naming
from jaxtree.table.times import KINDS

MAX_FITTED_ROWS = 200_000
NO_ROWS = "X has no rows in any of its parts, while a minimum of 1 is required"

_WITHOUT_VALUES = ("name", "kind", "has_missing", "categories", "is_declared", "statistics")
_MOST_PENDING = 64
_CELLS_RANKED = 2**17  # of short columns at a time: their orders and ranks stay in cache
_ROWS_GATHERED = 4096  # of a matrix: few enough to be in cache when they become columns


def sample_rows(num_rows: int) -> Int64[np.ndarray, " row"]:
    """Returns, in ascending order, the rows that edges are fitted on: at most 200,000.

    In a larger table these are the rows whose number has the lowest hash; see `row_hash`. They depend on the number of
    rows alone.

    >>> sample_rows(4)
    array([0, 1, 2, 3])
    """
    rows = np.arange(num_rows)
    return rows[lowest_hashes(rows)]


def row_hash(rows: Int64[np.ndarray, " row"]) -> UInt64[np.ndarray, " row"]:
    """Returns a hash of every row's number.

    It is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014, "Fast splittable pseudorandom number generators"), a
    bijection, so there are no ties.
    """
    hashes = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def lowest_hashes(rows: Int64[np.ndarray, " row"]) -> Int64[np.ndarray, " lowest"] | slice:
    """Returns the places of the 200,000 rows whose number hashes lowest; of fewer rows all."""
    if len(rows) <= MAX_FITTED_ROWS:
        return slice(None)
    hashes = row_hash(rows)
    limit = np.partition(hashes, MAX_FITTED_ROWS - 1)[MAX_FITTED_ROWS - 1]
    return np.flatnonzero(hashes <= limit)


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of a table or of a part of it.

    Attributes:
        label: The part's name in messages.
        num_rows: The number of its rows.
        rows: The sampled rows, by their number in the whole table, in ascending order.
        columns: Every column of the sampled rows; none if there are no rows.
    """

    label: str
    num_rows: int
    rows: Int64[np.ndarray, " sampled"]
    columns: tuple[TableColumn, ...]

    @property
    def is_sampled(self) -> bool:
        """Whether only some of the rows are sampled."""
        return self.num_rows > len(self.rows)

    def to_bytes(self) -> bytes:
        """Returns the summary as an archive of NumPy arrays, without pickles, for another process."""
        columns = [[getattr(column, name) for name in _WITHOUT_VALUES] for column in self.columns]
        text = json.dumps([self.label, self.num_rows, columns]).encode()
        buffer = io.BytesIO()
        values = (np.asarray(column.values) for column in self.columns)
        np.savez(buffer, np.frombuffer(text, np.uint8), self.rows, *values)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> "Summary":
        """Returns the summary that `to_bytes` wrote; raises InvalidInputError if it wrote no such bytes."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                text, rows, *values = arrays.values()
        except (KeyError, OSError, ValueError) as error:
            raise InvalidInputError(f"the bytes are not those of a summary: {error}") from error
        label, num_rows, described = json.loads(text.tobytes())
        columns = []
        for own, (name, kind, has_missing, categories, is_declared, statistics) in zip(values, described, strict=True):
            is_known, *of_all = statistics
            of_all = ColumnStatistics(is_known, *map(tuple, of_all))
            columns.append(TableColumn(name, kind, own, has_missing, tuple(categories), is_declared, of_all))
        return Summary(label, num_rows, rows, tuple(columns))


def summarise_tables(tables: Iterable[tuple[str, Table]], first_row: int = 0) -> Summary:
    """Returns the summary of tables that follow one another.

    Args:
        tables: The tables, each with its name in messages; no more than one is held at a time.
        first_row: The number of the first row in the whole table.

    Raises InvalidInputError if a column is of two kinds.
    """
    pending, limit, num_sampled = [], None, 0
    for label, table in tables:
        part = summarise(table, label or "X", first_row, limit)
        first_row += len(table)
        num_sampled += len(part.rows)
        pending.append(part)
        if num_sampled > MAX_FITTED_ROWS or len(pending) > _MOST_PENDING:
            pending = [merge_summaries(pending)]
            num_sampled = len(pending[0].rows)
            limit = row_hash(pending[0].rows).max() if pending[0].is_sampled else None
    return merge_summaries(pending)


def summarise(table: Table, label: str = "X", first_row: int = 0, limit: np.uint64 | None = None) -> Summary:
    """Returns the summary of a table that is held as a whole.

    Args:
        table: The table.
        label: Its name in messages.
        first_row: The number of its first row in the whole table.
        limit: The highest hash of a row that may be sampled.
    """
    rows = np.arange(first_row, first_row + len(table))
    taken = lowest_hashes(rows) if limit is None else np.flatnonzero(row_hash(rows) <= limit)
    sampled = sample_table(table, taken, first_row)
    columns = [
        sampled.alone.get(place) or table.column(place).sampled(sampled.column(place).values, first_row)
        for place in range(len(table.names))
    ]
    return Summary(label, len(table), rows[taken], tuple(columns))


def sample_table(table: Table, taken: Int64[np.ndarray, " taken"] | slice, first_row: int = 0) -> Table:
    """Returns the sampled rows of a table: `Table.alone` has their columns with statistics, see `TableColumn`."""
    blocks, alone = table.blocks, {}
    if not isinstance(taken, slice):
        blocks = tuple(_rows_of_block(block, taken) for block in blocks)
    elif not table.alone:
        return table
    for place, column in table.alone.items():
        values = column.values if isinstance(taken, slice) else column.values.take(taken)
        alone[place] = column.sampled(values, first_row)
    return replace(table, blocks=blocks, alone=alone)


def merge_summaries(summaries: Sequence[Summary]) -> Summary:
    """Returns the summary of the rows of all summaries, whatever their order; they have no row in common.

    Raises InvalidInputError if parts differ in their columns or a column's kind, or if two parts have rows of the same
    number.
    """
    summaries = [summary for summary in summaries if summary.num_rows]
    if len(summaries) <= 1:
        return summaries[0] if summaries else Summary("", 0, np.zeros(0, np.int64), ())
    first, labels = summaries[0], [summary.label for summary in summaries]
    wanted = [column.name for column in first.columns]
    for summary in summaries:
        if (own := [column.name for column in summary.columns]) != wanted:
            raise InvalidInputError(
                f"the parts of a table must have the same columns: {summary.label} has {own}, and {first.label} has "
                f"{wanted}"
            )
    rows = np.concatenate([summary.rows for summary in summaries])
    order = np.argsort(rows, kind="stable")
    if (np.diff(rows[order]) == 0).any():
        raise InvalidInputError(
            "two parts have rows of the same number: the first row of each must be the number of rows before it"
        )
    order = order[lowest_hashes(rows[order])]
    columns = zip(*(summary.columns for summary in summaries), strict=True)
    merged = tuple(TableColumn.merged(list(zip(labels, own, strict=True)), order) for own in columns)
    num_rows = sum(summary.num_rows for summary in summaries)
    return Summary(first.label, num_rows, rows[order], merged)


CodesOfBlocks = list[tuple[Int64[np.ndarray, " _column"], UInt[np.ndarray, "_column row"]]]
"""The codes of the columns of blocks, by the places of these."""


def learn_schema(sampled: Table, *, max_bins: int, max_categories: int = MAX_CODES) -> tuple[Schema, CodesOfBlocks]:
    """Learns bins and categories; also returns the codes of sampled rows of blocks, where they were found on the way.

    Args:
        sampled: The sampled rows of a table, see `sample_table`.
        max_bins: The most bins of a numeric column.
        max_categories: The most categories of a categorical column, beyond which the rarest share one; an ordered
            column may have 65,535.

    Raises:
        InvalidInputError: If an ordered column has more categories than that.
    """
    codes, parts, described = [], [], {}
    for block in sampled.blocks:
        of_columns, of_rows = _fit_block(block.values(), max_bins)
        parts.append((block.place, of_columns, block.has_missing))
        if of_rows is not None:
            codes.append((block.place, of_rows))
    numbers, categories = {}, {}
    for place, column in sampled.alone.items():
        if column.has_categories:
            categories[place] = _learned_categories(column, max_categories)
            described[place] = Description(column.kind, categories[place])
            continue
        values = np.asarray(column.values)
        numbers[place] = values if column.time is None else column.time.numbers(values)
        if column.is_time:
            described[place] = Description(time=column.time)
    of_numbers = fit_columns([*numbers.values()], max_bins) if numbers else None
    of_categories = BinTable.of(Bins.of_codes(len(own)) for own in categories.values()) if categories else None
    for places, bins in ((numbers, of_numbers), (categories, of_categories)):
        if bins is not None:
            has_missing = np.array([sampled.alone[place].has_missing for place in places], bool)
            parts.append((np.array([*places]), bins, has_missing))
    return Schema(Columns.joined(sampled.names, parts, described)), codes


def _learned_categories(column: TableColumn, max_categories: int) -> tuple:
    """Returns the categories of a column of sampled rows, of which the rarest may share one."""
    name, categories, num_rows = column.name, column.categories, column.statistics.num_rows
    note_identifiers(name, np.array(num_rows, np.int64))
    if column.kind == "categorical":
        return with_rare_words(name, categories, num_rows, max_categories)
    if len(categories) > MAX_CODES:
        raise InvalidInputError(
            f"column {name!r} has {len(categories)} ordered categories, more than the {MAX_CODES} allowed: drop the "
            "order, or pass their places as numbers"
        )
    return categories


def _rows_of_block(block: NumberBlock, taken: Int64[np.ndarray, " taken"]) -> NumberBlock:
    """Returns sampled rows, column by column; the array is read row by row, as it lies in memory."""
    sampled = np.empty((len(block.at), len(taken)), block.matrix.dtype)

    def gather(rows: slice) -> None:
        sampled[:, rows] = block.matrix[taken[rows]][:, block.at].T

    by_blocks(gather, len(taken), _ROWS_GATHERED)
    return replace(block, matrix=sampled.T, at=np.arange(len(block.at)))


def _fit_block(
    matrix: Num[np.ndarray, "row column"], max_bins: int
) -> tuple[BinTable, UInt[np.ndarray, "column row"] | None]:
    """Fits the bins of numbers; of short columns the codes of the rows come with them."""
    values = matrix.astype(comparison_dtype(matrix.dtype), copy=False).T
    if len(matrix) > min(max_bins, SMALL_COLUMN):
        return fit_columns(values, max_bins), None
    blocks = blocks_of(len(values), max(_CELLS_RANKED // len(matrix), 1))
    bins, codes = zip(*map(rank_columns, map(values.__getitem__, blocks)), strict=True)
    return BinTable.chained(bins), codes[0] if len(codes) == 1 else np.concatenate(codes)


def read_column(source: Source, name: str) -> TableColumn:
    """Reads one column of a source, a target or a weight, which is held as a whole: it is small next to the table.

    Raises:
        InvalidInputError: If there is no such column, or no row, or parts have columns of different kinds.
        InvalidTypeError: If it has dates or durations.

    >>> import pandas as pd
    >>> from jaxtree.table import open_source
    >>> column = read_column(open_source([pd.DataFrame({"kind": ["b", "a"]}), pd.DataFrame({"kind": ["c"]})]), "kind")
    >>> column.categories, column.values
    (('a', 'b', 'c'), array([1, 0, 2], dtype=int32))
    """
    column = read_whole_column(source, name)
    if column.is_time:
        raise InvalidTypeError(f"column {name!r} has {KINDS[column.kind]}: targets and weights cannot")
    return column


def read_whole_column(source: Source, name: str) -> TableColumn:
    """Reads one column of a source, of any kind; see `read_column`."""
    parts = []
    for part in source.column(name):
        with naming(part.label):
            parts.append((part.label, read_table(part.table)))
    if not parts:
        raise InvalidInputError(NO_ROWS)
    return join_tables(parts).column(0)


def join_tables(parts: Sequence[tuple[str, Table]]) -> Table:
    """Returns a copy of the rows of tables that follow one another, with the names of the first.

    Args:
        parts: The tables, each after its name in messages.

    Raises:
        InvalidInputError: Tables differ in their columns or a column's kind.
    """
    tables = [table for _, table in parts]
    first, matrices = tables[0], [table.matrix for table in tables]
    if all(own is not None and own.shape[1] == len(first.names) for own in matrices):
        blocks = [table.blocks[0] for table in tables]
        has_missing = np.any([block.has_missing for block in blocks], axis=0)
        joined = np.concatenate([block.values() for block in blocks])
        place = np.arange(len(first.names))
        return replace(first, blocks=(NumberBlock(place, joined, place, has_missing),))
    tables = [_named(table, first.names) for table in tables]
    # Only categories and kinds are needed: no row is sampled.
    limit = np.uint64(0)
    summaries = [
        summarise(own, label, row, limit) for row, ((label, _), own) in enumerate(zip(parts, tables, strict=True))
    ]
    columns = merge_summaries(summaries).columns
    joined = Table.of(
        (_joined(own, [table.column(p) for table in tables]) for p, own in enumerate(columns)), first.is_named
    )
    return replace(joined, is_numbered=first.is_numbered)


def _named(table: Table, names: tuple[str, ...]) -> Table:
    """Returns a table whose columns have other names, if these are as many."""
    if table.names == names or len(table.names) != len(names):
        return table
    alone = {place: replace(column, name=names[place]) for place, column in table.alone.items()}
    return replace(table, names=names, alone=alone)


def _joined(merged: TableColumn, columns: list[TableColumn]) -> TableColumn:
    """Returns the rows of the columns of several tables, given what they have in common."""
    if merged.has_categories:
        columns = [recoded(as_categorical(column), merged.categories) for column in columns]
    values = [np.asarray(column.values) for column in columns]
    if merged.is_time:  # a part without any value has numbers
        dtype = np.asarray(merged.values).dtype
        values = [own if own.dtype.kind in "mM" else np.full(len(own), "NaT", dtype) for own in values]
    return replace(merged, values=np.concatenate(values), statistics=NO_STATISTICS)
