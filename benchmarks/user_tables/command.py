"""Fits of tables of ordinary size, by jaxtree and by scikit-learn.

    python -m benchmarks --user-tables                        # all cells but forests of a million rows
    python -m benchmarks --user-tables --tables iris adult --fits tree forest
    python -m benchmarks --user-tables --skip '100kx28/*' 'letter/forest'
    python -m benchmarks --user-tables --without-kernel       # jaxtree without its kernel in C++

A cell is a fit of a table: a tree with defaults, one of depth 8, a random forest and extra trees of 100 trees with
defaults; a classifier, or a regressor where the target is a number. A quarter of the rows of a real table tests.
jaxtree gets columns of words as they are, in a data frame; scikit-learn gets them as ordinal numbers, and that encoding
is not timed. Tables without words are a float32 matrix for both. scikit-learn's forests have `n_jobs=-1`, which costs
them up to a tenth more CPU seconds than one thread on small tables. Defaults are not alike: beyond 50,000 rows
jaxtree's trees have 255 bins, scikit-learn's none.

"Cold" and "second" are the first two fits of a new process with nothing cached, imports not counted; "warm" is the best
of several turns with scikit-learn in one process, the first of which does not count. CPU seconds are those of all
threads; the JSON has those of a prediction of one row, too. Tables named `-frame` are data frames of numbers, for both
libraries. Peak memory is that of the process of the first two fits. Ratios are ours over scikit-learn's, both warm.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.suite.processes import ROOT
from benchmarks.suite.provenance import describe_run
from benchmarks.user_tables.cells import FITS, TABLES, Cell, choose_cells
from benchmarks.user_tables.measuring import Settings, measure
from benchmarks.user_tables.report import heading, line_of, summarise, summary_lines

SWITCH = "--user-tables"
REPEATS = 5
LIMIT = 900.0
PACKAGES = ("jaxtree", "jax", "jaxlib", "numpy", "pandas", "scikit-learn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    options = _parse(arguments)
    cells = choose_cells(options.tables, options.fits, options.skip, full=options.full)
    report = describe_run(PACKAGES)
    report["native_kernels"] &= not options.without_kernel
    path = options.out / f"user-tables{'-without-kernel' * options.without_kernel}-{report['date']}.json"
    with TemporaryDirectory() as tables:
        settings = Settings(options.data, Path(tables), options.repeats, options.limit, not options.without_kernel)
        results = _run(cells, settings, report, path)
    if not results:
        sys.exit("nothing measured")
    print("", *summary_lines(results), "", f"written: {path}", sep="\n")
    if any("error" in result for result in results):
        sys.exit("a cell failed")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {SWITCH}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME", help=_of(TABLES))
    parser.add_argument("--fits", nargs="+", choices=FITS, default=list(FITS), metavar="NAME", help=_of(FITS))
    parser.add_argument("--skip", nargs="+", default=[], metavar="TABLE/FIT", help="cells; * stands for anything")
    parser.add_argument("--full", action="store_true", help="forests of a million rows, too")
    parser.add_argument("--without-kernel", action="store_true", help="jaxtree without its kernel in C++")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"turns that count (default {REPEATS})")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help=f"seconds of a process; it is ended then (default {LIMIT:.0f})"
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="real data sets")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "out", help="for the JSON")
    return parser.parse_args(arguments)


def _of(names: Sequence[str] | dict[str, Any]) -> str:
    return f"of {', '.join(names)}; all by default"


def _run(cells: Sequence[Cell], settings: Settings, report: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """Prints every cell when it is measured, and writes all that are."""
    print(heading(), flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    for cell in cells:
        try:
            results.append(measure(cell, settings))
        except FileNotFoundError as error:
            print(f"{cell.name} skipped, its file is absent: {error.filename}")
            continue
        print(line_of(results[-1]), flush=True)
        whole = report | {"cells": results, "summary": summarise(results)}
        path.write_text(json.dumps(whole, indent=1) + "\n")
    return results
