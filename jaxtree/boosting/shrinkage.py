"""How boosting holds back, as a user says it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.early_stopping import NO_PATIENCE, EarlyStopping
from jaxtree.boosting.samples import MinimalVariance, OneSided, Sample, Uniform
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.growth.inputs.checks import check_number
from jaxtree.growth.inputs.newton import Penalties

DIGITS = 6
"""Digits of a number of columns that count, so that 0.29 of 100 are 29."""


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
        """Returns how many of so many columns a tree, a level and a node draw.

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


def learning_rates(given: Any, num_rounds: int) -> Float64[np.ndarray, " round"]:
    """Returns the learning rate of every round."""
    values = [np.asarray(given(number)) for number in range(num_rounds)] if callable(given) else given
    rates = np.broadcast_to(np.asarray(values, np.float64), (num_rounds,))
    if not np.all(np.isfinite(rates) & (rates >= 0)):
        raise InvalidInputError(f"learning rates must be finite numbers of at least 0, got {rates.min()}")
    return rates


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
