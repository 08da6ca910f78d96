"""Trees of many classes, of which a node has few: the kernel in C++ grows those of XLA, and describes their nodes."""

import time

import jax
import numpy as np
import pytest
import sklearn.tree

from jaxtree import DecisionTreeClassifier, criteria
from jaxtree.growth import Missing, grow
from jaxtree.growth.native import MANY_CLASSES
from tests.growth.native_trees import MIXED, THRESHOLDS, arguments, assert_same, choose_engine, needs_kernel
from tests.marks import rest_is_slow

CASES = {
    "whole weights, missing values learned": {"kinds": THRESHOLDS},
    "weights of floats": {"kinds": THRESHOLDS, "weight": "floats"},
    "entropy, values too close": {"kinds": THRESHOLDS, "criterion": criteria.entropy, "is_apart": True},
    "categories, missing last": {"kinds": (0, 0, 2, 2, 0, 2, 2, 2), "missing": Missing.BRANCH},
}

SLOW_CASES = {
    "two targets, rows counted, best-first": {
        "kinds": MIXED,
        "num_outputs": 2,
        "counts_rows": True,
        "max_leaf_nodes": 20,
    },
}

pytestmark = needs_kernel


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW_CASES.values(), ids=SLOW_CASES)
def test_trees_of_several_targets_of_many_classes_are_those_of_xla(case, monkeypatch):
    assert_many_classes_are_as_in_xla(case, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("case", rest_is_slow(CASES.values()), ids=CASES)
def test_trees_of_many_classes_are_those_of_xla(case, monkeypatch):
    assert_many_classes_are_as_in_xla(case, monkeypatch)


def assert_many_classes_are_as_in_xla(case, monkeypatch):
    rng = np.random.default_rng(0)
    data, *others = arguments(num_classes=MANY_CLASSES + 3, num_rows=400, num_bins=32, **case)
    # Half of the rows have one of four classes, so that splits are worth something.
    code = rng.integers(0, MANY_CLASSES + 3, data.target.shape)
    usual = np.broadcast_to(data.codes[0] // 8, data.target.shape).astype(np.int64)
    data = data._replace(target=np.where(rng.random(data.target.shape) < 0.5, usual, code).astype(np.int32))
    trees = []
    for uses_kernel in (True, False):
        choose_engine(uses_kernel, monkeypatch)
        with jax.enable_x64(True):
            tree, complete = grow(data, *others)
        assert complete and int(tree.num_nodes) > 15
        trees.append(tree)
    assert_same(*trees, is_contracted=True)


@pytest.mark.slow
def test_more_classes_than_a_node_has_cost_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 5)), rng.permutation(np.arange(5000) % 1500)

    def seconds(model):
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start

    with pytest.warns(match="identifier"):
        own = min(seconds(DecisionTreeClassifier()) for _ in range(3))
    # A fifth of it where the machine has nothing else to do; every node was as wide as the table before.
    assert own < min(seconds(sklearn.tree.DecisionTreeClassifier()) for _ in range(2))
