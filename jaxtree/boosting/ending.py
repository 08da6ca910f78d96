"""Why boosting ends: what is measured after every round, or a time at which models end with the rounds that they have.

Early stopping looks at rows that no tree is grown on.
"""

import enum
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float64

from jaxtree.arrays import AnyArray, FloatLike, IntLike

NO_PATIENCE = 2**31 - 1
"""Rounds without a better value that no boosting reaches."""

NO_NUMBERS = "no numbers, or too large, or lead to such scores"
"""The message on derivatives that overflow or are NaN."""

KEPT = "; its trees are kept"
"""The end of that message where earlier rounds are kept."""


class Stop(enum.Enum):
    """Why boosting has ended: all rounds, early stopping, non-finite derivatives, user request, timeout, interrupt."""

    ALL_ROUNDS = "all rounds"
    NO_BETTER_LOSS = "no better loss"
    NOT_FINITE = "numbers that are infinite, none or too large"
    ASKED = "asked to"
    NO_TIME = "no time left"
    INTERRUPTED = "interrupted"


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


class Deadline(NamedTuple):
    """When boosting ends.

    Attributes:
        end: The time, in seconds of the clock.
        clock: The function that returns the time.
        num_tasks: The tasks that share the time that is left; the next of them gets an equal part.
    """

    end: float
    clock: Callable[[], float] = time.monotonic
    num_tasks: int = 1

    def left(self) -> float:
        """Returns the seconds that are left for all tasks; below 0 if it is over."""
        return self.end - self.clock()

    def of_next(self, number: int) -> "Deadline":
        """Returns the deadline of the next of so many tasks that share the time."""
        return self._replace(num_tasks=number)

    def due(self, now: float) -> float:
        """Returns when the next task ends if it begins now.

        >>> Deadline(90.0).of_next(4).due(10.0)
        30.0
        """
        return now + max(0.0, self.end - now) / self.num_tasks

    def own(self) -> "Deadline":
        """Returns the deadline of the next task alone, which begins now."""
        return Deadline(self.due(self.clock()), self.clock)


class Pace:
    """How many rounds are made in one call, so that a deadline is kept to.

    The first call makes one round, whose time, with what it compiles, tells how many the next may make. Where tasks
    share the time, what was compiled is a loss of all: it does not count against the part of this one.

    Args:
        deadline: The deadline; None for none.
        most: The most rounds of a call.

    Example:
        >>> seconds = iter([0.0, 2.0, 2.0, 5.0, 5.0, 11.0])
        >>> pace, numbers = Pace(Deadline(11.0, clock=lambda: next(seconds)), 10), []
        >>> while not pace.is_over:
        ...     numbers.append(pace.begin())
        ...     pace.end()
        >>> numbers
        [1, 4, 8]
    """

    def __init__(self, deadline: Deadline | None, most: int):
        self.is_over = False
        self._deadline, self._most = deadline, most
        self._number, self._due, self._began = 1, 0.0, 0.0
        self._compiled_by = 0.0
        # One entry for every call so far.
        self._seconds_a_round: list[float] = []

    def begin(self) -> int:
        """Returns the number of rounds of the next call."""
        if self._deadline is None:
            return self._most
        self._began = self._deadline.clock()
        if self._seconds_a_round:
            fitting = (self._due - self._began) / max(self._seconds_a_round[-1], 1e-9)
            self._number = int(min(max(fitting, 1), self._most))
        return self._number

    def end(self) -> None:
        """Takes the time of the call; afterwards `is_over` tells whether there is none for another."""
        if self._deadline is None:
            return
        now = self._deadline.clock()
        self._seconds_a_round.append((now - self._began) / self._number)
        first, *later = self._seconds_a_round
        if not later:
            self._due, self._compiled_by = self._deadline.due(now), now
        elif len(later) == 1:
            # The second call tells how much of the first was a round.
            self._due = self._deadline.due(self._compiled_by - min(first, later[0]))
        self.is_over = now >= self._due
