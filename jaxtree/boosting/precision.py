"""The bits of scores: 64, or of very many rows 32, where these are enough to tell the targets apart.

Targets far from 0 for how much they differ, such as seconds since 1970, would be equal in 32 bits.
"""

import numpy as np

from jaxtree.boosting.round_tree import ScoredRows

MOST_ROWS_IN_DOUBLE = 2**17
"""Rows whose scores have 64 bits; of more rows they have 32, for speed, where these are enough for the targets."""

FAR = 2.0**14
"""Targets farther from 0 than so many of their standard deviations need 64 bits."""

LARGEST, CLOSEST = 2.0**36, 2.0**-26
"""So do targets farther from 0 than this, and those with so small a standard deviation: scales of 32 bits end there."""


def score_type(rows: ScoredRows, num_rows: int) -> type[np.floating]:
    """The type of scores that are made with so many rows, padding included: one that tells their targets apart.

    >>> rows = ScoredRows(np.zeros((0, 4)), np.array([0.0, 1, 2, 3]), np.ones(4), {})
    >>> far = rows._replace(target=rows.target + 1e9)
    >>> [score_type(own, 2**18).__name__ for own in (rows, far)]
    ['float32', 'float64']
    """
    if num_rows <= MOST_ROWS_IN_DOUBLE:
        return np.float64
    is_there, target = np.asarray(rows.weight) > 0, np.asarray(rows.target)
    if target.dtype.kind != "f" or not is_there.any():
        return np.float32
    columns = [target[is_there].astype(np.float64).reshape(np.count_nonzero(is_there), -1)]
    if "offset" in rows.extras:
        offset = np.asarray(rows.extras["offset"], np.float64)[is_there].reshape(len(columns[0]), -1)
        columns += [offset, columns[0] - offset[:, :1]]
    largest = max(np.max(np.abs(column)) for column in columns)
    spread = min((own for column in columns for own in column.std(axis=0) if own > 0), default=1.0)
    is_far = largest > min(FAR * spread, LARGEST) or spread < CLOSEST
    return np.float64 if is_far else np.float32
