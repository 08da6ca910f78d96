"""The kernels in C++: the tree of XLA's own code, bit for bit."""

import dataclasses
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, grow
from jaxtree.growth import native, plan
from jaxtree.tree import SplitKind

NUM_FEATURES, NUM_BINS = 8, 64
KINDS = np.array([SplitKind.THRESHOLD] * 5 + [SplitKind.SUBSET, SplitKind.MULTIWAY, SplitKind.ONE_VS_REST], np.int32)
NUM_VALUES = np.where(KINDS == SplitKind.THRESHOLD, NUM_BINS - 2, 6).astype(np.int32)
LARGE = 20_000
"""Rows enough for entries to be sorted, and for work to be divided among threads."""

needs_kernels = pytest.mark.skipif(not native.is_available(), reason="the kernels are not installed")


def table(num_rows, dtype=np.uint8):
    """Codes, some of them missing, and a class and a number that depend on them."""
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.integers(0, NUM_BINS, (NUM_FEATURES, num_rows)), NUM_VALUES[:, None]).astype(dtype)
    label = ((codes[0] > 20) ^ (codes[5] % 3 == 1) ^ (codes[6] > 4) ^ (rng.random(num_rows) < 0.1)).astype(np.int32)
    return codes, label, rng.normal(size=(2, num_rows)) + label


def grown(backend, monkeypatch, *, num_rows=600, of_numbers=False, dtype=np.uint8, kinds=KINDS, seed=None, **rules):
    codes, label, numbers = table(num_rows, dtype)
    weight = np.arange(num_rows, dtype=np.int32) % 3
    features = Features(kinds, NUM_VALUES + 1, NUM_VALUES)
    limits = Limits(min_samples_leaf=3, max_features=NUM_FEATURES if seed is None else 3)
    key = None if seed is None else jax.random.key(seed)
    rules = Rules(Numbers(num_outputs=2) if of_numbers else Classes(2), samples_features=seed is not None, **rules)
    monkeypatch.setattr(plan, "backend_of", lambda platform: backend)
    data, sizes = Data(codes, numbers if of_numbers else label, weight), Sizes(NUM_BINS, capacity=2**15)
    growth = grow(data, features, limits, rules, sizes, key=key)
    assert growth.complete and growth.tree.num_nodes > 60
    return growth.tree


def assert_same(expected, tree):
    for field in dataclasses.fields(tree):
        np.testing.assert_array_equal(getattr(expected, field.name), getattr(tree, field.name), err_msg=field.name)


ALL_THRESHOLDS = np.zeros(NUM_FEATURES, np.int32)
GROWTHS = {
    "classes, rows counted": {"counts_rows": True},
    "shared rows, wide codes": {"missing": Missing.FRACTION, "dtype": np.uint16},
    "entries sorted": {"num_rows": LARGE},
    "numbers, rows counted, entries sorted": {
        "num_rows": LARGE, "of_numbers": True, "counts_rows": True, "kinds": ALL_THRESHOLDS,
    },
    "drawn features, entries sorted": {"num_rows": LARGE, "seed": 3},
}  # fmt: skip


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize("name", GROWTHS)
def test_the_tree_is_that_without_kernels(name, monkeypatch):
    expected = grown(plan.CPU, monkeypatch, **GROWTHS[name])
    assert_same(expected, grown(plan.NATIVE_CPU, monkeypatch, **GROWTHS[name]))


@needs_kernels
@pytest.mark.slow
def test_several_trees_and_targets_at_once(monkeypatch):
    codes, label, _ = table(600)
    targets = jnp.stack([label, 1 - label, (label + codes[1]) % 2])
    trees = []
    for backend in (plan.CPU, plan.NATIVE_CPU):
        monkeypatch.setattr(plan, "backend_of", lambda platform, backend=backend: backend)
        given = (None, Limits(), Rules(Classes(2)), Sizes(NUM_BINS, capacity=2048))
        one = lambda target, given=given: grow(Data(codes, target), *given).tree  # noqa: E731
        trees.append(jax.vmap(one)(targets))
    assert_same(*trees)


@needs_kernels
def test_the_kernels_are_in_use():
    assert plan.backend_of("cpu").accumulation == plan.Accumulation.NATIVE


@pytest.fixture
def anew():
    """What has been found out about the kernels is forgotten, before and after."""
    native.is_available.cache_clear()
    yield
    native.is_available.cache_clear()


def test_they_can_be_switched_off(monkeypatch, anew):
    monkeypatch.setenv("JAXTREE_NATIVE", "0")
    assert not native.is_available() and plan.backend_of("cpu") == plan.CPU


def test_kernels_of_another_version_are_left_alone(monkeypatch, anew):
    package = types.SimpleNamespace(INTERFACE=native.INTERFACE + 1, LIBRARY="nowhere")
    monkeypatch.setitem(sys.modules, "jaxtree_native", package)
    assert not native.is_available()


def test_nothing_is_installed(monkeypatch, anew):
    monkeypatch.setitem(sys.modules, "jaxtree_native", None)
    assert not native.is_available()
