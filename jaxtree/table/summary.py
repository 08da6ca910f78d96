"""The summary of a table, from which its schema is learned, made part by part.

A *summary* has the categories of every column, whether a value is missing, and the numbers of *sampled* rows: those
whose number in the whole table hashes lowest. Summaries of parts merge into that of the whole, in any order and
grouping; so edges depend neither on how a table is cut into parts nor on who reads them. A table that is held as a
whole is one part.
"""

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64, Shaped, UInt64

from jaxtree.blocks import blocks_of, in_threads, threads_for
from jaxtree.errors import InternalError, InvalidInputError, InvalidTypeError
from jaxtree.table.binning import SMALL_COLUMN, Bins, comparison_dtype, fit_bins, fit_bins_of_small
from jaxtree.table.cells import RareWords, with_rare_words
from jaxtree.table.columns import (
    CELLS_AT_A_TIME,
    KINDS_IN_WORDS,
    MAX_CODES,
    SparseVector,
    TableColumn,
    as_categorical,
    recoded,
)
from jaxtree.table.reading import Table, read_table
from jaxtree.table.schema import Column, Schema, make_schema
from jaxtree.table.sources import Source, naming
from jaxtree.table.times import KINDS, TimeScale, origin_of

MAX_FITTED_ROWS = 200_000
NO_ROWS = "X has no rows in any of its parts, while a minimum of 1 is required"

_MOST_PENDING = 64
_ROWS_GATHERED = 4096  # of a matrix: few enough to be in cache when they become columns


def sample_rows(num_rows: int) -> Int64[np.ndarray, " row"]:
    """Returns, in ascending order, the rows that edges are fitted on: at most 200,000.

    Of a larger table these are the rows whose number has the lowest hash; see `row_hash`. They depend on the number of
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


class ColumnSummary(NamedTuple):
    """The values and categories of a column, or of a part of it.

    Attributes:
        name: Its name.
        kind: The kind of `TableColumn`.
        has_missing: Whether a value is missing.
        is_known: Whether any value is known, or its dtype declares its kind; else it may turn out to be any.
        values: The numbers or times of the sampled rows; none of categories.
        categories: Each with the first row of the part that first has it, its position there, and the number of its
            rows.
        is_declared: Whether the categories are those that a dtype declares, in its order.
        origin: The first date of all rows, see `TimeScale`; (0, 0) for all other columns.
    """

    name: str
    kind: str
    has_missing: bool
    is_known: bool
    values: Shaped[np.ndarray, " sampled"] | SparseVector
    categories: Any = {}  # noqa: RUF012, never changed
    is_declared: bool = False
    origin: tuple[int, int] = (0, 0)

    @property
    def time(self) -> TimeScale | None:
        """How its times become numbers; None if it has none."""
        return TimeScale(self.kind, self.origin) if self.kind in KINDS else None

    @property
    def is_numeric(self) -> bool:
        """Whether it has numbers, or times."""
        return self.kind == "numeric" or self.kind in KINDS

    @property
    def ordered_categories(self) -> tuple:
        """The categories in the order of their codes: as declared, or ascending."""
        return tuple(sorted(self.categories, key=self.categories.__getitem__ if self.is_declared else None))


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of a table or of a part of it.

    Attributes:
        label: The part's name in messages.
        num_rows: The number of its rows.
        rows: The sampled rows, by their number in the whole table, in ascending order.
        columns: The summary of every column; none if there are no rows.
    """

    label: str
    num_rows: int
    rows: Int64[np.ndarray, " sampled"]
    columns: tuple[ColumnSummary, ...]

    @property
    def is_sampled(self) -> bool:
        """Whether only some of the rows are sampled."""
        return self.num_rows > len(self.rows)

    def to_bytes(self) -> bytes:
        """Returns the summary as an archive of NumPy arrays, without pickles, for another process."""
        columns = [column._replace(values=None, categories=[*column.categories.items()]) for column in self.columns]
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
        for column, sampled in zip((ColumnSummary(*fields) for fields in described), values, strict=True):
            categories = {category: tuple(place) for category, place in column.categories}
            columns.append(column._replace(values=sampled, categories=categories, origin=tuple(column.origin)))
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
    numbers = _sampled_numbers(table, taken)
    columns = tuple(_summarise_column(*pair, first_row) for pair in zip(table.columns, numbers, strict=True))
    return Summary(label, len(table), rows[taken], columns)


def _sampled_numbers(
    table: Table, taken: Int64[np.ndarray, " taken"] | slice
) -> Iterable[Shaped[np.ndarray, " _sampled"] | SparseVector]:
    """The sampled numbers of every column; a matrix is read row by row, as it lies in memory."""
    matrix = table.matrix
    if isinstance(taken, slice):
        return [column.values for column in table.columns]
    if matrix is None:
        return [column.values.take(taken) for column in table.columns]
    sampled = np.empty((matrix.shape[1], len(taken)), matrix.dtype)

    def gather(block: slice) -> None:
        sampled[:, block] = matrix[taken[block]].T

    in_threads(gather, blocks_of(len(taken), _ROWS_GATHERED), num_threads=threads_for(len(taken)))
    return sampled


def _summarise_column(
    column: TableColumn, sampled: Shaped[np.ndarray, " sampled"] | SparseVector, first_row: int
) -> ColumnSummary:
    name, kind, has_missing = column.name, column.kind, column.has_missing
    if column.has_categories:
        counts = np.bincount(np.asarray(column.values), minlength=len(column.categories) + 1).tolist()
        pairs = zip(column.categories, counts, strict=False)
        places = {category: (first_row, position, count) for position, (category, count) in enumerate(pairs)}
        return ColumnSummary(name, kind, has_missing, True, np.zeros(0), places, column.is_declared)
    if has_missing and not len(column.known()):  # other parts may have anything
        return ColumnSummary(name, "numeric", True, False, np.full(len(sampled), np.nan))
    origin = origin_of(np.asarray(column.values)) if kind in ("instant", "utc") else (0, 0)
    return ColumnSummary(name, kind, has_missing, True, sampled, origin=origin)


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
    merged = tuple(_merge_columns(labels, column, order) for column in columns)
    num_rows = sum(summary.num_rows for summary in summaries)
    return Summary(first.label, num_rows, rows[order], merged)


def _merge_columns(
    labels: Sequence[str], columns: Sequence[ColumnSummary], order: Int64[np.ndarray, " sampled"]
) -> ColumnSummary:
    known = [pair for pair in zip(labels, columns, strict=True) if pair[1].is_known] or [(labels[0], columns[0])]
    first_label, first = known[0]
    values, categories = first.values, {}
    for label, column in known:
        _check_kind(first_label, first, label, column)
        for category, (*place, count) in column.categories.items():
            *earlier, before = categories.get(category, (*place, 0))
            categories[category] = (*min(place, earlier), before + count)
    if first.is_numeric:
        parts = [np.asarray(column.values) for column in columns]
        if first.time is not None:
            parts = [np.full(len(p), "NaT", first.values.dtype) if p.dtype.kind == "f" else p for p in parts]
        values = np.concatenate(parts)[order]
    return first._replace(
        has_missing=any(column.has_missing for column in columns),
        values=values,
        categories=categories,
        origin=min(column.origin for _, column in known),
    )


def _check_kind(first_label: str, first: ColumnSummary, label: str, column: ColumnSummary) -> None:
    name = f"the parts of a table must have the same columns: column {column.name!r} "
    if first.kind != column.kind:
        raise InvalidInputError(
            f"{name}has {KINDS_IN_WORDS[column.kind]} in {label}, and {KINDS_IN_WORDS[first.kind]} in {first_label}"
        )
    if first.is_declared != column.is_declared:
        declaring, other = (first_label, label) if first.is_declared else (label, first_label)
        raise InvalidInputError(f"{name}declares its categories in {declaring}, and none in {other}")
    if first.kind == "ordered" and first.ordered_categories != column.ordered_categories:
        raise InvalidInputError(
            f"{name}has the ordered categories {list(column.ordered_categories)} in {label}, and "
            f"{list(first.ordered_categories)} in {first_label}"
        )


def _codes_of(column: ColumnSummary, most: int) -> tuple[str | int | float | bool | RareWords, ...]:
    """The categories of a column in the order of their codes."""
    categories = column.ordered_categories
    if column.kind == "categorical":
        return with_rare_words(column.name, categories, [column.categories[own][-1] for own in categories], most)
    if len(categories) > MAX_CODES:
        raise InvalidInputError(
            f"column {column.name!r} has {len(categories)} ordered categories, more than the {MAX_CODES} allowed: drop "
            "the order, or pass their places as numbers"
        )
    return categories


def fit_schema(summary: Summary, *, onehot: bool, max_bins: int, max_categories: int = MAX_CODES) -> Schema:
    """Learns bins and categories.

    Args:
        summary: The summary of the table to fit.
        onehot: Whether a categorical column becomes a feature for each category.
        max_bins: The most bins of a numeric column.
        max_categories: The most categories of a categorical column, beyond which the rarest share one; an ordered
            column may have 65,535.

    Raises:
        InvalidInputError: If an ordered column has more categories than that, or there are no rows.
    """
    if not summary.num_rows:
        raise InvalidInputError(NO_ROWS)
    numeric = [column for column in summary.columns if column.is_numeric]
    fit = partial(_fit_column, max_bins=max_bins)
    bins = iter(in_threads(fit, numeric, num_threads=threads_for(len(summary.rows))))
    columns = []
    for column in summary.columns:
        if column.is_numeric:
            columns.append(Column(column.name, "numeric", (), next(bins), column.has_missing, column.time))
            continue
        categories = _codes_of(column, max_categories)
        columns.append(Column(column.name, column.kind, categories, None, column.has_missing))
    return make_schema(tuple(columns), onehot=onehot)


def fit_numbers(table: Table, max_bins: int) -> Schema | None:
    """Learns the bins of a table that is one array of numbers and held whole, for which nothing need be summarised.

    Args:
        table: The table.
        max_bins: The most bins of a column.

    Returns:
        The schema; None where a column has no number, or there are more rows than edges are fitted on.
    """
    if len(table) > MAX_FITTED_ROWS:
        return None
    if table.matrix is None:
        raise InternalError("bins of columns at once are fitted to a matrix")
    values = table.matrix.astype(comparison_dtype(table.matrix.dtype), copy=False).T
    if len(table) <= min(max_bins, SMALL_COLUMN):
        blocks = blocks_of(len(values), max(CELLS_AT_A_TIME // len(table), 1))
        fitted = [bins for block in blocks for bins in fit_bins_of_small(values[block])]
    else:
        fitted = in_threads(partial(fit_bins, max_bins=max_bins), values, num_threads=threads_for(len(table)))
    if not all(bins.num_bins for bins in fitted):
        return None
    pairs = zip(table.columns, fitted, strict=True)
    columns = tuple(Column(column.name, "numeric", (), bins, column.has_missing) for column, bins in pairs)
    return make_schema(columns, onehot=False)


def _fit_column(column: ColumnSummary, max_bins: int) -> Bins:
    values = np.asarray(column.values)
    if column.time is not None:
        values = column.time.numbers(values)
    return fit_bins(values.astype(comparison_dtype(values.dtype), copy=False), max_bins)


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
    parts = []
    for part in source.column(name):
        with naming(part.label):
            parts.append((part.label, read_table(part.table)))
    if not parts:
        raise InvalidInputError(NO_ROWS)
    # Only its categories and kind are needed: no row is sampled.
    summaries = [summarise(part, label, number, limit=np.uint64(0)) for number, (label, part) in enumerate(parts)]
    (merged,) = merge_summaries(summaries).columns
    if merged.time is not None:
        raise InvalidTypeError(f"column {name!r} has {KINDS[merged.kind]}: targets and weights cannot")
    columns, categories = [part.columns[0] for _, part in parts], merged.ordered_categories
    if not merged.is_numeric:
        columns = [recoded(as_categorical(column), categories) for column in columns]
    values = np.concatenate([column.values for column in columns])
    return TableColumn(name, merged.kind, values, merged.has_missing, categories, merged.is_declared)
