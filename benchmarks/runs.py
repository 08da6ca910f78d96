"""Searches over soft trees: 64 trainings of one shape beside one.

    python -m benchmarks.runs [--rows 150 1000] [--depths 3 6] [--gates oblique axis hard] [--steps 2500] [--cores 1]
    JAXTREE_NATIVE=0 python -m benchmarks.runs

A search of 16 settings of rates, temperatures and averages on 4 folds is timed beside one setting on one fold; every
fit makes as many steps, of 256 rows at most, of eight columns. Cold is the first search of a shape, which compiles with
nothing cached; warm is the least of three later ones, and both take turns. A line has seconds of the clock and CPU
seconds of the warm searches, the ratios of 64 fits to one, and microseconds of CPU a step, with all that a fit does
besides.
"""

import argparse
import itertools
import os
import time

import jax
import numpy as np
from sklearn.model_selection import StratifiedKFold

from jaxtree import SearchCV, SoftTreeClassifier
from jaxtree.compilation import PROGRAMS

GRID = {"gate_rate": [0.02, 0.05], "leaf_rate": [0.1, 0.3], "last_temperature": [0.2, 0.4], "averaging": [0.9, 0.99]}
NUM_FOLDS = 4
NUM_FITS = 2 ** len(GRID) * NUM_FOLDS
REPEATS = 3
HEADING = ("one: cold", "warm", "CPU", "64: cold", "warm", "CPU", "ratio: cold", "warm", "CPU", "us a step")


def main(arguments=None):
    """Prints a line of figures for every shape."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", nargs="+", type=int, default=[150, 1000])
    options.add_argument("--depths", nargs="+", type=int, default=[3, 6])
    options.add_argument("--gates", nargs="+", default=["oblique", "axis", "hard"])
    options.add_argument("--steps", type=int, default=2500)
    options.add_argument("--cores", type=int, help="the cores of the process; all that there are if not given")
    chosen = options.parse_args(arguments)
    if chosen.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.cores])
    jax.config.update("jax_enable_compilation_cache", False)
    print(f"{'rows, depth, gate':20}" + "".join(f"{name:>12}" for name in HEADING))
    for shape in itertools.product(chosen.rows, chosen.depths, chosen.gates):
        print(line_of(*shape, chosen.steps), flush=True)


def line_of(num_rows, depth, gate, num_steps):
    """Returns the figures of a shape."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(num_rows, 8))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * draw.normal(size=num_rows) > 0
    splits = [*StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=0).split(X, y)]
    steps_an_epoch = -(-len(splits[0][0]) // 256)
    num_epochs = max(num_steps // steps_an_epoch, 1)
    estimator = SoftTreeClassifier(depth=depth, gate=gate, max_epochs=num_epochs, random_state=0)
    searches = ({name: values[:1] for name, values in GRID.items()}, splits[:1]), (GRID, splits)

    def seconds_of(grid, folds):
        began, cpu = time.perf_counter(), time.process_time()
        SearchCV(estimator, grid, cv=folds, refit=False).fit(X, y)
        return time.perf_counter() - began, time.process_time() - cpu

    cold = []
    for search in searches:
        PROGRAMS.clear()
        cold.append(seconds_of(*search)[0])
    warm = np.min([[seconds_of(*search) for search in searches] for _ in range(REPEATS)], axis=0)
    (one, one_cpu), (many, many_cpu) = warm.tolist()
    seconds = "".join(f"{own:12.3f}" for own in (cold[0], one, one_cpu, cold[1], many, many_cpu))
    ratios = "".join(f"{own:12.1f}" for own in (cold[1] / cold[0], many / one, many_cpu / one_cpu))
    step = many_cpu / NUM_FITS / num_epochs / steps_an_epoch * 1e6
    return f"{f'{num_rows:,}, {depth}, {gate}':20}{seconds}{ratios}{step:12.1f}"


if __name__ == "__main__":
    main()
