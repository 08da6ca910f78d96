"""Weka's attribute-relation files: a header that declares the columns, and rows of cells.

Nominal attributes declare their categories. The format is that of Weka's manual; attributes of dates and relations, and
sparse rows, are refused.
"""

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxtree.errors import InvalidInputError

_NUMERIC = ("numeric", "real", "integer")
_ATTRIBUTE = re.compile(
    r"""@attribute\s+(?P<name>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s{]+)\s*(?P<kind>\{.*\}|\S+).*""", re.IGNORECASE
)


class Arff(NamedTuple):
    """The content of a file.

    Attributes:
        names: The names of the columns.
        categories: Those that each column declares; None for numbers, and for strings.
        rows: The cells of every row, as they are written, without quotes.
        is_number: Whether each column is declared to be one of numbers.
    """

    names: list[str]
    categories: list[tuple[str, ...] | None]
    rows: list[list[str]]
    is_number: list[bool]


def is_arff(text: str) -> bool:
    r"""Says whether a text begins as such a file does, after its comments.

    >>> is_arff("% a comment\n\n@RELATION weather"), is_arff("a,b\n1,2")
    (True, False)
    """
    return next((line.lower().startswith("@relation") for line in _lines(text)), False)


def read_arff(text: str) -> Arff:
    r"""Reads a file.

    Raises:
        InvalidInputError: It has no data, an attribute is of a kind that is not read, or a row is.

    >>> read_arff("@relation r\n@attribute 'a b' {x, 'y z'}\n@attribute n real\n@data\n'y z',1.5\nx,?").rows
    [['y z', '1.5'], ['x', '?']]
    """
    lines = list(_lines(text))
    start = next((place for place, line in enumerate(lines) if line.lower().startswith("@data")), None)
    if start is None:
        raise InvalidInputError("the ARFF file has no @data")
    attributes = [_attribute(line) for line in lines[:start] if line.lower().startswith("@attribute")]
    names, categories, is_number = (
        (list(part) for part in zip(*attributes, strict=True)) if attributes else ([], [], [])
    )
    rows = [_row(line, len(names)) for line in lines[start + 1 :]]
    return Arff(names, categories, rows, is_number)


def _lines(text: str) -> Iterator[str]:
    return (line for line in map(str.strip, text.splitlines()) if line and not line.startswith("%"))


def _attribute(line: str) -> tuple[str, tuple[str, ...] | None, bool]:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise InvalidInputError(f"the ARFF file has an attribute that cannot be read: {line!r}")
    name, kind = _cells(match["name"])[0], match["kind"]
    if kind.startswith("{"):
        return name, tuple(_cells(kind[1:-1])), False
    if kind.lower() not in (*_NUMERIC, "string"):
        raise InvalidInputError(f"attribute {name!r} is of kind {kind!r}; read are numeric, nominal and string")
    return name, None, kind.lower() in _NUMERIC


def _row(line: str, num_columns: int) -> list[str]:
    if line.startswith("{"):
        raise InvalidInputError("the ARFF file has sparse rows, which are not read: write all cells")
    cells = _cells(line)
    if len(cells) != num_columns:
        raise InvalidInputError(f"a row of the ARFF file has {len(cells)} cells instead of {num_columns}: {line!r}")
    return cells


def _cells(line: str) -> list[str]:
    quote = "'" if "'" in line else '"'
    (cells,) = csv.reader(
        [line.replace("\t", " ") if "," in line else line], quotechar=quote, escapechar="\\", skipinitialspace=True
    )
    return [cell.strip() for cell in cells]
