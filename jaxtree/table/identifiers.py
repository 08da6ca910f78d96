"""Columns of identifiers: names and numbers of rows, whose words are nearly as many as the rows.

Nothing can be learned of a word that one row has; but a tree may tell rows of the fit apart by it.
"""

from collections.abc import Sequence

from jaxtree.errors import IdentifierWarning, warn_user

FEW_ROWS = 12
"""The most rows in which another word in every one may well be chance."""

FEW_WORDS = 20
"""The most words of which some may well have one row, however few rows others have."""


def are_identifiers(num_words: int, num_rows: int) -> bool:
    """Returns whether so many different words look like identifiers of the rows.

    These are words that every row has for itself, or more than `FEW_WORDS` of fewer than two rows each in the mean.

    Args:
        num_words: The number of different words.
        num_rows: The number of rows that have one.

    Example:
        >>> are_identifiers(14, 14), are_identifiers(14, 15), are_identifiers(600, 1000), are_identifiers(500, 1000)
        (True, False, True, False)
    """
    return (num_rows > FEW_ROWS and num_words == num_rows) or (num_words > FEW_WORDS and 2 * num_words > num_rows)


def in_words(num_words: int, num_rows: int) -> str:
    """Returns how words that look like identifiers are spread over rows.

    >>> in_words(1000, 1000), in_words(1200, 2000)
    ('has another word in every row', 'has 1,200 words in 2,000 rows')
    """
    if num_words == num_rows:
        return "has another word in every row"
    return f"has {num_words:,} words in {num_rows:,} rows"


def note_identifiers(name: str, rows_of_words: Sequence[int]) -> None:
    """Warns of a column that looks like identifiers of rows.

    Args:
        name: The name of the column.
        rows_of_words: The number of the rows of each of its words; a word without rows does not count.
    """
    num_words, num_rows = sum(own > 0 for own in rows_of_words), sum(rows_of_words)
    if are_identifiers(num_words, num_rows):
        warn_user(
            f"column {name!r} {in_words(num_words, num_rows)}: it looks like a name or number of rows, of which "
            "nothing can be learned; leave it out",
            IdentifierWarning,
        )
