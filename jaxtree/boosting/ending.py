"""Why boosting ends, and a time at which models that are boosted together end with the rounds that they have."""

import enum
import time
from collections.abc import Callable
from typing import NamedTuple


class Stop(enum.Enum):
    """Why boosting has ended: all rounds made, no better loss, no numbers, a wish, no time, or Ctrl-C."""

    ALL_ROUNDS = "all rounds"
    NO_BETTER_LOSS = "no better loss"
    NOT_FINITE = "derivatives that are no numbers"
    ASKED = "asked to"
    NO_TIME = "no time left"
    INTERRUPTED = "interrupted"


class Deadline(NamedTuple):
    """When boosting ends.

    Attributes:
        end: The time, in seconds of the clock.
        clock: What tells the time.
    """

    end: float
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float:
        """Returns the seconds that are left; below 0 if it is over."""
        return self.end - self.clock()

    def of_next(self, number: int) -> "Deadline":
        """Returns the end of the next of so many tasks that share the time that is left.

        >>> Deadline(90.0, clock=lambda: 10.0).of_next(4).end
        30.0
        """
        now = self.clock()
        return self._replace(end=now + max(0.0, self.end - now) / number)


class Pace:
    """How many rounds are made in one call, so that a deadline is kept to.

    The first call makes one round, whose time, with what it compiles, tells how many the next may make.

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
        self._number, self._left = 1, 0.0
        self._seconds_a_round: float | None = None

    def begin(self) -> int:
        """Returns the number of rounds of the next call."""
        if self._deadline is None:
            return self._most
        self._left = self._deadline.left()
        if self._seconds_a_round is not None:
            fitting = self._left / max(self._seconds_a_round, 1e-9)
            self._number = int(min(max(fitting, 1), self._most))
        return self._number

    def end(self) -> None:
        """Takes the time of the call; afterwards `is_over` tells whether there is none for another."""
        if self._deadline is None:
            return
        left = self._deadline.left()
        self._seconds_a_round = (self._left - left) / self._number
        self.is_over = left <= 0
