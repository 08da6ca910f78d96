"""The description of a table: facts about columns and target, and warnings, as text, as a table and as records."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from jaxtree import notebook
from jaxtree.description.columns import ColumnFacts, shown
from jaxtree.description.findings import DataWarning
from jaxtree.description.target import TargetFacts

MOST_SHOWN = 40
"""The most columns of a printed table."""

WIDTH = 88
"""The letters of a line of a printed warning."""

LEAST_FREQUENT = 0.005
"""The share of a value from which on it is shown as the most frequent one."""

_LONGEST_NAME = 24
_LONGEST_CELL = 28
HEAD = ("column", "kind", "missing", "unique", "range", "most frequent")
"""The names of what a table says of every column."""


@dataclass(frozen=True, repr=False)
class DataDescription:
    """The result of `describe`.

    It prints as a table, is one in a notebook, and `to_dict` returns it as plain values.

    Attributes:
        num_rows: The number of rows of some weight.
        columns: The facts about every column.
        target: The facts about every output of the target; none without a target.
        repeats: The number of rows that are like an earlier one, target included.
        warnings: Warnings about what looks wrong, each with a `kind`, the `columns` that it is about, and a `text`.
    """

    num_rows: int
    columns: tuple[ColumnFacts, ...]
    target: tuple[TargetFacts, ...]
    repeats: int
    warnings: list[DataWarning]

    def __str__(self) -> str:
        """The description as text."""
        lines = [self.head_in_words(), *(f"target: {own}" for own in self.target), ""]
        lines += _aligned([HEAD, *(cells_of(own) for own in self.columns[:MOST_SHOWN])])
        if len(self.columns) > MOST_SHOWN:
            lines.append(f"... and {len(self.columns) - MOST_SHOWN} more columns")
        if self.warnings:
            lines += ["", *(fill(f"! {own}", WIDTH, subsequent_indent="  ") for own in self.warnings)]
        return "\n".join(lines)

    __repr__ = __str__

    def head_in_words(self) -> str:
        """Returns the size of the table in words."""
        columns = "1 column" if len(self.columns) == 1 else f"{len(self.columns):,} columns"
        repeats = f", {self.repeats:,} of them repeat an earlier one" if self.repeats else ""
        return f"{columns}, {self.num_rows:,} rows{repeats}"

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        facts = [("columns", f"{len(self.columns):,}"), ("rows", f"{self.num_rows:,}")]
        facts += [("repeated", f"{self.repeats:,}")] * bool(self.repeats) + [("target", own) for own in self.target]
        shown_columns = self.columns[:MOST_SHOWN]
        table = notebook.table(HEAD, map(cells_of, shown_columns), len(self.columns) - len(shown_columns))
        return notebook.facts(facts) + table + notebook.lines("\n".join(f"! {own}" for own in self.warnings))

    def to_dict(self) -> dict[str, Any]:
        """Returns the description as plain values, such as JSON has: `columns` and `target` are lists of records.

        >>> from jaxtree import describe
        >>> describe([[1.0, "a"], [2.0, "b"]], [0, 1]).to_dict()["columns"][0]["most"]
        2.0
        """
        return {
            "num_rows": self.num_rows,
            "repeats": self.repeats,
            "columns": [dataclasses.asdict(own) for own in self.columns],
            "target": [dataclasses.asdict(own) for own in self.target],
            "warnings": [own._asdict() for own in self.warnings],
        }


def cells_of(own: ColumnFacts) -> tuple[str, ...]:
    """Returns what a table says of a column, in the order of `HEAD`."""
    missing = f"{shown(own.missing)} ({share_in_words(own.missing_share)})" if own.missing else ""
    is_frequent = own.top_share >= LEAST_FREQUENT
    top = f"{share_in_words(own.top_share)} {_cut(shown(own.top), _LONGEST_CELL)}" if is_frequent else ""
    return _cut(own.name, _LONGEST_NAME), own.kind, missing, f"{own.unique:,}", own.range_in_words, top


def share_in_words(share: float) -> str:
    """Returns a share in percent; one that is neither 0 nor 1 is not written so.

    >>> share_in_words(0.5), share_in_words(0.0001), share_in_words(0.9999), share_in_words(1.0)
    ('50%', '<1%', '>99%', '100%')
    """
    if 0 < share < LEAST_FREQUENT:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _cut(word: str, longest: int) -> str:
    word = word.replace("\n", " ")
    return word if len(word) <= longest else f"{word[: longest - 1]}…"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    aligned = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in aligned]
