"""Progress bars: of trees that grow, and of epochs."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_of_trees(
    verbose: int, total: int, doing: str = "growing trees", done: str = "trees have grown"
) -> Iterator[Callable[[int], Any] | None]:
    """Gives what to call with the number of further trees: a bar if rich is installed, else a line each time.

    Args:
        verbose: 0 for nothing.
        total: How many there will be.
        doing: What the bar says.
        done: What a line says of those that are done.
    """
    if not verbose:
        yield None
        return
    try:
        from rich.progress import Progress
    except ImportError:
        yield _Lines(total, done).add
        return
    with Progress(transient=True) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda number: progress.advance(task, number)


class _Lines:
    """Lines that say how far a fit has come."""

    def __init__(self, total: int, of_what: str):
        self._total = total
        self._of_what = of_what
        self._done = 0

    def add(self, number: int) -> None:
        """Says that so many more are done."""
        self._done += number
        print(f"{self._done} of {self._total} {self._of_what}", file=sys.stderr)
