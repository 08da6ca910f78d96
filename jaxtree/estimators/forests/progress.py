"""A progress bar of trees."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_of_trees(verbose: int, total: int) -> Iterator[Callable[[int], Any] | None]:
    """Gives what to call with the number of further trees: a bar if rich is installed, else a line each time."""
    if not verbose:
        yield None
        return
    try:
        from rich.progress import Progress
    except ImportError:
        yield _Lines(total).add
        return
    with Progress(transient=True) as progress:
        task = progress.add_task("growing trees", total=total)
        yield lambda number: progress.advance(task, number)


class _Lines:
    """Lines that say how far a fit has come."""

    def __init__(self, total: int):
        self._total = total
        self._done = 0

    def add(self, number: int) -> None:
        """Says that so many further trees have grown."""
        self._done += number
        print(f"{self._done} of {self._total} trees have grown", file=sys.stderr)
