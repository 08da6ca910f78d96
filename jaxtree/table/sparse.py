"""Columns of scipy's sparse matrices and arrays, of which the entries that are stored are held, and no others.

What is not stored is 0, not missing. A *sparse vector* stands where the values of a column stand otherwise: it gives
any block of them as an array, so that only the reader of a block holds zeros.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Num, Shaped

CELLS_AT_A_TIME = 2**23
"""Numbers of a block of rows that is held with its zeros while rows are predicted: 64 MiB of float64."""


@dataclass(frozen=True, eq=False)
class SparseVector:
    """A vector that is 0 but for some entries.

    Attributes:
        place: Where these are, in ascending order.
        entry: What they are; some may be 0.
        size: The length of the vector.

    >>> vector = SparseVector(np.array([1, 3]), np.array([0.5, 2.0]), 5)
    >>> len(vector), vector[2:4], np.asarray(vector)
    (5, array([0., 2.]), array([0. , 0.5, 0. , 2. , 0. ]))
    """

    place: Int[np.ndarray, " entry"]
    entry: Num[np.ndarray, " entry"] | Bool[np.ndarray, " entry"]
    size: int

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the entries."""
        return self.entry.dtype

    def __len__(self) -> int:
        """The length of the vector, zeros included."""
        return self.size

    def __array__(self, dtype: Any = None, copy: Any = None) -> Shaped[np.ndarray, " row"]:
        """The vector with its zeros."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def __getitem__(self, block: slice) -> Shaped[np.ndarray, " block"]:
        """Some of the vector that follow one another, with zeros."""
        start, stop, _ = block.indices(self.size)
        first, last = np.searchsorted(self.place, (start, stop))
        values = np.zeros(stop - start, self.dtype)
        values[self.place[first:last] - start] = self.entry[first:last]
        return values

    def take(self, places: Int[np.ndarray, " taken"] | slice) -> "SparseVector":
        """Some of the vector, at ascending places, or all of it."""
        if isinstance(places, slice):
            return self
        at = np.searchsorted(self.place, places).clip(max=max(len(self.place) - 1, 0))
        is_stored = self.place[at] == places if len(self.place) else np.zeros(len(places), bool)
        return SparseVector(np.flatnonzero(is_stored), self.entry[at[is_stored]], len(places))

    def distinct_parts(self) -> Shaped[np.ndarray, " part"]:
        """The entries, with a 0 before them if any place has none."""
        zeros = np.zeros(int(self.size > len(self.entry)), self.dtype)
        return np.concatenate([zeros, self.entry])

    def spread(self, parts: Shaped[np.ndarray, " part"], out: Shaped[np.ndarray, " row"]) -> None:
        """Writes a vector, given what stands for each of the `distinct_parts`."""
        if self.size > len(self.entry):
            out[:] = parts[0]
        out[self.place] = parts[len(parts) - len(self.entry) :]


def sparse_vectors(X: Any) -> list[SparseVector]:
    """Returns the columns of a sparse matrix or array; entries of one place are added up, as `X.toarray()` does."""
    by_column = X.tocsc()
    if not by_column.has_canonical_format:
        by_column = by_column.copy() if by_column is X else by_column
        by_column.sum_duplicates()
    first, place, entry = by_column.indptr, by_column.indices, by_column.data
    blocks = (slice(start, stop) for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True))
    return [SparseVector(place[block], entry[block], X.shape[0]) for block in blocks]


def blocks_of_rows(X: Any) -> Iterator[Any]:
    """Yields the rows of a sparse matrix in blocks that are small with their zeros."""
    X = X.tocsr()
    step = max(CELLS_AT_A_TIME // max(X.shape[1], 1), 1)
    for start in range(0, max(X.shape[0], 1), step):
        yield X[start : start + step]
