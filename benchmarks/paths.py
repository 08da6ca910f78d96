"""The cost of weights, numbers, missing values, categories and exact thresholds, compared with plain classification.

    python benchmarks/paths.py                    # growth of one table in every way, and of an exact one

All ways grow the same number of rows and columns to the same depth, from codes, in one process; the ways take turns,
and the median of the warm calls counts. Binning is not timed. The exact tree is compared with
scikit-learn's.
"""

import argparse
import json
import os
import platform
import statistics
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np

import jaxtree
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, SplitKind

DEPTH, SHARE_MISSING, NUM_CATEGORIES = 8, 0.02, 20


def make_codes(num_rows, num_columns, seed=0):
    """Codes from 0 to 254, and two noisy classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 255, (num_columns, num_rows)).astype(np.uint8)
    label = (codes[0] > 128) ^ (codes[3] > 100) ^ (rng.random(num_rows) < 0.2)
    return codes, label.astype(np.int32), rng


def ways(num_rows, num_columns):
    """The arguments of `grow` for every way."""
    codes, label, rng = make_codes(num_rows, num_columns)
    is_missing = rng.random(codes.shape) < SHARE_MISSING
    with_missing = np.where(is_missing, 255, codes).astype(np.uint8)
    threshold = np.zeros(num_columns, np.int32)
    limits, plain, sizes = Limits(max_depth=DEPTH), Rules(Classes(2)), Sizes(num_bins=256, capacity=4096)
    roomy = sizes._replace(capacity=16384, entry_capacity=4 * num_rows)
    known = Features(threshold, np.full(num_columns, 255))
    missing = Features(threshold, np.full(num_columns, 256), np.full(num_columns, 255))
    few = (codes % NUM_CATEGORIES).astype(np.uint8)
    categories = lambda kind: Features(np.full(num_columns, kind), np.full(num_columns, NUM_CATEGORIES))  # noqa: E731
    number = label + rng.normal(size=num_rows)
    weight = rng.random(num_rows)
    shared = plain._replace(missing=Missing.FRACTION)
    return {
        "plain": (Data(codes, label), known, limits, plain, sizes),
        "weights": (Data(codes, label, weight), known, limits, plain, sizes),
        "numbers": (Data(codes, number), known, limits, Rules(Numbers()), sizes),
        "missing learned": (Data(with_missing, label), missing, limits, plain, sizes),
        "missing shared out": (Data(with_missing, label), missing, limits, shared, roomy),
        "best subset": (Data(few, label), categories(SplitKind.SUBSET), limits, plain, sizes),
        "one against the rest": (Data(few, label), categories(SplitKind.ONE_VS_REST), limits, plain, sizes),
    }


def seconds_of(*arguments):
    start = time.perf_counter()
    grown = jaxtree.growth.grow(*arguments)
    assert bool(grown.complete)
    return time.perf_counter() - start, grown.tree


def growth_in_entries(tree, num_rows):
    """Entries over rows, as the mean of the levels above the last."""
    used = int(tree.num_nodes)
    per_level = np.bincount(np.asarray(tree.depth)[:used], np.asarray(tree.num_rows)[:used])
    return float((per_level[:DEPTH] / num_rows).mean())


def compare_ways(num_rows, num_columns, repeats):
    """Times every way in turn."""
    table = ways(num_rows, num_columns)
    cold = {name: seconds_of(*given)[0] for name, given in table.items()}
    warm = {name: [] for name in table}
    for _ in range(repeats):
        for name, given in table.items():
            seconds, tree = seconds_of(*given)
            warm[name].append(seconds)
            if name == "missing shared out":
                entries = growth_in_entries(tree, num_rows)
    plain = statistics.median(warm["plain"])
    print(f"\n{num_rows:,} x {num_columns} codes, depth {DEPTH}")
    print(f"{'':22}{'cold s':>9}{'warm s':>9}{'ratio':>8}")
    figures = {}
    for name, times in warm.items():
        median = statistics.median(times)
        figures[name] = {"cold": cold[name], "warm": median, "warm_all": times, "ratio": median / plain}
        print(f"{name:22}{cold[name]:9.2f}{median:9.3f}{median / plain:8.2f}")
    print(f"entries of rows shared out, mean of the levels: {entries:.2f} times the rows")
    return {"rows": num_rows, "columns": num_columns, "entries": entries, "ways": figures}


def compare_exact(num_rows, num_columns, repeats):
    """Compares a fully grown tree on columns of distinct numbers, binning included, with scikit-learn's."""
    import sklearn.tree

    rng = np.random.default_rng(1)
    X = rng.normal(size=(num_rows, num_columns)).astype(np.float32)
    y = ((X[:, 0] > 0) ^ (X[:, 3] > 0.4) ^ (rng.random(num_rows) < 0.2)).astype(np.int32)
    contenders = {
        "jaxtree": lambda: jaxtree.DecisionTreeClassifier(max_bins=None).fit(X, y),
        "sklearn": lambda: sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y),
    }
    times, leaves = {name: [] for name in contenders}, {}
    for _ in range(repeats):
        for name, fit in contenders.items():
            start = time.perf_counter()
            leaves[name] = int(fit().get_n_leaves())
            times[name].append(time.perf_counter() - start)
    warm = {name: statistics.median(values[1:] or values) for name, values in times.items()}
    ratio = warm["jaxtree"] / warm["sklearn"]
    print(f"\n{num_rows:,} x {num_columns} exact and fully grown, encoding included")
    for name in contenders:
        print(f"{name:22}cold {times[name][0]:.2f} s, warm {warm[name]:.2f} s, {leaves[name]:,} leaves")
    print(f"jaxtree / sklearn, warm: {ratio:.2f}")
    return {"rows": num_rows, "columns": num_columns, "times": times, "warm": warm, "leaves": leaves, "ratio": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2**18)
    parser.add_argument("--exact-rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    figures = {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU cores",
        "versions": {name: version(name) for name in ("jax", "numpy", "scikit-learn")},
        "ways": compare_ways(arguments.rows, arguments.columns, arguments.repeats),
        "exact": compare_exact(arguments.exact_rows, arguments.columns, min(arguments.repeats, 4)),
    }
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        path = arguments.out / f"paths-{figures['date']}.json"
        path.write_text(json.dumps(figures, indent=1) + "\n")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
