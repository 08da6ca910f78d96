"""A time for all cases, shared out by how long each takes."""

import time
from collections.abc import Callable, Sequence

from benchmarks.suite.tasks import Case

LEAST_PART = 0.3
"""Part of a whole run's time that new processes, warming up and one turn take; no case gets less."""


class Budget:
    """Minutes for some cases; what a case leaves over goes to the later ones.

    If not all cases can run, the longest are left out.

    Args:
        cases: All that are to run.
        minutes: None is no limit.
        clock: Tells the seconds.
    """

    def __init__(self, cases: Sequence[Case], minutes: float | None, clock: Callable[[], float] = time.perf_counter):
        self._waiting = {case.name: case.minutes for case in sorted(cases, key=lambda case: case.minutes)}
        self._clock = clock
        self._end = None if minutes is None else clock() + 60 * minutes
        while minutes is not None and LEAST_PART * sum(self._waiting.values()) > minutes:
            self._waiting.popitem()

    def has_room(self, case: Case) -> bool:
        """Whether a case is to run."""
        return case.name in self._waiting

    def seconds_of(self, case: Case) -> float | None:
        """Returns the seconds that a waiting case may take; None is no limit."""
        if self._end is None:
            return None
        left = max(self._end - self._clock(), 0.0)
        return left * self._waiting[case.name] / sum(self._waiting.values())

    def done(self, case: Case) -> None:
        """The case no longer waits."""
        del self._waiting[case.name]
