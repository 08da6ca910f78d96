"""Text as rows of cells: what is between the cells of a line, what is before decimals, and whether a line has names.

A quotation mark opens a cell where it is the cell's first character; within a cell it is a character like any other.
Blank lines are no rows. A line of fewer cells than the first one lacks the last ones, and is a comment if it begins
with #; empty cells beyond those of the first line do not count.

polars divides the text. It would read a cell as 5" pipe, a quotation mark without an end, or a line of fewer cells as
something else, silently; so it gets text without these, which is made where there are some.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

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

_IN_QUOTES = r'"[^"]*(?:""[^"]*)*"(?!")'
_QUOTE, _LINE_END = ord('"'), ord("\n")

_MARK = "\0"
"""A character that no text has: a cell in quotes in the outline of a text, and a line end in such a cell."""

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
    num_cells = _cells_of_every_line(text, separator)
    if num_cells in (None, 1):  # a line of nothing but spaces is as long as others of one cell, and no row
        return _mended(text, separator, first_line)
    return DividedText(_cells(text, separator, num_cells), 0, 0)


def _cells_of_every_line(text: str, separator: str) -> int | None:
    """The number of cells that every line has; None if lines differ, or quotation marks are not around whole cells."""
    data, border = f"{text}\n".encode(), {ord(separator), _LINE_END}
    if _has_quotes(text, separator):
        codes = np.frombuffer(data, np.uint8)
        is_outside = np.bitwise_xor.accumulate((codes == _QUOTE).view(np.uint8)) == 0
        if not is_outside[-1]:
            return None
        # The last mark of a cell stays, which may have some within it.
        codes = codes[is_outside]
        codes = codes[np.append(True, (codes[1:] != _QUOTE) | (codes[:-1] != _QUOTE))]
        places = np.flatnonzero(codes == _QUOTE)
        beside = np.append(codes[places + 1], codes[places[places > 0] - 1])
        if not np.isin(beside, [*border]).all():
            return None
        data = codes.tobytes()
    borders = data.translate(None, bytes({*range(256)} - border))
    line = borders[: borders.index(_LINE_END) + 1]
    return len(line) if borders == line * (len(borders) // len(line)) else None


def _has_quotes(text: str, separator: str) -> bool:
    """Whether a cell begins with a quotation mark."""
    return text.startswith('"') or f'{separator}"' in text or '\n"' in text


def _start_of_cell(separator: str) -> str:
    """The pattern of the place where a cell begins."""
    return rf"(?:^|(?<=[{re.escape(separator)}\n]))"


def _mended(text: str, separator: str, first_line: int) -> DividedText:
    """The rows of a text whose lines differ in their number of cells, or in which quotes are not around whole cells."""
    cell = _start_of_cell(separator) + _IN_QUOTES
    lines = outline = text.split("\n")
    if _has_quotes(text, separator):
        # Lines are rows: a line end in quotes is marked, and in the outline a whole cell in quotes.
        lines = re.sub(cell, lambda found: found[0].replace("\n", _MARK), text).split("\n")
        outline = re.sub(cell, _MARK, text).split("\n")
        _check_quotes_end(lines, outline, separator, first_line)
    num_cells = outline[0].count(separator) + 1
    kept, num_short, num_comments, place, next_place = [], 0, 0, first_line, first_line
    for line, own in zip(lines, outline, strict=True):
        place, next_place = next_place, next_place + 1 + line.count(_MARK)
        extra = own.count(separator) + 1 - num_cells
        if not own.strip() and (extra or num_cells == 1):
            continue
        if extra < 0 and line.startswith("#"):
            num_comments += 1
        elif (_MARK in line and extra) or (extra > 0 and not line.endswith(separator * extra)):
            raise InvalidInputError(
                f"line {place} has {num_cells + extra} cells with {separator!r} between them, "
                f"and the first line has {num_cells}: {in_short(line.replace(_MARK, chr(10)))}"
            )
        else:
            num_short += extra < 0
            kept.append(line[:-extra] if extra > 0 else line + separator * -extra)
    whole = _with_quotes_around("\n".join(kept).replace(_MARK, "\n"), separator)
    return DividedText(_cells(whole, separator, num_cells), num_short, num_comments)


def _check_quotes_end(lines: list[str], outline: list[str], separator: str, first_line: int) -> None:
    """Raises InvalidInputError if a quotation mark opens a cell that has no end."""
    opening = re.compile(_start_of_cell(separator) + '"')
    for place, own in enumerate(outline):
        opened = opening.search(own) if '"' in own else None
        if opened is not None:
            line = first_line + place + sum(earlier.count(_MARK) for earlier in lines[:place])
            cell = "\n".join([own[opened.start() :], *outline[place + 1 :]])
            raise InvalidInputError(
                f"a quotation mark opens a cell in line {line}, and none ends it: {in_short(cell.strip())}"
            )


def _with_quotes_around(text: str, separator: str) -> str:
    """The text with quotes around every cell that has some within it or goes on behind them: 5" pipe, "a"b."""
    if not _has_quotes(text, separator):
        return text
    own = re.escape(separator)
    cell = rf'{_start_of_cell(separator)}(?:({_IN_QUOTES})([^{own}\n]*)|[^"{own}\n]+"[^{own}\n]*)'

    def mended(found: re.Match) -> str:
        if found[1] is None:
            return '"' + found[0].replace('"', '""') + '"'
        return found[1] if not found[2] else found[1][:-1] + found[2].replace('"', '""') + '"'

    return re.sub(cell, mended, text)


def _cells(text: str, separator: str, num_cells: int) -> pl.DataFrame:
    """The cells of a text whose lines have as many each."""
    return pl.read_csv(
        text.encode(),
        has_header=False,
        separator=separator,
        quote_char='"' if _has_quotes(text, separator) else None,
        schema={f"f{place}": pl.String for place in range(num_cells)},
    )


def _without_spaces_before_quotes(text: str, separator: str) -> str:
    """A quotation mark opens a cell also where spaces are before it."""
    if f"{separator} " not in text or ' "' not in text:
        return text
    # Text in quotes is passed over as a whole.
    pattern = rf"{_start_of_cell(separator)}{_IN_QUOTES}|(?<={re.escape(separator)}) +({_IN_QUOTES})"
    return re.sub(pattern, lambda found: found[1] or found[0], text)


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
