"""One column of a source, held as a whole: a target or a weight, which is small beside the table."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import AnyColumn, NumberColumn, WordColumn
from jaxtree.table.reading import read_table
from jaxtree.table.source import Source, naming
from jaxtree.table.summary import Summary, merge_summaries, summarise
from jaxtree.table.times import KINDS


def read_column(source: Source, name: str) -> NumberColumn | WordColumn:
    """Reads one column of a source.

    Raises:
        InvalidInputError: If there is no such column, or no row, or parts have columns of different kinds.
        InvalidTypeError: If it has dates or durations.

    >>> import pandas as pd
    >>> from jaxtree.table.source import open_source
    >>> column = read_column(open_source([pd.DataFrame({"kind": ["b", "a"]}), pd.DataFrame({"kind": ["c"]})]), "kind")
    >>> column.words, column.codes
    (('a', 'b', 'c'), array([1, 0, 2], dtype=int32))
    """
    parts, summaries, first_row = [], [], 0
    for part in source.column(name):
        with naming(part.label):
            table = read_table(part.table)
        # Its words and kind alone are of use: no row is sampled.
        summaries.append(summarise(table, part.label, first_row, limit=np.uint64(0)))
        parts.append(table.columns[0])
        first_row += table.num_rows
    if not parts:
        raise InvalidInputError("X has no rows in any of its parts, while a minimum of 1 is required")
    return _join(parts, merge_summaries(summaries))


def _join(parts: Sequence[AnyColumn], summary: Summary) -> NumberColumn | WordColumn:
    (column,) = summary.columns
    if column.kind == "numeric":
        values = [part.values for part in parts if isinstance(part, NumberColumn)]
        return NumberColumn(column.name, np.concatenate(values), column.has_missing)
    if column.kind in KINDS:
        raise InvalidTypeError(f"column {column.name!r} has {KINDS[column.kind]}: targets and weights cannot")
    position = {word: code for code, word in enumerate(column.ordered_words)}
    codes = np.concatenate([_recoded(part, position) for part in parts])
    return WordColumn(column.name, column.kind, column.ordered_words, codes, column.is_declared)


def _recoded(part: AnyColumn, position: dict) -> Int32[np.ndarray, " row"]:
    missing = len(position)
    if not isinstance(part, WordColumn):  # no value of the part is known
        return np.full(len(part.values), missing, np.int32)
    return np.array([*(position[word] for word in part.words), missing], np.int32)[part.codes]
