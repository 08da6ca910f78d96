"""Warnings about a table: what is likely to be a mistake, or to make a model look better than it is."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxtree.description.columns import ColumnFacts, Distinct
from jaxtree.notebook import LONGEST_WORD
from jaxtree.table.columns import TableColumn
from jaxtree.table.rare_words import are_identifiers, identifiers_in_words
from jaxtree.table.times import DATE_IN_WORDS
from jaxtree.table.unlike_fit import unseen_in_words

KINDS = (
    "identifier",
    "leak",
    "no value",
    "constant",
    "nearly constant",
    "dates as words",
    "numbers as words",
    "repeated rows",
    "shared rows",
    "unseen words",
    "lost column",
    "missing column",
)
"""The kinds of warnings."""

NEARLY_CONSTANT = 0.99
"""The share of rows with one value from which on a column is said to be nearly constant."""

MOST_WORDS_READ = 1000
"""The most words of a column that are looked at."""

NUMBERS_AMONG_WORDS = 0.95
"""The share of words that are numbers from which on a column is said to have numbers as words."""

FEW_WORDS = 10
"""Up to this number of words that are numbers may well be codes of categories."""

REPEATED = 0.01
"""The share of rows that are like others from which on this is said."""

BEYOND_CHANCE = 10
"""How many times more pairs of rows must be alike than by chance."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_CODE = re.compile(r"\s*[+-]?0\d+.*", re.ASCII)
_MOST_NAMED = 6


class DataWarning(NamedTuple):
    """A warning about a table.

    Attributes:
        kind: One of `KINDS`, such as "identifier".
        columns: The columns that it is about; none if it is about rows.
        text: A sentence.
    """

    kind: str
    columns: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        """The sentence."""
        return self.text


def of_columns(kind: str, columns: Sequence[str], said: str) -> DataWarning:
    """Returns a warning about columns that have something in common; `said` follows "has" or "have".

    >>> of_columns("constant", ["a", "b"], "one value in all rows").text
    "columns 'a', 'b' have one value in all rows"
    """
    more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
    names = ", ".join(map(_quoted, columns[:_MOST_NAMED])) + more
    start = f"column {names} has" if len(columns) == 1 else f"columns {names} have"
    return DataWarning(kind, tuple(columns), f"{start} {said}")


def _quoted(name: str) -> str:
    """The name of a column in quotes, cut if it is long."""
    return repr(name if len(name) <= LONGEST_WORD else f"{name[: LONGEST_WORD - 1]}…")


def warnings_of_columns(
    columns: Sequence[TableColumn], found: Sequence[Distinct], facts: Sequence[ColumnFacts], num_rows: int
) -> Iterator[DataWarning]:
    """Yields warnings about columns by themselves.

    Args:
        columns: The columns.
        found: Their distinct values.
        facts: The facts about them.
        num_rows: The number of rows.
    """
    for column, own in zip(columns, found, strict=True):
        if said := identifiers_of(column, own, num_rows):
            yield of_columns("identifier", [column.name], said)
        if column.kind == "categorical":
            yield from _disguised(column, own)
    groups = {
        "no value": ("no value in any row", [own.name for own in facts if not own.unique]),
        "constant": ("one value in all rows", [own.name for own in facts if own.unique == 1 and not own.missing]),
        "nearly constant": (
            f"one value, or none, in {NEARLY_CONSTANT:.0%} of the rows or more",
            [own.name for own in facts if _is_nearly_constant(own)],
        ),
    }
    yield from (of_columns(kind, names, said) for kind, (said, names) in groups.items() if names)


def _is_nearly_constant(own: ColumnFacts) -> bool:
    varies = own.unique > 1 or (own.unique == 1 and own.missing > 0)
    return varies and max(own.top_share, own.missing_share) >= NEARLY_CONSTANT


def identifiers_of(column: TableColumn, found: Distinct, num_rows: int) -> str:
    """Says how a column looks like one of names or numbers of rows; "" if it does not.

    Its words are nearly as many as the rows that have one, or every row has another whole number.
    """
    num_values, known = len(found.value), int(found.num_rows.sum())
    if column.is_time or column.kind == "ordered" or not are_identifiers(num_values, known):
        return ""
    if column.kind == "categorical":
        return identifiers_in_words(num_values, known).removeprefix("has ")
    is_whole = num_values == num_rows and bool((found.value % 1 == 0).all())
    return "another whole number in every row: it looks like a row number; leave it out" if is_whole else ""


def _disguised(column: TableColumn, found: Distinct) -> Iterator[DataWarning]:
    """Warnings about words that are dates or numbers to a reader."""
    if not len(found.value):
        return
    places = found.value[np.unique(np.linspace(0, len(found.value) - 1, MOST_WORDS_READ).astype(int))]
    words = [own for own in map(column.categories.__getitem__, places.tolist()) if isinstance(own, str)]
    if len(words) < 2 or len(words) < len(places):
        return
    if all(map(DATE_IN_WORDS.fullmatch, words)):
        yield of_columns(
            "dates as words",
            [column.name],
            f"words that look like dates, such as {words[0]!r}: they have no order until they are turned into dates",
        )
        return
    are_numbers = [_NUMBER.fullmatch(word) is not None for word in words]
    if len(words) <= FEW_WORDS or np.mean(are_numbers) < NUMBERS_AMONG_WORDS or any(map(_CODE.fullmatch, words)):
        return
    others = [repr(word) for word, is_number in zip(words, are_numbers, strict=True) if not is_number]
    rest = f" (others are {', '.join(others[:3])})" if others else ""
    yield of_columns(
        "numbers as words",
        [column.name],
        f"words that are numbers, such as {words[0]!r}{rest}: they have no order until they are turned into numbers",
    )


def leak(name: str, why: str) -> DataWarning:
    """Returns the warning about a column that alone predicts the target, and by what measure."""
    return DataWarning(
        "leak", (name,), f"column {_quoted(name)} alone predicts the target ({why}): was it known before?"
    )


def repeated_rows(repeats: int, num_rows: int) -> DataWarning:
    """Returns the warning about rows that are like earlier ones."""
    said = f"{repeats:,} of {num_rows:,} rows ({repeats / num_rows:.1%}) repeat an earlier one, more than chance makes"
    return DataWarning("repeated rows", (), f"{said}: keep them on one side of every split")


def unseen_words(name: str, num_rows: int, example: str) -> DataWarning:
    """Returns the warning about words of validation rows that no training row has."""
    said = unseen_in_words(num_rows, repr(example))
    return DataWarning("unseen words", (name,), f"column {_quoted(name)} of the validation rows: {said}")


def shared_rows(number: int, num_rows: int) -> DataWarning:
    """Returns the warning about validation rows that are among the others."""
    said = f"{number:,} of {num_rows:,} validation rows ({number / num_rows:.1%}) are among the training rows, too"
    return DataWarning("shared rows", (), f"{said}: scores on them are too good")
