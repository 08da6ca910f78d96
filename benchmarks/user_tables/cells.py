"""The measured *cells*: a cell is a fit of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any, NamedTuple

from benchmarks.suite.tables import FRAME
from benchmarks.suite.tasks import Table

NUM_TREES = 100
LONG_ROWS = 1_000_000
"""Forests of so many rows take scikit-learn many minutes."""
TESTED = 10_000


@dataclass(frozen=True)
class Fit:
    """An estimator by the name that it has in both libraries, without Classifier or Regressor.

    Attributes:
        kind: The beginning of the class's name.
        options: Parameters that are not the defaults.
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_forest(self) -> bool:
        """Whether it grows many trees."""
        return "n_estimators" in self.options


FITS = {
    "tree": Fit("DecisionTree"),
    "depth-8": Fit("DecisionTree", {"max_depth": 8}),
    "forest": Fit("RandomForest", {"n_estimators": NUM_TREES}),
    "extra": Fit("ExtraTrees", {"n_estimators": NUM_TREES}),
}
REAL = (
    "iris",
    "credit-g",
    "abalone",
    "concrete",
    "letter",
    "adult",
    "covtype-20k",
    "spambase",
    "magic04",
    "diamonds",
)
TABLES = {name: Table(name) for name in REAL} | {
    "1kx10": Table("synthetic", 1000, 10, 2, TESTED),
    "100kx28": Table("synthetic", 100_000, 28, 2, TESTED),
    "1mx28": Table("synthetic", LONG_ROWS, 28, 2, TESTED),
    "20x100k": Table("synthetic", 20, 100_000, 2, 20),
    "200x10k": Table("synthetic", 200, 10_000, 2, 200),
    "20x100k-frame": Table(FRAME, 20, 100_000, 2, 20),
    "200x10k-frame": Table(FRAME, 200, 10_000, 2, 200),
    "1kx400-frame": Table(FRAME, 1000, 400, 2, 1000),
}


class Cell(NamedTuple):
    """A fit of a table, both by name."""

    table: str
    fit: str

    @property
    def name(self) -> str:
        """As `--skip` takes it."""
        return f"{self.table}/{self.fit}"

    @property
    def is_long(self) -> bool:
        """Whether scikit-learn takes many minutes."""
        return TABLES[self.table].num_rows >= LONG_ROWS and FITS[self.fit].is_forest


def choose_cells(tables: Sequence[str], fits: Sequence[str], skipped: Sequence[str], *, full: bool) -> list[Cell]:
    """All fits of all tables but those that match a pattern, or that are long.

    >>> [cell.name for cell in choose_cells(["iris", "1mx28"], ["tree", "forest"], ["iris/f*"], full=False)]
    ['iris/tree', '1mx28/tree']
    """
    cells = [Cell(table, fit) for table in tables for fit in fits]
    return [
        cell
        for cell in cells
        if (full or not cell.is_long) and not any(fnmatch(cell.name, pattern) for pattern in skipped)
    ]
