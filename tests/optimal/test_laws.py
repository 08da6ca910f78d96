"""Rows in any order, any number of devices, tables that are too wide, and the threads of the kernel."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxtree import OptimalTreeClassifier, OptimalTreeRegressor, refine
from jaxtree.errors import InvalidInputError
from jaxtree.kernels import choose
from jaxtree.optimal.costs import cost_of_classes
from jaxtree.optimal.exact import SplitTable
from jaxtree.optimal.indicators import make_indicators
from tests.growth.test_mesh import assert_same, mesh_of


def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (120, 4)).astype(float)
    return X, (X[:, 0] > 2) ^ (X[:, 1] > 3) ^ (rng.random(120) < 0.1)


@pytest.mark.parametrize("estimator", [OptimalTreeClassifier, OptimalTreeRegressor])
@pytest.mark.parametrize("depth", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_neither_the_order_of_rows_nor_devices_matter(estimator, depth):
    X, y = table()
    model = lambda: estimator(max_depth=depth, max_thresholds=3, refine_thresholds=False, time_limit=None)  # noqa: E731
    expected, order = model().fit(X, y), np.random.default_rng(1).permutation(len(y))
    shuffled = model().fit(X[order], y[order])
    assert_same(shuffled.tree_, expected.tree_)
    assert shuffled.optimality_ == expected.optimality_
    for num_devices in (2, 4):
        assert_same(model().fit(X, y, mesh=mesh_of(num_devices)).tree_, expected.tree_)


def test_a_refined_tree_is_the_same_for_rows_in_any_order():
    X, y = table()
    tree, order = OptimalTreeClassifier(max_depth=2).fit(X, ~y), np.random.default_rng(1).permutation(len(y))
    expected = refine(tree, X, y, n_restarts=2)
    assert_same(refine(tree, X[order], y[order], n_restarts=2).tree_, expected.tree_)


def test_a_table_of_too_many_columns_is_an_error_that_says_what_to_do():
    X = np.random.default_rng(0).integers(0, 2, (40, 5000))
    y = X[:, 4321]
    with pytest.raises(InvalidInputError, match=r"up to 4096 .* has 5000: choose fewer columns, .* or max_depth=2"):
        OptimalTreeClassifier(max_depth=3).fit(X, y)
    assert OptimalTreeClassifier(max_depth=1).fit(X, y).objective_ == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir() or (os.cpu_count() or 1) < 2, reason="threads are not counted")
def test_the_kernel_uses_several_threads():
    if not choose.is_there():
        pytest.skip("the kernel is not installed")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, (8, 20_000)).astype(np.uint8)
    made = cost_of_classes(rng.integers(0, 2, 20_000), 2, None)
    indicators = make_indicators(codes, np.full(8, 40, np.int32), np.zeros(8, bool), [np.arange(39)] * 8)
    splits, everyone = SplitTable(indicators, made, choose.Engines.of("cpu")), np.ones(20_000, bool)
    jax.block_until_ready(splits.sides(everyone, 1))
    before = ticks()
    splits.sides(everyone, 3)
    spent = sorted(now - before.get(thread, 0) for thread, now in ticks().items())
    assert spent[-2] > 0.1 * spent[-1]


def ticks():
    """The processor's time of every thread."""
    found = {}
    for thread in Path("/proc/self/task").iterdir():
        fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
        found[thread.name] = int(fields[11]) + int(fields[12])
    return found
