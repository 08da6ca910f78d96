"""The ways to sum on other kinds of devices, run on a CPU: they give the same tree."""

import dataclasses
import importlib.util

import jax
import numpy as np
import pytest

from jaxtree.growth import Classes, Data, Features, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.loop import prepare
from jaxtree.growth.plan import backends
from jaxtree.kernels import choose
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
    "TPU": backends.TPU,
}


PAIRS = [
    *(("numbers", way) for way in WAYS),
    ("classes, rows counted", "GPU"),
    ("drawn features", "GPU with Warp"),
    ("drawn features", "TPU"),
]
"""Sums of numbers in every way; the other growths differ in what they do with sums."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(*pair, marks=NEEDS_WARP if "Warp" in pair[1] else ()) for pair in PAIRS]
)
def test_other_devices_ways_give_the_same_tree(name, way, monkeypatch):
    monkeypatch.setattr(choose, "is_there", lambda: False)
    expected = grown(GROWTHS[name])
    backend = with_costs(WAYS[way], bytes_per_table=2**14)
    monkeypatch.setattr(prepare, "backend_of", lambda *_: backend)
    tree = grown(GROWTHS[name])
    for field in dataclasses.fields(tree):
        a, b = getattr(expected, field.name), getattr(tree, field.name)
        if field.name in ("impurity", "gain"):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)
