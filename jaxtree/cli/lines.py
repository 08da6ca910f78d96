"""Lines of cells: what is between the cells, what is before decimals, and whether the first line has names."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl

from jaxtree.cli.session import in_short
from jaxtree.errors import InvalidInputError
from jaxtree.table.cells import is_scalar_word

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

_HUNDREDS = r"^[+-]?[1-9][0-9]{2}$"
_POINT_DECIMAL = r"^[+-]?\d*\.\d+([eE][+-]?\d+)?$"


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


def check_unique(names: Sequence[str], meaning: str, hint: str = "") -> None:
    """Raises InvalidInputError if a name stands there twice."""
    twice = next((name for name, number in Counter(names).items() if number > 1), None)
    if twice is not None:
        raise InvalidInputError(f"{meaning} must be unique, and {in_short(repr(twice))} stands there twice{hint}")


def has_cells_for_names(frame: pl.DataFrame) -> bool:
    """Returns whether the names of a table of text look like cells: one is a number, or most stand in their columns."""
    names = frame.columns
    in_column = sum(bool((frame[name].head(_MOST_LINES).str.strip_chars() == name).any()) for name in names)
    return any(map(is_scalar_word, names)) or 2 * in_column > len(names)


def with_decimal_points(cells: pl.Series) -> pl.Series:
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
            f"{with_point[0]!r}: one of them must be before the decimals of all, and none between thousands"
        )
    return (
        pl.select(pl.when(is_decimal).then(cells.str.replace(",", ".", literal=True)).otherwise(cells))
        .to_series()
        .alias(cells.name)
    )


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
