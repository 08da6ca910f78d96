"""Text as rows of cells: what is between the cells of a line, what is before decimals, and whether a line has names.

pyarrow divides the text; polars would read a cell as 5" pipe, or a quotation mark without an end, as something else,
silently. A quotation mark opens a cell where it is the cell's first character; within a cell it is a character like any
other. Blank lines are no rows. A line of fewer cells than the first one lacks the last ones, and is a comment if it
begins with #; empty cells beyond those of the first line do not count.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl
import pyarrow
from pyarrow import csv

from jaxtree.errors import InvalidInputError
from jaxtree.lines import in_short

_SEPARATORS = ("\t", ";", "|", ",")
_SEPARATOR_OF_NAME = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
_LOOKED_AT = 2**16
"""Characters of a text from which the separator follows."""
_MOST_LINES = 200
_QUOTED_CELL = re.compile(rf'(?:^|(?<=[{"".join(_SEPARATORS)}])) *"[^"]*(?:""[^"]*)*"', re.MULTILINE)
"""A quotation mark opens a cell where it is the first character."""

IDENTIFIER = r"^[+-]?0\d+$"
"""A number of rows or the like, as 01234, which is a word."""

COMMA_DECIMAL = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"
_BY_POINTS = r"^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+$"
THREE_DIGITS = re.compile(r"\d\.\d{3}(?!\d)")
"""Part of a text in which a point may be between thousands."""

_RELATIVES = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}
"""Characters that also stand for a mark between thousands."""

_HUNDREDS = r"^[+-]?[1-9][0-9]{2}$"
_POINT_DECIMAL = r"^[+-]?\d*\.\d+([eE][+-]?\d+)?$"

_SCALAR = re.compile(r"[+-]?(?:0|[1-9]\d*|(?=\.\d))(?:\.\d*)?(?:[eE][+-]?\d+)?|(?i:true|false)", re.ASCII)
"""Cells that are numbers or truth values; 01 is an identifier."""

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
    if any(is_scalar(cell.strip()) for cell in cells[1]):
        return True
    are_names = any(is_scalar(cell.strip()) for cell in second.split(separator))
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
    # Text in quotes is passed over as a whole.
    pattern = rf"(?:^|(?<=[{own}\n])){cell}|(?<={own}) +({cell})"
    return re.sub(pattern, lambda found: found[1] or found[0], text)


def _read(text: str, separator: str, first_line: int) -> tuple[pl.DataFrame, Sequence[Any]]:
    """The cells of the rows that are as long as the first one, and the other rows."""
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


def separator_of(text: str, name: str) -> str:
    r"""Returns the character between the cells of a text: the one that cuts all its lines into equally many cells.

    If several do, it is the one that the name of the file stands for, or else the one that makes the most cells.
    Characters in quotes do not separate. A text of one cell a line has commas.

    >>> separator_of("length, cm\twidth, cm\n1.5\t2\n2\t3", "t.csv"), separator_of("a;b\n1,5;2", "t.csv")
    ('\t', ';')
    """
    lines = list(itertools.islice(_records(text), _MOST_LINES))
    named = next((own for end, own in _SEPARATOR_OF_NAME.items() if name.lower().removesuffix(".gz").endswith(end)), "")

    def fit(separator: str) -> tuple:
        counts = [line.count(separator) for line in lines]
        agree = sum(count == counts[0] for count in counts) / len(counts) if counts[0] else 0
        return (agree == 1 and separator == named, agree, counts[0], separator == ",")

    return max(_SEPARATORS, key=fit)


def _records(text: str) -> Iterator[str]:
    """The first lines of a text without cells in quotes, where line ends are none."""
    lines = _QUOTED_CELL.sub("", text[:_LOOKED_AT]).split("\n")
    if len(text) > _LOOKED_AT and len(lines) > 1:
        # The last one is cut.
        lines.pop()
    return filter(str.strip, lines)


def is_scalar(text: str) -> bool:
    """Returns whether a cell is a number or truth value, and no identifier.

    >>> [is_scalar(cell) for cell in ("1.50", "-3", "1e5", "TRUE", "01", "yes", "nan")]
    [True, True, True, True, False, False, False]
    """
    return _SCALAR.fullmatch(text) is not None


def check_unique(names: Sequence[str], meaning: str, hint: str = "") -> None:
    """Raises InvalidInputError if a name appears twice."""
    twice = next((name for name, number in Counter(names).items() if number > 1), None)
    if twice is not None:
        raise InvalidInputError(f"{meaning} must be unique, and {in_short(repr(twice))} appears twice{hint}")


def has_cells_for_names(frame: pl.DataFrame) -> bool:
    """Returns whether the names of a table of text look like cells: one is a number, or most stand in their columns."""
    names = frame.columns
    in_column = sum(bool((frame[name].head(_MOST_LINES).str.strip_chars() == name).any()) for name in names)
    return any(map(is_scalar, names)) or 2 * in_column > len(names)


def with_plain_numbers(cells: pl.Series, decimal: str, thousands: str) -> pl.Series:
    """Returns cells of text, of which numbers have a point before their decimals and nothing between thousands.

    Marks count as such where three digits follow each, or in India's way two and at the end three: 1,200, 1,234,567.5
    and 12,34,567 are numbers; 1,2 and 12,34 stay words.

    Args:
        cells: The cells as they are written.
        decimal: The character before decimals.
        thousands: The character between thousands, one of `THOUSANDS`; "" for none.

    Raises:
        InvalidInputError: Decimals have commas, and other numbers of the column have a point there.

    >>> with_plain_numbers(pl.Series(["1.234.567,5", "-1.200", "7,5"]), ",", ".").to_list()
    ['1234567.5', '-1200', '7.5']
    >>> with_plain_numbers(pl.Series(["1 200", "12 34", "0 125"]), ".", " ").to_list()
    ['1200', '12 34', '0 125']
    """
    if thousands:
        mark = f"[{re.escape(_RELATIVES.get(thousands, thousands))}]"
        whole = rf"(?:[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|[1-9][0-9]?(?:{mark}[0-9]{{2}})+{mark}[0-9]{{3}})"
        grouped = rf"^[+-]?{whole}(?:{re.escape(decimal)}[0-9]*)?(?:[eE][+-]?[0-9]+)?$"
        bare = cells.str.strip_chars()
        is_grouped = bare.str.contains(grouped).fill_null(False)
        cells = _where(is_grouped, bare.str.replace_all(mark, ""), cells)
    return _with_decimal_points(cells) if decimal == "," else cells


def _where(chosen: pl.Series, cells: pl.Series, others: pl.Series) -> pl.Series:
    """The chosen cells of one column, and the others of another."""
    return pl.select(pl.when(chosen).then(cells).otherwise(others)).to_series().alias(others.name)


def _with_decimal_points(cells: pl.Series) -> pl.Series:
    """Returns cells of text, of which numbers with a comma before their decimals have a point there.

    Raises InvalidInputError if others have a point there: it may stand between thousands.
    """
    is_decimal = cells.str.strip_chars().str.contains(COMMA_DECIMAL).fill_null(False)
    if not is_decimal.any():
        return cells
    with_point = cells.filter(cells.str.strip_chars().str.contains(_POINT_DECIMAL).fill_null(False))
    if len(with_point):
        raise InvalidInputError(
            f"column {cells.name!r} has numbers with a comma, as {cells.filter(is_decimal)[0]!r}, and with a point, as "
            f"{with_point[0]!r}: one of them must be before the decimals of all; --thousands . reads points between "
            "thousands"
        )
    return _where(is_decimal, cells.str.replace(",", ".", literal=True), cells)


def with_points_between_thousands(frame: pl.DataFrame, decimal: str) -> list[str]:
    """Returns the columns of text all of whose points may be between thousands.

    So they may where decimals have commas; else where 800 stands beside 1.200, and no point has other than three digits
    behind it.

    >>> [with_points_between_thousands(pl.DataFrame({"a": ["1.200", own]}), ".") for own in ("80", "800", "0.8")]
    [[], ['a'], []]
    >>> with_points_between_thousands(pl.DataFrame({"a": ["1.200", "80"], "b": ["1.2", "80"]}), ",")
    ['a']
    """
    cell = pl.all().str.strip_chars()
    has_point = cell.str.contains(".", literal=True)
    fits = has_point.any() & ~(has_point & ~cell.str.contains(_BY_POINTS)).any()
    fits = fits if decimal == "," else fits & cell.str.contains(_HUNDREDS).any()
    return [name for name, own in frame.select(fits).row(0, named=True).items() if own]
