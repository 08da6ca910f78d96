"""Early stopping: what is measured of rows that no tree is grown on, after every round, and when it ends a boosting."""

from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float64

from jaxtree.arrays import AnyArray, FloatLike, IntLike

NO_PATIENCE = 2**31 - 1
"""Rounds without a better value that no boosting reaches."""


BoolLike: TypeAlias = Bool[AnyArray, "..."] | bool | np.bool_


class EarlyStopping(NamedTuple):
    """When a boosting stops; its numbers may be arrays of either library, one a model.

    Attributes:
        patience: Rounds without a better value.
        tolerance: How much less a value must be to be better.
    """

    patience: IntLike = NO_PATIENCE
    tolerance: FloatLike = 0.0

    def is_better(self, value: FloatLike, best: FloatLike) -> BoolLike:
        """Returns whether a value is better than the best so far; NaN never is."""
        return value < best - self.tolerance

    def has_patience(self, num_rounds: IntLike, best_round: IntLike) -> BoolLike:
        """Returns whether boosting goes on after a number of rounds, of which one was the best."""
        return num_rounds - best_round < self.patience

    def best_and_last(self, values: Float[np.ndarray, " round"], before: float = np.inf) -> tuple[int, int]:
        """Returns the number of rounds of the least value, and that after which boosting stops.

        Args:
            values: The values after each round.
            before: The value before the first round, which 0 rounds have; NaN is never the best.

        Example:
            >>> EarlyStopping(patience=2).best_and_last(np.array([3.0, 2.0, 2.0, 2.5, 1.0]))
            (2, 4)
        """
        best, best_round = np.inf if np.isnan(before) else before, 0
        for number, value in enumerate(values, 1):
            if self.is_better(value, best):
                best, best_round = value, number
            if not self.has_patience(number, best_round):
                return best_round, number
        return best_round, len(values)


class HeldOutChoice(NamedTuple):
    """Which rows of a table a fit has held out, by which a warm start holds out the same.

    Attributes:
        seed: The seed of the choice.
        learned: A digest of the rows that it has learned from, see `jaxtree.dataset.dataset.Dataset.digest`.
    """

    seed: int
    learned: str


class Measure(NamedTuple):
    """The name of a column of measured numbers.

    Attributes:
        evaluation: The name of the rows.
        metric: The name of the metric.
        is_better_if_greater: Whether it is a score, no loss.
    """

    evaluation: str
    metric: str
    is_better_if_greater: bool = False


class Measured(NamedTuple):
    """The measures after every round.

    Attributes:
        measures: The metrics of the columns.
        values: The numbers.
    """

    measures: tuple[Measure, ...]
    values: Float64[np.ndarray, "round measure"]

    def first(self, number: int) -> "Measured":
        """Returns what was measured after the first rounds."""
        return self._replace(values=self.values[:number])

    def by(self, measures: tuple[Measure, ...]) -> "Measured":
        """Returns what was measured in these columns: NaN of rounds that were measured otherwise."""
        is_alike = self.measures == measures
        return self if is_alike else Measured(measures, np.full((len(self.values), len(measures)), np.nan))

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """Returns the numbers of every round by names of rows and metric."""
        result: dict[str, dict[str, list[float]]] = {}
        for measure, column in zip(self.measures, self.values.T, strict=True):
            result.setdefault(measure.evaluation, {})[measure.metric] = column.tolist()
        return result
