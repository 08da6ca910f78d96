"""Contenders take turns: A B C, A B C, ..., so that whatever else the machine does strikes all alike."""

import gc
import math
import statistics
import time
from collections.abc import Callable, Collection, Mapping

from benchmarks.suite.contenders.base import Timing

SLOW = 20.0
"""Seconds from which on a contender runs once, and that call counts."""
LEAST = 0.05
"""Seconds that a turn lasts at least: shorter calls are repeated in it, and their mean counts."""
MOST_CALLS = 1000
FEWEST = 2
"""Runs that go on taking turns when time is short: ours and the fastest peer."""

Run = Callable[[], Timing]


class Turns:
    """Runs that take turns, what they took, and what went wrong.

    Args:
        runs: The functions to call, by name.
        warmed: Runs whose first call never counts, since it compiles; they stay when time is short.
        clock: Tells the time.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        warmed: Collection[str] = (),
        clock: Callable[[], float] = time.perf_counter,
    ):
        self.runs = dict(runs)
        self.warmed = warmed
        self.clock = clock
        self.timings: dict[str, list[Timing]] = {name: [] for name in runs}
        self.errors: dict[str, str] = {}
        self._cost: dict[str, float] = {}

    def take(self, repeats: int, seconds: float = math.inf) -> dict[str, list[Timing]]:
        """Calls every run once to warm it up, and then `repeats` times in turns.

        Where the seconds are too few for that, the slowest runs leave first, then turns are left out; something of
        every run counts.

        Returns:
            The timings that count, of the runs that did not fail.
        """
        end = self.clock() + seconds
        for turn in range(repeats + 1):
            gc.collect()
            for name in self._taking_part(repeats + 1 - turn, end - self.clock()):
                start = self.clock()
                self._call(name)
                self._cost[name] = self.clock() - start
        return {name: taken[1:] or taken for name, taken in self.timings.items() if name not in self.errors}

    def _taking_part(self, num_turns: int, seconds: float) -> list[str]:
        """Who calls in this turn, if there are so many turns and seconds left."""
        waiting = [name for name in self.runs if name not in self.errors]
        owing = [name for name in waiting if len(self.timings[name]) <= (name in self.warmed)]
        others = [name for name in waiting if name not in owing and self.timings[name][-1].together <= SLOW]
        # Ours stay longest, then the fastest.
        others.sort(key=lambda name: (name not in self.warmed, self._cost[name]))
        while len(owing + others) > FEWEST and others and num_turns * self._costs(owing + others) > seconds:
            others.pop()
        if self._costs(others) > seconds:
            others = []
        return [name for name in self.runs if name in owing or name in others]

    def _costs(self, names: Collection[str]) -> float:
        return sum(self._cost.get(name, 0.0) for name in names)

    def _call(self, name: str) -> None:
        try:
            self.timings[name].append(_mean(self.runs[name], _calls(self.timings[name])))
        except Exception as error:  # a contender's failure is a result of its own
            self.errors[name] = f"{type(error).__name__}: {error}".splitlines()[0]


def _calls(timings: list[Timing]) -> int:
    """How often a turn calls; by the time of the turn before, and once to warm up."""
    if not timings:
        return 1
    return min(max(math.ceil(LEAST / max(timings[-1].together, 1e-9)), 1), MOST_CALLS)


def _mean(run: Run, number: int) -> Timing:
    timings = [run() for _ in range(number)]
    together, *parts = zip(*timings, strict=True)
    return Timing(statistics.fmean(together), *(None if None in part else statistics.fmean(part) for part in parts))
