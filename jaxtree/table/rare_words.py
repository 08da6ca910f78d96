"""Columns of many words: the category that the rarest share, and identifiers.

Identifiers are names and numbers of rows, whose words are nearly as many as the rows. Nothing can be learned of a word
that one row has; but a tree may tell rows of the fit apart by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from jaxtree.errors import IdentifierWarning, RareWordsWarning, warn_user

CHANCE_ROWS = 12
"""The most rows in which another word in every one may well be chance."""

CHANCE_WORDS = 20
"""The most words of which some may well have one row, however few rows others have."""


def are_identifiers(num_words: int, num_rows: int) -> bool:
    """Returns whether the words of a column look like identifiers of the rows.

    These are words that every row has for itself, or more than `CHANCE_WORDS` of fewer than two rows each in the mean.

    Args:
        num_words: The number of different words.
        num_rows: The number of rows that have one.

    Example:
        >>> are_identifiers(14, 14), are_identifiers(14, 15), are_identifiers(600, 1000), are_identifiers(500, 1000)
        (True, False, True, False)
    """
    return (num_rows > CHANCE_ROWS and num_words == num_rows) or (num_words > CHANCE_WORDS and 2 * num_words > num_rows)


def in_words(num_words: int, num_rows: int) -> str:
    """Returns how words that look like identifiers are spread over rows.

    >>> in_words(1000, 1000), in_words(1200, 2000)
    ('has a different word in every row', 'has 1,200 words in 2,000 rows')
    """
    if num_words == num_rows:
        return "has a different word in every row"
    return f"has {num_words:,} words in {num_rows:,} rows"


def identifiers_in_words(num_words: int, num_rows: int) -> str:
    """Returns how words look like identifiers, and how to deal with it."""
    spread = in_words(num_words, num_rows)
    return f"{spread}: it looks like an identifier, from which no model can learn; leave it out"


def note_identifiers(name: str, rows_of_words: Int[np.ndarray, " word"]) -> None:
    """Warns of a column that looks like identifiers of rows.

    Args:
        name: The name of the column.
        rows_of_words: The number of the rows of each of its words; a word without rows does not count.
    """
    num_words, num_rows = int(np.count_nonzero(rows_of_words)), int(rows_of_words.sum())
    if are_identifiers(num_words, num_rows):
        warn_user(f"column {name!r} {identifiers_in_words(num_words, num_rows)}", IdentifierWarning)


ANY_OTHER = "any other"
FEW_WORDS = 255
"""Words of a column that all have categories of their own, however few rows they have."""
FEW_ROWS = 3
"""The least rows of a word that has a category of its own in a column of more words."""


@dataclass(frozen=True)
class RareWords:
    """The last category of a column of many words: that of every word that has no category of its own.

    These are the rarest words of the fitted column, and all words that it does not have. It is written "any other".

    Attributes:
        number: How many words of the fitted column share it.
        most_rows: The rows of the most frequent of these.
        example: The most frequent of these words.
    """

    number: int
    most_rows: int
    example: str | int | float | bool

    def __str__(self) -> str:
        """Its name among the categories."""
        return ANY_OTHER

    def in_words(self, num_others: int) -> str:
        """Says of a column with so many other categories how many words share this one.

        >>> RareWords(7, 1, "x").in_words(1000)[:60]
        'has 1,007 words: the 7 rarest, in one row each, share the ca'
        """
        rows = {0: "no row", 1: "one row"}.get(self.most_rows, f"at most {self.most_rows:,} rows")
        return (
            f"has {num_others + self.number:,} words: the {self.number:,} rarest, in {rows} each, share the category "
            f"'{self}', and so do words that the fit has not seen"
        )


def with_rare_words(name: str, categories: tuple, num_rows: Sequence[int], most: int) -> tuple:
    """Returns the categories of a column; of many words the rarest give way to `RareWords`, with a warning.

    There is no such warning of identifiers, of which `note_identifiers` warns.

    Args:
        name: The name of the column.
        categories: Its words, in the order of their codes.
        num_rows: The number of rows of each.
        most: The most categories.

    >>> with_rare_words("zip", ("a", "b", "c"), [2, 1, 2], most=3)
    ('a', 'b', 'c')
    """
    is_long = len(categories) > FEW_WORDS
    if len(categories) <= most and not is_long:
        return categories
    count = np.array(num_rows)
    falling = np.argsort(-count, kind="stable")
    kept = int(np.sum(count >= FEW_ROWS)) if is_long else len(categories)
    kept = min(kept, most - 1) if kept < len(categories) or kept > most else kept
    rare = falling[kept:]
    if not rare.size:
        return categories
    own = [categories[place] for place in np.sort(falling[:kept]).tolist()]
    shared = RareWords(len(rare), int(count[rare[0]]), categories[rare[0]])
    if not are_identifiers(int(np.count_nonzero(count)), int(count.sum())):
        warn_user(f"column {name!r} {shared.in_words(len(own))}", RareWordsWarning)
    return (*own, shared)
