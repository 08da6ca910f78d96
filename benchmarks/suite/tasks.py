"""The parts of a case: a *table* of rows, a *task* on it, and a *point* of a case, which is a task on a table."""

from dataclasses import dataclass

NUM_BINS = 255
"""Bins of a column, for every contender that has bins."""


@dataclass(frozen=True)
class Table:
    """A table by name, small enough to hand to another process.

    Attributes:
        name: "synthetic", "car", or a real data set.
        num_rows: Rows to train on; of a real data set the most of them, 0 is all.
        num_columns: Columns of a synthetic table.
        num_classes: Classes of a synthetic table; 0 is a number as target.
        num_test: Rows to test on; of a real data set the most of them, 0 is all.
    """

    name: str = "synthetic"
    num_rows: int = 0
    num_columns: int = 0
    num_classes: int = 2
    num_test: int = 0

    @property
    def slug(self) -> str:
        """A name for a folder."""
        return f"{self.name}-{self.num_rows}-{self.num_columns}-{self.num_classes}-{self.num_test}"


@dataclass(frozen=True)
class Task:
    """The work of every contender on a table.

    Attributes:
        kind: "tree", "forest", "extra trees" or "search".
        operation: The timed operation: "fit", or "predict" of the test rows by a model that is there.
        num_classes: 0 is a number as target.
        max_depth: None is no limit.
        num_trees: The number of trees of a forest.
        max_features: Columns that a node looks at: "sqrt", or None for all.
        max_bins: Bins of a column.
    """

    kind: str = "tree"
    operation: str = "fit"
    num_classes: int = 2
    max_depth: int | None = 8
    num_trees: int = 1
    max_features: str | None = None
    max_bins: int = NUM_BINS

    @property
    def is_forest(self) -> bool:
        """Whether the task is many trees on drawn rows or thresholds."""
        return self.kind in ("forest", "extra trees")

    def columns_a_node(self, num_columns: int) -> int:
        """The number of columns that a node looks at."""
        return num_columns if self.max_features is None else max(1, int(num_columns**0.5))


@dataclass(frozen=True)
class Point:
    """One task on one table.

    Attributes:
        label: Among the points of a case.
        table: The rows.
        task: The work on them.
        value: Where the point lies on the axis of a scaling case.
        left_out: Contenders of the case that do not take part here.
    """

    label: str
    table: Table
    task: Task
    value: float = 0.0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """Points that are shown together.

    Attributes:
        name: As `--only` takes it.
        title: In words.
        points: The points that are measured.
        contenders: Who takes part.
        minutes: About how long a whole run takes on two cores; a budget of time is shared out by it.
        cold_point: The point measured in new processes too, with their peak memory; None for none.
        axis: The size that grows from point to point, whose exponent is fitted; empty for none.
        by_rows: Whether the case measures the memory of a row rather than time.
    """

    name: str
    title: str
    points: tuple[Point, ...]
    contenders: tuple[str, ...]
    minutes: float = 1.0
    cold_point: int | None = 0
    axis: str = ""
    by_rows: bool = False
