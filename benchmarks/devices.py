"""Growth with the rows divided between two CPU devices, compared with one device on one core.

    python benchmarks/devices.py [--rows 1000000] [--out FOLDER]

Each case runs in its own process, in turn, three times; a process grows a tree of depth 8 on 28 features of 255 codes
eight times with all arrays in place, and reports the fastest. The trees must be the same.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROUNDS, REPEATS, DEPTH = 3, 8, 8


def measure(num_devices, num_rows):
    """Runs in its own process: measures the first call and the fastest later one, and describes the tree."""
    if num_devices == 1:
        os.sched_setaffinity(0, {0})
    import jax
    import numpy as np
    from gpu import make_table
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from jaxtree.growth import Classes, Data, Limits, Rules, Sizes, grow

    jax.config.update("jax_num_cpu_devices", num_devices)
    jax.config.update("jax_enable_compilation_cache", False)
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    codes, label = make_table(num_rows)
    codes = jax.device_put(codes, NamedSharding(mesh, PartitionSpec(None, "rows")))
    label = jax.device_put(label, NamedSharding(mesh, PartitionSpec("rows")))
    times = []
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        tree = jax.block_until_ready(
            grow(
                Data(codes, label),
                None,
                Limits(max_depth=DEPTH),
                Rules(Classes(2)),
                Sizes(num_bins=256, capacity=4096),
                mesh=mesh if num_devices > 1 else None,
            )
        ).tree
        times.append(time.perf_counter() - start)
    arrays = (tree.feature, tree.threshold, tree.count, tree.first_child)
    digest = hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in arrays)).hexdigest()
    return {"cold": times[0], "warm": min(times[1:]), "tree": digest}


def run(num_devices, num_rows):
    command = [sys.executable, __file__, "--measure", str(num_devices), "--rows", str(num_rows)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.rows)))
        return
    rounds = [{devices: run(devices, arguments.rows) for devices in (1, 2)} for _ in range(ROUNDS)]
    one, two = (min(figures[devices]["warm"] for figures in rounds) for devices in (1, 2))
    same = len({figures[devices]["tree"] for figures in rounds for devices in (1, 2)}) == 1
    print(f"{arguments.rows:,} x 28, depth {DEPTH}: one device on one core {one:.3f} s, two devices {two:.3f} s")
    print(f"{one / two:.2f} times faster; {'the same tree' if same else 'THE TREES DIFFER'}")
    if arguments.out:
        report = {
            "date": date.today().isoformat(),
            "versions": {name: version(name) for name in ("jaxtree", "jax", "jaxlib", "numpy")},
            "cores": os.cpu_count(),
            "rows": arguments.rows,
            "same_tree": same,
            "speed_up": one / two,
            "rounds": rounds,
        }
        arguments.out.mkdir(parents=True, exist_ok=True)
        path = arguments.out / f"devices-{report['date']}.json"
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
