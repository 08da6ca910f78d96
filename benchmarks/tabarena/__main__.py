"""TabArena's protocol on real tables: jaxtree, as its contributors' models are, beside those of the board.

    pip install tabarena 'jaxtree[bench]' configspace
    python -m benchmarks.tabarena --data ../shared/data --rows 1000 --splits 1 --out benchmarks/out/tabarena
    python -m benchmarks.tabarena --out benchmarks/out/tabarena --report benchmarks/results/tabarena.json

A cell is a method with one setting on one outer split of one table, and has one file of figures and one of predictions
in `--out`; a run takes what is there as done, so that one that was ended goes on. First come the defaults of all
methods on the first split of every table, the smallest table first; then other splits, and drawn settings at the end.
`--report` reads the cells, prints the board, and writes all figures. `README.md` has what was run.
"""

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jaxtree_studies.tables.owners import NAMES


class Cell(NamedTuple):
    """A cell of the board.

    Attributes:
        table: The name of the table.
        split: The number of the outer split.
        method: The name of the method.
        setting: The name of the setting.
    """

    table: str
    split: int
    method: str
    setting: str

    def figures_in(self, out: Path) -> Path:
        """Returns the file of its figures."""
        return out / self.table / f"{self.split}-{self.method}-{self.setting}.json"

    def predictions_in(self, out: Path) -> Path:
        """Returns the file of its predictions."""
        return self.figures_in(out).with_suffix(".npz")


def cells_of(tables: list[str], methods: list[str], splits: int, settings: int) -> Iterator[Cell]:
    """Yields the cells in their order: defaults before drawn settings, first splits before others."""
    for names in (["default"], [f"drawn-{number}" for number in range(settings)]):
        for split in range(splits):
            for table in tables:
                yield from (Cell(table, split, method, name) for method in methods for name in names)


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tabarena", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of the real tables")
    parser.add_argument("--tables", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--methods", nargs="+", help="some of the methods")
    parser.add_argument("--rows", type=int, default=12_000, help="the most rows of a table")
    parser.add_argument("--splits", type=int, default=9, help="outer splits: three a repeat")
    parser.add_argument("--settings", type=int, default=0, help="drawn settings beside the defaults")
    parser.add_argument("--seconds", type=float, default=3600, help="the time limit of a bag")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the cells")
    parser.add_argument("--report", type=Path, help="write the board of the cells there, and fit nothing")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    """Fits the cells that are not there, or reports those that are."""
    arguments = parse(given)
    # Libraries read these when they are loaded.
    os.environ |= {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}
    warnings.filterwarnings("ignore")
    if arguments.report:
        from benchmarks.tabarena.report import report

        report(arguments.out, arguments.report)
        return
    run(arguments)


def run(arguments: argparse.Namespace) -> None:
    """Fits the cells that are not there, and writes each when it is done; one that fails has its reason."""
    from benchmarks.tabarena.fits import METHODS, fit_cell, settings_of, warm_up, write_predictions
    from benchmarks.tabarena.tasks import NUM_OUTER_FOLDS, read_task, splits_of

    methods = arguments.methods or list(METHODS)
    tasks = {name: read_task(name, arguments.data, arguments.rows) for name in arguments.tables}
    tables = sorted(tasks, key=lambda name: tasks[name].X.size)
    settings = {method: settings_of(method, arguments.settings) for method in methods}
    warm = set()
    for cell in cells_of(tables, methods, arguments.splits, arguments.settings):
        path, task = cell.figures_in(arguments.out), tasks[cell.table]
        if path.exists():
            continue
        if (cell.method, task.kind) not in warm:
            warm_up(cell.method, task)
            warm.add((cell.method, task.kind))
        split = splits_of(task, -(-arguments.splits // NUM_OUTER_FOLDS))[cell.split]
        setting = settings[cell.method][cell.setting]
        found = cell._asdict() | {"kind": task.kind, "metric": task.metric, "rows": len(task.X), "parameters": setting}
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            figures, predictions = fit_cell(cell.method, setting, task, split, arguments.seconds)
        except Exception as error:  # a method that refuses a table has its reason there, and the others go on
            found["failed"] = f"{type(error).__name__}: {str(error)[:200]}"
        else:
            found |= figures
            write_predictions(cell.predictions_in(arguments.out), predictions)
        path.write_text(json.dumps(found, indent=1, default=str) + "\n")
        print(*cell, found.get("failed") or f"{found['error']:.5f} in {found['cpu_train_s']:.1f} s", flush=True)


if __name__ == "__main__":
    main()
