"""Files of tables as columns: text as it is written, or the types that a binary file has.

What a file is, its first bytes say: Parquet, Arrow (Feather), Weka's ARFF, else lines of cells. Any of them may be
gzipped, and may come from the standard input.
"""

import csv
import gzip
import io
import sys
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from jaxtree.cli.arff import is_arff, read_arff
from jaxtree.errors import InvalidInputError, MissingExtraError

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Cells that mean that a value is missing, unless the user names others."""

_SEPARATORS = ("\t", ";", "|", ",")
_GZIP, _PARQUET, _ARROW, _FEATHER_1 = b"\x1f\x8b", b"PAR1", b"ARROW1", b"FEA1"


class Reading(NamedTuple):
    """How lines of cells are read.

    Attributes:
        separator: What stands between cells; None to see it from the first line.
        has_header: Whether the first line names the columns; else they are x0, x1, ...
        missing_words: Cells that mean that a value is missing.
    """

    separator: str | None = None
    has_header: bool = True
    missing_words: tuple[str, ...] = MISSING_WORDS


class Contents(NamedTuple):
    """The columns of a file.

    Attributes:
        frame: A polars frame; columns of text are strings without spaces around them, and null where one is missing.
        categories: What columns declare, by name.
        is_number: Columns that are declared to be of numbers.
        name: How messages call the file.
    """

    frame: Any
    categories: dict[str, tuple[str, ...]]
    is_number: frozenset[str]
    name: str


def read_contents(path: str, reading: Reading) -> Contents:
    """Reads a file; "-" is the standard input.

    Raises:
        InvalidInputError: It is not such a file, is damaged, has no rows, or names of columns repeat.
        MissingExtraError: polars is not installed.
        OSError: It cannot be read.
    """
    polars = import_polars()
    name = "standard input" if path == "-" else Path(path).name
    data = _unzipped(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes(), name)
    try:
        contents = _read(polars, data, name, reading)
    except polars.exceptions.PolarsError as error:
        raise InvalidInputError(f"{name} cannot be read: {str(error).splitlines()[0]}") from error
    if not contents.frame.height or not contents.frame.width:
        raise InvalidInputError(f"{name} has no rows")
    return contents


def import_polars() -> Any:
    """Returns the module."""
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError('the command line reads files with polars: pip install "jaxtree[cli]"') from error
    return polars


def _unzipped(data: bytes, name: str) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{name} is a damaged gzip file: {error}") from error


def _read(polars: Any, data: bytes, name: str, reading: Reading) -> Contents:
    if data.startswith(_FEATHER_1):
        raise InvalidInputError(f"{name} is a Feather file of version 1, which is not read: write version 2")
    if data.startswith((_PARQUET, _ARROW)):
        frame = (polars.read_parquet if data.startswith(_PARQUET) else polars.read_ipc)(io.BytesIO(data))
        return Contents(_tidy(polars, frame, reading), {}, frozenset(), name)
    text = _decoded(data)
    if not text.strip():
        raise InvalidInputError(f"{name} is empty")
    return (
        _from_arff(polars, text, name, reading) if is_arff(text[:65536]) else _from_lines(polars, text, name, reading)
    )


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _from_arff(polars: Any, text: str, name: str, reading: Reading) -> Contents:
    arff = read_arff(text)
    _check_names(arff.names, name)
    cells = zip(*arff.rows, strict=True)
    frame = polars.DataFrame({column: list(own) for column, own in zip(arff.names, cells, strict=False)})
    categories = {name: own for name, own in zip(arff.names, arff.categories, strict=True) if own is not None}
    is_number = frozenset(name for name, own in zip(arff.names, arff.is_number, strict=True) if own)
    words = reading._replace(
        missing_words=tuple({*reading.missing_words, "?"} - {w for own in categories.values() for w in own})
    )
    return Contents(_tidy(polars, frame, words), categories, is_number, name)


def _from_lines(polars: Any, text: str, name: str, reading: Reading) -> Contents:
    text = text.strip("\r\n")
    first = text.split("\n", 1)[0].rstrip("\r")
    separator = reading.separator or _separator(first)
    cells = next(csv.reader([first], delimiter=separator, skipinitialspace=True))
    names = [cell.strip() or f"x{place}" for place, cell in enumerate(cells)]
    if not reading.has_header:
        names = [f"x{place}" for place in range(len(cells))]
    _check_names(names, name)
    frame = polars.read_csv(
        io.BytesIO(text.encode()),
        separator=separator,
        has_header=False,
        skip_rows=int(reading.has_header),
        new_columns=names,
        schema={name: polars.String for name in names},
    )
    return Contents(_tidy(polars, frame, reading), {}, frozenset(), name)


def _separator(line: str) -> str:
    """The separator that stands most often in a line, outside quotes; a comma if there is none."""
    bare = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=lambda separator: (bare.count(separator), separator == ","))


def _check_names(names: list[str], file: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"the names of the columns of {file} must be unique, and {twice!r} stands there twice")


def _tidy(polars: Any, frame: Any, reading: Reading) -> Any:
    """Columns of text without spaces around words, and null where one is missing."""
    text = polars.col(polars.String).str.strip_chars()
    return frame.with_columns(
        polars.when(text.is_in(list(reading.missing_words))).then(None).otherwise(text).name.keep()
    )
