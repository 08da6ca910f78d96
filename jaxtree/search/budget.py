"""The time of a tuning: how long it may take, and what its next steps are expected to take after those that it took."""

import dataclasses
import time
from collections.abc import Callable

from jaxtree.boosting.ending import Deadline

MOST_SETTINGS = 1000

PART_FOR_MEMBERS = 0.25
"""The most of the time that is kept for the fits of the members on all rows."""

PART_FOR_FINALS = 0.5
"""The part of the time that is left, and is kept for finalists while further settings are tried."""

PART_FOR_CHOICE = 0.1
"""The most of the time that is kept for the choice of the ensemble."""

MEMBERS, LONE_FIT, TO_COMPILE = 6, 2.0, 4.0
"""Expectations before there is a fit on all rows: the number of members, the time of one beside that of a fit among
many, and the seconds of compilation before the first."""

SHARED = 0.5
"""The time of a setting in a batch, beside that of the defaults alone, before there is a batch: programs are shared."""

SLACK = 1.25
"""The time that a batch gets, beside that which such batches took: some settings take longer than others."""

MARGIN = 0.04
"""The part of the time that is left for the files, and for a machine that is slower for a while."""


@dataclasses.dataclass
class Budget:
    """How long a tuning may take.

    Attributes:
        seconds: The time.
        settings: The most settings.
        clock: The function that tells the time in seconds.
        used_before: The seconds that are used already.
        began: The time now, less these seconds.
    """

    seconds: float
    settings: int = MOST_SETTINGS
    clock: Callable[[], float] = time.monotonic
    used_before: float = 0.0
    began: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Looks at the clock."""
        self.began = self.clock() - self.used_before

    def used(self) -> float:
        """Returns the seconds that are used."""
        return self.clock() - self.began

    def left(self) -> float:
        """Returns the seconds that are left for work."""
        return self.seconds * (1 - MARGIN) - self.used()

    def deadline(self, reserve: float) -> Deadline:
        """Returns when so many seconds are left for other work."""
        return Deadline(self.began + self.seconds * (1 - MARGIN) - reserve, self.clock)


class Forecast:
    """The expected times of the steps of a tuning.

    Args:
        seconds: The time of all of it.
        whole: The number of settings of a whole batch.
        num_folds: The number of folds.

    Example:
        >>> forecast = Forecast(100.0, 8, 5)
        >>> forecast.size_for(30.0)
        1
        >>> forecast.batch_took(1, 4.0)
        >>> forecast.batch_took(8, 20.0)
        >>> forecast.batch_took(8, 16.0)
        >>> forecast.choice_takes(1.0)
        >>> forecast.reserve(), forecast.size_for(30.0), forecast.size_for(15.0)
        (9.8, 8, 0)
        >>> forecast.member_took(3.0)
        >>> forecast.member_took(0.5)
        >>> forecast.reserve(), forecast.size_for(15.0)
        (1.5, 3)
    """

    def __init__(self, seconds: float, whole: int, num_folds: int):
        self._seconds, self._whole, self._num_folds = seconds, whole, num_folds
        self._alone = 0.0
        self._whole_batches: list[float] = []
        self._compiled: set[int] = set()
        self._choice = self._kept = 0.0
        self._fits: list[float] = []

    def batch_took(self, size: int, seconds: float) -> None:
        """Takes the time of a batch."""
        if not self._compiled:
            self._alone = seconds
        self._compiled.add(size)
        if size == self._whole:
            self._whole_batches.append(seconds)

    def choice_takes(self, seconds: float) -> None:
        """Takes the time of the choices of an ensemble."""
        self._choice = min(seconds, PART_FOR_CHOICE * self._seconds)

    def member_took(self, seconds: float) -> None:
        """Takes the time of a fit on all rows."""
        self._fits.append(seconds)

    def of_member(self) -> float:
        """Returns the time of the next fit on all rows; 0 before there is one."""
        # The first fit also compiles.
        return max(self._fits[1:] or self._fits, default=0.0)

    def of_members(self) -> float:
        """Returns the time of the fits on all rows that are to be made."""
        if self._fits:
            # A choice among a few more settings mostly asks for one that is new.
            return self.of_member()
        of_model = self._of_setting() / self._num_folds
        expected = TO_COMPILE + MEMBERS * LONE_FIT * of_model
        return min(PART_FOR_MEMBERS * self._seconds, expected)

    def of_choice(self) -> float:
        """Returns the time of the choices of an ensemble."""
        return self._choice

    def keep(self, seconds: float) -> None:
        """Takes a time that batches after the first leave for finalists, in place of that for the members."""
        self._kept = seconds

    def reserve(self) -> float:
        """Returns the time that a batch leaves for what comes after it: finalists, or the choice and the members."""
        return self._kept or self._choice + self.of_members()

    def size_for(self, seconds: float) -> int:
        """Returns the number of settings of the next batch; 0 if there is no time for one.

        The first is that of the defaults alone, in any case. Further ones are whole; smaller ones, each of which
        compiles a program of its size, are for the time that is left when the members are fitted.

        Args:
            seconds: The time that is left for the batch, and for the choice and the members after it.
        """
        if not self._compiled:
            return 1
        smallest = 1 if self._fits else self._whole
        sizes = [size for size in range(smallest, self._whole + 1) if self._of_batch(size) <= seconds - self.reserve()]
        return max(sizes, default=0)

    def _of_batch(self, size: int) -> float:
        first, *others = self._whole_batches or [0.0]
        to_compile = max(first - min(others), 0.0) if others else min(TO_COMPILE, first / 2)
        return SLACK * size * self._of_setting() + (0.0 if size in self._compiled else to_compile)

    def _of_setting(self) -> float:
        """The time of a setting on all folds, after the longest batch."""
        if not self._whole_batches:
            return SHARED * self._alone
        # The first batch also compiles.
        return max(self._whole_batches[1:] or self._whole_batches) / self._whole
