"""Tables and pages in Markdown."""

from collections.abc import Iterable
from pathlib import Path


def table_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Returns the lines of a table; the first column is of words, the others are of numbers."""
    head = list(head)
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def write_page(path: Path, title: str, parts: Iterable[list[str]]) -> str:
    """Writes a page of parts with an empty line between them, and returns its text."""
    text = "\n\n".join([f"# {title}", *("\n".join(part) for part in parts if part)]) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return text
