"""The ways to sum on other kinds of devices, run on a CPU: they give the same tree."""

import dataclasses
import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.growth import Classes, Data, Features, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.loop import prepare
from jaxtree.growth.loop.routing import _combine_at
from jaxtree.growth.plan import backends, plan
from jaxtree.growth.plan.problem import DONE
from jaxtree.tree import SplitKind

NUM_ROWS, NUM_FEATURES = 512, 8
KINDS = np.array([SplitKind.THRESHOLD] * 6 + [SplitKind.SUBSET] * 2, np.int32)
VALUES = np.where(KINDS == SplitKind.THRESHOLD, 39, 7).astype(np.int32)


def table():
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.integers(0, 41, (NUM_FEATURES, NUM_ROWS)), VALUES[:, None]).astype(np.uint8)
    label = ((codes[0] > 20) ^ (codes[6] % 3 == 1) ^ (rng.random(NUM_ROWS) < 0.1)).astype(np.int32)
    return codes, label, rng.normal(size=NUM_ROWS) + label


def grown(rules):
    codes, label, number = table()
    target = label if rules.objective.classes else number
    weight = np.arange(NUM_ROWS, dtype=np.int32) % 3
    features = Features(KINDS, VALUES + 1, VALUES)
    limits = Limits(min_samples_leaf=3, max_features=2 if rules.samples_features else NUM_FEATURES)
    sizes = Sizes(num_bins=64, capacity=1024)
    growth = grow(Data(codes, target, weight), features, limits, rules, sizes, key=jax.random.key(3))
    assert growth.complete and growth.tree.num_nodes > 60
    return growth.tree


GROWTHS = {
    "classes, rows counted": Rules(Classes(2), counts_rows=True),
    "numbers": Rules(Numbers()),
    "drawn features": Rules(Classes(2), samples_features=True),
}


def with_costs(backend, **figures):
    """A backend with other figures."""
    return backend._replace(costs=backend.costs._replace(**figures))


NEEDS_WARP = pytest.mark.skipif(importlib.util.find_spec("warp") is None, reason="Warp is not installed: jaxtree[gpu]")
WAYS = {
    "GPU": backends.GPU,
    "GPU with Warp": backends.GPU_WITH_WARP,
    "GPU with Warp, entries sorted": with_costs(backends.GPU_WITH_WARP, sort=0.0),
    "TPU": backends.TPU,
}


PAIRS = [
    *(("numbers", way) for way in WAYS),
    ("classes, rows counted", "GPU"),
    ("drawn features", "GPU with Warp, entries sorted"),
    ("drawn features", "TPU"),
]
"""Sums of numbers in every way; the other growths differ in what they do with sums."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(*pair, marks=NEEDS_WARP if "Warp" in pair[1] else ()) for pair in PAIRS]
)
def test_other_devices_ways_give_the_same_tree(name, way, monkeypatch):
    monkeypatch.setattr(prepare, "can_grow", lambda rules: False)
    expected = grown(GROWTHS[name])
    backend = with_costs(WAYS[way], bytes_per_table=2**14)
    monkeypatch.setattr(prepare, "backend_of", lambda *_: backend)
    # As for many entries.
    monkeypatch.setattr(plan, "for_entries", lambda backend, num_entries: backend)
    tree = grown(GROWTHS[name])
    for field in dataclasses.fields(tree):
        a, b = getattr(expected, field.name), getattr(tree, field.name)
        if field.name in ("impurity", "gain"):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.mark.parametrize("way", ["add", "min"])
@pytest.mark.parametrize("first", [0, 100, 700])
def test_copies_of_sums_change_nothing(way, first):
    """Those of the first 256 sums from a level's first one on, some of which are past all."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        values = jnp.asarray(rng.integers(-5, 5, 800))
        at = np.where(rng.random(5000) < 0.1, DONE, rng.integers(first, 800, 5000)).astype(np.int32)
        given = (way, values, jnp.asarray(at), jnp.asarray(rng.integers(-(2**40), 2**40, 5000)), jnp.int32(first))
        np.testing.assert_array_equal(_combine_at(*given, 16), _combine_at(*given, 1))
