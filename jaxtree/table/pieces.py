"""Pieces of a table that is too long to be held at once: row groups of Parquet files, data sets, batches.

Files and data sets are read with pyarrow, which is imported where they are used and nowhere else.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from jaxtree.errors import InvalidInputError, InvalidTypeError, MissingExtraError

ROWS_AT_A_TIME = 2**17
"""Rows that are read at a time from a file or data set."""

Names = tuple[str, ...]


class Piece(NamedTuple):
    """Some rows of a table, one after the other.

    Attributes:
        label: How messages name the piece.
        num_rows: The number of its rows.
        names: Its columns; None if they have no names.
        load: Returns tables with its rows, with the given columns alone, or with all if given None.
    """

    label: str
    num_rows: int
    names: Names | None
    load: Callable[[Names | None], Iterable[Any]]


def pieces_of_path(path: str | os.PathLike) -> list[Piece]:
    """Returns the row groups of a Parquet file, or of all in a folder and below it, in the order of their paths.

    Folders named `column=value` add a column, and an index that pandas wrote is none.

    Raises:
        InvalidInputError: If there is no such file or folder, or a file is not Parquet.
        MissingExtraError: If pyarrow is not installed.
    """
    pyarrow_dataset, name = _import("pyarrow.dataset"), os.fspath(path)
    if not Path(path).exists():
        raise InvalidInputError(f"X is taken for a path, and there is no file or folder {name!r}")
    try:
        dataset = pyarrow_dataset.dataset(name, format="parquet", partitioning="hive")
        return [piece for fragment in dataset.get_fragments() for piece in _pieces_of_fragment(fragment)]
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{name!r} cannot be read as Parquet: {error}") from error


def _pieces_of_fragment(fragment: Any) -> Iterator[Piece]:
    """The row groups of one of the files of a data set; the names of its folders may give columns."""
    constants = _import("pyarrow.dataset").get_partition_keys(fragment.partition_expression)
    open_file = partial(_import("pyarrow.parquet").ParquetFile, fragment.path, filesystem=fragment.filesystem)
    return _pieces_of_opened(open_file, fragment.path, constants)


def pieces_of_file(file: Any) -> list[Piece]:
    """Returns the row groups of a `pyarrow.parquet.ParquetFile`."""
    return list(_pieces_of_opened(lambda **_: file, "the Parquet file", {}))


def _pieces_of_opened(open_file: Callable, label: str, constants: dict[str, Any]) -> Iterator[Piece]:
    """The row groups of a file, which is closed between them: a data set may have more files than can be open."""
    file = open_file()
    index = (file.schema_arrow.pandas_metadata or {}).get("index_columns") or ()
    own = tuple(name for name in file.schema_arrow.names if name not in index)
    names = (*own, *constants)
    open_again = partial(open_file, metadata=file.metadata, pre_buffer=False, buffer_size=2**18)
    sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    if not sizes:
        yield Piece(label, 0, names, lambda _: ())
    for number, num_rows in enumerate(sizes):
        yield Piece(label, num_rows, names, partial(_load_row_group, open_again, number, own, constants))


def _load_row_group(
    open_file: Callable, number: int, own: Names, constants: dict[str, Any], names: Names | None
) -> Iterator[Any]:
    pyarrow = _import("pyarrow")
    columns = [name for name in own if names is None or name in names]
    for batch in open_file().iter_batches(ROWS_AT_A_TIME, row_groups=[number], columns=columns):
        arrays = {name: batch[name] for name in columns}
        for name, value in constants.items():
            if names is None or name in names:
                arrays[name] = pyarrow.repeat(value, batch.num_rows)
        yield pyarrow.table(arrays)


def pieces_of_dataset(dataset: Any) -> list[Piece]:
    """Returns a `pyarrow.dataset.Dataset` as one piece.

    Raises:
        InvalidInputError: If a file has other columns than the data set, or of other types: pyarrow would put nulls in
            the place of some, leave out others, and round numbers.
    """
    for fragment in dataset.get_fragments():
        _check_fragment(fragment, dataset.schema)
    scan = partial(dataset.to_batches, batch_size=ROWS_AT_A_TIME, batch_readahead=1, fragment_readahead=1)
    load = lambda names: map(_table_of_batch, scan(columns=None if names is None else list(names)))  # noqa: E731
    return [Piece("the data set", dataset.count_rows(), tuple(dataset.schema.names), load)]


def _check_fragment(fragment: Any, schema: Any) -> None:
    label = getattr(fragment, "path", "a part of the data set")
    from_folders = set(_import("pyarrow.dataset").get_partition_keys(fragment.partition_expression))
    own = fragment.physical_schema
    _refuse_other_columns(label, set(own.names), set(schema.names) - from_folders)
    for name in own.names:
        if own.field(name).type != schema.field(name).type:
            raise InvalidInputError(
                f"{label}: column {name!r} has type {own.field(name).type}, and {schema.field(name).type} in the data "
                "set: write all files with one schema"
            )


def pieces_of_tables(tables: Iterable[Any]) -> Iterator[Piece]:
    """Yields tables, or record batches, as pieces."""
    for position, given in enumerate(tables):
        table, label = _table_of_batch(given) if is_record_batch(given) else given, f"part {position}"
        try:
            frame = nw.from_native(table, pass_through=True)
        except DuplicateError as error:
            raise InvalidInputError(f"{label}: the names of X's columns must be unique: {error}") from error
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        is_frame = isinstance(frame, nw.DataFrame)
        if not is_frame and not (hasattr(table, "__len__") or issparse(table)):
            raise InvalidTypeError(f"{label} must be a table or a record batch, got {type(given).__name__}")
        names = tuple(frame.columns) if is_frame else None
        yield Piece(label, number_of_rows(frame), names, partial(_load_table, frame))


def number_of_rows(table: Any) -> int:
    """Returns how many rows a table has; a sparse matrix has no length."""
    return table.shape[0] if issparse(table) else len(table)


def _load_table(frame: Any, names: Names | None) -> list:
    if not isinstance(frame, nw.DataFrame):
        return [frame]
    return [(frame if names is None else frame.select(names)).to_native()]


def is_record_batch(table: Any) -> bool:
    """Says whether something is a record batch of pyarrow."""
    return type(table).__name__ == "RecordBatch" and type(table).__module__.startswith("pyarrow")


def _table_of_batch(batch: Any) -> Any:
    return _import("pyarrow").Table.from_batches([batch])


def release_memory() -> None:
    """Hands memory back to the system that pyarrow keeps for the next batch."""
    pyarrow: Any = sys.modules.get("pyarrow")
    if pyarrow is not None:
        pyarrow.default_memory_pool().release_unused()


def check_columns(piece: Piece, first: Piece) -> None:
    """Raises InvalidInputError unless a piece has the columns of the first one, in their order."""
    if piece.names == first.names:
        return
    if piece.names is None or first.names is None:
        raise InvalidInputError(
            f"{piece.label} and {first.label}: the columns of one have names, those of the other none"
        )
    _refuse_other_columns(piece.label, set(piece.names), set(first.names))
    raise InvalidInputError(
        f"{piece.label} has its columns in the order {list(piece.names)}, and {first.label} in the order "
        f"{list(first.names)}: they must be the same"
    )


def _refuse_other_columns(label: str, own: set[str], wanted: set[str]) -> None:
    lacking, more = sorted(wanted - own), sorted(own - wanted)
    if lacking:
        raise InvalidInputError(f"{label} has no column {lacking[0]!r}, which other parts have")
    if more:
        raise InvalidInputError(f"{label} has a column {more[0]!r}, which other parts do not have")


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'Parquet files need {module}: pip install "jaxtree[frames]"') from error
