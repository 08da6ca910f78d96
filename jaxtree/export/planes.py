"""Planes: sums of columns, which an oblique tree compares with 0 where another tree compares a column with a threshold.

A plane sums *terms*. A term is a scaled number of a column, or 1 where a column has a category, or where it is missing.
"""

import enum
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from jaxtree.table.schema import Schema


class TermKind(enum.IntEnum):
    """What a term is of its column's value; a missing value is 0 but for the last."""

    NUMBER = 0
    CATEGORY = 1
    MISSING = 2


class Planes(NamedTuple):
    """The planes of a tree.

    Attributes:
        schema: The table that they are of.
        column: The column that each term reads.
        kind: A `TermKind`.
        middle: What is subtracted from a number; the code of a category; 0 for others.
        unit: What a number is divided by then; 1 for others.
        weight: What every term counts. Terms are rounded to float32, as the tree reads them, sums are of doubles.
        offset: What is added to the sum.
    """

    schema: Schema
    column: Int[np.ndarray, " term"]
    kind: Int[np.ndarray, " term"]
    middle: Float64[np.ndarray, " term"]
    unit: Float64[np.ndarray, " term"]
    weight: Float64[np.ndarray, "plane term"]
    offset: Float64[np.ndarray, " plane"]

    @property
    def num_terms(self) -> int:
        """The number of terms of every plane."""
        return self.column.size
