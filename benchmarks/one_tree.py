"""One classification tree on a million rows: jaxtree beside LightGBM and scikit-learn, on the same data in one run.

    python benchmarks/one_tree.py                    # depth 8, against LightGBM
    python benchmarks/one_tree.py --full             # fully grown too, against scikit-learn's exact tree (minutes)

Every contender starts from the same float32 matrix. Cold is the first call of a fresh process with an empty
compilation cache; warm is the median of the later calls. Peak memory is that of the whole process, the matrix
included, each contender in a process of its own.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np

DEPTH = 8


def make_data(num_rows, num_columns, seed=0):
    """A noisy two-class problem with interactions, and as many test rows as a tenth of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows + num_rows // 10, num_columns)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.8 * rng.normal(size=len(X))
    y = (signal > 0).astype(np.int32)
    return X[:num_rows], y[:num_rows], X[num_rows:], y[num_rows:]


def fit_jaxtree(X, y, max_depth):
    """Encoding and growth, through the estimator."""
    import jaxtree

    start = time.perf_counter()
    tree = jaxtree.DecisionTreeClassifier(max_depth=max_depth).fit(X, y)
    total = time.perf_counter() - start
    start = time.perf_counter()
    jaxtree.Encoder().fit_transform(X)
    return tree.predict, total, {"encoding": time.perf_counter() - start, "leaves": int(tree.get_n_leaves())}


def fit_lightgbm(X, y, max_depth):
    """One boosting round, binning included; as many leaves as the depth allows."""
    import lightgbm

    start = time.perf_counter()
    data = lightgbm.Dataset(X, y, params={"max_bin": 255, "min_data_in_leaf": 1, "verbose": -1}).construct()
    binned = time.perf_counter() - start
    parameters = {
        "objective": "binary", "max_depth": max_depth, "num_leaves": 2**max_depth, "min_data_in_leaf": 1,
        "max_bin": 255, "min_sum_hessian_in_leaf": 0, "learning_rate": 1.0, "verbose": -1,
        "num_threads": os.cpu_count(),
    }  # fmt: skip
    booster = lightgbm.train(parameters, data, num_boost_round=1)
    total = time.perf_counter() - start
    return lambda rows: (booster.predict(rows) > 0.5).astype(np.int32), total, {"encoding": binned}


def fit_sklearn(X, y, max_depth):
    """The exact tree, single-threaded."""
    from sklearn.tree import DecisionTreeClassifier

    start = time.perf_counter()
    tree = DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(X, y)
    return tree.predict, time.perf_counter() - start, {"leaves": int(tree.get_n_leaves())}


CONTENDERS = {"jaxtree": fit_jaxtree, "lightgbm": fit_lightgbm, "sklearn": fit_sklearn}


def measure(name, max_depth, repeats, shape):
    """All figures of one contender; runs in a process of its own."""
    X, y, X_test, y_test = make_data(*shape)
    times, more = [], []
    for _ in range(repeats):
        predict, seconds, extra = CONTENDERS[name](X, y, max_depth)
        times.append(seconds)
        more.append(extra)
    warm = times[1:] or times
    return {
        "cold": times[0],
        "warm": statistics.median(warm),
        "warm_all": warm,
        "encoding": statistics.median([m["encoding"] for m in more[1:] or more]) if "encoding" in more[0] else None,
        "leaves": more[0].get("leaves"),
        "test_accuracy": float((predict(X_test) == y_test).mean()),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "matrix_mib": X.nbytes / 2**20,
    }


def measure_in_a_process(name, max_depth, repeats, shape):
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--contender", name, "--max-depth", str(max_depth), "--repeats",
                   str(repeats), "--rows", str(shape[0]), "--columns", str(shape[1])]  # fmt: skip
        environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache}
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def compare(title, contenders, max_depth, repeats, shape):
    """Measures the contenders in turn and prints a line each, with the ratio to the first peer."""
    figures = {name: measure_in_a_process(name, max_depth, repeats[name], shape) for name in contenders}
    peer = contenders[1]
    print(f"\n{title}, {shape[0]:,} x {shape[1]} float32")
    print(f"{'':10}{'cold s':>9}{'warm s':>9}{'encode s':>10}{'accuracy':>10}{'peak MiB':>10}{'leaves':>9}")
    for name, f in figures.items():
        encoding = "-" if f["encoding"] is None else f"{f['encoding']:.2f}"
        leaves = "-" if f["leaves"] is None else f["leaves"]
        print(f"{name:10}{f['cold']:9.2f}{f['warm']:9.2f}{encoding:>10}{f['test_accuracy']:10.4f}"
              f"{f['peak_memory_mib']:10.0f}{leaves:>9}")  # fmt: skip
    ratio = figures["jaxtree"]["warm"] / figures[peer]["warm"]
    print(f"jaxtree / {peer}, warm: {ratio:.2f}")
    return {"title": title, "rows": shape[0], "columns": shape[1], "ratio": ratio, "figures": figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--full", action="store_true", help="the fully grown tree too")
    parser.add_argument("--out", type=Path, default=None, help="folder for the figures as JSON")
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("--max-depth", type=int, default=DEPTH, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shape = (arguments.rows, arguments.columns)
    if arguments.contender:
        max_depth = arguments.max_depth or None
        print(json.dumps(measure(arguments.contender, max_depth, arguments.repeats, shape)))
        return
    repeats = dict.fromkeys(CONTENDERS, arguments.repeats)
    cases = [compare(f"depth {DEPTH}", ["jaxtree", "lightgbm"], DEPTH, repeats, shape)]
    if arguments.full:
        # A depth of 0 stands for no limit.
        once = {"jaxtree": 3, "sklearn": 1}
        cases.append(compare("fully grown", ["jaxtree", "sklearn"], 0, once, shape))
    if arguments.out:
        write(cases, arguments.out)


def write(cases, folder):
    packages = ("jaxtree", "jax", "jaxlib", "numpy", "lightgbm", "scikit-learn")
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    report = {
        "date": date.today().isoformat(),
        "versions": {p: version(p) for p in packages},
        **machine,
        "cases": cases,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"one_tree-{date.today().isoformat()}.json"
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
