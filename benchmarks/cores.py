"""Fits on one core and on all, beside LightGBM, XGBoost, hessboost and scikit-learn; and how fast more cores would be.

    python -m benchmarks.cores [--cases boosting-1m ...] [--cores 1 2] [--turns 3]
    python -m benchmarks.cores --schedule KERNEL [--threads 8 64] [--regions 10]

Every fit is a process of its own that the system binds to so many cores; contenders take turns. A line has the least
seconds of a fit on each number of cores, and how many times as fast the last is as the first. With `--schedule`, the
folder of a kernel that was built with `-DJAXTREE_SCHEDULE=ON`, fits are timed on one core by a kernel that does the
pieces of shared work one after another and finds when the last would end on so many threads, see
`native/src/common/schedule.h`: what is not divided by the kernel counts as the work of one, also what NumPy and XLA
divide. `rounds` is the speed without what a fit does besides its rounds. `--regions` adds, for the most threads, where
their time goes: the regions of shared work that last longest, each with its seconds on one thread and on all, without
those of the regions within it.
A peer that is not installed is left out, and named: hessboost has wheels for Python 3.12 and later.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPEATS = 3
LEAVES, BINS = 31, 255
NAME_WIDTH = 100
CASES: dict[str, dict[str, Any]] = {
    "boosting-1k": {"rows": 1_000, "columns": 10, "rounds": 100},
    "boosting-10k": {"rows": 10_000, "columns": 28, "rounds": 100},
    "boosting-100k": {"rows": 100_000, "columns": 28, "rounds": 100},
    "boosting-1m": {"rows": 1_000_000, "columns": 28, "rounds": 20},
    "folds-10k": {"rows": 10_000, "columns": 28, "rounds": 50, "kind": "folds"},
    "tree-100k": {"rows": 100_000, "columns": 28, "kind": "tree"},
    "forest-10k": {"rows": 10_000, "columns": 28, "trees": 20, "kind": "forest"},
    "extra-10k": {"rows": 10_000, "columns": 28, "trees": 20, "kind": "extra"},
    "additive-10k": {"rows": 10_000, "columns": 10, "kind": "additive"},
    "search-2k": {"rows": 2_000, "columns": 10, "rounds": 30, "kind": "search"},
}
PEERS = {
    "boosting": ("lightgbm", "xgboost", "hessboost"),
    "forest": ("sklearn",),
    "extra": ("sklearn",),
    "tree": ("sklearn",),
}


def make_table(num_rows: int, num_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of two classes that needs several columns at a time."""
    draw = np.random.default_rng(num_rows)
    X = draw.normal(size=(num_rows, num_columns)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.5 * draw.normal(size=num_rows)
    return X, (score > np.median(score)).astype(int)


def our_estimator(case: dict[str, Any]) -> Any:
    """The estimator of jaxtree for a case."""
    import jaxtree

    boosted = {"n_estimators": case.get("rounds"), "max_leaf_nodes": LEAVES}
    match case.get("kind", "boosting"):
        case "folds":
            return jaxtree.GradientBoostingClassifier(**boosted, early_stopping="cv")
        case "tree":
            return jaxtree.DecisionTreeClassifier(max_depth=8)
        case "forest":
            return jaxtree.RandomForestClassifier(case["trees"])
        case "extra":
            return jaxtree.ExtraTreesClassifier(case["trees"])
        case "additive":
            return jaxtree.ExplainableBoostingClassifier(max_rounds=100)
        case "search":
            rates = {"learning_rate": list(np.linspace(0.05, 0.5, 20))}
            return jaxtree.SearchCV(jaxtree.GradientBoostingClassifier(**boosted), rates, cv=5)
        case _:
            return jaxtree.GradientBoostingClassifier(**boosted)


def peer_estimator(library: str, case: dict[str, Any], num_cores: int) -> Any:
    """The estimator of a peer for a case, on so many threads."""
    if library == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(n_estimators=case["rounds"], num_leaves=LEAVES, n_jobs=num_cores, verbose=-1)
    by_leaves = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": LEAVES, "max_bin": BINS}
    if library == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(n_estimators=case["rounds"], learning_rate=0.1, n_jobs=num_cores, **by_leaves)
    if library == "hessboost":
        from hessboost.sklearn import HessboostClassifier

        return HessboostClassifier(n_estimators=case["rounds"], learning_rate=0.1, n_jobs=num_cores, **by_leaves)
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if case["kind"] == "tree":
        return DecisionTreeClassifier(max_depth=8)
    kind = RandomForestClassifier if case["kind"] == "forest" else ExtraTreesClassifier
    return kind(case["trees"], n_jobs=num_cores)


def seconds_of(call: Callable[[], object], repeats: int) -> float:
    """The least seconds of some calls."""
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return min(found)


def measure(library: str, case: dict[str, Any], num_cores: int) -> dict[str, float]:
    """Returns the least seconds of warm fits of this process, on the cores that it is bound to."""
    X, y = make_table(case["rows"], case["columns"])
    estimator = our_estimator(case) if library == "jaxtree" else peer_estimator(library, case, num_cores)
    estimator.fit(X, y)
    return {"seconds": seconds_of(lambda: estimator.fit(X, y), REPEATS)}


def regions_of(library: ctypes.CDLL) -> dict[str, np.ndarray]:
    """Returns the seconds of every region so far, on one thread and on all, and how often it has run."""
    library.jaxtree_regions.restype = ctypes.c_char_p
    lines = [line.split(" ", 3) for line in library.jaxtree_regions().decode().splitlines()]
    return {name: np.array(figures, float) for *figures, name in lines}


def find_schedule(case: dict[str, Any], num_threads: int, kernel: str) -> dict[str, Any]:
    """Returns the seconds of a fit on one core and on so many threads, and those of all regions of a fit."""
    from jaxtree.cores import using_cores

    library = ctypes.CDLL(str(next(Path(kernel, "jaxtree_native").glob("kernels*"))))
    saved = library.jaxtree_saved_seconds
    saved.restype = ctypes.c_double
    X, y = make_table(case["rows"], case["columns"])
    with using_cores(num_threads):
        our_estimator(case).fit(X, y)
        found, earlier = [], regions_of(library)
        for _ in range(REPEATS):
            before, begin = saved(), time.perf_counter()
            our_estimator(case).fit(X, y)
            alone = time.perf_counter() - begin
            found.append((alone - (saved() - before), alone))
    regions = {name: (own - earlier.get(name, 0)) / REPEATS for name, own in regions_of(library).items()}
    regions = {name: own.tolist() for name, own in regions.items()}
    return {"seconds": min(found)[0], "alone": min(alone for _, alone in found), "regions": regions}


def in_process(task: dict[str, Any], cores: list[int], **environment: str) -> dict[str, Any]:
    """Returns what a new process measures that the system binds to some cores."""
    command = [sys.executable, "-m", "benchmarks.cores", "--task", json.dumps(task)]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    return json.loads(done.stdout.splitlines()[-1])


def compare(name: str, options: argparse.Namespace) -> None:
    """Prints the seconds of all contenders of a case on each number of cores."""
    case = CASES[name]
    found: dict[tuple[str, int], float] = {}
    libraries = ["jaxtree"]
    for peer in PEERS.get(case.get("kind", "boosting"), ()):
        if importlib.util.find_spec(peer) is None:
            print(f"{name:14} {peer:9} is not installed")
        else:
            libraries.append(peer)
    for _ in range(options.turns):
        for library in libraries:
            for number in options.cores:
                task = {"library": library, "case": case, "cores": number}
                seconds = in_process(task, list(range(number)))["seconds"]
                found[library, number] = min(found.get((library, number), np.inf), seconds)
    for library in dict.fromkeys(library for library, _ in found):
        seconds = [found[library, number] for number in options.cores]
        figures = "  ".join(f"{number} cores {own:7.3f} s" for number, own in zip(options.cores, seconds, strict=True))
        print(f"{name:14} {library:9} {figures}  gain {seconds[0] / seconds[-1]:5.2f}", flush=True)


def print_schedule(name: str, options: argparse.Namespace) -> None:
    """Prints how many times as fast so many threads would be."""
    case, short = CASES[name], dict(CASES[name])
    if "rounds" in case:
        short["rounds"] = case["rounds"] // 2

    def on(case: dict[str, Any], number: int) -> dict[str, Any]:
        task = {"case": case, "cores": number, "kernel": options.schedule}
        paths = os.pathsep.join(path for path in (options.schedule, os.environ.get("PYTHONPATH")) if path)
        return in_process(task, [0], NPROC=str(number), PYTHONPATH=paths)

    alone, half = on(case, 1)["seconds"], on(short, 1)["seconds"]
    whole = {number: on(case, number) for number in options.threads}
    for number, found in whole.items():
        rounds = (alone - half) / (found["seconds"] - on(short, number)["seconds"]) if "rounds" in case else np.nan
        print(f"{name:14} {number:3} threads  fit {alone / found['seconds']:5.2f}  rounds {rounds:5.2f}", flush=True)
    regions = whole[max(whole)]["regions"]
    for region in sorted(regions, key=lambda region: -regions[region][1])[: options.regions]:
        alone, shared, times = regions[region]
        print(f"  {1e3 * alone:8.1f} ms alone {1e3 * shared:8.1f} ms shared {times:7.0f} times  {region[:NAME_WIDTH]}")


def main() -> None:
    """Runs the cases."""
    parser = argparse.ArgumentParser(description="Times fits on one core and on all.")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--cores", type=int, nargs="+", default=sorted({1, len(os.sched_getaffinity(0))}))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--schedule", help="folder of a kernel that finds schedules")
    parser.add_argument("--regions", type=int, default=0, help="how many regions of shared work to print")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 8, 16, 64])
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        task = json.loads(options.task)
        if "kernel" in task:
            print(json.dumps(find_schedule(task["case"], task["cores"], task["kernel"])))
        else:
            print(json.dumps(measure(task["library"], task["case"], task["cores"])))
        return
    for name in options.cases:
        print_schedule(name, options) if options.schedule else compare(name, options)


if __name__ == "__main__":
    main()
