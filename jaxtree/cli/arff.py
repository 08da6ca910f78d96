"""ARFF, the files of Weka, read as its manual describes them.

Nominal attributes declare their categories. Attributes of dates and relations, sparse rows, and weights of rows are
refused.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from jaxtree.cli.lines import check_unique
from jaxtree.cli.session import in_short
from jaxtree.errors import InvalidInputError

_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_ATTRIBUTE = re.compile(
    rf"""@attribute\s+(?P<name>{_QUOTED}|[^\s{{'"][^\s{{]*)\s*(?P<kind>\{{.*\}}|[^\s{{]+).*""",
    re.IGNORECASE,
)
_WEIGHT = re.compile(r"\{\s*[\d.eE+-]+\s*\}")
# The second group is what no cell can be.
_CELL = re.compile(rf"""\s*({_QUOTED}|(?:[^\s,'"][^,]*)?)\s*,|(.+)""")


class ArffTable(NamedTuple):
    """The columns of a file.

    Attributes:
        frame: The cells as text, null where one is missing.
        attributes: The categories that every column declares, by name: none of numbers, None of strings.
    """

    frame: pl.DataFrame
    attributes: dict[str, tuple[str, ...] | None]


def read_arff(text: str) -> ArffTable:
    """Reads a text; raises InvalidInputError if it is none, or has what is not read."""
    attributes: dict[str, tuple[str, ...] | None] = {}
    lines = (line for line in map(str.strip, text.split("\n")) if line and not line.startswith("%"))
    for line in lines:
        if line.lower().startswith("@data"):
            break
        if line.lower().startswith("@attribute"):
            column, categories = _attribute(line)
            if column in attributes:
                check_unique([*attributes, column], "the names of its columns")
            attributes[column] = categories
    else:
        raise InvalidInputError("the ARFF file has no @data")
    declared = list(attributes.values())
    rows = [_arff_row(line, declared) for line in lines]
    columns = zip(*rows, strict=True) if rows else ((),) * len(attributes)
    frame = pl.DataFrame([pl.Series(name, own, pl.String) for name, own in zip(attributes, columns, strict=True)])
    return ArffTable(frame, attributes)


def _attribute(line: str) -> tuple[str, tuple[str, ...] | None]:
    """The name of an attribute, and its categories: none of numbers, None of strings."""
    match = _ATTRIBUTE.fullmatch(line)
    name, kind = (_unquoted(match["name"]), match["kind"]) if match else ("", "")
    if not name:
        raise InvalidInputError(
            "an attribute of the ARFF file must be written as @attribute NAME KIND, with quotes around a name with "
            f"spaces, got {line!r}"
        )
    if not kind.startswith("{"):
        if kind.lower() not in ("numeric", "real", "integer", "string"):
            raise InvalidInputError(
                f"attribute {in_short(repr(name))} is of kind {in_short(repr(kind))}; read are numeric, "
                "nominal and string"
            )
        return name, None if kind.lower() == "string" else ()
    if not kind[1:-1].strip():
        raise InvalidInputError(f"attribute {name!r} must declare its categories, as {{a,b}}, and declares none")
    categories = [_unquoted(cell) for cell in _arff_cells(kind[1:-1])]
    check_unique(categories, f"the categories of attribute {name!r}")
    return name, tuple(categories)


def _arff_row(line: str, attributes: Sequence[tuple[str, ...] | None]) -> list[str | None]:
    """The cells of a row: null for ? without quotes and for nothing, unless the attribute declares it as a category."""
    if line.startswith("{"):
        raise InvalidInputError("the ARFF file has sparse rows, which are not read: write all cells")
    cells = _arff_cells(line)
    if len(cells) == len(attributes) + 1 and _WEIGHT.fullmatch(cells[-1]):
        raise InvalidInputError(
            f"a row of the ARFF file ends with its weight, {cells[-1]}: make weights an attribute, for --weight"
        )
    if len(cells) != len(attributes):
        raise InvalidInputError(
            f"a row of the ARFF file has {len(cells)} cells instead of {len(attributes)}: {in_short(repr(line))}"
        )
    return [
        None if cell in ("?", "") and cell not in (categories or ()) else _unquoted(cell)
        for cell, categories in zip(cells, attributes, strict=True)
    ]


def _arff_cells(line: str) -> list[str]:
    """The cells of a line with the quotes around them."""
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    # Every cell ends with a comma, also the last.
    cells = _CELL.findall(f"{line},")
    if cells[-1][1]:
        raise InvalidInputError(f"a cell of the ARFF file has a quote that is not closed, or text after it: {line!r}")
    return [cell.strip() for cell, _ in cells]


def _unquoted(text: str) -> str:
    """A word without the quotes around it, if there are some, and without the backslashes that escape within them."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]).strip() if text.startswith(("'", '"')) else text
