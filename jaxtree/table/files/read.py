"""Files of tables as columns: text as it is written, or the types that a binary file has.

The first bytes of a file show what it is: Parquet, Arrow (Feather), Weka's ARFF, else lines of cells. Any of them may
be gzipped, and may come from the standard input.
"""

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from jaxtyping import Bool, Int

from jaxtree.errors import InvalidInputError
from jaxtree.lines import TextFormat, listed
from jaxtree.table.files.text import (
    THREE_DIGITS,
    check_unique,
    divide,
    separator_of,
    with_plain_numbers,
    with_points_between_thousands,
    without_preamble,
)
from jaxtree.table.files.typed import ARROW, PARQUET, TypedTable, read_arff, read_typed

_GZIP, _FEATHER_1 = b"\x1f\x8b", b"FEA1"

_MOST_RATIO, _LEAST_UNZIPPED = 100, 2**26
"""A gzip file may hold 100 times its own bytes, or 64 MiB: those that are made to fill the memory hold 1,000 times."""

_OFFICE = {
    b"xl/workbook": "an Excel workbook: save it as CSV",
    b"opendocument.spreadsheet": "an OpenDocument spreadsheet: save it as CSV",
}
_OTHERS = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"BZh": "a bzip2 file: unpack it first, or pack it with gzip",
    b"\xfd7zXZ\0": "an xz file: unpack it first, or pack it with gzip",
    b"(\xb5/\xfd": "a Zstandard file: unpack it first, or pack it with gzip",
    b"\x04\x22M\x18": "an LZ4 file: unpack it first, or pack it with gzip",
    b"7z\xbc\xaf'\x1c": "a 7-Zip archive: unpack it first",
    b"Rar!": "a RAR archive: unpack it first",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel workbook, or another Office file: save it as CSV",
    b"SQLite format 3\0": "an SQLite database: write its table as CSV or Parquet",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file: write its table as CSV or Parquet",
    b"\x93NUMPY": "an array of NumPy: write it as CSV or Parquet",
    b"ORC": "an ORC file: write it as Parquet",
    b"Obj\x01": "an Avro file: write it as Parquet",
    b"%PDF-": "a PDF document",
    _FEATHER_1: "a Feather file of version 1, which is not read: write version 2",
}
"""The first bytes of files that are not read, and what to do about them."""

_OTHER_TEXTS = {'{"': "JSON", "[{": "JSON", "<!doctype html": "an HTML page", "<html": "an HTML page", "<?xml": "XML"}
"""The first characters of texts that have no lines of cells."""

# The marks of UTF-32 come first: one of them begins with one of UTF-16.
_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
"""Byte order marks, and the encoding of a text that begins with one."""


class Contents(NamedTuple):
    """The columns of a file.

    Attributes:
        name: The name of the file in messages.
        frame: The columns: cells of text as they are written, null where one is empty; else values of the file's types.
        options: How text is read.
        is_text: Whether the columns are text.
        index: Columns that are the index of a saved table, and no features unless they are asked for by name.
        categories: The categories that columns of a file with types declare.
        notes: Notes on the file, in words.
        rows: The numbers of the rows in the file, from 1; None if all are there.
    """

    name: str
    frame: pl.DataFrame
    options: TextFormat
    is_text: bool = False
    index: tuple[str, ...] = ()
    categories: Mapping[str, pd.CategoricalDtype] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    rows: Int[np.ndarray, " row"] | None = None

    def row(self, place: int) -> int:
        """Returns the number that a row has in the file, from 1; blank lines are no rows."""
        return place + 1 if self.rows is None else int(self.rows[place])

    def keep(self, is_kept: Bool[np.ndarray, " row"]) -> "Contents":
        """Returns the file with some of the rows."""
        rows = np.arange(1, len(is_kept) + 1) if self.rows is None else self.rows
        return self._replace(frame=self.frame.filter(pl.Series(is_kept)), rows=rows[is_kept])

    def cells(self, name: str) -> pl.Series:
        """Returns a column, null where a value is missing; cells of text have no spaces around them."""
        series = self.frame[name]
        if self.is_text:
            return self.known(series)
        return series.fill_nan(None) if series.dtype.is_float() else series

    def known(self, text: pl.Series) -> pl.Series:
        """Returns cells of text without spaces around them, null where one means that a value is missing."""
        # One expression, since polars takes as long for each as for many cells.
        bare = pl.col("cell").str.strip_chars()
        known = pl.when(~bare.is_in(list(self.options.missing_words))).then(bare)
        return text.alias("cell").to_frame().select(known).to_series().alias(text.name)


def read_contents(path: str, options: TextFormat) -> Contents:
    """Reads a file; "-" is the standard input.

    Raises:
        InvalidInputError: It is not such a file, is damaged, has no rows, or names of columns repeat.
        OSError: It cannot be read.
    """
    name = "standard input" if path == "-" else Path(path).name
    if path == "-" and sys.stdin is None:
        raise InvalidInputError("the standard input is closed: name a file, or send a table to it")
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    try:
        contents = _read(_unzipped(data, name) if data.startswith(_GZIP) else data, name, options)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{name} is a damaged gzip file: {error}") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        # The bytes are here already: an OSError, too, is about their meaning. A panic is an error in polars itself.
        raise InvalidInputError(f"{name} cannot be read: {_first_line(error)}") from error
    if not contents.frame.width:
        raise InvalidInputError(f"{name} has no columns")
    if not contents.frame.height:
        raise InvalidInputError(f"{name} has no rows; its columns are {listed(contents.frame.columns)}")
    return contents


def _unzipped(data: bytes, name: str) -> bytes:
    """Unpacks a gzip file; raises InvalidInputError if the content is out of proportion to the file."""
    most = max(_LEAST_UNZIPPED, _MOST_RATIO * len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as opened:
        unzipped = opened.read(most + 1)
    if len(unzipped) > most:
        raise InvalidInputError(
            f"{name} unzips to more than {_MOST_RATIO} times its size, as no usual table does: unzip it first"
        )
    return unzipped


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _read(data: bytes, name: str, options: TextFormat) -> Contents:
    # An Office file is a zip archive, whose names of files are not packed.
    marks = (mark for mark in (*_OFFICE, *_OTHERS) if data.startswith(mark) or (data[:2] == b"PK" and mark in data))
    other = next(marks, None)
    if other is not None:
        raise InvalidInputError(f"{name} is {(_OFFICE | _OTHERS)[other]}")
    if data.startswith((PARQUET, ARROW)):
        return _with_types(read_typed(data, name), name, options)
    text = _decoded(data, name)
    if not text.strip():
        raise InvalidInputError(f"{name} is empty")
    start = text[:100].lstrip().lower()
    other = next((words for mark, words in _OTHER_TEXTS.items() if start.startswith(mark)), None)
    if other is not None:
        raise InvalidInputError(f"{name} is {other}: write its table as CSV or Parquet")
    head = (line.strip() for line in text[:65536].split("\n"))
    first = next((line for line in head if line and not line.startswith("%")), "")
    if first.lower().startswith("@relation"):
        try:
            return _with_types(read_arff(text, options), name, options)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name} cannot be read: {error}") from None
    return _from_lines(text, name, options)


def _decoded(data: bytes, name: str) -> str:
    """Text with line feeds alone at its line ends."""
    encoding = next((own for mark, own in _ENCODINGS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding in ("utf-16", "utf-32"):
            raise InvalidInputError(f"{name} begins as {encoding} does, and is damaged: {error.reason}") from error
        text = _in_one_byte(data.removeprefix(codecs.BOM_UTF8))
    if "\0" in text:
        raise InvalidInputError(
            f"{name} is neither text nor Parquet nor Arrow: it has NUL bytes; text is read in UTF-8, Windows-1252 and "
            "latin-1, and in UTF-16 and UTF-32 with a byte order mark"
        )
    return re.sub(r"\r*\n|\r", "\n", text) if "\r" in text else text


def _in_one_byte(data: bytes) -> str:
    """Text of a byte a character: Windows-1252, which has the euro where latin-1 has nothing, or else latin-1."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _from_lines(text: str, name: str, options: TextFormat) -> Contents:
    preamble = without_preamble(text, name, options.cell_separator)
    text = preamble.text.strip("\n")
    if not text.strip():
        raise InvalidInputError(f"{name} has no rows")
    separator = preamble.separator or separator_of(text, name)
    try:
        rows = divide(text, separator, preamble.num_lines + 1)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name} cannot be read: {error}") from None
    frame, index = _with_names(rows.frame, name, has_header=options.header)
    names, decimal, thousands = frame.columns, options.decimal, options.thousands_mark
    asks = thousands != "." and THREE_DIGITS.search(text)
    points = with_points_between_thousands(frame, decimal) if asks else []
    if decimal == "," or thousands:
        frame = frame.with_columns(with_plain_numbers(frame[own], decimal, thousands) for own in names)
    num_comments = preamble.num_comments + rows.num_comments
    notes = [f"lines that begin with # are left out: {num_comments}"] * bool(num_comments)
    notes += [f"rows that lack cells: {rows.num_short}"] * bool(rows.num_short)
    notes += [f"{listed(points)}: points are before decimals here, also that of 1.200"] * bool(points)
    return Contents(name, frame, options, is_text=True, index=index, notes=tuple(notes))


def _with_types(table: TypedTable, name: str, options: TextFormat) -> Contents:
    return Contents(name, table.frame, options, index=table.index, categories=table.categories)


def _with_names(frame: pl.DataFrame, name: str, *, has_header: bool) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The rows below the names of the columns, and the column that is an index.

    A column of nothing, which has neither name nor cells, is none: a separator at the end of every line makes it.
    """
    heads = [(head or "").strip() for head in frame.row(0)] if has_header else [""] * frame.width
    names = [head or f"x{place}" for place, head in enumerate(heads)]
    hint = ": --no-header reads the first line as a row" if has_header else ""
    check_unique(names, f"the names of the columns of {name}", hint)
    frame = frame.slice(int(has_header))
    frame.columns = names
    if not has_header:
        return frame, ()
    unnamed = [own for own, head in zip(names, heads, strict=True) if not head]
    nothing = [own for own in unnamed if _is_empty(frame[own])]
    frame = frame.drop(nothing) if len(nothing) < frame.width else frame
    # So pandas and R write the names of rows.
    index = [own for own in unnamed if own in frame.columns]
    return frame, tuple(index) if index == frame.columns[:1] and frame.width > 1 else ()


def _is_empty(cells: pl.Series) -> bool:
    return not (cells.fill_null("") != "").any()
