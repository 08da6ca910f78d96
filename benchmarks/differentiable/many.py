"""Many soft trainings as one program: 64 of one shape beside one.

    python -m benchmarks.differentiable.many
    python -m benchmarks.differentiable.many --rows 150 1000 --depths 3 --steps 300

A search of 16 settings of rates and temperatures on 4 folds is timed beside a search of one of these settings on one of
these folds; both train a classifier for as many steps, of 256 rows at most, of eight columns. Cold is the first search
of its form: it compiles, with nothing cached. Warm is the least of three later ones; both are timed in turns. Seconds
are those of the clock, and of the processor beside, which other work on the machine changes less.
"""

import argparse
import itertools
import resource
import time

import jax
import numpy as np
from sklearn.model_selection import StratifiedKFold

from jaxtree import SearchCV, SoftTreeClassifier
from jaxtree.compilation import PROGRAMS

GRID = {"gate_rate": [0.02, 0.05], "leaf_rate": [0.1, 0.3], "last_temperature": [0.2, 0.4], "averaging": [0.9, 0.99]}
NUM_FOLDS = 4
NUM_FITS = 2**4 * NUM_FOLDS
HEADING = "rows, depth, gate", "one: cold", "warm", "64: cold", "warm", "ratio: cold", "warm", "of CPU", "us a step"


def main() -> None:
    """Prints a line of figures for every shape."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", nargs="+", type=int, default=[150, 1000, 5000])
    options.add_argument("--depths", nargs="+", type=int, default=[3, 6])
    options.add_argument("--gates", nargs="+", default=["oblique", "axis"])
    options.add_argument("--steps", type=int, default=2500)
    chosen = options.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    print(("{:20}" + "{:>12}" * 8).format(*HEADING))
    for shape in itertools.product(chosen.rows, chosen.depths, chosen.gates):
        print(line_of(*shape, chosen.steps), flush=True)


def line_of(num_rows: int, depth: int, gate: str, num_steps: int) -> str:
    """The figures of a shape."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(num_rows, 8))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * draw.normal(size=num_rows) > 0
    splits = [*StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=0).split(X, y)]
    steps_an_epoch = -(-len(splits[0][0]) // 256)
    num_epochs = max(num_steps // steps_an_epoch, 1)
    estimator = SoftTreeClassifier(depth=depth, gate=gate, max_epochs=num_epochs, random_state=0)
    lone = {name: values[:1] for name, values in GRID.items()}

    def seconds_of(grid: dict, folds: list) -> tuple[float, float]:
        began, cpu = time.perf_counter(), cpu_seconds()
        SearchCV(estimator, grid, cv=folds, refit=False).fit(X, y)
        return time.perf_counter() - began, cpu_seconds() - cpu

    searches = (lone, splits[:1]), (GRID, splits)
    cold = []
    for search in searches:
        PROGRAMS.clear()
        cold.append(seconds_of(*search)[0])
    warm = np.min([[seconds_of(*search) for search in searches] for _ in range(3)], axis=0)
    (one, one_cpu), (many, many_cpu) = warm
    a_step = many_cpu / NUM_FITS / num_epochs / steps_an_epoch * 1e6
    name = f"{num_rows:,}, {depth}, {gate}"
    seconds = "".join(f"{own:10.2f} s" for own in (cold[0], one, cold[1], many))
    ratios = "".join(f"{own:12.1f}" for own in (cold[1] / cold[0], many / one, many_cpu / one_cpu, a_step))
    return f"{name:20}{seconds}{ratios}"


def cpu_seconds() -> float:
    """Seconds of the processor that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
