"""Progress of long work: a bar in a terminal or a notebook, lines in a log.

`verbose` means the same everywhere: 0 for nothing; 1 for a bar, or in a log about ten lines; a greater number for a
line every so many rounds, epochs, trees or fits.
"""

import contextlib
import contextvars
import html
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jaxtree.table.numerals import duration_in_words

LINES_OF_A_LOG = 10
"""The number of lines that a log gets of work whose steps take less than `LONGEST_SILENCE`."""

LONGEST_SILENCE = 10.0
"""Seconds after which a log gets a line with the next step."""

LONGEST_IN_SECONDS = 90
"""Work that is measured in seconds, and has more of them, is told in minutes or hours."""

SHORTEST_PAUSE = 0.1
"""Seconds between two changes of a notebook's bar."""


_IS_SHOWN = contextvars.ContextVar("is_shown", default=False)
"""Whether there is a bar already, of the work that the present one is a part of: rich draws one at a time."""


class Standing(NamedTuple):
    """How far work is.

    Attributes:
        doing: The work, in words.
        unit: The unit of the work; "%" if it is told as a share, and "s" if the work is to take a time.
        done: How much of it is done.
        total: How much there is; None if nobody knows.
        seconds: How long it has taken.
        words: The finding of the last step.
        is_told: Whether it has found this now, not earlier.
        first: How much was done after the first step, and the seconds that it took: it compiles, or is known already.
    """

    doing: str
    unit: str
    done: float
    total: float | None
    seconds: float
    words: str = ""
    is_told: bool = True
    first: tuple[float, float] = (0.0, 0.0)

    @property
    def seconds_left(self) -> float | None:
        """The seconds that are left at the pace of the steps after the first; None if nobody knows."""
        if self.total is None or not 0 < self.done < self.total:
            return None
        done, seconds = self.done - self.first[0], self.seconds - self.first[1]
        if not done > 0 or not seconds > 0:
            done, seconds = self.done, self.seconds
        return (self.total - self.done) * seconds / done

    def in_words(self) -> str:
        """Returns one line.

        >>> Standing("boosting", "rounds", 20, 80, 2.0, "validation_0 log_loss 0.4").in_words()
        'boosting: 20 of 80 rounds, about 6.0 s left, validation_0 log_loss 0.4'
        >>> Standing("500 settings x 5 folds", "%", 100, 100_000, 30.0, "best log loss 0.4").in_words()
        '500 settings x 5 folds: 0.1%, about 8 h left, best log loss 0.4'
        >>> Standing("boosting", "rounds", 80, 80, 8.0, "validation_0 log_loss 0.3").in_words()
        'boosting: 80 of 80 rounds, validation_0 log_loss 0.3, 8.0 s'
        >>> Standing("tuning", "s", 240, 36_000, 240.0, "8 settings").in_words()
        'tuning: 4 min of 10 h, 8 settings'
        """
        left = None if self.unit == "s" else self.seconds_left
        used = duration_in_words(self.seconds) if self.unit != "s" and left is None else ""
        remaining = "" if left is None else f"about {duration_in_words(left)} left"
        parts = [f"{self.doing}: {self._done_in_words()}", remaining, self.words, used]
        return ", ".join(part for part in parts if part)

    def _done_in_words(self) -> str:
        if self.unit == "%" and self.total:
            return f"{100 * self.done / self.total:.{0 if self.done >= self.total else 1}f}%"
        if self.unit == "s" and self.total is not None and self.total > LONGEST_IN_SECONDS:
            return f"{duration_in_words(float(self.done))} of {duration_in_words(float(self.total))}"
        of_all = "" if self.total is None else f" of {self.total:.0f}"
        return f"{self.done:.0f}{of_all} {self.unit}"


Report = Callable[..., None]
"""The callback with how much more is done, and perhaps with words about it."""


@contextlib.contextmanager
def shown_progress(verbose: int, total: float | None, doing: str, unit: str) -> Iterator[Report | None]:
    """Shows progress; see `jaxtree.estimators.common.conventions.progress_of`.

    Example:
        >>> import contextlib, io
        >>> with contextlib.redirect_stderr(io.StringIO()) as log, shown_progress(2, 4, "boosting", "rounds") as report:
        ...     for _ in range(4):
        ...         report(1, "loss 0.5")
        >>> [line.split(", ")[0] for line in log.getvalue().splitlines()]
        ['boosting: 2 of 4 rounds', 'boosting: 4 of 4 rounds']
    """
    started = time.monotonic()
    done, last_words, first = 0.0, "", (0.0, 0.0)

    def course(number: float, words: str = "") -> Standing:
        nonlocal done, last_words, first
        seconds = time.monotonic() - started
        done, last_words = done + number, words or last_words
        if not first[0]:
            first = done, seconds
        return Standing(doing, unit, done, total, seconds, last_words, bool(words), first)

    show = _bar_of_notebook if verbose == 1 and _is_notebook() else None
    show = show or (_bar_of_terminal if verbose == 1 and _has_bars() else None)
    if show is not None and _IS_SHOWN.get():
        yield None
        return
    token = _IS_SHOWN.set(show is not None or _IS_SHOWN.get())
    try:
        with show(course(0)) if show else _lines(int(verbose), course(0)) as shown:
            yield lambda number, words="": shown(course(number, words))
    finally:
        _IS_SHOWN.reset(token)


@contextlib.contextmanager
def _lines(every: int, first: Standing) -> Iterator[Callable[[Standing], None]]:
    """Prints a line every so many, or about ten lines where the number is 1."""
    at, told, steps = first.done, first.seconds, 0

    def show(now: Standing) -> None:
        nonlocal at, told, steps
        steps += now.is_told
        if every == 1:
            gap = first.total / LINES_OF_A_LOG if first.total else math.inf
            is_due = now.done >= at + gap or now.seconds - told >= LONGEST_SILENCE
        elif first.unit == "s" or first.total == 1:
            is_due = now.is_told and steps % every == 0
        else:
            is_due = now.done // every > at // every
        if is_due or (now.total is not None and now.done >= now.total > at):
            at, told = now.done, now.seconds
            # The cells of a notebook show the error stream as an error.
            print(now.in_words(), file=sys.stdout if _is_notebook() else sys.stderr, flush=True)

    yield show


def _has_bars() -> bool:
    """Whether the error stream is a terminal, and rich draws bars."""
    if not sys.stderr.isatty():
        return False
    try:
        import rich.progress  # noqa: F401
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def _bar_of_terminal(first: Standing) -> Iterator[Callable[[Standing], None]]:
    """Moves a bar of rich, which goes when the work is done."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(first.doing, total=first.total)
        yield lambda now: progress.update(task, completed=now.done, description=f"{now.doing} {now.words}".rstrip())


def _is_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, whose cells show HTML."""
    shells: Any = sys.modules.get("IPython")
    shell = None if shells is None else shells.get_ipython()
    return hasattr(shell, "kernel")


class Bar(NamedTuple):
    """A bar in a notebook, and a line of text where HTML is not shown."""

    now: Standing

    def __repr__(self) -> str:
        """Returns a line."""
        return self.now.in_words()

    def _repr_html_(self) -> str:
        """Returns a bar in the colours of the page, dark or not.

        >>> print(Bar(Standing("boosting", "rounds", 2, 8, 1.0, "loss <1"))._repr_html_())
        <div><progress value="2" max="8" style="width:16em"></progress> boosting: 2 of 8 rounds, about 3.0 s left,
        loss &lt;1</div>
        """
        now = self.now
        far = "" if now.total is None else f'value="{min(now.done, now.total):.6g}" max="{now.total:.6g}" '
        bar = f'<progress {far}style="width:16em"></progress>'
        return f"<div>{bar} {html.escape(now.in_words())}</div>"


@contextlib.contextmanager
def _bar_of_notebook(first: Standing) -> Iterator[Callable[[Standing], None]]:
    """Shows a bar below the cell, and at the end what was done."""
    from IPython.display import display

    handle: Any = display(Bar(first), display_id=True)
    last, shown = first, first.seconds

    def show(course: Standing) -> None:
        nonlocal last, shown
        last = course
        if course.seconds - shown >= SHORTEST_PAUSE:
            shown = course.seconds
            handle.update(Bar(course))

    try:
        yield show
    finally:
        handle.update(Bar(last))
