"""The inputs of a boosting: rows, those that are measured, how the tree of a round is grown, and what holds it back.

Scores have 64 bits, or of very many rows 32, where these are enough to tell the targets apart: those far from 0 for how
much they differ, such as seconds since 1970, would be equal in 32 bits.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.arrays import AnyArray, concrete_or_none
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.ending import NO_PATIENCE, EarlyStopping
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.samples import MinimalVariance, OneSided, Sample, Uniform
from jaxtree.buckets import row_bucket
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.inputs.bundles import Features, Limits, Missing, Sizes
from jaxtree.growth.inputs.checks import check_array, check_codes, check_number, check_weight
from jaxtree.growth.inputs.newton import Penalties
from jaxtree.losses.loss import BaseLoss

MOST_ROWS_IN_DOUBLE = 2**17
"""Rows whose scores have 64 bits; of more rows they have 32, for speed, where these are enough for the targets."""

FAR = 2.0**14
"""Targets farther from 0 than so many of their standard deviations need 64 bits."""

LARGEST, CLOSEST = 2.0**36, 2.0**-26
"""So do targets farther from 0 than this, and those with so small a standard deviation: scales of 32 bits end there."""

LEAST_GAIN = np.finfo(np.float64).tiny
"""Gain per weight of a split: one that gains nothing is not made."""

DIGITS = 6
"""Digits of a number of columns that count, so that 0.29 of 100 are 29."""


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


class ColumnFractions(NamedTuple):
    """The parts of the columns that are drawn, each of those that are drawn before; rounded down, at least one.

    Attributes:
        tree: Drawn for every tree.
        level: Drawn for every level of a tree.
        node: Drawn for every node; where none of them has a split, the node looks at further ones of its level.
    """

    tree: float = 1.0
    level: float = 1.0
    node: float = 1.0

    def numbers(self, num_columns: int) -> tuple[int, int, int]:
        """Returns the numbers of columns that a tree, a level and a node draw.

        >>> ColumnFractions(0.5, 0.5, 0.1).numbers(28)
        (14, 7, 1)
        """
        numbers = []
        for fraction in self:
            num_columns = max(1, int(round(fraction * num_columns, DIGITS)))
            numbers.append(num_columns)
        tree, level, node = numbers
        return tree, level, node


class Shrinkage(NamedTuple):
    """Regularisation settings. All fields are numbers, so one program serves a sweep over them.

    Attributes:
        learning_rate: The part of every step that is made; or one for each round; or a schedule, such as optax's, a
            function of the number of rounds made.
        l2: Added to the second derivatives of a node: lambda of XGBoost.
        l1: Taken from the size of its gradient: alpha of XGBoost.
        max_step: The greatest size of a step.
        least_gain: The least loss that a split must save: half of the gamma of XGBoost.
        sample: How the rows of every tree are drawn.
        column_fractions: The parts of the columns that are drawn for trees, levels and nodes.
        score_noise: The noise on the scores of features among which a node chooses, in deviations of the score of a
            column that tells nothing; it fades as scores move: random strength of CatBoost.
        dropping: How trees are dropped for a round (DART); None where none are. The trees of all rounds then stay on
            the device.
        max_leaf_nodes: The most leaves of a tree, which then grows best-first within the limits; None for any.
        patience: Rounds without a better loss of the first evaluation after which boosting stops.
        tolerance: How much less a loss must be to be better.
    """

    learning_rate: Float[np.ndarray, " round"] | Callable[[int], Any] | float = 0.1
    l2: float = 1.0
    l1: float = 0.0
    max_step: float = np.inf
    least_gain: float = 0.0
    sample: Sample = Uniform()
    column_fractions: ColumnFractions = ColumnFractions()
    score_noise: float = 0.0
    dropping: Dropping | None = None
    max_leaf_nodes: int | None = None
    patience: int = NO_PATIENCE
    tolerance: float = 0.0

    @property
    def stopping(self) -> EarlyStopping:
        """When boosting stops by the loss of the first evaluation."""
        return EarlyStopping(self.patience, self.tolerance)

    def limits(self, limits: Limits) -> Limits:
        """Returns the limits of trees, with the penalties of steps and the most leaves."""
        limits = limits._replace(parameters=Penalties(self.l2, self.l1, self.max_step))
        return limits if self.max_leaf_nodes is None else limits._replace(max_leaf_nodes=self.max_leaf_nodes)


class InitialScores(NamedTuple):
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
    earlier: InitialScores | None = None
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


def learning_rates(given: Any, num_rounds: int) -> Float64[np.ndarray, " round"]:
    """Returns the learning rate of every round."""
    values = [np.asarray(given(number)) for number in range(num_rounds)] if callable(given) else given
    rates = np.broadcast_to(np.asarray(values, np.float64), (num_rounds,))
    if not np.all(np.isfinite(rates) & (rates >= 0)):
        raise InvalidInputError(f"learning rates must be finite numbers of at least 0, got {rates.min()}")
    return rates


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
    weight, target = concrete_or_none(data.rows.weight), concrete_or_none(data.rows.target)
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
    weight = concrete_or_none(rows.weight)
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
    values = concrete_or_none(scores)
    if values is not None and not np.isfinite(values).all():
        raise InvalidInputError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")


def check_shrinkage(shrinkage: Shrinkage) -> None:
    """Checks the numbers of a shrinkage that neither limits nor penalties are."""
    _check_within("least_gain", shrinkage.least_gain, -np.inf, np.inf)
    _check_within("tolerance", shrinkage.tolerance, -np.inf, np.inf)
    check_number("patience", shrinkage.patience, 1)
    if shrinkage.max_leaf_nodes is not None:
        check_number("max_leaf_nodes", shrinkage.max_leaf_nodes, 1)
    sample = shrinkage.sample
    if not isinstance(sample, Uniform | OneSided | MinimalVariance):
        raise InvalidTypeError(f"sample must be Uniform, OneSided or MinimalVariance, got {sample!r}")
    for name, part in sample._asdict().items():
        _check_within(name, part, 0, 1)
    if isinstance(sample, OneSided):
        check_rates(sample)
    elif not sample.fraction > 0:
        raise InvalidInputError(f"fraction must be above 0, got {sample.fraction}")
    for name, part in shrinkage.column_fractions._asdict().items():
        if not 0 < part <= 1:
            raise InvalidInputError(f"the fraction of columns of a {name} must be in (0, 1], got {part}")
    if shrinkage.dropping is not None:
        for name, part in shrinkage.dropping._asdict().items():
            _check_within(name, part, 0, 1)


def check_rates(sample: OneSided) -> None:
    """Raises InvalidInputError if the two rates together are no part of the rows."""
    if not 0 < sample.top_rate + sample.other_rate <= 1:
        raise InvalidInputError(
            f"top_rate and other_rate must have a sum above 0 and of at most 1, got {sample.top_rate} and "
            f"{sample.other_rate}"
        )


def _check_within(name: str, value: Any, least: float | int, most: float | int) -> None:
    if not least <= value <= most:
        raise InvalidInputError(f"{name} must be from {least} to {most}, got {value}")
