"""Additive models beside interpret, LightGBM with two leaves and pygam, each with its defaults and all cores.

    pip install '.[bench,frames]'
    python -m benchmarks.additive --data ../shared/data --peers benchmarks/results/additive-peers-2026-11-26.json
    python -m benchmarks.additive --data ../shared/data --tables adult-test --contenders jaxtree interpret

`tables` are real ones: adult with its own test rows, and 26 with five folds, the same for all, words as words and gaps
as gaps. A peer whose fit takes more than two minutes has the first fold alone. Scores are AUC (of several classes the
mean of each against the others) and log loss, or the root mean squared error. Seconds of the wall and of the CPU are
those of a fit from the table to the model, compiling included: ours fits the folds of a table in one new process with
nothing cached. Imports do not count. `first` is the first fit of a process on 1,000 rows, and the second; `long` is
500,000 rows of 230 columns in memory, and 10 million of 50 in a file of Parquet, 2 GB, that is read in parts. `search`
is 100 settings on eight folds of 10,000 rows, beside one fit of eight bags.

Peers are slow. With `--peers FILE` those figures of peers that the file of a former run has are taken from it, but for
adult's test rows, which all fit in one run. A machine may have been busy then: as seconds of the wall count at most
those of the CPU, divided by the cores. Figures are written after every fit.
"""

import argparse
import json
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.additive.aims import aims_of
from benchmarks.additive.cases import ADULT, NAMES, NUM_FOLDS
from benchmarks.additive.contenders import CONTENDERS, LIBRARIES, MAIN, OURS
from benchmarks.additive.measuring import (
    Settings,
    describe_case,
    measure_first,
    measure_folds,
    measure_long,
    measure_search,
)
from benchmarks.additive.report import line_of, lines_of
from benchmarks.additive.searches import SEARCHES
from benchmarks.additive.synthetic import FIRST, LONG, contenders_of_long
from benchmarks.suite.provenance import describe_run

PARTS = ("tables", "first", "long", "search")
PACKAGES = ("jaxtree", "jax", "interpret-core", "lightgbm", "pygam", "numpy", "pandas", "scikit-learn")


def main() -> None:
    """Measures, writes figures as they come, and tells of them."""
    arguments = _parse()
    report: dict[str, Any] = describe_run(PACKAGES) | {part: {} for part in PARTS}
    if arguments.peers:
        _take_peers(report, json.loads(arguments.peers.read_text()), arguments)
    with TemporaryDirectory() as folder:
        settings = Settings(
            arguments.data, arguments.kept or Path(folder), arguments.folds, arguments.limit, arguments.parameters
        )
        for part in arguments.parts:
            work = {"tables": _tables, "first": _first, "long": _long, "search": _search}[part]
            for line in work(report, arguments, settings):
                print(line, flush=True)
                report["load"] = os.getloadavg()[1]
                arguments.out.parent.mkdir(parents=True, exist_ok=True)
                arguments.out.write_text(json.dumps(report, indent=1) + "\n")
    print("", *lines_of(report), "", *aims_of(report), "", f"written: {arguments.out}", sep="\n")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.additive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the real tables")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tables", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME", help="real tables")
    parser.add_argument("--long", nargs="+", choices=LONG, default=list(LONG), metavar="NAME", help="long tables")
    parser.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES), metavar="NAME")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--folds", type=int, default=NUM_FOLDS, help="the first so many of five")
    parser.add_argument("--peers", type=Path, help="a file of a former run, for the figures of peers")
    parser.add_argument("--limit", type=float, help="seconds of a process; it is ended then")
    parser.add_argument("--with", dest="parameters", type=json.loads, default={}, help="parameters of ours, as JSON")
    parser.add_argument("--kept", type=Path, help="a folder for the tables, which are else removed at the end")
    parser.add_argument(
        "--out", type=Path, default=Path(f"benchmarks/out/additive-{date.today()}.json"), help="for the figures"
    )
    return parser.parse_args()


def _take_peers(report: dict[str, Any], former: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Copies the figures of peers of a former run, but for those that are measured anew."""
    report["peers"] = {key: former[key] for key in ("date", "cores", "versions")}
    for name, table in former["tables"].items():
        if name in arguments.tables and name != ADULT:
            kept = {
                contender: {fold: _on_idle_cores(own, former["cores"]) for fold, own in found.items()}
                for contender, found in table["contenders"].items()
                if not contender.startswith(OURS)
            }
            report["tables"][name] = table | {"contenders": kept}
    for name, contenders in former["first"].items():
        report["first"][name] = {
            contender: {figure: _on_idle_cores(own, former["cores"]) for figure, own in found.items()}
            for contender, found in contenders.items()
            if contender != OURS
        }


def _on_idle_cores(found: Any, cores: int) -> Any:
    """The figures of a fit, with no more seconds of the wall than its work takes on all cores; all else as it is."""
    if isinstance(found, dict) and "wall" in found:
        return found | {"wall": min(found["wall"], found["cpu"] / cores)}
    return found


def _tables(report: dict[str, Any], arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """First folds of all peers on all tables come before the others, so that a run that is ended tells of all."""
    for first_alone in (True, False):
        for name in arguments.tables:
            for contender in _contenders_of(name, arguments.contenders):
                table = report["tables"].setdefault(name, describe_case(name, settings) | {"contenders": {}})
                found = table["contenders"].setdefault(contender, {})
                before = len(found)
                measure_folds(name, contender, found, settings, first_alone=first_alone)
                if len(found) > before:
                    yield line_of(name, contender, found)


def _contenders_of(name: str, contenders: list[str]) -> list[str]:
    """Models without pairs are fitted to adult alone."""
    return [contender for contender in contenders if name == ADULT or not contender.endswith(MAIN)]


def _first(report: dict[str, Any], arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    for name in FIRST:
        for contender in LIBRARIES:
            found = report["first"].setdefault(name, {})
            if contender in arguments.contenders and contender not in found:
                found[contender] = measure_first(name, contender, settings)
                yield f"{name} {contender} {found[contender]}"


def _long(report: dict[str, Any], arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    for name in arguments.long:
        for contender in contenders_of_long(name):
            if contender in arguments.contenders:
                found = report["long"].setdefault(name, {})
                found[contender] = measure_long(name, contender, settings)
                yield f"{name} {contender} {found[contender]}"


def _search(report: dict[str, Any], arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    for name in arguments.searches:
        report["search"][name] = measure_search(name, settings)
        yield f"{name} {report['search'][name]}"


if __name__ == "__main__":
    main()
