"""Rows as numbers that tell them apart: which of them are alike, and some of them, chosen by what they hold.

The *hash* of a row follows from its values and its target alone. Rows that are chosen or divided by it are the same
ones in whatever order they come, and rows that are alike stay together.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, Shaped, UInt64

from jaxtree.description.columns import Distinct
from jaxtree.table.columns import TableColumn
from jaxtree.table.summary import row_hash

MOST_JUDGED = 20_000
"""The most rows by which single columns are judged."""

Hashes = UInt64[np.ndarray, " row"]

_MISSING = np.uint64(0x5BD1E995)


def row_hashes(columns: Sequence[TableColumn], targets: Sequence[Shaped[np.ndarray, " row"]] = ()) -> Hashes:
    """Returns the hashes of rows.

    Args:
        columns: The columns.
        targets: Numbers, or the places of classes, which count as further columns.
    """
    hashes = np.zeros(len(columns[0]), np.uint64)
    for place, column in enumerate(columns):
        hashes += _mixed(_bits(column), place)
    for place, target in enumerate(targets, len(columns)):
        hashes += _mixed(_bits_of_numbers(np.asarray(target, np.float64)), place)
    return hashes


def _mixed(bits: Hashes, place: int) -> Hashes:
    """Bits of a column's values, of which no two columns have the same."""
    salt = row_hash(np.array([place]))[0]
    return row_hash((bits ^ salt).view(np.int64))


def _bits(column: TableColumn) -> Hashes:
    """Bits of every value that are the same in every form of the table."""
    values = np.asarray(column.values)
    if column.has_categories:
        return np.array([*map(_bits_of_word, column.categories), _MISSING], np.uint64)[values]
    if column.is_time:
        return values.astype(f"{values.dtype.kind}8[us]").view(np.uint64)
    return _bits_of_numbers(values.astype(np.float64))


def _bits_of_word(word: object) -> int:
    """Bits of a category, of a number those of its value."""
    text = str(float(word)) if isinstance(word, int | float) and not isinstance(word, bool) else str(word)
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def _bits_of_numbers(numbers: Shaped[np.ndarray, " row"]) -> Hashes:
    bits = (numbers + 0.0).view(np.uint64)
    bits[np.isnan(numbers)] = _MISSING
    return bits


class Likeness(NamedTuple):
    """How many rows are like others.

    Attributes:
        repeats: The rows that are like an earlier one.
        pairs: The pairs of rows that are alike.
    """

    repeats: int
    pairs: float


def likeness(hashes: Hashes) -> Likeness:
    """Returns how many rows of a table are like others of it.

    >>> likeness(np.array([7, 5, 7, 7], np.uint64))
    Likeness(repeats=2, pairs=3.0)
    """
    _, number = np.unique(hashes, return_counts=True)
    return Likeness(int(len(hashes) - len(number)), float((number * (number - 1.0)).sum() / 2))


def expected_pairs(found: Sequence[Distinct], num_pairs: float) -> float:
    """Returns how many of some pairs of rows are alike by chance.

    Two rows have the same value in a column as often as the squares of its shares add up to. Columns depend on one
    another, so that the half of them with the finest values is taken, as if these were independent.
    """
    logs = sorted(np.log(np.square(own.num_rows / own.num_rows.sum()).sum()) for own in found if len(own.value))
    return float(num_pairs * np.exp(sum(logs[: (len(logs) + 1) // 2])))


def judged_rows(hashes: Hashes) -> Int64[np.ndarray, " judged"]:
    """Returns the rows by which columns are judged, in the order of their hashes: all, or those that hash lowest.

    Rows that are alike are all judged, or none of them.
    """
    order = np.argsort(hashes, kind="stable")
    if len(order) <= MOST_JUDGED:
        return order
    ordered = hashes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    return order[np.cumsum(is_first) <= MOST_JUDGED]
