"""Some rows of a table in parts, as a table in parts."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Int
from scipy.sparse import issparse

from jaxtree.table.sources import Names, Piece, Source, as_frame, number_of_rows

Rows = Int[np.ndarray, " taken"]


def rows_of_source(source: Source, rows: Rows) -> Source:
    """Returns a source with some rows of another; it reads all parts, and hands on their rows among these.

    Args:
        source: A source.
        rows: The numbers of its rows, in ascending order.

    Example:
        >>> import pandas as pd
        >>> from jaxtree.table import open_source
        >>> source = open_source([pd.DataFrame({"size": [1.5, 2.0]}), pd.DataFrame({"size": [3.0]})])
        >>> [part.table["size"].tolist() for part in rows_of_source(source, np.array([1, 2]))]
        [[2.0], [3.0]]
    """
    pieces = partial(_pieces_with, source.pieces, rows + source.start)
    return replace(source, pieces=pieces, num_rows=len(rows), start=0, stop=None)


def _pieces_with(pieces: Callable[[], Iterable[Piece]], wanted: Rows) -> Iterator[Piece]:
    """Yields pieces with some of their rows, which are numbered through all of them."""
    row = 0
    for piece in pieces():
        own = _between(wanted, row, row + piece.num_rows)
        yield piece._replace(num_rows=len(own), load=partial(_load_rows, piece.load, own))
        row += piece.num_rows


def _load_rows(load: Callable[[Names | None], Iterable[Any]], wanted: Rows, names: Names | None) -> Iterator[Any]:
    """Yields the rows that are wanted of tables that follow one another."""
    row = 0
    for table in load(names):
        own = _between(wanted, row, row + number_of_rows(table))
        row += number_of_rows(table)
        if len(own):
            taken = (table.tocsr() if issparse(table) else as_frame(table))[own]
            yield taken.to_native() if isinstance(taken, nw.DataFrame) else taken


def _between(wanted: Rows, first: int, end: int) -> Int[np.ndarray, " own"]:
    """The rows of a part, counted from its first."""
    return wanted[(wanted >= first) & (wanted < end)] - first
