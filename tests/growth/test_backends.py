"""The ways to sum on other kinds of devices, run on a CPU: they give the same tree."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxtree.growth import backends, prepare
from jaxtree.growth.criteria import squared_error
from jaxtree.growth.grow import grow
from jaxtree.growth.inputs import Features, Limits
from jaxtree.tree import SplitKind

NUM_ROWS, NUM_FEATURES = 512, 8
KINDS = np.array([SplitKind.THRESHOLD] * 6 + [SplitKind.SUBSET] * 2, np.int32)
VALUES = np.where(KINDS == SplitKind.THRESHOLD, 39, 7).astype(np.int32)


def table():
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.integers(0, 41, (NUM_FEATURES, NUM_ROWS)), VALUES[:, None]).astype(np.uint8)
    label = ((codes[0] > 20) ^ (codes[6] % 3 == 1) ^ (rng.random(NUM_ROWS) < 0.1)).astype(np.int32)
    return codes, label, rng.normal(size=NUM_ROWS) + label


def grown(**keywords):
    codes, label, number = table()
    target = label if "num_classes" in keywords else number
    weight = np.arange(NUM_ROWS, dtype=np.int32) % 3
    features = Features(KINDS, VALUES + 1, VALUES)
    limits = Limits(min_samples_leaf=3, max_features=2 if "key" in keywords else NUM_FEATURES)
    growth = grow(codes, target, weight, features, limits, num_bins=64, capacity=1024, **keywords)
    assert growth.complete and growth.tree.num_nodes > 60
    return growth.tree


GROWTHS = {
    "classes, rows counted": {"num_classes": 2, "counts_rows": True},
    "numbers": {"criterion": squared_error},
    "drawn features": {"num_classes": 2, "draws_features": True, "key": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWTHS)
def test_other_devices_ways_give_the_same_tree(name, monkeypatch):
    keywords = {k: jax.random.key(v) if k == "key" else v for k, v in GROWTHS[name].items()}
    expected = grown(**keywords)
    for usual in (backends.GPU, backends.TPU):
        backend = usual._replace(bytes_per_table=2**14)
        monkeypatch.setattr(prepare, "backend_of", lambda platform, backend=backend: backend)
        tree = grown(**keywords)
        for field in dataclasses.fields(tree):
            a, b = getattr(expected, field.name), getattr(tree, field.name)
            if field.name in ("impurity", "gain"):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(a, b, err_msg=field.name)
