"""Tables that come in parts.

A *source* gives its rows part by part, each part a table that `read_table` reads, and gives them again whenever it is
asked. It is for tables that are larger than memory: codes, target and one part are all that is held.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.pieces import (
    Names,
    Piece,
    check_columns,
    is_record_batch,
    number_of_rows,
    pieces_of_dataset,
    pieces_of_file,
    pieces_of_path,
    pieces_of_tables,
    release_memory,
)

_SUFFIXES = (".parquet", ".pq")


class Part(NamedTuple):
    """Some rows of a source.

    Attributes:
        label: How messages name them.
        table: What `read_table` reads.
        num_rows: How many they are, at least one.
    """

    label: str
    table: Any
    num_rows: int


@dataclass(frozen=True)
class Source:
    """A table in parts.

    Attributes:
        pieces: Returns the pieces that it is read from.
        num_rows: The number of rows; None if it is not known before they are read.
        is_repeatable: Whether it can be read more than once.
        only: The columns that are read; None for all.
        left_out: Columns that are not read.
        start: The first row that is read.
        stop: The row before which reading ends; None for the end.
    """

    pieces: Callable[[], Iterable[Piece]]
    num_rows: int | None
    is_repeatable: bool = True
    only: Names | None = None
    left_out: frozenset[str] = frozenset()
    start: int = 0
    stop: int | None = None

    def __iter__(self) -> Iterator[Part]:
        """Reads the parts.

        Raises:
            InvalidInputError: If a part has other columns than the first one, or a column to be read is not there.
        """
        first, row = None, 0
        for piece in self.pieces():
            first = piece if first is None else first
            check_columns(piece, first)
            wanted = range(piece.num_rows)[
                max(self.start - row, 0) : None if self.stop is None else max(self.stop - row, 0)
            ]
            if wanted:
                for table, num_rows in _rows_of(piece.load(self._columns(piece)), wanted.start, len(wanted)):
                    yield Part(piece.label, table, num_rows)
            row += piece.num_rows
        release_memory()

    @property
    def names(self) -> Names:
        """The names of the columns, left out or not; none if they have no names, or there is no part."""
        first = next(iter(self.pieces()), None)
        return () if first is None or first.names is None else first.names

    def without(self, names: Iterable[str]) -> "Source":
        """Returns the source without some columns, which need not be there."""
        return replace(self, left_out=self.left_out.union(names))

    def column(self, name: str) -> "Source":
        """Returns the source with one column alone."""
        return replace(self, only=(name,), left_out=frozenset())

    def between(self, start: int, stop: int) -> "Source":
        """Returns the source with the rows from `start` on, up to `stop` and without it."""
        num_rows = None if self.num_rows is None else len(range(self.num_rows)[start:stop])
        return replace(self, start=start, stop=stop, num_rows=num_rows)

    def _columns(self, piece: Piece) -> Names | None:
        """The columns of a piece that are read; None for all."""
        if self.only is None and not self.left_out:
            return None
        if piece.names is None:
            wanted = sorted(self.left_out.union(self.only or ()))
            raise InvalidInputError(f"X has no column {wanted[0]!r}: its columns have no names")
        if self.only is None:
            return tuple(name for name in piece.names if name not in self.left_out)
        for name in self.only:
            if name not in piece.names:
                raise InvalidInputError(f"X has no column {name!r}: its columns are {list(piece.names)}")
        return self.only


def _rows_of(tables: Iterable[Any], start: int, num_wanted: int) -> Iterator[tuple[Any, int]]:
    """Yields so many rows of tables that follow one another, from a row on, with the number of rows of each table."""
    for table in tables:
        num_rows = number_of_rows(table)
        taken = range(num_rows)[start : start + num_wanted]
        if len(taken) == num_rows and num_rows:
            yield table, num_rows
        elif taken:
            whole = table.tocsr() if issparse(table) else nw.from_native(table, pass_through=True)
            sliced = whole[taken.start : taken.stop]
            yield (sliced.to_native() if isinstance(sliced, nw.DataFrame) else sliced), len(taken)
        start, num_wanted = max(start - num_rows, 0), num_wanted - len(taken)
        if not num_wanted:
            return


@contextmanager
def naming(label: str) -> Iterator[None]:
    """Adds to jaxtree's errors which part they are about."""
    try:
        yield
    except (InvalidInputError, InvalidTypeError) as error:
        raise type(error)(f"{label}: {error}") from error


def is_source(X: Any) -> bool:
    """Says whether something is a table in parts, and not one that is held as a whole.

    >>> is_source("train.parquet"), is_source([[1.0, 2.0], [3.0, 4.0]]), is_source(np.eye(2))
    (True, False, False)
    """
    return _opener(X) is not None


def open_source(X: Any) -> Source:
    """Returns a source, to be read as often as asked.

    Args:
        X: A path of a Parquet file, of a folder of them, or a list of such paths; a `pyarrow.dataset.Dataset` or
            `pyarrow.parquet.ParquetFile`; a list of record batches or data frames; a function without arguments that
            returns an iterator of tables of any kind, or an object that can be iterated again and again; a one-way
            iterator of tables, which can be read once.

    Raises:
        InvalidInputError: If there is no such file, or it is not Parquet.
        InvalidTypeError: If it is none of these.
        MissingExtraError: If pyarrow is needed and not installed.

    >>> import pandas as pd
    >>> source = open_source([pd.DataFrame({"size": [1.5, 2.0]}), pd.DataFrame({"size": [3.0]})])
    >>> source.num_rows, [part.num_rows for part in source.between(1, 3)]
    (3, [1, 1])
    """
    if isinstance(X, Source):
        return X
    opener = _opener(X)
    if opener is None:
        raise InvalidTypeError(f"X must be a path, a data set or an iterable of tables, got {type(X).__name__}")
    return opener(X)


def open_repeatable(X: Any) -> Source:
    """Returns a source that can be read more than once; see `open_source`.

    Raises InvalidInputError of one that cannot.
    """
    source = open_source(X)
    if not source.is_repeatable:
        raise InvalidInputError(
            f"X is a {type(X).__name__}, which can be read once, and fit reads a table in parts more than once: pass a "
            "list of its parts, a path, or a function that returns a new iterator whenever it is called"
        )
    return source


def _opener(X: Any) -> Callable[[Any], Source] | None:
    """The function that opens a source of a kind; None if it is none."""
    if isinstance(X, Source):
        return open_source
    if isinstance(X, str | os.PathLike):
        return _open_path
    module = type(X).__module__
    if module.startswith("pyarrow") and hasattr(X, "get_fragments"):
        return lambda dataset: _counted(pieces_of_dataset(dataset))
    if module.startswith("pyarrow.parquet") and hasattr(X, "iter_batches"):
        return lambda file: _counted(pieces_of_file(file))
    if isinstance(X, list | tuple):
        return _opener_of_list(X)
    is_whole = hasattr(X, "__array__") or hasattr(X, "__getitem__") or issparse(X) or _is_frame(X)
    if is_whole or isinstance(X, type | set | frozenset):
        return None
    if hasattr(X, "__next__"):
        return lambda tables: Source(lambda: pieces_of_tables(tables), None, is_repeatable=False)
    if callable(X):
        return lambda read: Source(lambda: pieces_of_tables(read()), None)
    return (lambda tables: Source(lambda: pieces_of_tables(tables), None)) if isinstance(X, Iterable) else None


def _opener_of_list(X: list | tuple) -> Callable[[Any], Source] | None:
    """Lists of paths and of tables are sources; lists of rows are not."""
    if not X or isinstance(X[0], list | tuple | np.ndarray):
        return None
    if all(map(_is_path, X)):
        return lambda paths: _counted([piece for path in paths for piece in pieces_of_path(path)])
    if all(_is_frame(item) or is_record_batch(item) or issparse(item) for item in X):
        return lambda tables: _counted(list(pieces_of_tables(tables)))
    return None


def _open_path(path: str | os.PathLike) -> Source:
    return _counted(pieces_of_path(path))


def _counted(pieces: Sequence[Piece]) -> Source:
    return Source(lambda: pieces, sum(piece.num_rows for piece in pieces))


def _is_path(item: Any) -> bool:
    """In a list, strings may be words."""
    return isinstance(item, os.PathLike) or (isinstance(item, str) and item.endswith(_SUFFIXES))


def _is_frame(item: Any) -> bool:
    try:
        return isinstance(nw.from_native(item, pass_through=True), nw.DataFrame | nw.LazyFrame)
    except DuplicateError:
        return True
