"""Rows that are unlike those of the fit: words that it has not seen, and columns that it knew and they lack.

Both are predicted like missing values. Python warns of them, and commands print notes, in the same words.
"""

import numpy as np
from jaxtyping import Bool

from jaxtree.errors import MissingColumnWarning, UnseenWordsWarning, is_changing, warn_user
from jaxtree.table.reading import Table

LOST = "is missing in every row, but was never missing in the fit, so the model has not learned what that means"


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
    _warn(f"column {name!r}: {unseen_in_words(num_rows, repr(example))}", UnseenWordsWarning)


def warn_of_lost_columns(table: Table, has_missing: Bool[np.ndarray, " column"]) -> None:
    """Warns of every column without a value in any of several rows, of those that had one in every row of the fit.

    A lone row that lacks a value says nothing of its column.

    Args:
        table: The rows.
        has_missing: Which columns lacked a value in some row of the fit.
    """
    if len(table) < 2:
        return
    for block in table.blocks:
        if block.has_missing.any():
            for own in np.flatnonzero(block.has_missing & ~has_missing[block.place]):
                if np.isnan(block.matrix[:, block.at[own]]).all():
                    _warn(f"column {table.names[block.place[own]]!r} {LOST}", MissingColumnWarning)
    for place, column in table.alone.items():
        if column.has_missing and not has_missing[place] and not len(column.known()):
            _warn(f"column {table.names[place]!r} {LOST}", MissingColumnWarning)


def _warn(text: str, category: type[Warning]) -> None:
    """Warns of rows that a user predicts: folds within a fit are no news."""
    if not is_changing():
        warn_user(text, category)
