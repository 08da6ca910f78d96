"""The inputs of a boosting: rows, those that are measured, and how the tree of a round is grown.

Scores have 64 bits, or of very many rows 32, where these are enough to tell the targets apart: those far from 0 for how
much they differ, such as seconds since 1970, would be equal in 32 bits.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.arrays import AnyArray
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.buckets import row_bucket
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.inputs.bundles import Features, Limits, Missing, Sizes
from jaxtree.growth.inputs.checks import check_array, check_codes, check_number, check_weight
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.checks import known

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


def check_data(data: BoostData, loss: BaseLoss, num_bins: int) -> None:
    """Checks arrays of rows, and that the loss allows their targets.

    Args:
        data: The rows, and those of evaluations.
        loss: The loss.
        num_bins: The number of codes that a feature may have.
    """
    check_rows(data.rows, num_bins)
    for number, evaluation in enumerate(data.evaluations):
        check_rows(evaluation, num_bins, f"evaluation {number}")
    check_start(data.start, data.earlier, loss, (data.rows, *data.evaluations))
    weight, target = known(data.rows.weight), known(data.rows.target)
    if weight is not None and target is not None:
        is_there = weight > 0
        extras = {name: np.asarray(values)[is_there] for name, values in data.rows.extras.items()}
        loss.check_fit(target[is_there], extras)


def check_rows(rows: ScoredRows, num_bins: int, what: str = "rows") -> None:
    """Checks that the arrays of rows fit together, and that codes and weights are such.

    Args:
        rows: The rows; the loss checks their targets and extras.
        num_bins: The number of codes that a feature may have.
        what: The noun for them in messages.
    """
    if not isinstance(rows, ScoredRows):
        raise InvalidTypeError(f"{what} must be ScoredRows, got {type(rows).__name__}")
    check_codes(rows.codes, num_bins)
    num_rows = rows.codes.shape[1]
    named = {
        "target": rows.target,
        "weight": rows.weight,
        **{f"extra {name!r}": own for name, own in rows.extras.items()},
    }
    for name, values in named.items():
        check_array(f"{name} of {what}", values)
        if values.shape[:1] != (num_rows,) or (name == "weight" and values.ndim != 1):
            raise InvalidInputError(f"{name} of {what} must have {num_rows} rows, as codes have, got {values.shape}")
    check_weight(rows.weight)
    weight = known(rows.weight)
    if weight is not None and not np.any(weight > 0) and what == "rows":
        raise InvalidInputError(f"weight must be above 0 for some row, got 0 for all {num_rows}")


def check_evaluations(evaluations: Sequence[ScoredRows], rows: ScoredRows) -> None:
    """Checks that rows of evaluations are like those that trees are grown on."""
    for number, evaluation in enumerate(evaluations):
        what = f"evaluation {number}"
        if len(evaluation.codes) != len(rows.codes):
            raise InvalidInputError(
                f"codes of {what} must have {len(rows.codes)} features, as the rows have, got {len(evaluation.codes)}"
            )
        if evaluation.target.shape[1:] != rows.target.shape[1:] or set(evaluation.extras) != set(rows.extras):
            raise InvalidInputError(
                f"{what} must have targets of the shape {rows.target.shape[1:]} a row and the extras "
                f"{sorted(rows.extras)}, as the rows have, got {evaluation.target.shape[1:]} and "
                f"{sorted(evaluation.extras)}"
            )


def check_start(start: Any, earlier: Any, loss: BaseLoss, tables: Sequence[ScoredRows]) -> None:
    """Checks scores to begin with: those of the start, and those of earlier rounds on the rows and every evaluation."""
    if start is not None:
        _check_scores("start", start, (loss.num_scores,))
    if earlier is None:
        return
    check_number("number of earlier rounds", earlier.number, 0)
    given = (earlier.scores, *earlier.evaluated)
    if len(given) != len(tables):
        raise InvalidInputError(f"earlier must have scores of {len(tables) - 1} evaluations, got {len(given) - 1}")
    for number, (scores, rows) in enumerate(zip(given, tables, strict=True)):
        name = f"scores of evaluation {number - 1}" if number else "scores"
        _check_scores(f"earlier {name}", scores, (loss.num_scores, rows.codes.shape[1]))


def _check_scores(name: str, scores: Any, shape: tuple[int, ...]) -> None:
    """Checks the shape of scores, and that they are numbers."""
    if np.shape(scores) != shape:
        raise InvalidInputError(f"{name} must have the shape {shape}, got {np.shape(scores)}")
    values = known(scores)
    if values is not None and not np.isfinite(values).all():
        raise InvalidInputError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
