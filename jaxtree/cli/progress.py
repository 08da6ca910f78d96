"""Progress on the standard error stream."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def progress_bar(*, quiet: bool = False) -> Progress:
    """Returns a bar that is gone when the work is done, and that is only seen in a terminal."""
    columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
