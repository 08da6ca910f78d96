"""The board of the cells that are there: Elo as TabArena computes it, errors a table, and times.

A method has up to three entries. `(default)` is its first setting; `(tuned)` the setting whose bag is best on the rows
that its models have not seen; `(tuned + ensemble)` the weighted mean of bags that AutoGluon's greedy selection chooses
by these rows. The rating, its bootstrap over tables, and the anchor, the default random forest at 1,000, are those of
`bencheval`, TabArena's own library; a task counts once, however many splits it has.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from bencheval.evaluator import BenchmarkEvaluator

from benchmarks.suite.provenance import describe_run
from benchmarks.tabarena.__main__ import Cell

ANCHOR, ANCHOR_ELO = "RF (default)", 1000
BOOTSTRAPS, ENSEMBLE_SIZE = 200, 40
"""The samples of tables of TabArena's leaderboard, and the steps of its ensembles."""
PACKAGES = (
    *("jaxtree", "jax", "tabarena", "autogluon.tabular", "bencheval", "catboost", "lightgbm", "xgboost-cpu"),
    *("interpret-core", "scikit-learn", "hessboost"),
)
TIMES = ("time_train_s", "time_infer_s", "cpu_train_s")


class Entry(NamedTuple):
    """A line of results: what a method reached on a split.

    Attributes:
        method: The method, with its kind of entry.
        table: The name of the table.
        split: The number of the outer split.
        metric_error: The error on the test rows.
        time_train_s: Seconds of all fits that the entry needs.
        time_infer_s: Seconds of its predictions.
        cpu_train_s: CPU seconds of these fits.
    """

    method: str
    table: str
    split: int
    metric_error: float
    time_train_s: float
    time_infer_s: float
    cpu_train_s: float


def read_cells(out: Path) -> dict[Cell, dict[str, Any]]:
    """Reads the figures of all cells of a folder."""
    found = {}
    for path in sorted(out.glob("*/*.json")):
        own = json.loads(path.read_text())
        found[Cell(**{name: own[name] for name in Cell._fields})] = own
    return found


def entries_of(cells: dict[Cell, dict[str, Any]], out: Path) -> list[Entry]:
    """Returns the entries of all methods; tuned ones where a method has as many settings on a split as any has."""
    groups: dict[tuple[str, int, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for cell, own in cells.items():
        groups[cell.table, cell.split, cell.method][cell.setting] = own
    most, entries = max(map(len, groups.values()), default=0), []
    for (table, split, method), tried in groups.items():
        settings = {name: own for name, own in tried.items() if "failed" not in own}
        if "default" in settings:
            entries.append(_entry(f"{method} (default)", table, split, settings["default"]))
        if most < 2 or len(tried) < most or not settings:
            continue
        whole = {time: sum(own[time] for own in settings.values()) for time in ("time_train_s", "cpu_train_s")}
        best = min(settings.values(), key=lambda own: own["error_val"])
        entries.append(_entry(f"{method} (tuned)", table, split, best | whole))
        names = list(settings)
        weights, error = ensemble_of(names, Cell(table, split, method, ""), settings[names[0]], out)
        infer = sum(settings[name]["time_infer_s"] for name, weight in zip(names, weights, strict=True) if weight > 0)
        own = whole | {"error": error, "time_infer_s": infer}
        entries.append(_entry(f"{method} (tuned + ensemble)", table, split, own))
    return entries


def _entry(method: str, table: str, split: int, own: dict[str, Any]) -> Entry:
    return Entry(method, table, split, own["error"], *(own[time] for time in TIMES))


def ensemble_of(names: list[str], cell: Cell, own: dict[str, Any], out: Path) -> tuple[np.ndarray, float]:
    """Returns the weights of settings in a method's ensemble on a split, and its error on the test rows."""
    from autogluon.core.metrics import get_metric

    from benchmarks.tabarena.fits import read_predictions
    from tabarena.simulation.ensemble import GreedyEnsembler

    metric = get_metric(own["metric"], own["kind"])
    bags = [read_predictions(cell._replace(setting=name).predictions_in(out)) for name in names]
    ensemble = GreedyEnsembler(problem_type=own["kind"], metric=metric, ensemble_size=ENSEMBLE_SIZE)
    ensemble.fit(predictions=np.array([bag.validation for bag in bags]), labels=bags[0].y_validation)
    predicted = ensemble.predict_proba(np.array([bag.test for bag in bags]))
    return np.asarray(ensemble.weights_), float(metric.error(bags[0].y_test, predicted))


def complete(entries: list[Entry], least_tables: int) -> pandas.DataFrame:
    """Returns the entries of methods that are on `least_tables` tables, on the splits that all of these have."""
    frame = pandas.DataFrame(entries, columns=list(Entry._fields))
    tables = frame.groupby("method")["table"].nunique()
    frame = frame[frame["method"].isin(tables.index[tables >= least_tables])]
    number = frame.groupby(["table", "split"])["method"].transform("nunique")
    return frame[number == frame["method"].nunique()].reset_index(drop=True)


def board_of(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Returns TabArena's leaderboard of complete entries: Elo with its interval, ranks, and median times."""
    evaluator = BenchmarkEvaluator(
        method_col="method", task_col="table", seed_column="split", columns_to_agg_extra=list(TIMES)
    )
    rating = {"calibration_framework": ANCHOR, "calibration_elo": ANCHOR_ELO, "BOOTSTRAP_ROUNDS": BOOTSTRAPS}
    board = evaluator.leaderboard(frame, elo_kwargs=rating, include_error=True)
    columns = ["elo", "elo+", "elo-", "rank", "winrate", "improvability", *(f"median_{time}" for time in TIMES)]
    return board[columns].sort_values("elo", ascending=False)


def report(out: Path, path: Path, least_tables: int = 3) -> None:
    """Prints the board of all defaults, and of all entries on the tables that have tuned ones, and writes both."""
    cells = read_cells(out)
    entries = entries_of(cells, out)
    defaults = [entry for entry in entries if entry.method.endswith("(default)")]
    tuned = {entry.table for entry in entries if entry.method.endswith("(tuned)")}
    of_tuned = [entry for entry in entries if entry.table in tuned]
    written: dict[str, Any] = describe_run(PACKAGES)
    written["failed"] = {"/".join(map(str, cell)): own["failed"] for cell, own in cells.items() if "failed" in own}
    for title, own in {"default": defaults, "tuned": of_tuned}.items():
        if not own:
            continue
        frame = complete(own, least_tables)
        if frame.empty or ANCHOR not in set(frame["method"]):
            print(f"{title}: no split has all methods")
            continue
        board = board_of(frame)
        splits = frame[["table", "split"]].drop_duplicates()
        print(f"\n{title}: {splits['table'].nunique()} tables, {len(splits)} splits\n\n{board.round(2).to_string()}")
        errors = frame.pivot_table(index="table", columns="method", values="metric_error")
        written[title] = {
            "tables": splits["table"].nunique(),
            "splits": len(splits),
            "board": json.loads(board.round(4).to_json(orient="index")),
            "errors": json.loads(errors.round(6).to_json(orient="index")),
        }
    written["cells"] = [{name: value for name, value in own.items() if name != "parameters"} for own in cells.values()]
    path.write_text(json.dumps(written, indent=1) + "\n")
