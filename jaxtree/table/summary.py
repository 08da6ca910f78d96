"""What a schema is learned from: a summary of a table, made part by part.

A *summary* has the categories of every column, whether a value is missing, and of numbers those of the rows whose
number in the whole table hashes lowest. Summaries of parts merge into that of the whole, in any order and grouping; so
edges depend neither on how a table is cut into parts nor on who reads them.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int64, Shaped

from jaxtree.errors import InvalidInputError
from jaxtree.table import sampling
from jaxtree.table.columns import AnyColumn, WordColumn, check_num_categories
from jaxtree.table.reading import Table
from jaxtree.table.sampling import lowest_hashes, row_hash
from jaxtree.table.sparse import SparseVector
from jaxtree.table.threads import map_in_threads
from jaxtree.table.times import KINDS, TimeColumn, TimeScale, origin_of

_MOST_PENDING = 64
_ROWS_GATHERED = 4096  # of a matrix: few enough to be in cache when they become columns
_KINDS_IN_WORDS = {
    "numeric": "numbers",
    "boolean": "truth values",
    "categorical": "categories",
    "ordered": "ordered words",
    **KINDS,
}


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What is known of a column.

    Attributes:
        name: Its name.
        kind: "numeric", "ordered", "categorical" or "boolean"; or a kind of times, see `TimeScale`.
        has_missing: Whether a value is missing.
        is_known: Whether any value is known, or its dtype says what kind it is; else it may turn out to be any.
        values: The numbers or times of the sampled rows; none of words.
        words: The categories, each with the first row of the part that first has it and its position there.
        is_declared: Whether the categories are those that a dtype declares, in its order.
        origin: The first date of all rows, see `TimeScale`; (0, 0) for all other columns.
    """

    name: str
    kind: str
    has_missing: bool
    is_known: bool
    values: Shaped[np.ndarray, " sampled"] | SparseVector
    words: dict[Any, tuple[int, int]]
    is_declared: bool
    origin: tuple[int, int] = (0, 0)

    @property
    def time(self) -> TimeScale | None:
        """How its times become numbers; None if it has none."""
        return TimeScale(self.kind, self.origin) if self.kind in KINDS else None

    @property
    def ordered_words(self) -> tuple:
        """The categories in the order of their codes: as declared, or ascending."""
        return tuple(sorted(self.words, key=self.words.__getitem__) if self.is_declared else sorted(self.words))


@dataclass(frozen=True, eq=False)
class Summary:
    """What is known of a table or of a part of it.

    Attributes:
        label: How messages name the part.
        num_rows: The number of its rows.
        is_named: Whether its columns came with names.
        rows: The sampled rows, by their number in the whole table, in ascending order.
        columns: What is known of every column; nothing if there are no rows.
    """

    label: str
    num_rows: int
    is_named: bool
    rows: Int64[np.ndarray, " sampled"]
    columns: tuple[ColumnSummary, ...]

    @property
    def is_sampled(self) -> bool:
        """Whether only some of the rows are sampled."""
        return self.num_rows > len(self.rows)

    def to_bytes(self) -> bytes:
        """Returns the summary as an archive of NumPy arrays, without pickles, for another process."""
        columns = [
            [c.name, c.kind, c.has_missing, c.is_known, list(c.words), list(c.words.values()), c.is_declared, c.origin]
            for c in self.columns
        ]
        text = json.dumps([self.label, self.num_rows, self.is_named, columns]).encode()
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {
            f"values{position}": np.asarray(column.values) for position, column in enumerate(self.columns)
        }
        np.savez(buffer, text=np.frombuffer(text, np.uint8), rows=self.rows, **arrays)
        return buffer.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> "Summary":
        """Returns the summary that `to_bytes` wrote; raises InvalidInputError if it wrote no such bytes."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                return _summary_of_arrays(arrays)
        except (KeyError, OSError, ValueError) as error:
            raise InvalidInputError(f"the bytes are not those of a summary: {error}") from error


def _summary_of_arrays(arrays: Mapping[str, np.ndarray]) -> Summary:
    label, num_rows, is_named, described = json.loads(arrays["text"].tobytes())
    columns = []
    for position, (name, kind, has_missing, is_known, words, places, is_declared, origin) in enumerate(described):
        word_places = dict(zip(words, map(tuple, places), strict=True))
        values = arrays[f"values{position}"]
        columns.append(
            ColumnSummary(name, kind, has_missing, is_known, values, word_places, is_declared, tuple(origin))
        )
    return Summary(label, num_rows, is_named, arrays["rows"], tuple(columns))


EMPTY = Summary("", 0, False, np.zeros(0, np.int64), ())


def summarise_tables(
    tables: Iterable[tuple[str, Table]], first_row: int = 0, max_categories: int | None = None
) -> Summary:
    """Returns the summary of tables that follow one another.

    Args:
        tables: The tables, each with how messages name it; no more than one is held at a time.
        first_row: The number of the first row in the whole table.
        max_categories: The most categories of a categorical column.

    Raises:
        InvalidInputError: If a column is of two kinds, or has too many categories.
    """
    pending, limit, num_sampled = [], None, 0
    for label, table in tables:
        part = summarise(table, label, first_row, limit)
        first_row += table.num_rows
        num_sampled += len(part.rows)
        pending.append(part)
        if num_sampled > sampling.MAX_FITTED_ROWS or len(pending) > _MOST_PENDING:
            pending = [merge_summaries(pending, max_categories)]
            num_sampled = len(pending[0].rows)
            limit = row_hash(pending[0].rows).max() if pending[0].is_sampled else None
    return merge_summaries(pending, max_categories)


def summarise(table: Table, label: str = "X", first_row: int = 0, limit: np.uint64 | None = None) -> Summary:
    """Returns the summary of a table that is held as a whole.

    Args:
        table: The table.
        label: How messages name it.
        first_row: The number of its first row in the whole table.
        limit: The highest hash of a row that is of use.
    """
    rows = np.arange(first_row, first_row + table.num_rows)
    taken = lowest_hashes(rows) if limit is None else np.flatnonzero(row_hash(rows) <= limit)
    numbers = _sampled_numbers(table, taken)
    columns = tuple(_summarise_column(*pair, first_row) for pair in zip(table.columns, numbers, strict=True))
    return Summary(label, table.num_rows, table.is_named, rows[taken], columns)


def _sampled_numbers(
    table: Table, taken: Int64[np.ndarray, " taken"] | slice
) -> Iterable[Shaped[np.ndarray, " _sampled"] | SparseVector]:
    """The sampled numbers of every column; a matrix is read row by row, as it lies in memory."""
    matrix = table.matrix
    if matrix is not None and not isinstance(taken, slice):
        sampled = np.empty((matrix.shape[1], len(taken)), matrix.dtype)

        def gather(start: int) -> None:
            block = slice(start, start + _ROWS_GATHERED)
            sampled[:, block] = matrix[taken[block]].T

        map_in_threads(gather, range(0, len(taken), _ROWS_GATHERED), num_rows=len(taken))
        return sampled
    return [_taken(column, taken) for column in table.columns]


def _taken(
    column: AnyColumn, taken: Int64[np.ndarray, " taken"] | slice
) -> Shaped[np.ndarray, " sampled"] | SparseVector:
    if isinstance(column, WordColumn):
        return np.zeros(0)
    return column.values.take(taken) if isinstance(column.values, SparseVector) else column.values[taken]


def _summarise_column(
    column: AnyColumn, sampled: Shaped[np.ndarray, " sampled"] | SparseVector, first_row: int
) -> ColumnSummary:
    if isinstance(column, WordColumn):
        words = {word: (first_row, position) for position, word in enumerate(column.words)}
        return ColumnSummary(column.name, column.kind, column.has_missing, True, np.zeros(0), words, column.is_declared)
    if isinstance(column, TimeColumn):
        return _summarise_times(column, np.asarray(sampled))
    is_known = not (column.has_missing and bool(np.isnan(np.asarray(column.values)).all()))
    return ColumnSummary(column.name, "numeric", column.has_missing, is_known, sampled, {}, False)


def _summarise_times(column: TimeColumn, sampled: Shaped[np.ndarray, " sampled"]) -> ColumnSummary:
    """Of times of which none is known nothing is said: other parts may have anything."""
    if not column.is_known:
        return ColumnSummary(column.name, "numeric", True, False, np.full(len(sampled), np.nan), {}, False)
    origin = (0, 0) if column.kind == "duration" else origin_of(column.values)
    return ColumnSummary(column.name, column.kind, column.has_missing, True, sampled, {}, False, origin)


def merge_summaries(summaries: Sequence[Summary], max_categories: int | None = None) -> Summary:
    """Returns the summary of the rows of all summaries, whatever their order.

    Args:
        summaries: Summaries of parts that have no row in common.
        max_categories: The most categories of a categorical column.

    Raises:
        InvalidInputError: If parts differ in their columns or a column's kind, if a column has too many categories, or
            if two parts have rows of the same number.
    """
    summaries = [summary for summary in summaries if summary.num_rows]
    if len(summaries) <= 1:
        return summaries[0] if summaries else EMPTY
    first = summaries[0]
    for summary in summaries:
        _check_names(summary, first)
    rows = np.concatenate([summary.rows for summary in summaries])
    order = np.argsort(rows, kind="stable")
    if (np.diff(rows[order]) == 0).any():
        raise InvalidInputError(
            "two parts have rows of the same number: the first row of each must be the number of rows before it"
        )
    order = order[lowest_hashes(rows[order])]
    labels = [summary.label for summary in summaries]
    columns = tuple(
        _merge_columns(labels, columns, order, max_categories)
        for columns in zip(*(summary.columns for summary in summaries), strict=True)
    )
    num_rows = sum(summary.num_rows for summary in summaries)
    return Summary(first.label, num_rows, first.is_named, rows[order], columns)


def _check_names(summary: Summary, first: Summary) -> None:
    own, wanted = ([column.name for column in s.columns] for s in (summary, first))
    if own != wanted:
        raise InvalidInputError(
            f"the parts of a table must have the same columns: {summary.label} has {own}, and {first.label} has "
            f"{wanted}"
        )


def _merge_columns(
    labels: Sequence[str],
    columns: Sequence[ColumnSummary],
    order: Int64[np.ndarray, " sampled"],
    max_categories: int | None,
) -> ColumnSummary:
    name, has_missing = columns[0].name, any(column.has_missing for column in columns)
    known = [position for position, column in enumerate(columns) if column.is_known]
    typed = columns[known[0]] if known else columns[0]
    for position in known:
        _check_kind(labels[known[0]], typed, labels[position], columns[position])
    if typed.kind == "numeric":
        values = np.concatenate([np.asarray(column.values) for column in columns])[order]
        return ColumnSummary(name, "numeric", has_missing, bool(known), values, {}, False)
    if typed.kind in KINDS:
        no_times = np.array("NaT", typed.values.dtype)
        times = [c.values if c.is_known else np.full(len(c.values), no_times) for c in columns]
        origin = min(columns[position].origin for position in known)
        return ColumnSummary(name, typed.kind, has_missing, True, np.concatenate(times)[order], {}, False, origin)
    words: dict[Any, tuple[int, int]] = {}
    for position in known:
        for word, place in columns[position].words.items():
            words[word] = min(place, words.get(word, place))
    if typed.kind == "categorical":
        check_num_categories(name, len(words), max_categories)
    return ColumnSummary(name, typed.kind, has_missing, True, typed.values, words, typed.is_declared)


def _check_kind(first_label: str, first: ColumnSummary, label: str, column: ColumnSummary) -> None:
    name = f"the parts of a table must have the same columns: column {column.name!r} "
    if first.kind != column.kind:
        raise InvalidInputError(
            f"{name}has {_KINDS_IN_WORDS[column.kind]} in {label}, and {_KINDS_IN_WORDS[first.kind]} in {first_label}"
        )
    if first.is_declared != column.is_declared:
        declaring, other = (first_label, label) if first.is_declared else (label, first_label)
        raise InvalidInputError(f"{name}declares its categories in {declaring}, and none in {other}")
    if first.kind == "ordered" and first.ordered_words != column.ordered_words:
        raise InvalidInputError(
            f"{name}has the ordered words {list(column.ordered_words)} in {label}, and {list(first.ordered_words)} in "
            f"{first_label}"
        )
