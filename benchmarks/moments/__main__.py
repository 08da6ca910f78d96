"""Forests of moments beside EconML, causalml, quantile-forest and scikit-survival, on tables whose truth is known.

Policies are trees of rewards; a forest of scikit-learn's that learns the best action of every row stands beside them.

    python -m benchmarks.moments aw2 iv --repeats 5 --peers ENVIRONMENT/bin/python
    python -m benchmarks.moments --list
    python -m benchmarks.moments aw2 --former benchmarks/results/moments-peers-2026-11-30.json

Peers run in an environment of their own, in which `pip install econml causalml quantile-forest scikit-survival` has
been run; without `--peers`, ours runs alone. Every fit is a process of its own. All contenders have the same draws, by
the seed of the repeat, and where a case says so the same expectations of outcome, treatment and instrument, which
random forests of ours predict out of bag: their seconds are in no contender's. EconML and causalml have one core, all
others all of them: CPU seconds are to be compared. `wall` and `cpu` are of the fit and the predictions together, with
compilation, without imports. grf's published figures are bounds of ours. With `--former FILE`, peers' figures of an
earlier run are taken from it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.moments.cases import CASES, NUISANCE_TREES, Case
from benchmarks.moments.contenders import NUISANCES, OURS
from benchmarks.moments.report import add_sums, aims_of, line_of
from benchmarks.moments.scores import score
from benchmarks.moments.simulations import Table, simulate
from benchmarks.suite.processes import ask
from benchmarks.suite.provenance import describe_run

WORKER = "benchmarks.moments.worker"
VERSIONS = "econml", "causalml", "quantile-forest", "scikit-survival", "scikit-learn", "numpy"
Found = dict[str, Any]


class Settings(NamedTuple):
    """How a run measures.

    Attributes:
        folder: Where tables and predictions are written.
        peers: The Python of the peers' environment; None runs ours alone.
        parameters: Parameters of ours that are not those of the case.
        limit: Seconds after which a process is ended.
    """

    folder: Path
    peers: str | None
    parameters: Found
    limit: float | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints a line a fit, and writes the figures after each."""
    options = _parse(arguments)
    if options.list:
        print(*(f"{name:16} {case.model:13} {case.rows} x {case.columns}" for name, case in CASES.items()), sep="\n")
        return
    report: Found = _describe(options.peers) | {"cases": {}}
    former = json.loads(options.former.read_text())["cases"] if options.former else {}
    with TemporaryDirectory() as folder:
        settings = Settings(Path(folder), options.peers, options.parameters, options.limit)
        for name in options.cases:
            case, repeats = CASES[name], options.repeats or CASES[name].repeats
            found = report["cases"].setdefault(name, _kept(former.get(name, {}), options.only))
            for seed in range(repeats):
                for contender in options.only or case.contenders:
                    of = found.setdefault(contender, {})
                    if contender in case.contenders and str(seed) not in of and _runs(contender, settings):
                        of[str(seed)] = measure(case, contender, seed, settings)
                        print(f"{name} {contender} {seed}: {line_of(of[str(seed)])}", flush=True)
                        options.out.parent.mkdir(parents=True, exist_ok=True)
                        options.out.write_text(json.dumps(report, indent=1) + "\n")
    for name in options.cases:
        print(f"\n{name}", *_summary(report["cases"][name]), sep="\n")
        print(*aims_of(CASES[name], report["cases"][name]), sep="\n")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.moments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names that --list prints")
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--repeats", type=int, help="how many tables are drawn")
    parser.add_argument("--only", nargs="+", metavar="CONTENDER", help="contenders, by their names in a case")
    parser.add_argument("--peers", metavar="PYTHON", help="the Python of the peers' environment")
    parser.add_argument("--former", type=Path, metavar="FILE", help="figures of peers of an earlier run")
    parser.add_argument("--with", dest="parameters", type=json.loads, default={}, help="parameters of ours, as JSON")
    parser.add_argument("--limit", type=float, help="seconds of a process; it is ended then")
    parser.add_argument("--out", type=Path, default=Path(f"benchmarks/out/moments-{date.today()}.json"))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.cases if name not in CASES]:
        parser.error(f"there is no case {unknown[0]!r}; the cases are {', '.join(CASES)}")
    if options.peers and not shutil.which(options.peers):
        parser.error(f"--peers {options.peers}: there is no such program")
    return options


def _describe(peers: str | None) -> Found:
    """Returns the date, the machine, and the versions of ours and of the peers."""
    described = describe_run(("jaxtree", "jax", "numpy", "scikit-learn"))
    if peers:
        described["peers"] = _versions_of(peers)
    return described


def _versions_of(python: str) -> Found:
    """Returns the versions of peers in their environment; None is a package that is not there."""
    code = "import importlib.metadata as m, json, sys; there = {d.name.lower(): d.version for d in m.distributions()}; "
    code += f"print(json.dumps({{name: there.get(name) for name in {VERSIONS!r}}}))"
    return json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)


def _kept(former: Found, only: Sequence[str] | None) -> Found:
    return {name: own for name, own in former.items() if name.split(",")[0] != OURS and (not only or name in only)}


def _runs(contender: str, settings: Settings) -> bool:
    return contender.split(",")[0] == OURS or settings.peers is not None


def measure(case: Case, contender: str, seed: int, settings: Settings) -> Found:
    """Returns the figures of a fit by one contender to the table of a seed."""
    place = settings.folder / f"{case.simulation}-{case.rows}-{case.columns}-{len(case.simulated)}-{seed}.npz"
    table = simulate(case.simulation, case.rows, case.columns, seed, **case.simulated)
    if not place.exists():
        np.savez(place, **table | (_find_nuisances(table, settings) if case.has_nuisances else {}))
    found = settings.folder / "found.npz"
    library = contender.split(",")[0]
    parameters = dict(case.contenders[contender]) | (settings.parameters if library == OURS else {})
    order = {"model": case.model, "contender": library, "table": str(place), "found": str(found)}
    figures = _ask(order | {"parameters": parameters, "is_saved": case.is_saved}, settings)
    if "error" in figures:
        return figures
    with np.load(found) as predictions:
        return add_sums(figures | score(table, dict(predictions)))


def _find_nuisances(table: Table, settings: Settings) -> Table:
    """Returns expectations of outcome, treatment and instrument, out of bag."""
    place, found = settings.folder / "bare.npz", settings.folder / "nuisances.npz"
    np.savez(place, **table)
    order = {"model": NUISANCES, "contender": OURS, "table": str(place), "found": str(found)}
    figures = _ask(order | {"parameters": {"n_estimators": NUISANCE_TREES}}, settings)
    if "error" in figures:
        raise RuntimeError(figures["error"])
    with np.load(found) as predictions:
        return dict(predictions)


def _ask(order: Found, settings: Settings) -> Found:
    """Has a process do an order; ours compiles anew in every run, and peers do not see our paths."""
    environment = {key: value for key, value in os.environ.items() if key != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(settings.folder / "caches"), "OMP_WAIT_POLICY": "passive"}
    python = sys.executable
    if order["contender"] != OURS:
        environment.pop("PYTHONPATH", None)
        python = settings.peers or python
    done = ask(WORKER, order, environment, settings.limit, python)
    return {"error": done.error} if done.error else done.answers[0]


def _summary(found: Found) -> list[str]:
    """Returns a line a contender, with the means of all repeats."""
    lines = []
    for contender, repeats in found.items():
        runs = [own for own in repeats.values() if "error" not in own]
        if runs:
            means = {figure: float(np.mean([own[figure] for own in runs])) for figure in runs[0]}
            lines.append(f"  {contender:28} {len(runs)} runs  {line_of(means)}")
        lines += [f"  {contender:28} {own['error']}" for own in repeats.values() if "error" in own]
    return lines


if __name__ == "__main__":
    main()
