"""100,000 draws of dropout pruning on a tree of about 1,000 nodes, and the calls of a search or a tuning.

    python benchmarks/dropout_masks.py

For comparison it times the random bits alone, 32 for every node and draw, made by `jax.random.bits`. Cold is the
first call of this process, compilation included; of the warm calls the median counts. Seconds of all cores are this
process's only. The peer sends every row down the tree for every mask.
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
from jaxtree import dropout
from jaxtree.dropout import votes

P, Q = 0.05, 0.1
SETTINGS = np.arange(6)[:, None] * 0.05, np.arange(1, 11) / 10
KEY = jax.random.key(0)
ROUTED_DRAWS = 50


def make_tree(max_leaf_nodes):
    """A tree that fits noise, and held-out rows."""
    rng = np.random.default_rng(0)
    X = rng.random((6000, 8))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.4) ^ (rng.random(6000) < 0.2)).astype(np.int32)
    estimator = jaxtree.DecisionTreeClassifier(max_leaf_nodes=max_leaf_nodes).fit(X[:4000], y[:4000])
    return estimator.tree_, estimator.encode(X[4000:]), y[4000:]


def measure(call, repeats):
    """Seconds of the first and of later calls, seconds of all cores in the latter, and the memory added, in MiB."""
    before = reset_peak()
    seconds, cores = [], []
    for _ in range(repeats + 1):
        start, used = time.perf_counter(), time.process_time()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - start)
        cores.append(time.process_time() - used)
    return {
        "cold": seconds[0], "warm": statistics.median(seconds[1:]), "warm_all": seconds[1:],
        "warm_seconds_of_all_cores": statistics.median(cores[1:]),
        "added_peak_memory_mib": None if before is None else max(memory("VmHWM") - before, 0),
    }  # fmt: skip


def reset_peak():
    """Resets the peak of the process's memory, and returns the memory in use; None if the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return memory("VmRSS")


def memory(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def seconds_of_a_routed_draw(tree, codes, label):
    """Seconds of the direct method: one mask, and every row sent down under it."""
    majority = jaxtree.growth.majority_class(tree)
    masks = dropout.draws(tree, dropout.node_rates(tree, P, Q), key=KEY, num_draws=ROUTED_DRAWS + 1)
    start = 0.0
    for draw, mask in enumerate(masks):
        if draw == 1:
            start = time.perf_counter()
        _ = (majority[np.asarray(jaxtree.growth.apply(tree, codes, mask))] == label).mean()
    return (time.perf_counter() - start) / ROUTED_DRAWS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    tree, *rows = make_tree(500)
    small = make_tree(50)[0]
    nodes, many = tree.node_count, {"key": KEY, "num_draws": args.draws}
    bits = jax.jit(lambda key: jax.random.bits(key, (nodes, args.draws)))
    rates, grid = lambda: dropout.node_rates(tree, P, Q), lambda tree: dropout.node_rates(tree, *SETTINGS)
    calls = {
        f"{args.draws:,} draws scored": lambda: dropout.sampled_accuracy(tree, *rows, rates(), **many),
        f"{args.draws:,} masks": lambda: dropout.draws(tree, rates(), **many),
        f"vote of {args.draws:,} draws": lambda: votes.drawn_votes(tree, rates(), **many),
        f"accuracy of the vote of 1 to {args.draws:,} draws": lambda: dropout.vote_accuracy(
            tree, *rows, rates(), **many
        ),
        "one mask": lambda: jaxtree.prune.dropout(tree, rates(), key=KEY),
        f"60 settings, vote of 200 draws, {small.node_count} nodes": lambda: votes.drawn_votes(
            small, grid(small), key=KEY, num_draws=200
        ),
        f"60 settings, vote of all draws, {small.node_count} nodes": lambda: votes.expected_votes(small, grid(small)),
        "60 settings, expected accuracy": lambda: dropout.expected_accuracy(tree, *rows, grid(tree)),
        "60 settings, variance of the accuracy": lambda: dropout.accuracy_variance(tree, *rows, grid(tree)),
        **{f"tuned per {per}": lambda per=per: dropout.tune(tree, *rows, per=per) for per in ("tree", "level", "node")},
        f"random bits alone, {nodes:,} x {args.draws:,}": lambda: bits(KEY),
    }  # fmt: skip
    figures = {}
    for name, call in calls.items():
        figures[name] = measured = measure(call, args.repeats)
        print(f"{name:52}cold {measured['cold']:6.2f} s, warm {1000 * measured['warm']:8.1f} ms, all cores "
              f"{1000 * measured['warm_seconds_of_all_cores']:8.1f} ms, "
              f"memory +{measured['added_peak_memory_mib'] or 0:.0f} MiB")  # fmt: skip
    routed = seconds_of_a_routed_draw(tree, *rows)
    whole = routed * args.draws
    print(f"routing {rows[1].size:,} rows: {1000 * routed:.2f} ms a draw, so {whole:.0f} s for all (extrapolated)")
    results = {
        "date": str(date.today()), "device": jax.devices()[0].platform,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU cores",
        "versions": {name: version(name) for name in ("jax", "numpy", "optax")},
        "nodes": nodes, "draws": args.draws, "rows": int(rows[1].size), "load": os.getloadavg()[0],
        "figures": figures, "routing_seconds_a_draw": routed,
    }  # fmt: skip
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"dropout_masks-{date.today()}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
