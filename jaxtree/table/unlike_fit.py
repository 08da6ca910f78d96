"""Rows that are unlike those of the fit: words that it has not seen, and columns that it knew and they lack.

Both are predicted like missing values. Python warns of them, and commands print notes, in the same words.
"""

import numpy as np
from jaxtyping import Bool

from jaxtree.errors import MissingColumnWarning, UnseenWordsWarning, warn_user
from jaxtree.table.reading import NumberBlock, Table

LOST = "is missing in every row, and in no row of the fit, which cannot have learned what that means"


def unseen_in_words(num_rows: int, example: str) -> str:
    """Says how many rows have words that the fit has not seen.

    Args:
        num_rows: The number of the rows.
        example: One of the words, as it is to be written.

    >>> unseen_in_words(1, "'x'")
    "1 row has a word that the fit has not seen, such as 'x'; it counts as missing"
    """
    rows = "1 row has" if num_rows == 1 else f"{num_rows:,} rows have"
    return f"{rows} a word that the fit has not seen, such as {example}; it counts as missing"


def warn_of_unseen_words(name: str, num_rows: int, example: str) -> None:
    """Warns of rows whose words in a column the fit has not seen."""
    warn_user(f"column {name!r}: {unseen_in_words(num_rows, repr(example))}", UnseenWordsWarning)


def warn_of_lost_columns(table: Table, has_missing: Bool[np.ndarray, " column"]) -> None:
    """Warns of every column without a value in any row, of those that had one in every row of the fit.

    Args:
        table: The rows.
        has_missing: Which columns lacked a value in some row of the fit.
    """
    for block in table.blocks:
        _warn_of_block(block, table.names, ~has_missing[block.place])
    for place, column in table.alone.items():
        if column.has_missing and not has_missing[place] and not len(column.known()):
            _warn(table.names[place])


def _warn_of_block(block: NumberBlock, names: tuple[str, ...], was_known: Bool[np.ndarray, " column"]) -> None:
    if not block.has_missing.any():
        return
    for own in np.flatnonzero(block.has_missing & was_known):
        if np.isnan(block.matrix[:, block.at[own]]).all():
            _warn(names[block.place[own]])


def _warn(name: str) -> None:
    warn_user(f"column {name!r} {LOST}", MissingColumnWarning)
