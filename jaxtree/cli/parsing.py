"""Text as rows of cells, with a separator between the cells of a line.

pyarrow divides the text. A quotation mark opens a cell where it is the cell's first character; within a cell, as in
5" pipe, it is a character like any other. Blank lines are no rows. A line of fewer cells than the first one lacks the
last ones, and is a comment if it begins with #; empty cells beyond those of the first line do not count.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from jaxtree.cli.lines import separator_of
from jaxtree.cli.session import in_short
from jaxtree.errors import InvalidInputError
from jaxtree.table.cells import is_scalar_word

_END = "\0"
"""A last line that no text has: it is not there where a cell in quotes goes on to the end."""

_LONGEST_BLOCK = 2**28
_LONGEST_HEADER = 200
"""Lines that the first row may go over."""

_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\1*[ \t]*(?:\n|$)', re.IGNORECASE)
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_COMMENTS = re.compile(r"(?:#.*\n)*")


class Preamble(NamedTuple):
    """Lines before the first row of a text.

    Attributes:
        text: The text without them.
        separator: The character between cells that they name; None if they name none.
        num_lines: Their number.
        num_comments: How many begin with #.
    """

    text: str
    separator: str | None
    num_lines: int
    num_comments: int


class DividedText(NamedTuple):
    """The rows of a text.

    Attributes:
        frame: Their cells as text, null where one is empty.
        num_short: The number of rows that lack cells.
        num_comments: The number of lines that begin with #, and have fewer cells than rows.
    """

    frame: pl.DataFrame
    num_short: int
    num_comments: int


def without_preamble(text: str, name: str, separator: str | None) -> Preamble:
    r"""Leaves out the lines before the names of columns: blank lines, Excel's "sep=;", comments.

    A comment begins with #. So may the names: "#,name" has as many cells as the lines below, and no line of names is
    below it.

    Args:
        text: The text.
        name: The name of the file.
        separator: The character between cells, if the user names it.

    >>> without_preamble("sep=;\na;b\n1;2", "t.csv", None)
    Preamble(text='a;b\n1;2', separator=';', num_lines=1, num_comments=0)
    >>> without_preamble("# made today\na,b\n1,2", "t.csv", None).text, without_preamble("#,b\n1,2", "t.csv", None).text
    ('a,b\n1,2', '#,b\n1,2')
    """
    rest = text[_end(_BLANK_LINES, text) :]
    if named := _SEPARATOR_LINE.match(rest):
        rest, separator = rest[named.end() :], separator or named[1]
        rest = rest[_end(_BLANK_LINES, rest) :]
    comments = rest[: _end(_COMMENTS, rest)]
    below = rest[len(comments) :].lstrip("\n")
    num_comments = comments.count("\n")
    if num_comments and below:
        last = comments.splitlines()[-1]
        if _has_names(last, below, separator or separator_of(below, name)):
            below, num_comments = f"{last}\n{below}", num_comments - 1
        rest = below
    else:
        num_comments = 0
    return Preamble(rest, separator, text.count("\n") - rest.count("\n"), num_comments)


def _end(pattern: re.Pattern, text: str) -> int:
    match = pattern.match(text)
    return 0 if match is None else match.end()


def _has_names(line: str, below: str, separator: str) -> bool:
    """Whether a line that begins with # has the names of the columns of the lines below it."""
    first, second = ([*itertools.islice(filter(str.strip, below[:65536].split("\n")), 2), ""])[:2]
    cells = line.split(separator), first.split(separator)
    if len(cells[0]) != len(cells[1]):
        return False
    if any(is_scalar_word(cell.strip()) for cell in cells[1]):
        return True
    are_names = any(is_scalar_word(cell.strip()) for cell in second.split(separator))
    return len(cells[1]) > 1 and not are_names and not line.startswith("# ")


def divide(text: str, separator: str, first_line: int = 1) -> DividedText:
    r"""Returns the rows of a text.

    Args:
        text: The text, its lines ended by line feeds alone.
        separator: The character between cells, one byte.
        first_line: The number of its first line in the file, for messages.

    Raises:
        InvalidInputError: A line has more cells than the first one, or a quotation mark opens a cell that has no end.

    >>> divide('size,pipe\n\n5,5" pipe\n7', ",").frame.rows()
    [('size', 'pipe'), ('5', '5" pipe'), ('7', None)]
    """
    if separator != " ":
        text = _without_spaces_before_quotes(text, separator)
    frame, odd = _read(text, separator, first_line)
    comments = [row for row in odd if _is_comment(row)]
    odd = [row for row in odd if not _is_comment(row)]
    if not odd:
        return DividedText(frame, 0, len(comments))
    mended = dict.fromkeys((row.text for row in comments), "")
    for row in odd:
        line_of_cells = _mended(row, separator)
        if line_of_cells is None:
            line = first_line + text.count("\n", 0, text.find(row.text))
            raise InvalidInputError(
                f"line {line} has {row.actual_columns} cells with {separator!r} between them, and the first line has "
                f"{row.expected_columns}: {in_short(row.text)}"
            )
        mended[row.text] = line_of_cells
    whole = "\n".join(mended.get(line, line) for line in text.split("\n"))
    num_short = sum(row.actual_columns < row.expected_columns for row in odd)
    return DividedText(_read(whole, separator, first_line)[0], num_short, len(comments))


def _is_comment(row: Any) -> bool:
    return row.actual_columns < row.expected_columns and row.text.startswith("#")


def _mended(row: Any, separator: str) -> str | None:
    """The line of a row with as many cells as the first one; None if it has more that are not empty."""
    extra = row.actual_columns - row.expected_columns
    if "\n" in row.text or (extra > 0 and not row.text.endswith(separator * extra)):
        return None
    return row.text[:-extra] if extra > 0 else row.text + separator * -extra


def _without_spaces_before_quotes(text: str, separator: str) -> str:
    """A quotation mark opens a cell also where spaces are before it."""
    if f"{separator} " not in text or ' "' not in text:
        return text
    own, cell = re.escape(separator), r'"[^"]*(?:""[^"]*)*"'
    # What is in quotes is passed over as a whole.
    pattern = rf"(?:^|(?<=[{own}\n])){cell}|(?<={own}) +({cell})"
    return re.sub(pattern, lambda found: found[1] or found[0], text)


def _read(text: str, separator: str, first_line: int) -> tuple[pl.DataFrame, Sequence[Any]]:
    """The cells of the rows that are as long as the first one, and the other rows."""
    import pyarrow
    from pyarrow import csv

    data, odd = f"{text}\n{_END}".encode(), []

    def keep_odd(row: Any) -> str:
        if row.text.strip():
            odd.append(row)
        return "skip"

    names = [f"f{place}" for place in range(_most_cells(text, separator))]
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pyarrow.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(data),
            csv.ReadOptions(autogenerate_column_names=True, block_size=min(len(data), _LONGEST_BLOCK)),
            csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=keep_odd),
            convert,
        )
    except pyarrow.ArrowInvalid as error:
        if "Empty CSV" in str(error):  # the first row has no end
            raise _unended(text, f"{text}\n", first_line) from None
        raise InvalidInputError(f"it has no lines of cells with {separator!r} between them: {error}") from error
    frame: Any = pl.from_arrow(table)
    last = next((row.text for row in odd if row.text.endswith(_END)), frame.row(-1)[-1])
    if last != _END:
        raise _unended(text, last.removesuffix(_END), first_line)
    odd = [row for row in odd if row.text != _END]
    if frame.width == 1:
        cells = frame.to_series()
        is_blank = (cells.str.strip_chars() == "") & (cells != "")
        frame = frame.filter(~(is_blank | (cells == _END)).fill_null(False))
    return frame, odd


def _unended(text: str, cell: str, first_line: int) -> InvalidInputError:
    """An error for a cell, or row, that goes on to the end of a text."""
    line = first_line + text.count("\n") + 1 - cell.count("\n")
    return InvalidInputError(
        f"a quotation mark opens a cell in line {line}, and none ends it: {in_short(cell.strip())}"
    )


def _most_cells(text: str, separator: str) -> int:
    """At least as many cells as the first row has, whose cells in quotes may have line ends."""
    end = -1
    for _ in range(_LONGEST_HEADER):
        end = text.find("\n", end + 1)
        if end < 0 or text.count('"', 0, end) % 2 == 0:
            break
    return text.count(separator, 0, end if end >= 0 else len(text)) + 1
