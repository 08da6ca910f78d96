"""Progress of a search over boosted trees: rounds, models alive, the program they share, and the time left."""

from collections.abc import Callable, Mapping
from typing import Any


class SearchProgress:
    """Counts the rounds of all models of a search, and says how many there are.

    Rounds that a model need not make, as it has stopped early or is dropped, count as made when it ends.

    Args:
        report: Called with a number of further rounds, and with words; None for silence.
        num_rounds: The most rounds of every model, by setting and fold.

    Example:
        >>> progress = SearchProgress(lambda number, words: print(number, words), {(0, 0): 100, (0, 1): 100})
        >>> progress.made(30)
        30 2 models alive
        >>> progress.ended(0, 0, num_made=20)
        80 1 model alive
        >>> progress.opened(2, 3, "max_bins=63")
        0 1 model alive, program 2 of 3: max_bins=63
    """

    def __init__(self, report: Callable[..., Any] | None, num_rounds: Mapping[tuple[int, int], int]):
        self._report = report
        self._alive = dict(num_rounds)
        self._left = sum(num_rounds.values())
        self._program = ""

    def opened(self, number: int, total: int, words: str) -> None:
        """Says which program is next: settings that differ in more than numbers do not share one.

        Args:
            number: Its number, from 1 on.
            total: The number of programs.
            words: What its settings have that others have not.
        """
        if total > 1:
            self._program = f", program {number} of {total}: {words}"
            self._advance(0)

    def made(self, number: int) -> None:
        """Says that some models have made further rounds, so many all together."""
        self._advance(number)

    def ended(self, setting: int, fold: int, num_made: int) -> None:
        """Marks a model as finished after `num_made` rounds."""
        self._advance(self._alive.pop((setting, fold), num_made) - num_made)

    def _advance(self, number: int) -> None:
        # A batch that memory did not suffice for makes its rounds again.
        number = min(number, self._left)
        self._left -= number
        if self._report is not None:
            self._report(number, f"{len(self._alive):,} model{'s' * (len(self._alive) != 1)} alive{self._program}")
