"""Measures the figures of `jaxtree/growth/plan/costs.py` again, in CPU seconds and without the kernel in C++.

    python benchmarks/costs.py                        # the nanoseconds of single steps
    python benchmarks/costs.py window sort small_nodes # these figures, by growing trees
    python benchmarks/costs.py all                    # every figure: an hour

A step is timed alone, by its fastest of nine runs. A figure is halved, kept and doubled: with each the same trees grow
from the same codes, programs compiled, in turns, and the fastest run of each counts. Figures of one machine are
comparable with those of another only as ratios, which is how growth uses them.
"""

import argparse
import os
import time

os.environ["JAXTREE_NATIVE"] = "0"

import jax
import jax.numpy as jnp
import numpy as np

import jaxtree
from jaxtree.estimators.common.growing import grow_tables
from jaxtree.growth import Classes, Data, Limits, Rules, Sizes
from jaxtree.growth.inputs.mesh import Devices
from jaxtree.growth.inputs.objective import parent_stats
from jaxtree.growth.loop import prepare as preparing
from jaxtree.growth.loop.frontier import sort_by_slot
from jaxtree.growth.loop.prepare import make_problem, prepare, quantise
from jaxtree.growth.plan.backends import CPU
from jaxtree.growth.plan.costs import Costs
from jaxtree.growth.plan.problem import Frontier, NodeContext
from jaxtree.growth.splits.candidates import Judge
from jaxtree.growth.splits.drawn import drawn_histograms
from jaxtree.growth.splits.split import score_histogram
from jaxtree.growth.sums.histogram import Chunk, blank_bases, group_histograms, sampled_histograms, write_bases
from jaxtree.tree import SplitKind

NUM_ROWS, NUM_COLUMNS, NUM_BINS, NUM_NODES = 102_400, 28, 256, 64
OF_THE_KERNEL = ("bytes_in_row_order", "most_bytes_in_row_order")
OF_A_GPU = (
    "copies_of_sums", "entries_for_copies", "wait", "multiply_add", "byte", "scatter", "bytes_per_product",
)  # fmt: skip
RUNS, SECONDS_OF_TURNS = 9, 8


def cpu_seconds(work):
    """The CPU time of the fastest run."""
    jax.block_until_ready(work())
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        jax.block_until_ready(work())
        times.append(time.process_time() - start)
    return min(times)


class Level:
    """A level of 64 nodes in the middle of a growth, its entries sorted by slot."""

    def __init__(self, rules):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, NUM_BINS, (NUM_COLUMNS, NUM_ROWS)).astype(np.uint8)
        data = Data(codes, rng.integers(0, 2, NUM_ROWS).astype(np.int32))
        where = {"platform": "cpu", "devices": Devices(1)}
        sizes = Sizes(NUM_BINS, capacity=4096)
        self.plan, prepared = prepare(data, None, Limits(), rules, sizes, np.zeros(1, np.uint32), **where)
        prepared = jax.tree.map(jnp.asarray, prepared)
        entries, units = quantise(prepared, self.plan)
        self.problem = make_problem(prepared, units, self.plan)
        self.unsorted = entries._replace(slot=jnp.asarray(rng.integers(0, NUM_NODES, entries.slot.size), jnp.int32))
        none, place = jnp.int32(0), jnp.arange(4096, dtype=jnp.int32)
        used = none + NUM_NODES
        self.frontier = Frontier(place, place, place, used, none, none + NUM_ROWS, none)
        self.num_rows = jnp.zeros(4096, jnp.int32).at[self.unsorted.slot].add(1)
        entries, _ = sort_by_slot(self.unsorted, self.frontier, self.num_rows, plan=self.plan)
        slots = jnp.arange(self.plan.num_slots, dtype=jnp.int32)
        self.context = self._context(slots, units)
        window, in_order = (none, entries.size), jnp.bool_(False)
        chunk = Chunk(slots, slots, self.context, used, entries, window, in_order, (blank_bases(entries, self.plan),))
        self.chunk = chunk._replace(bases=(write_bases(chunk, 0, plan=self.plan),))
        self.features = jnp.arange(NUM_COLUMNS, dtype=jnp.int32)

    def _context(self, slots, units):
        rules = self.plan.rules
        sums = jnp.full((slots.size, rules.num_channels), NUM_ROWS // NUM_NODES // 2, jnp.int32)
        stats_of = lambda own: parent_stats(rules.objective, own, jnp.zeros(0), units)  # noqa: E731
        blank = dict.fromkeys(NodeContext._fields)
        known = {"stats": jax.vmap(stats_of)(sums), "least_weight": jnp.ones_like(slots)}
        return NodeContext(**blank | known | {"seed": slots.astype(jnp.uint32)})


def nanoseconds():
    """The figures of single steps."""
    with jax.enable_x64(True):
        level, drawn = Level(Rules(Classes(2))), Level(Rules(Classes(2), samples_thresholds=True))
        plan, problem, pairs = level.plan, level.problem, NUM_ROWS * NUM_COLUMNS
        order = np.random.default_rng(0).random((NUM_COLUMNS, plan.num_slots)).argsort(axis=0)
        own = jnp.asarray(order, jnp.int32)
        sort = jax.jit(lambda entries: sort_by_slot(entries, level.frontier, level.num_rows, plan=plan))
        look = jax.jit(lambda chunk: _sums_of_all(problem, chunk, plan))
        look_own = jax.jit(lambda chunk: sampled_histograms(problem, chunk, own, 0, plan=plan))
        every = jnp.broadcast_to(drawn.features[:, None], (NUM_COLUMNS, drawn.plan.num_slots))
        draw = jax.jit(lambda chunk: drawn_histograms(drawn.problem, chunk, every, 0, plan=drawn.plan))
        score = jax.jit(lambda histograms: _score(level, histograms))
        cells = plan.rules.num_channels * NUM_BINS
        histograms = look(level.chunk).reshape(NUM_COLUMNS, -1)[:, : plan.num_slots * cells]
        histograms = histograms.reshape(NUM_COLUMNS, plan.num_slots, plan.rules.num_channels, NUM_BINS)
        return {
            "look": cpu_seconds(lambda: look(level.chunk)) / pairs * 1e9,
            "look_own": cpu_seconds(lambda: look_own(level.chunk)) / pairs * 1e9,
            "draw": cpu_seconds(lambda: draw(drawn.chunk)) / pairs * 1e9,
            "score": cpu_seconds(lambda: score(histograms)) / histograms.size * 1e9,
            "sort": cpu_seconds(lambda: sort(level.unsorted)) / NUM_ROWS * 1e9,
        }


def _sums_of_all(problem, chunk, plan):
    """The histograms of all features, four at a time."""
    groups = jnp.arange(NUM_COLUMNS, dtype=jnp.int32).reshape(-1, 4)
    return jax.lax.map(lambda features: group_histograms(problem, chunk, features, 0, plan=plan), groups)


def _score(level, histograms):
    """The best split of every node on every feature."""
    plan, code = level.plan, jnp.arange(NUM_BINS, dtype=jnp.int32)

    def score(histogram, feature, node):
        judge = Judge(plan.rules, node, level.problem.units)
        return score_histogram(judge, feature, histogram, code, kind=SplitKind.THRESHOLD, num_words=0, num_codes=0).gain

    over_slots = jax.vmap(score, in_axes=(0, None, 0))
    return jax.lax.map(lambda of: over_slots(*of, level.context), (histograms, level.problem.features))


def tables():
    """The names of tables, and what grows from their codes."""
    rng = np.random.default_rng(0)

    def noisy(num_rows, num_columns, num_classes):
        X = rng.normal(size=(num_rows, num_columns)).astype(np.float32)
        signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + 0.8 * rng.normal(size=num_rows)
        return X, np.digitize(signal, np.quantile(signal, np.arange(1, num_classes) / num_classes))

    def letters(num_rows=15_000):
        center, y = rng.normal(size=(26, 16)) * 2 + 7, rng.integers(0, 26, num_rows)
        return np.clip(np.round(center[y] + 2 * rng.normal(size=(num_rows, 16))), 0, 15), y

    tree = jaxtree.DecisionTreeClassifier
    fits = {
        "100,000 x 28, depth 8": (tree(max_depth=8), noisy(100_000, 28, 2)),
        "20,000 x 28, 7 classes, 255 bins": (tree(max_bins=255), noisy(20_000, 28, 7)),
        "15,000 x 16, 26 classes": (tree(), letters()),
        "10,000 x 10, exact": (tree(max_bins=None), noisy(10_000, 10, 2)),
        "1,000 x 10, exact": (tree(), noisy(1000, 10, 2)),
        "20,000 x 28, drawn thresholds": (tree(splitter="random"), noisy(20_000, 28, 2)),
    }
    return {name: fit.set_params(random_state=0).growth_task(*data) for name, (fit, data) in fits.items()}


def turns(task, settings):
    """The CPU time of a growth with each of some settings of costs."""
    times = [[] for _ in settings]
    end = None
    while end is None or time.perf_counter() < end or len(times[0]) < 4:
        for own, costs in zip(times, settings, strict=True):
            backend = CPU._replace(costs=costs)
            preparing.backend_of = lambda *_, backend=backend: backend
            start = time.process_time()
            jax.block_until_ready(grow_tables([task])[0].gain)
            own.append(time.process_time() - start)
        # The first turn compiles.
        end = end or time.perf_counter() + SECONDS_OF_TURNS
    return [min(own[1:]) for own in times]


def sweep(figures):
    """Prints what half and twice of a figure add to the CPU time of a growth."""
    base, encoded = Costs(), tables()
    for figure in figures:
        value = getattr(base, figure)
        half, double = (base._replace(**{figure: type(value)(value * factor)}) for factor in (0.5, 2))
        print(f"{figure} = {value}")
        for name, table in encoded.items():
            less, kept, more = turns(table, (half, base, double))
            print(f"    {name:34} {1e3 * kept:8.1f} ms; half {less / kept - 1:+.0%}, twice {more / kept - 1:+.0%}")


def main():
    fitted = [figure for figure in Costs._fields if figure not in (*OF_THE_KERNEL, *OF_A_GPU)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", choices=[*fitted, "all", []], metavar="FIGURE")
    figures = parser.parse_args().figures
    if figures:
        sweep(fitted if "all" in figures else figures)
        return
    for name, value in nanoseconds().items():
        print(f"{name:8} {value:6.2f} ns; in growth {getattr(Costs(), name):6.2f}")


if __name__ == "__main__":
    main()
