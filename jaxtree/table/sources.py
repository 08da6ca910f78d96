"""Tables that come in parts.

A *source* gives its rows part by part, each part a table that `read_table` reads, and gives them again on every
iteration. It is for tables that are larger than memory: codes, target and one part are all that is held. It is read
from *pieces*: row groups of Parquet files, data sets, batches. Files and data sets are read with pyarrow, which is
imported where they are used and nowhere else. Some rows of a source are a source, too.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jaxtree.errors import InvalidInputError, InvalidTypeError, import_extra
from jaxtree.lazy import DataFrame, issparse, nw
from jaxtree.table.names import hint_for_column, kept_names, name_in_words, with_names_of_strings

ROWS_AT_A_TIME = 2**17
"""Rows that are read at a time from a file or data set."""

_SUFFIXES, _MARK_OF_PARQUET = (".parquet", ".pq"), b"PAR1"

_SUFFIXES_IN_LISTS = (*_SUFFIXES, ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".arff", ".arrow", ".feather")
"""Strings of a list are paths where all have such an ending."""

Names = tuple[Any, ...]
"""Names of columns: strings, or 0, 1, ... where pandas numbers them."""


class Piece(NamedTuple):
    """Some rows of a table, one after the other.

    Attributes:
        label: Its name in messages.
        num_rows: The number of its rows.
        names: Its columns; None if they have no names.
        load: Returns tables with its rows, with the given columns alone, or with all if given None.
    """

    label: str
    num_rows: int
    names: Names | None
    load: Callable[[Names | None], Iterable[Any]]


class Part(NamedTuple):
    """Some rows of a source, at least one: their name in messages, and a table that `read_table` reads."""

    label: str
    table: Any


@dataclass(frozen=True)
class Source:
    """A table in parts.

    Attributes:
        pieces: Returns the pieces that it is read from.
        num_rows: The number of rows; None if it is not known before they are read.
        is_repeatable: Whether it can be read more than once.
        only: The column that is read; None for all.
        left_out: Columns that are not read.
        start: The first row that is read.
        stop: The row before which reading ends; None for the end.
        is_whole: Whether it is one piece that is in memory: a file that is not read in parts.
    """

    pieces: Callable[[], Iterable[Piece]]
    num_rows: int | None
    is_repeatable: bool = True
    only: str | None = None
    left_out: frozenset[str] = frozenset()
    start: int = 0
    stop: int | None = None
    is_whole: bool = False

    def __iter__(self) -> Iterator[Part]:
        """Reads the parts.

        Raises:
            InvalidInputError: If a part has other columns than the first one, or a column to be read is not there.
        """
        first, row = None, 0
        for piece in self.pieces():
            first = first or piece
            _check_columns(piece, first)
            stop = None if self.stop is None else max(self.stop - row, 0)
            wanted = range(piece.num_rows)[max(self.start - row, 0) : stop]
            if wanted:
                yield from (Part(piece.label, table) for table in _rows_of(piece.load(self._columns(piece)), wanted))
            row += piece.num_rows
        pyarrow: Any = sys.modules.get("pyarrow")
        if pyarrow is not None:  # which keeps memory for the next batch
            pyarrow.default_memory_pool().release_unused()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns as strings, left out or not; none if they have no names, or there is no part."""
        first = next(iter(self.pieces()), None)
        return () if first is None or first.names is None else tuple(map(name_in_words, first.names))

    def without(self, names: Iterable[str]) -> "Source":
        """Returns the source without some columns, which need not be there."""
        return replace(self, left_out=self.left_out.union(names))

    def column(self, name: str) -> "Source":
        """Returns the source with one column alone."""
        return replace(self, only=name, left_out=frozenset())

    def between(self, start: int, stop: int) -> "Source":
        """Returns the source with the rows from `start` on, up to `stop` and without it."""
        num_rows = None if self.num_rows is None else len(range(self.num_rows)[start:stop])
        return replace(self, start=start, stop=stop, num_rows=num_rows)

    def _columns(self, piece: Piece) -> Names | None:
        """The columns of a piece that are read; None for all."""
        if self.only is None and not self.left_out:
            return None
        if piece.names is None:
            raise InvalidInputError(f"X has no column {self.only or min(self.left_out)!r}: its columns have no names")
        in_words = {name_in_words(name): name for name in piece.names}
        if self.only is None:
            return tuple(name for word, name in in_words.items() if word not in self.left_out)
        if self.only not in in_words:
            near = hint_for_column(self.only, in_words) or f": its columns are {list(piece.names)}"
            raise InvalidInputError(f"X has no column {self.only!r}{near}")
        return (in_words[self.only],)


def _rows_of(tables: Iterable[Any], wanted: range) -> Iterator[Any]:
    """Yields tables that follow one another, or parts of them: the rows that are wanted."""
    row = 0
    for table in tables:
        num_rows = number_of_rows(table)
        taken = range(num_rows)[max(wanted.start - row, 0) : max(wanted.stop - row, 0)]
        row += num_rows
        if taken and len(taken) == num_rows:
            yield table
        elif taken:
            sliced = (table.tocsr() if issparse(table) else as_frame(table))[taken.start : taken.stop]
            yield sliced.to_native() if isinstance(sliced, DataFrame) else sliced
        if row >= wanted.stop:
            return


@contextmanager
def naming(label: str) -> Iterator[None]:
    """Adds to jaxtree's errors which part they are about, if it has a name."""
    try:
        yield
    except (InvalidInputError, InvalidTypeError) as error:
        if not label:
            raise
        raise type(error)(f"{label}: {error}") from error


def as_frame(X: Any) -> Any:
    """Returns X as a data frame or series of narwhals, or X itself if it is neither; a lazy frame is collected.

    A data frame has strings as names, unless pandas has numbered the columns of a bare array, and no stored index.
    Raises InvalidInputError if two columns have one name.
    """
    if isinstance(X, np.ndarray | list | tuple):  # narwhals would find it out in a tenth of the time of a small fit
        return X
    try:
        frame = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidInputError(f"the names of X's columns must be unique: {error}") from error
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return with_names_of_strings(frame) if isinstance(frame, DataFrame) else frame


def is_source(X: Any) -> bool:
    """Returns whether something is a table in parts, and not one that is held as a whole.

    >>> is_source("train.parquet"), is_source([[1.0, 2.0], [3.0, 4.0]]), is_source(np.eye(2))
    (True, False, False)
    """
    return type(X) is not np.ndarray and _opener(X) is not None


def open_source(X: Any, *, to_fit: bool = False, words: Set[str] = frozenset()) -> Source:
    """Returns a source, to be read as often as asked.

    Args:
        X: A path of a Parquet file, of a folder of them, of a file of CSV, TSV, ARFF or Arrow, which is read as a
            whole, or a list of such paths; a `pyarrow.dataset.Dataset` or `pyarrow.parquet.ParquetFile`; a list of
            record batches or data frames; a function without arguments that returns an iterator of tables of any kind,
            or an object that can be iterated again and again; a one-way iterator of tables, which can be read once.
        to_fit: Whether it must be one that can be read more than once.
        words: Names of columns that have words in files of text, whatever their cells are.

    Raises:
        InvalidInputError: If there is no such file, or it cannot be read, or can be read only once and is to be fitted.
        InvalidTypeError: If it is none of these.
        MissingExtraError: If pyarrow is needed and not installed.

    >>> import pandas as pd
    >>> source = open_source([pd.DataFrame({"size": [1.5, 2.0]}), pd.DataFrame({"size": [3.0]})])
    >>> source.num_rows, [part.table["size"].tolist() for part in source.between(1, 3)]
    (3, [[2.0], [3.0]])
    """
    opener = _opener(X, words)
    if opener is None:
        raise InvalidTypeError(f"X must be a path, a data set or an iterable of tables, got {type(X).__name__}")
    source = opener()
    if to_fit and not source.is_repeatable:
        raise InvalidInputError(
            f"X is a {type(X).__name__}, which can be read once, and fit reads a table in parts more than once: pass a "
            "list of its parts, a path, or a function that returns a new iterator whenever it is called"
        )
    return source


def check_is_in_memory(X: Any, user: str) -> None:
    """Raises InvalidTypeError if a table is read from a file or in parts.

    >>> check_is_in_memory("train.csv", "SearchCV")
    Traceback (most recent call last):
    jaxtree.errors.InvalidTypeError: SearchCV needs a table in memory, got 'train.csv': read it first, as by
    polars.read_csv
    """
    if is_source(X):
        given, hint = (repr(X), ", as by polars.read_csv") if isinstance(X, str) else (f"a {type(X).__name__}", "")
        raise InvalidTypeError(f"{user} needs a table in memory, got {given}: read it first{hint}")


def _opener(X: Any, words: Set[str] = frozenset()) -> Callable[[], Source] | None:
    """Returns a function that opens a table in parts; None for anything else."""
    if isinstance(X, Source):
        return lambda: X
    if isinstance(X, list | tuple):
        return _opener_of_list(X, words)
    if isinstance(X, str | os.PathLike):
        return lambda: _source_of_path(X, words)
    module = type(X).__module__
    if module.startswith("pyarrow") and hasattr(X, "get_fragments"):
        return lambda: _counted([_piece_of_dataset(X)])
    if module.startswith("pyarrow.parquet") and hasattr(X, "iter_batches"):
        return lambda: _counted(_pieces_of_file(lambda **_: X, "the Parquet file", {}))
    is_whole = hasattr(X, "__array__") or hasattr(X, "__getitem__") or issparse(X) or _is_frame(X)
    if is_whole or isinstance(X, type | set | frozenset):
        return None
    if hasattr(X, "__next__"):
        return lambda: Source(lambda: _pieces_of_tables(X), None, is_repeatable=False)
    if callable(X):
        read: Any = X
        return lambda: Source(lambda: _pieces_of_tables(read()), None)
    return (lambda: Source(lambda: _pieces_of_tables(X), None)) if isinstance(X, Iterable) else None


def _opener_of_list(X: list | tuple, words: Set[str]) -> Callable[[], Source] | None:
    """Lists of paths and of tables are sources; lists of rows are not."""
    if not X or isinstance(X[0], list | tuple | np.ndarray):
        return None
    # In a list, strings may be values.
    if all(
        isinstance(item, os.PathLike) or (isinstance(item, str) and item.endswith(_SUFFIXES_IN_LISTS)) for item in X
    ):
        return lambda: _counted(piece for path in X for piece in _pieces_of_path(path, words))
    if all(_is_frame(item) or _is_record_batch(item) or issparse(item) for item in X):
        return lambda: _counted(_pieces_of_tables(X))
    return None


def _source_of_path(path: str | os.PathLike, words: Set[str]) -> Source:
    source = _counted(_pieces_of_path(path, words))
    return replace(source, is_whole=not is_parquet(path))


def _counted(pieces: Iterable[Piece]) -> Source:
    counted = tuple(pieces)
    return Source(lambda: counted, sum(piece.num_rows for piece in counted))


def _is_frame(item: Any) -> bool:
    try:
        return isinstance(nw.from_native(item, pass_through=True), DataFrame | nw.LazyFrame)
    except nw.exceptions.DuplicateError:
        return True


def _pieces_of_path(path: str | os.PathLike, words: Set[str]) -> list[Piece]:
    """The row groups of a Parquet file, or of all in a folder and below it, in the order of their paths.

    Folders named `column=value` add a column, and an index that pandas wrote is none. Another file, such as CSV, is one
    piece.
    """
    if not Path(path).exists():
        raise InvalidInputError(f"X is read as a path, and there is no file or folder {os.fspath(path)!r}")
    if not is_parquet(path):
        return _pieces_of_other_file(Path(path), words)
    pyarrow_dataset, name = _import("pyarrow.dataset"), os.fspath(path)
    open_file = _import("pyarrow.parquet").ParquetFile
    try:
        pieces = []
        for fragment in pyarrow_dataset.dataset(name, format="parquet", partitioning="hive").get_fragments():
            constants = pyarrow_dataset.get_partition_keys(fragment.partition_expression)
            open_this = partial(open_file, fragment.path, filesystem=fragment.filesystem)
            pieces.extend(_pieces_of_file(open_this, fragment.path, constants))
        return pieces
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{name!r} cannot be read as Parquet: {error}") from error


def is_parquet(path: str | os.PathLike) -> bool:
    """Returns whether there is a Parquet file, or a folder of them, at a path; else a file is read as a whole."""
    place = Path(path)
    if place.is_dir() or place.suffix in _SUFFIXES:
        return True
    with place.open("rb") as file:
        return file.read(len(_MARK_OF_PARQUET)) == _MARK_OF_PARQUET


def _pieces_of_other_file(path: Path, words: Set[str]) -> list[Piece]:
    """A file of lines of cells, of Arrow or of ARFF, as one piece."""
    for library in ("pandas", "polars"):
        import_extra(library, path.name, "frames")
    from jaxtree.table.files.kinds import read_frame

    frame = as_frame(read_frame(path, words))
    return [Piece(path.name, len(frame), tuple(frame.columns), partial(_load_table, frame))]


def _pieces_of_file(open_file: Callable, label: str, constants: dict[str, Any]) -> Iterator[Piece]:
    """The row groups of a file, which is closed between them: a data set may have more files than can be open."""
    pyarrow, file = _import("pyarrow"), open_file()
    own = {name: stored for stored, name in kept_names_of(file.schema_arrow).items()}
    open_again = partial(open_file, metadata=file.metadata, pre_buffer=False, buffer_size=2**18)

    def load(number: int, wanted: Names | None) -> Iterator[Any]:
        columns, added = ([name for name in names if wanted is None or name in wanted] for names in (own, constants))
        stored = [own[name] for name in columns]
        for batch in open_again().iter_batches(ROWS_AT_A_TIME, row_groups=[number], columns=stored):
            arrays = {name: batch[own[name]] for name in columns}
            yield pyarrow.table(arrays | {name: pyarrow.repeat(constants[name], batch.num_rows) for name in added})

    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    for number, num_rows in enumerate(sizes or [0]):
        yield Piece(label, num_rows, (*own, *constants), partial(load, number))


def _piece_of_dataset(dataset: Any) -> Piece:
    """A `pyarrow.dataset.Dataset` as one piece.

    Its files must have its columns and types: pyarrow would put nulls in the place of some, leave out others, and round
    numbers.
    """
    for fragment in dataset.get_fragments():
        label, own = getattr(fragment, "path", "a part of the data set"), fragment.physical_schema
        from_folders = set(_import("pyarrow.dataset").get_partition_keys(fragment.partition_expression))
        _refuse_other_columns(label, set(own.names), set(dataset.schema.names) - from_folders)
        for name, own_type in zip(own.names, own.types, strict=True):
            if own_type != (wanted := dataset.schema.field(name).type):
                raise InvalidInputError(
                    f"{label}: column {name!r} has type {own_type}, and {wanted} in the data set: write all files with "
                    "one schema"
                )
    scan = partial(dataset.to_batches, batch_size=ROWS_AT_A_TIME, batch_readahead=1, fragment_readahead=1)
    own = {name: stored for stored, name in kept_names_of(dataset.schema).items()}

    def load(wanted: Names | None) -> Iterator[Any]:
        columns = [name for name in own if wanted is None or name in wanted]
        for batch in scan(columns=[own[name] for name in columns]):
            yield _import("pyarrow").table({name: batch[own[name]] for name in columns})

    return Piece("the data set", dataset.count_rows(), tuple(own), load)


def kept_names_of(schema: Any) -> dict[str, str]:
    """Returns the names of the columns of a schema of pyarrow by those in the store, see `kept_names`."""
    return kept_names(schema.names, schema.pandas_metadata)


def _pieces_of_tables(tables: Iterable[Any]) -> Iterator[Piece]:
    """Yields tables, or record batches, as pieces."""
    for position, given in enumerate(tables):
        table, label = _table_of_batch(given) if _is_record_batch(given) else given, f"part {position}"
        with naming(label):
            frame = as_frame(table)
        is_frame = isinstance(frame, DataFrame)
        if not is_frame and not (hasattr(table, "__len__") or issparse(table)):
            raise InvalidTypeError(f"{label} must be a table or a record batch, got {type(given).__name__}")
        names = tuple(frame.columns) if is_frame else None
        yield Piece(label, number_of_rows(frame), names, partial(_load_table, frame))


def _load_table(frame: Any, names: Names | None) -> list:
    if not isinstance(frame, DataFrame):
        return [frame]
    return [(frame if names is None else frame.select(*map(nw.col, names))).to_native()]


def number_of_rows(table: Any) -> int:
    """A sparse matrix has no length."""
    return table.shape[0] if issparse(table) else len(table)


def _is_record_batch(table: Any) -> bool:
    return type(table).__name__ == "RecordBatch" and type(table).__module__.startswith("pyarrow")


def _table_of_batch(batch: Any) -> Any:
    return _import("pyarrow").Table.from_batches([batch])


def _check_columns(piece: Piece, first: Piece) -> None:
    """Raises InvalidInputError unless a piece has the columns of the first one, in their order."""
    if piece.names == first.names:
        return
    if piece.names is None or first.names is None:
        raise InvalidInputError(f"{piece.label} and {first.label}: the columns of one have names, of the other none")
    _refuse_other_columns(piece.label, set(piece.names), set(first.names))
    raise InvalidInputError(
        f"{piece.label} has its columns in the order {list(piece.names)}, and {first.label} in the order "
        f"{list(first.names)}: they must be the same"
    )


def _refuse_other_columns(label: str, own: set[str], wanted: set[str]) -> None:
    if wanted - own:
        raise InvalidInputError(f"{label} has no column {min(wanted - own)!r}, which other parts have")
    if own - wanted:
        raise InvalidInputError(f"{label} has a column {min(own - wanted)!r}, which other parts do not have")


def _import(module: str) -> Any:
    return import_extra(module, "Parquet", "frames")


Rows = Int[np.ndarray, " taken"]


def rows_of_source(source: Source, rows: Rows) -> Source:
    """Returns a source with some rows of another; it reads all parts, and hands on their rows among these.

    Args:
        source: A source.
        rows: The numbers of its rows, in ascending order.

    Example:
        >>> import pandas as pd
        >>> from jaxtree.table import open_source
        >>> source = open_source([pd.DataFrame({"size": [1.5, 2.0]}), pd.DataFrame({"size": [3.0]})])
        >>> [part.table["size"].tolist() for part in rows_of_source(source, np.array([1, 2]))]
        [[2.0], [3.0]]
    """
    pieces = partial(_pieces_with, source.pieces, rows + source.start)
    return replace(source, pieces=pieces, num_rows=len(rows), start=0, stop=None)


def _pieces_with(pieces: Callable[[], Iterable[Piece]], wanted: Rows) -> Iterator[Piece]:
    """Yields pieces with some of their rows, which are numbered through all of them."""
    row = 0
    for piece in pieces():
        own = _between(wanted, row, row + piece.num_rows)
        yield piece._replace(num_rows=len(own), load=partial(_load_rows, piece.load, own))
        row += piece.num_rows


def _load_rows(load: Callable[[Names | None], Iterable[Any]], wanted: Rows, names: Names | None) -> Iterator[Any]:
    """Yields the rows that are wanted of tables that follow one another."""
    row = 0
    for table in load(names):
        own = _between(wanted, row, row + number_of_rows(table))
        row += number_of_rows(table)
        if len(own):
            taken = (table.tocsr() if issparse(table) else as_frame(table))[own]
            yield taken.to_native() if isinstance(taken, DataFrame) else taken


def _between(wanted: Rows, first: int, end: int) -> Int[np.ndarray, " own"]:
    """The rows of a part, counted from its first."""
    return wanted[(wanted >= first) & (wanted < end)] - first
