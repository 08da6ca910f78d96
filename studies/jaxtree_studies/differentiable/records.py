"""Records of a run in a file, written after each, and pages that tell of them, in Markdown."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Store:
    """Records, each with a key of its own.

    Args:
        path: The JSON file, which is read if it is there.
        about: What the file says of the run besides.
    """

    def __init__(self, path: Path, about: dict[str, Any]):
        self._path, self._about = path, about
        self.records: list[Record] = json.loads(path.read_text())["records"] if path.exists() else []

    def has(self, **key: Any) -> bool:
        """Returns whether a record has these values."""
        return any(all(record.get(name) == value for name, value in key.items()) for record in self.records)

    def add(self, record: Record) -> None:
        """Keeps a record; an interrupt leaves the file as it was before, or as it is afterwards."""
        self.records.append(record)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(own) for own in self.records)
        about = json.dumps(self._about)[1:-1]
        text = "{" + (f"{about},\n" if about else "") + f'"records": [\n{lines}\n]}}\n'
        beside = self._path.with_suffix(".part")
        beside.write_text(text)
        os.replace(beside, self._path)


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
