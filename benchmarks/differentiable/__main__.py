"""Whether gradients pay: single trees, ensembles, boosted trees trained further, and peers.

    python -m benchmarks.differentiable single                     # all tables, ten trials: hours
    python -m benchmarks.differentiable single --tables Iris Wine --repeats 2
    python -m benchmarks.differentiable ensemble --quick

Records are written as they come, and what is in the file is not measured again. Real tables are not part of the
repository: `--data` is their folder. `--quick` takes two small tables and one trial.
"""

import argparse
import os
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.differentiable import boosted, ensemble, peers, single
from benchmarks.differentiable.markdown import write_page
from benchmarks.differentiable.part import StudyPart
from benchmarks.differentiable.store import Store

PARTS: dict[str, StudyPart] = {part.name: part for part in (single.PART, ensemble.PART, boosted.PART, peers.PART)}
ROOT = Path(__file__).resolve().parents[2]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="the folder of the tables")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results", help="folder for the files")
    parser.add_argument("--tables", nargs="*", help="some of the tables")
    parser.add_argument("--ways", nargs="*", help="some of the ways that are compared")
    parser.add_argument("--repeats", type=int, help="trials, or folds of all that a table has")
    parser.add_argument("--date", default=date.today().isoformat(), help="of the file to go on with")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--report", action="store_true", help="the page alone, of records that are there")
    return parser.parse_args(arguments)


def main(given: list[str] | None = None) -> None:
    """Measures what is not there, tells of it, and writes the page."""
    arguments = parse(given)
    part = PARTS[arguments.part]
    tables = arguments.tables or (part.quick if arguments.quick else part.tables)
    unknown = sorted(set(tables) - set(part.tables)) + sorted(set(arguments.ways or ()) - set(part.ways))
    if unknown:
        raise SystemExit(f"no such table or way of {part.name}: {unknown}; there are {[*part.tables, *part.ways]}")
    repeats = arguments.repeats or (1 if arguments.quick else part.repeats)
    name = f"differentiable-{part.name}{'-quick' if arguments.quick else ''}-{arguments.date}"
    packages = ("jaxtree", "jax", "scikit-learn", "numpy")
    about = {"date": arguments.date, "cores": os.cpu_count(), "versions": {one: version(one) for one in packages}}
    store = Store(arguments.out / f"{name}.json", about)
    if not arguments.report:
        for record in part.measure(tables, arguments.ways or part.ways, repeats, arguments.data, store):
            print(part.line(record), flush=True)
    said = [[part.title_of_page], *part.pages(store.records)]
    print(write_page(arguments.out / f"{name}.md", f"Differentiable trees: {part.name}", said))


if __name__ == "__main__":
    main()
