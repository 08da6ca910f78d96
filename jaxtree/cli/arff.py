"""Weka's attribute-relation files: a header that declares the columns, and rows of cells.

Nominal attributes declare their categories. The format is that of Weka's manual; attributes of dates and relations, and
sparse rows, are refused.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from jaxtree.errors import InvalidInputError

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_ATTRIBUTE = re.compile(
    rf"""@attribute\s+(?P<name>{_QUOTED}|[^\s{{'"][^\s{{]*)\s*(?P<kind>\{{.*\}}|[^\s{{]+).*""", re.IGNORECASE
)
# The second group is what no cell can be.
_CELL = re.compile(rf"""\s*({_QUOTED}|(?:[^\s,'"][^,]*)?)\s*,|(.+)""")


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
    return (line for line in map(str.strip, text.split("\n")) if line and not line.startswith("%"))


def _attribute(line: str) -> tuple[str, tuple[str, ...] | None, bool]:
    match = _ATTRIBUTE.fullmatch(line)
    name = match and _unquoted(match["name"])
    if match is None or not name:
        raise InvalidInputError(
            "an attribute of the ARFF file must be written as @attribute NAME KIND, with quotes around a name with "
            f"spaces, got {line!r}"
        )
    kind = match["kind"]
    if kind.startswith("{"):
        return name, _categories(name, kind[1:-1]), False
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


def _categories(name: str, text: str) -> tuple[str, ...]:
    if not text.strip():
        raise InvalidInputError(f"attribute {name!r} must declare its categories, as {{a,b}}, and declares none")
    categories = _cells(text)
    twice = next((category for category, number in Counter(categories).items() if number > 1), None)
    if twice is not None:
        raise InvalidInputError(
            f"the categories of attribute {name!r} must be unique, and {twice!r} stands there twice"
        )
    return tuple(categories)


def _cells(line: str) -> list[str]:
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    # Every cell ends with a comma, also the last.
    cells = _CELL.findall(f"{line},")
    if cells[-1][1]:
        raise InvalidInputError(f"a cell of the ARFF file has a quote that is not closed, or text after it: {line!r}")
    return [_unquoted(cell.strip()) for cell, _ in cells]


def _unquoted(text: str) -> str:
    """A word without the quotes around it, if there are some, and without the backslashes that escape within them."""
    if not text.startswith(("'", '"')):
        return text
    bare = text[1:-1]
    return (re.sub(r"\\(.)", r"\1", bare) if "\\" in bare else bare).strip()
