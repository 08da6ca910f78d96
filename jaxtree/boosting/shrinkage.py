"""How boosting holds back, as a user says it, and as the compiled loop takes it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Float64

from jaxtree.boosting.columns import ColumnFractions
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.early_stopping import NO_PATIENCE, EarlyStopping
from jaxtree.boosting.round_tree import Rates
from jaxtree.boosting.samples import Sample, Uniform
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.newton import Penalties
from jaxtree.growth.loop.prepare import Prepared


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


def rates_of(shrinkage: Shrinkage, prepared: Prepared, num_rounds: int, seed: int) -> Rates:
    """Returns the numbers of the compiled loop, with the learning rate of every round."""
    return Rates(
        learning_rate=learning_rates(shrinkage.learning_rate, num_rounds),
        sample=jax.tree.map(np.float64, shrinkage.sample),
        dropping=jax.tree.map(np.float64, shrinkage.dropping),
        least_gain=np.float64(shrinkage.least_gain),
        stopping=EarlyStopping(np.int32(shrinkage.patience), np.float64(shrinkage.tolerance)),
        end=np.int32(num_rounds),
        seed=np.uint32(seed),
        penalties=Penalties(*(np.float64(x) for x in (shrinkage.l2, shrinkage.l1, shrinkage.max_step))),
        limits=prepared.limits,
        num_columns=shrinkage.column_fractions.of_trees(prepared),
        score_noise=np.float64(shrinkage.score_noise) if shrinkage.score_noise > 0 else None,
    )


def learning_rates(given: Any, num_rounds: int) -> Float64[np.ndarray, " round"]:
    """Returns the learning rate of every round."""
    values = [np.asarray(given(number)) for number in range(num_rounds)] if callable(given) else given
    rates = np.broadcast_to(np.asarray(values, np.float64), (num_rounds,))
    if not np.all(np.isfinite(rates) & (rates >= 0)):
        raise InvalidInputError(f"learning rates must be finite numbers of at least 0, got {rates.min()}")
    return rates
