"""How the lines of a text are written; nothing here loads the libraries that read them."""

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
