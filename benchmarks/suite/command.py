"""jaxtree beside LightGBM, XGBoost, YDF and scikit-learn: same data, same task, one process, taking turns.

    pip install '.[bench]'
    python -m benchmarks                             # everything: more than an hour on two cores
    python -m benchmarks --budget-minutes 15         # fewer repeats, without the longest cases
    python -m benchmarks --quick                     # a small version of every case
    python -m benchmarks --only tree-1mx28 'forest*' # some cases; --list names them
    python -m benchmarks --user-tables               # tables of ordinary size; has options of its own, see its --help

Every contender starts from the same float32 matrix (or frame, where columns hold words), uses all cores, 255 bins,
leaves of one row and the same depth. "Together" is from the raw table to the model, "encoding" and "growth" are its
parts by themselves: medians of the warm calls, in which contenders take turns. "Cold" is the first fit of a new process
with an empty compilation cache, "cached" that with a full one (the same call for peers, which compile nothing), "new
process" the wall time of such a process from start to end, import and loading of the table included, and "peak MiB" the
most memory that it held. The score is the
accuracy on test rows, or R². Ratios are those to the fastest peer whose score is not 0.01 below ours.

Not alike by nature: LightGBM and scikit-learn's histogram trees grow a tree for every class of several, and so does
XGBoost on columns of words; LightGBM grows best-first and stops at 131,072 leaves; LightGBM's and XGBoost's forests
draw 0.632 of the rows without replacement in place of a bootstrap; scikit-learn's exact tree has no bins.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.suite.budget import Budget
from benchmarks.suite.cases import make_cases
from benchmarks.suite.contenders import PLACES, is_ours
from benchmarks.suite.measuring import Settings, measure
from benchmarks.suite.processes import ROOT
from benchmarks.suite.provenance import describe_run
from benchmarks.suite.report import show_case
from benchmarks.suite.tasks import Case

REPEATS, QUICK_REPEATS = 5, 2
WIDTH = 110
"""Columns of what is printed into a file."""
PACKAGES = ("jaxtree", "jax", "jaxlib", "numpy", "lightgbm", "xgboost-cpu", "ydf", "scikit-learn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    options = _parse(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    cases = _chosen(make_cases(quick=options.quick, full=options.full), options.only)
    cases = [_among(case, options.contenders) for case in cases]
    if options.list:
        for case in cases:
            console.print(f"{case.name:22} {case.title} (about {case.minutes:.1f} min)", highlight=False)
        return
    with TemporaryDirectory() as folder:
        tables, cache = Path(folder) / "tables", Path(folder) / "cache"
        repeats = options.repeats or (QUICK_REPEATS if options.quick else REPEATS)
        settings = Settings(options.data, tables, repeats, cache if options.quick else None)
        results = _run(cases, settings, Budget(cases, options.budget_minutes), console)
    console.print(f"written: {_write(results, options)}", highlight=False)
    if any(_fails(result) for result in results):
        sys.exit("jaxtree failed in a case")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases by name; * stands for anything")
    parser.add_argument("--contenders", nargs="+", metavar="NAME", help=f"of {', '.join(PLACES)}; all by default")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--quick", action="store_true", help="small tables and two repeats")
    parser.add_argument("--full", action="store_true", help="scikit-learn's exact tree where it takes minutes, too")
    parser.add_argument("--repeats", type=int, help=f"turns that count (default {REPEATS}, quick {QUICK_REPEATS})")
    parser.add_argument(
        "--budget-minutes", type=float, help="fewer repeats, without the longest cases, to end about then"
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="real data sets")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "out", help="for the JSON")
    return parser.parse_args(arguments)


def _chosen(cases: Sequence[Case], patterns: Sequence[str] | None) -> list[Case]:
    """The cases whose names match; ends the program where a pattern matches none."""
    if patterns is None:
        return list(cases)
    for pattern in patterns:
        if not any(fnmatch(case.name, pattern) for case in cases):
            sys.exit(f"no case is named {pattern}; there are {', '.join(case.name for case in cases)}")
    return [case for case in cases if any(fnmatch(case.name, pattern) for pattern in patterns)]


def _among(case: Case, contenders: Sequence[str] | None) -> Case:
    """The case with only some contenders; ends the program where one does not exist."""
    if contenders is None:
        return case
    for name in contenders:
        if name not in PLACES:
            sys.exit(f"no contender is named {name}; there are {', '.join(PLACES)}")
    return dataclasses.replace(case, contenders=tuple(name for name in case.contenders if name in contenders))


def _run(cases: Sequence[Case], settings: Settings, budget: Budget, console: Console) -> list[dict[str, Any]]:
    results = []
    for case in cases:
        if not budget.has_room(case):
            console.print(f"{case.name} skipped: the budget has no room for it", style="yellow")
            continue
        start = time.perf_counter()
        try:
            with console.status(case.title):
                result = measure(case, settings, budget.seconds_of(case))
        except FileNotFoundError as error:
            console.print(f"{case.name} skipped, its file is absent: {error.filename}", style="yellow")
        else:
            result["seconds"] = time.perf_counter() - start
            show_case(result, console)
            console.print(f"{case.name} took {result['seconds']:.0f} s\n", highlight=False)
            results.append(result)
        budget.done(case)
    return results


def _fails(result: dict[str, Any]) -> bool:
    """Whether jaxtree failed at a point of a case; a peer may."""
    figures = [f for point in result["points"] for name, f in point["contenders"].items() if is_ours(name)]
    return any("error" in found for found in [*figures, *result.get("memory", ())])


def _write(results: Sequence[dict[str, Any]], options: argparse.Namespace) -> Path:
    """Writes the figures as JSON; `notebooks/make_charts.py` draws them."""
    report = {
        **describe_run(PACKAGES),
        "quick": options.quick,
        "cases": results,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    written = options.out / f"suite-{report['date']}.json"
    written.write_text(json.dumps(report, indent=1) + "\n")
    return written
