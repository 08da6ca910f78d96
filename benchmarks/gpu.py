"""Growth on a GPU: the same tree as on a CPU, and its time.

    python benchmarks/gpu.py [--rows 1000000 10000000] [--skip-boosting] [--out FOLDER]

This needs only a GPU and JAX: no peer, no data. For 28 features of 255 codes and two classes it grows a tree of depth 8
on the CPU and on the GPU, compares them bit for bit, and times the GPU's growth with all arrays on the device: cold
(with the compilation), then the minimum and the median of ten. Below these it prints the *floor*: the time to read
codes, rows, slots and weights once per level (36 bytes per row) at the memory's bandwidth, as measured here by a copy.
Then it times 64 bootstrap trees of depth 10 on 100,000 rows, 60 settings x 1,000 draws of dropout pruning, with their
expectations, and boosting of the log loss from codes to trees: 200 rounds of depth 6 on 100 features, and 100 of depth
10 on 13, a table like the airlines' one. `--skip-boosting` leaves these out, which take the most memory.
"""

import argparse
import json
import platform
import statistics
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxtree
from jaxtree.boosting import BaseLearner, BoostData, ScoredRows, Shrinkage, boost, logistic
from jaxtree.growth import Classes, Data, Limits, Rules, Sizes, grow

NUM_FEATURES, NUM_CODES, DEPTH = 28, 255, 8
BYTES_PER_ROW = 36
BOOSTED = ((1_000_000, 100, 200, 6), (10_000_000, 100, 200, 6), (10_000_000, 13, 100, 10))
"""Rows, features, rounds and depth of what is boosted."""


def make_table(num_rows, num_features=NUM_FEATURES, seed=0):
    """Codes of independent features, and a class that depends on four of them, with noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, NUM_CODES, (num_features, num_rows), dtype=np.uint8)
    scaled = codes[:4] / NUM_CODES - 0.5
    signal = scaled[0] + 4 * scaled[1] * scaled[2] + np.sin(9 * scaled[3]) / 2 + 0.3 * rng.normal(size=num_rows)
    return codes, (signal > 0).astype(np.int32)


def grow_one(codes, label):
    rules, sizes = Rules(Classes(2)), Sizes(num_bins=256, capacity=4096)
    return grow(Data(codes, label), None, Limits(max_depth=DEPTH), rules, sizes)


def seconds_of(call, repeats=10):
    """Seconds of the first call, and of each later one."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return times[0], times[1:]


def differing_fields(one, other):
    """The fields in which two trees differ; impurities and gains, made of logarithms, may differ in a last bit."""
    names = [name for name in vars(one) if name not in ("num_classes", "impurity", "gain")]
    return [
        name for name in names if not np.array_equal(np.asarray(getattr(one, name)), np.asarray(getattr(other, name)))
    ]


def copy_bandwidth(device, num_bytes=2**30):
    """Bytes per second that a copy on the device reads and writes."""
    values = jax.device_put(jnp.zeros(num_bytes // 4, jnp.int32), device)
    _, times = seconds_of(lambda: add_one(values))
    return 2 * num_bytes / min(times)


@jax.jit
def add_one(values):
    return values + 1


def one_tree(num_rows, gpu, bandwidth):
    codes, label = make_table(num_rows)
    with jax.default_device(jax.devices("cpu")[0]):
        expected = grow_one(codes, label).tree
    there = jax.device_put((codes, label), gpu)
    cold, times = seconds_of(lambda: grow_one(*there))
    tree = grow_one(*there).tree
    floor = BYTES_PER_ROW * num_rows * DEPTH / bandwidth
    return {
        "rows": num_rows,
        "nodes": int(tree.num_nodes),
        "differing_fields": differing_fields(expected, tree),
        "cold_s": cold,
        "minimum_s": min(times),
        "median_s": statistics.median(times),
        "floor_s": floor,
        "floor_share": floor / min(times),
    }


def forest(gpu, num_rows=100_000, num_trees=64):
    codes, label = make_table(num_rows)
    there = jax.device_put((codes, label), gpu)
    rng = np.random.default_rng(1)
    drawn = np.concatenate([np.sort(rng.integers(0, num_rows, num_rows)) for _ in range(num_trees)]).astype(np.int32)
    root = np.repeat(np.arange(num_trees, dtype=np.int32), num_rows)
    entries = jax.device_put((drawn, root), gpu)
    limits = Limits(max_depth=10, max_features=5)

    def call():
        data = Data(there[0], there[1], row=entries[0], root=entries[1])
        rules = Rules(Classes(2), samples_features=True)
        sizes = Sizes(num_bins=256, capacity=2**11 * num_trees, num_roots=num_trees)
        return grow(data, None, limits, rules, sizes, key=jax.random.key(0))

    cold, times = seconds_of(call, repeats=3)
    return {"trees": num_trees, "rows": num_rows, "cold_s": cold, "minimum_s": min(times)}


def boosting(device, num_rows, num_features, num_rounds, depth):
    """Boosts twice: the first time compiles. The rows are on the device, and the trees come back from it."""
    codes, label = make_table(num_rows, num_features)
    rows = ScoredRows(codes, label.astype(np.float64), np.ones(num_rows), {})
    few = ScoredRows(*(values[..., :10_000] for values in rows[:3]), {})
    data = BoostData(jax.device_put(rows, device), evaluations=(jax.device_put(few, device),))
    learner = BaseLearner(
        Limits(max_depth=depth, min_weight_leaf=1.0, min_gain=np.finfo(np.float64).tiny),
        Sizes(num_bins=256, capacity=2 << depth),
    )
    losses = []

    def call():
        losses.append(boost(data, logistic(), learner, Shrinkage(0.1), num_rounds=num_rounds).losses[-1, 0])

    cold, times = seconds_of(call, repeats=1)
    case = {"rows": num_rows, "features": num_features, "rounds": num_rounds, "depth": depth}
    return case | {"cold_s": cold, "minimum_s": min(times), "training_loss": float(losses[-1])}


def dropout_sweep(num_draws=1000):
    """The draws of the dropout paper's figure 4 for 60 settings, scored on its test rows."""
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, binary=True)
    estimator = jaxtree.ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
    label = np.searchsorted(estimator.classes_.astype(str), y[1296:].astype(str)).astype(np.int32)
    codes, key = estimator.encode(X[1296:]), jax.random.key(0)
    p, q = np.arange(6)[:, None] * 0.05, np.arange(1, 11) / 10

    def call():
        sampled = jaxtree.dropout.sampled_accuracy
        return sampled(
            estimator.tree_,
            codes,
            label,
            jaxtree.dropout.node_rates(estimator.tree_, p, q),
            key=key,
            num_draws=num_draws,
        )

    cold, times = seconds_of(call, repeats=5)
    return {"settings": p.size * q.size, "draws": num_draws, "cold_s": cold, "minimum_s": min(times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--skip-boosting", action="store_true")
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    device = jax.devices()[0]
    if device.platform == "cpu":
        print("no GPU here: the figures are a CPU's, and the comparison is one with itself")
    bandwidth = copy_bandwidth(device)
    report = {
        "date": date.today().isoformat(),
        "device": device.device_kind,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("jaxtree", "jax", "jaxlib", "numpy")},
        "copy_bandwidth_gb_s": bandwidth / 1e9,
        "trees": [],
        "boosting": [],
    }
    for rows in arguments.rows:
        report["trees"].append(one_tree(rows, device, bandwidth))
        keep(report, arguments.out)
    report["forest"] = forest(device)
    report["dropout_sweep"] = dropout_sweep()
    keep(report, arguments.out)
    for case in () if arguments.skip_boosting else BOOSTED:
        report["boosting"].append(boosting(device, *case))
        keep(report, arguments.out)
    print(json.dumps(report, indent=1))


def keep(report, folder):
    """Writes the figures that are there: a lent device may be gone before the last one."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"gpu-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
