"""Lines of text: how those of a table are written, and how messages name what is in them; nothing loads a library."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Cells that mean that a value is missing."""


@dataclass(frozen=True)
class TextFormat:
    """How the lines of a text are written.

    Attributes:
        missing: Words that mean a missing value beside the empty cell; None for the usual ones.
        separator: The character between cells, or "tab"; None if it follows from the first lines.
        decimal: The character before the decimals of numbers.
        thousands: The character between the thousands of numbers, or "space"; None for none.
        header: Whether the first line has names.
    """

    missing: list[str] | None = None
    separator: str | None = None
    decimal: Literal[".", ","] = "."
    thousands: str | None = None
    header: bool = True

    @property
    def cell_separator(self) -> str | None:
        """The character between cells; None if it follows from the first line."""
        return {"tab": "\t", "\\t": "\t"}.get(self.separator or "", self.separator)

    @property
    def thousands_mark(self) -> str:
        """The character between thousands; "" for none."""
        return {"space": " "}.get(self.thousands or "", self.thousands or "")

    @property
    def missing_words(self) -> tuple[str, ...]:
        """The cells that mean that a value is missing."""
        return MISSING_WORDS if self.missing is None else ("", *self.missing)


_MOST_NAMES, _LONGEST_WORD = 12, 60
"""Names in a list, and characters of a name."""


def in_short(text: object) -> str:
    """Returns a text as a string, cut with an ellipsis if it is long.

    >>> in_short("b"), len(in_short("b" * 200_000))
    ('b', 60)
    """
    word = str(text).replace("\n", " ")
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"


def listed(names: Iterable[object]) -> str:
    """Returns the first of some names, and how many more there are.

    >>> listed(["a", "b"]), listed([f"x{place}" for place in range(14)])[-15:]
    ('a, b', 'x11, and 2 more')
    """
    words = [in_short(name) for name in names]
    more = [f"and {len(words) - _MOST_NAMES} more"] if len(words) > _MOST_NAMES else []
    return ", ".join([*words[:_MOST_NAMES], *more])
