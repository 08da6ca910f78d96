"""Files of tables as columns: text as it is written, or the types that a binary file has.

What a file is, its first bytes say: Parquet, Arrow (Feather), Weka's ARFF, else lines of cells. Any of them may be
gzipped, and may come from the standard input.
"""

import codecs
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from jaxtree.cli.arff import is_arff, read_arff
from jaxtree.cli.wording import in_short, listed
from jaxtree.errors import InvalidInputError, MissingExtraError

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Cells that mean that a value is missing, unless the user names others."""

_SEPARATORS = ("\t", ";", "|", ",")
_GZIP, _PARQUET, _ARROW, _FEATHER_1 = b"\x1f\x8b", b"PAR1", b"ARROW1", b"FEA1"

# The marks of UTF-32 come first: one of them begins with one of UTF-16.
_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
"""Byte order marks, and what text is in that begins with one."""


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
    data = _unzipped(_standard_input() if path == "-" else Path(path).read_bytes(), name)
    try:
        contents = _read(polars, data, name, reading)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        # The bytes are here already: also an OSError is about what they say. A panic is an error in polars itself.
        raise InvalidInputError(f"{name} cannot be read: {_first_line(error)}") from error
    if not contents.frame.width:
        raise InvalidInputError(f"{name} has no columns")
    if not contents.frame.height:
        raise InvalidInputError(f"{name} has no rows; its columns are {listed(contents.frame.columns)}")
    return contents


def import_polars() -> Any:
    """Returns the module."""
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError('the command line reads files with polars: pip install "jaxtree[cli]"') from error
    return polars


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InvalidInputError("the standard input is closed: name a file, or send a table to it")
    return sys.stdin.buffer.read()


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


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
    text = _decoded(data, name)
    if not text.strip():
        raise InvalidInputError(f"{name} is empty")
    return (
        _from_arff(polars, text, name, reading) if is_arff(text[:65536]) else _from_lines(polars, text, name, reading)
    )


def _decoded(data: bytes, name: str) -> str:
    """Text with line feeds alone at its line ends."""
    encoding = next((own for mark, own in _ENCODINGS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding in ("utf-16", "utf-32"):
            raise InvalidInputError(f"{name} begins as {encoding} does, and is damaged: {error.reason}") from error
        text = data.removeprefix(codecs.BOM_UTF8).decode("latin-1")
    if "\0" in text:
        raise InvalidInputError(
            f"{name} is neither text nor Parquet nor Arrow: it has NUL bytes; text is read in UTF-8 and latin-1, and "
            "in UTF-16 and UTF-32 with a byte order mark"
        )
    return re.sub(r"\r*\n|\r", "\n", text) if "\r" in text else text


def _from_arff(polars: Any, text: str, name: str, reading: Reading) -> Contents:
    try:
        arff = read_arff(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name} cannot be read: {error}") from None
    _check_names(arff.names, name)
    cells = list(zip(*arff.rows, strict=True)) or [()] * len(arff.names)
    frame = polars.DataFrame({column: list(own) for column, own in zip(arff.names, cells, strict=True)})
    categories = {name: own for name, own in zip(arff.names, arff.categories, strict=True) if own is not None}
    is_number = frozenset(name for name, own in zip(arff.names, arff.is_number, strict=True) if own)
    words = reading._replace(
        missing_words=tuple({*reading.missing_words, "?"} - {w for own in categories.values() for w in own})
    )
    return Contents(_tidy(polars, frame, words), categories, is_number, name)


def _from_lines(polars: Any, text: str, name: str, reading: Reading) -> Contents:
    text = text.strip("\n")
    separator = reading.separator or _separator(text.split("\n", 1)[0])
    if f"{separator} " in text and '"' in text:
        # A quote opens a cell for polars only where no space is before it.
        text = re.sub(f'(?<={re.escape(separator)}) +"', '"', text)
    try:
        frame = polars.read_csv(io.BytesIO(text.encode()), separator=separator, has_header=False, infer_schema=False)
    except polars.exceptions.PolarsError as error:
        raise InvalidInputError(
            f"{name} cannot be read as lines of cells with {separator!r} between them, in no line more than in the "
            f"first: {_first_line(error)}"
        ) from error
    heads = frame.row(0) if reading.has_header else (None,) * frame.width
    names = [(head or "").strip() or f"x{place}" for place, head in enumerate(heads)]
    _check_names(names, name)
    frame = frame.slice(int(reading.has_header))
    frame.columns = names
    return Contents(_tidy(polars, frame, reading), {}, frozenset(), name)


def _separator(line: str) -> str:
    """The separator that stands most often in a line, outside quotes; a comma if there is none."""
    bare = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=lambda separator: (bare.count(separator), separator == ","))


def _check_names(names: list[str], file: str) -> None:
    twice = next((name for name, number in Counter(names).items() if number > 1), None)
    if twice is not None:
        raise InvalidInputError(
            f"the names of the columns of {file} must be unique, and {in_short(repr(twice))} stands there twice"
        )


def _tidy(polars: Any, frame: Any, reading: Reading) -> Any:
    """Columns of text without spaces around words, and null where a word or number is missing."""
    text = polars.col(polars.String).str.strip_chars()
    return frame.with_columns(
        polars.when(text.is_in(list(reading.missing_words))).then(None).otherwise(text).name.keep(),
        polars.col(polars.Float32, polars.Float64).fill_nan(None),
    )
