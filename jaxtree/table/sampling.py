"""Which rows edges are fitted on: those whose number hashes lowest.

So they depend neither on how a table is cut into parts nor on the order in which these are read, and the lowest of two
parts are the lowest of the lowest of each.
"""

import numpy as np
from jaxtyping import Int64, UInt64

MAX_FITTED_ROWS = 200_000


def sample_rows(num_rows: int) -> Int64[np.ndarray, " row"]:
    """Returns, in ascending order, the rows that edges are fitted on: at most 200,000.

    Of a larger table these are the rows whose number has the lowest hash; see `row_hash`. They depend on the number of
    rows alone.

    >>> sample_rows(4)
    array([0, 1, 2, 3])
    """
    rows = np.arange(num_rows)
    return rows[lowest_hashes(rows)]


def row_hash(rows: Int64[np.ndarray, " row"]) -> UInt64[np.ndarray, " row"]:
    """Returns a hash of every row's number.

    It is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014, "Fast splittable pseudorandom number generators"), a
    bijection, so there are no ties.
    """
    hashes = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def lowest_hashes(rows: Int64[np.ndarray, " row"]) -> Int64[np.ndarray, " lowest"] | slice:
    """Returns the places of the 200,000 rows whose number hashes lowest; of fewer rows all."""
    if len(rows) <= MAX_FITTED_ROWS:
        return slice(None)
    hashes = row_hash(rows)
    limit = np.partition(hashes, MAX_FITTED_ROWS - 1)[MAX_FITTED_ROWS - 1]
    return np.flatnonzero(hashes <= limit)
