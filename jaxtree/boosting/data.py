"""The inputs of a boosting: rows, those that are measured, and how the tree of a round is grown.

Scores have 64 bits, or of very many rows 32, where these are enough to tell the targets apart: those far from 0 for how
much they differ, such as seconds since 1970, would be equal in 32 bits.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.arrays import AnyArray
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.buckets import row_bucket
from jaxtree.growth.inputs.bundles import Features, Limits, Missing, Sizes
from jaxtree.losses.loss import BaseLoss

MOST_ROWS_IN_DOUBLE = 2**17
"""Rows whose scores have 64 bits; of more rows they have 32, for speed, where these are enough for the targets."""

FAR = 2.0**14
"""Targets farther from 0 than so many of their standard deviations need 64 bits."""

LARGEST, CLOSEST = 2.0**36, 2.0**-26
"""So do targets farther from 0 than this, and those with so small a standard deviation: scales of 32 bits end there."""


class BaseLearner(NamedTuple):
    """How the tree of a round is grown.

    Attributes:
        limits: When nodes are not split. Weights are second derivatives.
        sizes: The number of bins, and the most nodes of a tree.
        missing: The branch of rows whose value is missing; they are not shared out.
        counts_rows: Whether the least numbers of rows in the limits count rows; if not, they are weights.
        one_output_per_tree: Whether a round grows a tree for every score, and not one that changes all of them.
    """

    limits: Limits
    sizes: Sizes
    missing: Missing = Missing.LEARN
    counts_rows: bool = False
    one_output_per_tree: bool = False

    def trees_per_round(self, loss: BaseLoss) -> int:
        """Returns how many trees a round has."""
        return loss.num_scores if self.one_output_per_tree else 1


class Earlier(NamedTuple):
    """Scores after earlier rounds, from which boosting continues (warm start).

    Attributes:
        number: The number of earlier rounds.
        scores: The scores of all rows after them.
        evaluated: The scores of the rows of every evaluation.
    """

    number: int
    scores: Float[AnyArray, "score row"]
    evaluated: tuple[Float[AnyArray, "score row"], ...] = ()


class BoostData(NamedTuple):
    """The data of a boosting.

    Attributes:
        rows: The rows that trees are grown on. Scores have 64 bits; those of very many rows have 32, see `score_type`.
        features: How the features may be split; by thresholds if None.
        evaluations: Other rows, whose loss is recorded; the first decide when to stop.
        start: The scores before the first tree; those that are best for all rows together if not given. Rows of which
            other processes have a part need it.
        earlier: Rounds that were made before, with the start that is given; none if None.
        num_rows: The number of rows without padding, where other processes have a part of them.
        precision: The type of scores; that of `score_type` if None. Rows of several processes need it.
    """

    rows: ScoredRows
    features: Features | None = None
    evaluations: tuple[ScoredRows, ...] = ()
    start: Float[np.ndarray, " score"] | None = None
    earlier: Earlier | None = None
    num_rows: int | None = None
    precision: type[np.floating] | None = None

    @property
    def size(self) -> int:
        """The number of rows that precisions follow from: those of one process, padded as there."""
        return len(self.rows.weight) if self.num_rows is None else row_bucket(self.num_rows)


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
