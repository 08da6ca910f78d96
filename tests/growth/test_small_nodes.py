"""Small nodes are scored by histograms of their own codes: they split as by histograms of all codes."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.compilation import PROGRAMS
from jaxtree.growth import Missing
from jaxtree.growth.loop import prepare
from jaxtree.growth.plan import backends
from jaxtree.growth.splits import small
from jaxtree.growth.splits.split import NO_CODE
from tests.growth.native_trees import MIXED, THRESHOLDS, assert_same, grown
from tests.growth.test_backends import with_costs

CASES = {
    "drawn thresholds": {"kinds": MIXED, "draws_thresholds": True},
    "every kind of split": {"kinds": MIXED},
    "many categories, three classes, values too close": {
        "kinds": MIXED,
        "num_categories": 20,
        "num_classes": 3,
        "is_apart": True,
    },
    "drawn features and thresholds, missing last": {
        "kinds": THRESHOLDS,
        "draws_thresholds": True,
        "max_features": 3,
        "missing": Missing.BRANCH,
    },
    "drawn features, numbers": {"kinds": MIXED, "max_features": 3, "of_numbers": True, "counts_rows": True},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name != "drawn thresholds" else name for name in CASES]
)
def test_the_tree_is_that_of_histograms_of_all_codes(name, monkeypatch):
    scored = []
    score = small.splits_of_small
    monkeypatch.setattr(
        "jaxtree.growth.splits.best_splits.splits_of_small", lambda *a, **how: scored.append(1) or score(*a, **how)
    )
    PROGRAMS.clear()
    tree = grown(False, monkeypatch, **CASES[name])
    assert scored
    scored.clear()
    backend = with_costs(backends.CPU, bins_for_small_nodes=10**6)
    monkeypatch.setattr(prepare, "backend_of", lambda *_: backend)
    expected = grown(False, monkeypatch, **CASES[name])
    assert not scored
    assert_same(tree, expected)


def test_a_node_s_own_histogram_holds_the_sums_of_its_codes():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, 16).astype(np.int32)
    is_member = rng.random(16) < 0.7
    sums = np.where(is_member, rng.integers(1, 9, (3, 16)), 0).astype(np.int32)
    histogram, code = map(
        np.asarray, small._own_histogram(jnp.asarray(codes), jnp.asarray(is_member), jnp.asarray(sums))
    )
    own = np.unique(codes[is_member])
    first = np.array([np.sum(codes[is_member] < one) for one in own])
    np.testing.assert_array_equal(code[first], own)
    np.testing.assert_array_equal(histogram[:, first], np.stack([sums[:, codes == one].sum(1) for one in own], axis=1))
    empty = np.setdiff1d(np.arange(16), first)
    assert (code[empty] == NO_CODE).all() and not histogram[:, empty].any()
