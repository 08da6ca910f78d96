"""A part of the study: what it measures, and what it says of it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from jaxtree_studies.differentiable.records import Record, Store


class Measure(Protocol):
    """A function that yields records as they come; those in the store are left out."""

    def __call__(
        self, tables: Sequence[str], ways: Sequence[str], repeats: int, data: Path, store: Store
    ) -> Iterator[Record]:
        """Measures ways on tables, so many times each."""
        ...


class StudyPart(NamedTuple):
    """A part of the study.

    Attributes:
        name: Its name on the command line.
        title_of_page: What was measured, in words.
        tables: All tables.
        quick: Those of a smoke run.
        ways: What is compared.
        repeats: Trials or folds.
        measure: Yields records.
        line: Returns a record in words.
        pages: Returns the parts of the page.
    """

    name: str
    title_of_page: str
    tables: Sequence[str]
    quick: Sequence[str]
    ways: Sequence[str]
    repeats: int
    measure: Measure
    line: Callable[[Record], str]
    pages: Callable[[list[Record]], list[list[str]]]
