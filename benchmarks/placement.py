"""What `device="auto"` chooses on tables of all sizes, and whether the host takes what its costs say.

    python -m benchmarks.placement               # the choice and the expected seconds, for a GPU and a TPU
    python -m benchmarks.placement --measure     # also what fits on the host take, beside what they were expected to

The seconds of accelerators follow from compiled programs and public rates. Nothing is run on one.
"""

import argparse
import time
from typing import Any

import numpy as np

import jaxtree
from jaxtree.cores import num_cores
from jaxtree.devices import costs, policy

SIZES = ((150, 4), (1_000, 10), (10_000, 20), (100_000, 28), (1_000_000, 28), (10_000_000, 50))
"""Rows and columns."""

MEASURED = SIZES[:4]
"""Those that are fitted."""

ESTIMATORS: dict[str, Any] = {
    "tree, depth 8": lambda: jaxtree.DecisionTreeClassifier(max_depth=8),
    "forest of 100": lambda: jaxtree.RandomForestClassifier(100, max_depth=12, random_state=0),
    "boosting, 100 rounds": lambda: jaxtree.GradientBoostingClassifier(100),
    "boosting, 1,000 rounds": lambda: jaxtree.GradientBoostingClassifier(1000),
    "soft tree": lambda: jaxtree.SoftTreeClassifier(random_state=0),
}


def choices(accelerator: str) -> None:
    """Prints the choice and the seconds that lead to it."""
    print(f"\n{accelerator}: expected seconds on the host / on the device / to compile its program")
    print(f"{'':24s}" + "".join(f"{f'{rows:,} x {columns}':>26s}" for rows, columns in SIZES))
    for name, make in ESTIMATORS.items():
        cells = []
        for size in SIZES:
            chosen = policy.choose(make().work_of_fit(*size), accelerator)
            seconds = f"{chosen.host_seconds:.2g}/{chosen.device_seconds:.2g}/{chosen.start_seconds:.2g}"
            cells.append(f"{f'{chosen.platform} {seconds}':>26s}")
        print(f"{name:24s}" + "".join(cells))


def measure() -> None:
    """Prints what first and later fits on the host take, beside what is expected of them."""
    cores = num_cores()
    rng = np.random.default_rng(0)
    print(f"\nhost, {cores} cores: seconds of a first fit / of a later one / expected of it")
    for name, make in ESTIMATORS.items():
        for size in MEASURED if name != "soft tree" else MEASURED[:3]:
            X = rng.normal(size=size)
            y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=size[0]) > 0
            took = []
            for _ in range(2):
                began = time.perf_counter()
                make().fit(X, y)
                took.append(time.perf_counter() - began)
            expected = costs.seconds(make().work_of_fit(*size), costs.HOST, cores=cores)[1]
            ratio = took[1] / expected
            print(
                f"{name:24s} {size[0]:>9,} x {size[1]:<3d} {took[0]:8.3f} {took[1]:8.3f} {expected:8.3f}  x {ratio:.1f}"
            )


def main() -> None:
    """Prints the choices, and measures if it is asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="fit on the host, too")
    arguments = parser.parse_args()
    for accelerator in ("gpu", "tpu"):
        choices(accelerator)
    if arguments.measure:
        measure()


if __name__ == "__main__":
    main()
