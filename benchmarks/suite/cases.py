"""The cases that are measured."""

import dataclasses

from benchmarks.suite.tasks import Case, Point, Table, Task

DEPTHS = (6, 8, 10, None)
COLUMNS = 28
HISTOGRAMS = ("jaxtree", "lightgbm", "xgboost", "ydf", "sklearn-hist")
ALL = (*HISTOGRAMS, "sklearn")
SCALED = ("jaxtree", "lightgbm", "xgboost")
FORESTS = ("jaxtree", "lightgbm", "xgboost", "ydf", "sklearn")
QUICK_PART, QUICK_ROWS = 1000, 1000
"""Quick tables have a thousandth of the rows, and so many at least."""
QUICK_PART_OF_AXIS = 100
REAL_CLASSES = {"covtype-20k": 7, "kddcup99": 23, "letter": 26, "diamonds": 0}
EXACT_SECONDS_A_CELL_AND_LEVEL = 1.1e-7
"""scikit-learn's exact tree, on two cores of 2025: a million rows of 28 to depth 8 in 25 s."""
LEVELS_OF_A_FULL_TREE = 15
SECONDS_OF_EXACT = 60.0
MOST_CELLS_OF_A_FULL_TREE = 2e8


def make_cases(*, quick: bool, full: bool) -> list[Case]:
    """All cases.

    Args:
        quick: Small tables, and new processes in one case only.
        full: Also what takes many minutes: full trees of ten million rows, and scikit-learn's exact tree wherever
            it takes longer than one.
    """
    cases = [*_trees(), *_real_trees(), *_forests(), *_predictions(), *_scalings(), _memory()]
    if quick:
        cases = [_small(case) for case in cases]
    return cases if full else [_without_long_runs(case) for case in cases]


def _depth_label(depth: int | None) -> str:
    return "no limit" if depth is None else f"depth {depth}"


def _by_depth(table: Table, num_classes: int) -> tuple[Point, ...]:
    return tuple(Point(_depth_label(depth), table, Task(num_classes=num_classes, max_depth=depth)) for depth in DEPTHS)


def _synthetic(num_rows: int, num_columns: int = COLUMNS, num_classes: int = 2) -> Table:
    return Table("synthetic", num_rows, num_columns, num_classes, min(num_rows // 10, 100_000))


def _trees() -> list[Case]:
    minutes = {(100_000, 28): 2, (1_000_000, 28): 12, (1_000_000, 100): 25, (10_000_000, 28): 23}
    cases = [
        Case(f"tree-{_short(rows)}x{columns}", f"One tree, synthetic {rows:,} x {columns}",
             _by_depth(_synthetic(rows, columns), 2), ALL, m, DEPTHS.index(8))
        for (rows, columns), m in minutes.items()
    ]  # fmt: skip
    tiny = Point("depth 8", Table("synthetic", 1000, 10, 2, 10_000), Task())
    # As many bins as rows are exact thresholds; scikit-learn's histograms have 255 at most.
    exact = Point("depth 8, a bin a value", tiny.table, Task(max_bins=1000), left_out=("sklearn-hist",))
    return [*cases, Case("tree-1kx10", "One tree, synthetic 1,000 x 10", (tiny, exact), ALL, 0.3)]


def _real_trees() -> list[Case]:
    minutes = {"covtype-20k": 0.8, "kddcup99": 5, "letter": 1, "diamonds": 1}
    return [
        Case(f"tree-{name}", f"One tree, {name}", _by_depth(Table(name), classes), ALL, minutes[name],
             DEPTHS.index(8))
        for name, classes in REAL_CLASSES.items()
    ]  # fmt: skip


def _forests() -> list[Case]:
    task = Task("forest", max_depth=10, num_trees=100, max_features="sqrt")
    table = _synthetic(100_000)
    forest = Point("depth 10", table, task)
    extra = Point("depth 10", table, dataclasses.replace(task, kind="extra trees"))
    loop = Task("forest", max_depth=None, num_trees=1000)
    bootstrap = Point("1,000 trees", Table("car"), loop)
    search = Point("120 settings x 10 folds", Table("car"), Task("search"))
    return [
        Case("forest-100kx28", "Random forest, 100 trees, 100,000 x 28, sqrt of the columns a node",
             (forest,), FORESTS, 4),
        Case("extra-trees-100kx28", "Extremely randomised trees, 100 trees, 100,000 x 28", (extra,),
             ("jaxtree", "sklearn"), 2),
        Case("forest-car", "1,000 bootstrap trees without limits, car, 1,296 x 21 one-hot", (bootstrap,),
             (*FORESTS, "sklearn-loop"), 1),
        Case("batch-car", "A batch of car-sized trees: a grid search of 1,200 fits", (search,),
             ("jaxtree-search", "sklearn-search"), 1),
    ]  # fmt: skip


def _predictions() -> list[Case]:
    predict = Task(operation="predict")
    forest = Task("forest", "predict", max_depth=10, num_trees=100, max_features="sqrt")
    many, fewer, one = (Table("synthetic", 100_000, COLUMNS, 2, rows) for rows in (1_000_000, 100_000, 1))
    points = {
        "predict-tree": ("Prediction of 1,000,000 rows by a tree of depth 8", Point("1,000,000 rows", many, predict)),
        "predict-row": ("Prediction of one row by a tree of depth 8", Point("1 row", one, predict)),
        "predict-forest": ("Prediction of 100,000 rows by 100 trees of depth 10",
                           Point("100,000 rows", fewer, forest)),
    }  # fmt: skip
    return [
        Case(name, title, (point,), FORESTS, 2 if point.task.is_forest else 0.7, cold_point=None)
        for name, (title, point) in points.items()
    ]


def _scalings() -> list[Case]:
    tree, table = Task(), _synthetic(250_000)
    forest = Task("forest", max_depth=10, max_features="sqrt")
    axes = {
        "rows": [(n, _synthetic(n), tree) for n in (100_000, 316_000, 1_000_000, 3_160_000, 10_000_000)],
        "columns": [(n, _synthetic(250_000, n), tree) for n in (7, 14, 28, 56, 112)],
        "classes": [
            (n, _synthetic(250_000, num_classes=n), dataclasses.replace(tree, num_classes=n)) for n in (2, 4, 8, 16, 32)
        ],
        "depth": [(n, table, dataclasses.replace(tree, max_depth=n)) for n in (2, 4, 6, 8, 10, 12)],
        "trees": [(n, _synthetic(20_000), dataclasses.replace(forest, num_trees=n)) for n in (10, 30, 100, 300)],
        "bins": [(n, table, dataclasses.replace(tree, max_bins=n)) for n in (15, 31, 63, 127, 255)],
    }
    return [
        Case(f"scaling-{axis}", f"Scaling in {axis}",
             tuple(Point(f"{value:,} {axis}", t, task, value) for value, t, task in steps),
             SCALED, 8 if axis == "rows" else 1.5, cold_point=None, axis=axis)
        for axis, steps in axes.items()
    ]  # fmt: skip


def _memory() -> Case:
    points = _points_of_memory((4, 8, 12), (2**19, 2**21))
    return Case("memory", "Peak memory of a row", points, ("jaxtree",), 1.5, None, by_rows=True)


def _points_of_memory(depths: tuple[int, ...], sizes: tuple[int, int]) -> tuple[Point, ...]:
    """Neighbours differ in rows alone, so that what a process holds anyway falls out."""
    return tuple(
        Point(f"depth {depth}, {rows:,} rows", _synthetic(rows), Task(max_depth=depth))
        for depth in depths
        for rows in sizes
    )


def _short(num_rows: int) -> str:
    return f"{num_rows // 1_000_000}m" if num_rows >= 1_000_000 else f"{num_rows // 1000}k"


def _small(case: Case) -> Case:
    """The case on few rows and columns, of an axis every other point; labels stay those of the whole one."""
    if case.by_rows:
        return dataclasses.replace(case, points=_points_of_memory((8,), (2**15, 2**17)), minutes=case.minutes / 4)
    kept = case.points[::2] if case.axis else case.points
    points = tuple(_small_point(point, case.axis) for point in kept)
    cold = case.cold_point if case.name == "tree-100kx28" else None
    return dataclasses.replace(case, points=points, cold_point=cold, minutes=case.minutes / 20)


def _small_point(point: Point, axis: str) -> Point:
    table, task = point.table, point.task
    # Along an axis of rows no two points may fall together.
    rows = table.num_rows // QUICK_PART_OF_AXIS if axis == "rows" else max(table.num_rows // QUICK_PART, QUICK_ROWS)
    tested = min(table.num_test or rows, max(table.num_test // QUICK_PART, rows))
    columns = table.num_columns if axis == "columns" else min(table.num_columns, COLUMNS)
    small = dataclasses.replace(table, num_rows=rows, num_columns=columns, num_test=tested)
    task = dataclasses.replace(task, num_trees=-(-task.num_trees // 10))
    value = float(rows) if axis == "rows" else point.value
    return dataclasses.replace(point, table=small, task=task, value=value)


def _without_long_runs(case: Case) -> Case:
    """The case without scikit-learn's exact tree where that takes minutes, and without full trees of huge tables."""
    points = tuple(
        dataclasses.replace(point, left_out=("sklearn",)) if _seconds_of_exact(point) > SECONDS_OF_EXACT else point
        for point in case.points
        if point.task.max_depth or point.table.num_rows * point.table.num_columns <= MOST_CELLS_OF_A_FULL_TREE
    )
    return dataclasses.replace(case, points=points)


def _seconds_of_exact(point: Point) -> float:
    """Returns roughly the seconds of scikit-learn's exact tree; forests have no such limit."""
    if point.task.kind != "tree":
        return 0.0
    levels = LEVELS_OF_A_FULL_TREE if point.task.max_depth is None else point.task.max_depth
    return EXACT_SECONDS_A_CELL_AND_LEVEL * point.table.num_rows * point.table.num_columns * levels
