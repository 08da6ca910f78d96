"""What a boosting is given: rows, those that are measured, and how the tree of a round is grown."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.arrays import AnyArray
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.buckets import row_bucket
from jaxtree.growth.inputs.bundles import Features, Limits, Missing, Sizes


class BaseLearner(NamedTuple):
    """How the tree of a round is grown.

    Attributes:
        limits: When nodes are not split. Weights are second derivatives.
        sizes: The number of bins, and the most nodes of a tree.
        missing: The branch of rows whose value is missing; they are not shared out.
        counts_rows: Whether the least numbers of rows in the limits count rows; if not, they are weights.
    """

    limits: Limits
    sizes: Sizes
    missing: Missing = Missing.LEARN
    counts_rows: bool = False


class Earlier(NamedTuple):
    """Scores after earlier rounds, from which boosting continues (warm start).

    Attributes:
        number: How many there were.
        scores: The scores of all rows after them.
        evaluated: Those of the rows of every evaluation.
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
