"""Why boosting ends, and a time at which models that are boosted together end with the rounds that they have."""

import enum
import time
from collections.abc import Callable
from typing import NamedTuple

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
