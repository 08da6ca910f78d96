"""The kernel sums only the rare codes of a feature of which nearly all rows have one code; the tree is that of XLA."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.growth import Classes, Data, Features, Limits, Rules, Sizes
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.loop.grow import grow_checked
from tests.growth.native_trees import MIXED, THRESHOLDS, T, assert_that_of_xla, needs_kernel
from tests.marks import are_exhaustive

CASES = {
    "classes": {"kinds": MIXED, "num_classes": 3, "num_rare": 5},
    "numbers": {"kinds": MIXED, "of_numbers": True, "num_rare": 5},
    "several numbers": {"kinds": MIXED, "of_numbers": True, "num_outputs": 2, "num_rare": 5},
    "rows counted": {"kinds": THRESHOLDS, "of_numbers": True, "counts_rows": True, "num_rare": 5},
    "every feature": {"kinds": THRESHOLDS, "num_rare": 8},
    "newton": {"kinds": THRESHOLDS, "newton": Newton(), "num_rare": 7},
    "newton, rows counted": {"kinds": MIXED, "newton": Newton(), "counts_rows": True, "num_rare": 5},
    "newton, several scores": {"kinds": MIXED, "newton": Newton(3, 3), "num_rare": 5},
    "newton, wide sums": {"kinds": THRESHOLDS, "newton": Newton(needs_wide_sums=True), "num_rare": 5},
    "newton, best first": {"kinds": THRESHOLDS, "newton": Newton(), "num_rare": 5, "max_leaf_nodes": 9},
}
COMBINED = ("newton, rows counted", "several numbers")
"""Cases of two others together."""

CONTRACTED = ("newton, several scores", "several numbers")


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", are_exhaustive(CASES, *COMBINED))
def test_the_tree_is_that_of_xla(name, monkeypatch):
    assert_that_of_xla({"num_rows": 20_000, **CASES[name]}, monkeypatch, is_contracted=name in CONTRACTED)


@needs_kernel
@pytest.mark.parametrize(("kind", "wrong"), [(np.uint8, 255), (np.uint16, 65_535)])
def test_a_wrong_code_on_a_device_reaches_past_no_cells(kind, wrong):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (2, 2000)).astype(kind)
    codes[1] = np.where(np.arange(2000) % 50 == 0, wrong, 0)
    data = Data(jnp.asarray(codes), codes[0] % 2, np.ones(2000, np.int32))
    features = Features(np.full(2, T, np.int32), np.full(2, 3, np.int32))
    rules = Rules(Classes(2, criteria.gini))
    tree = grow_checked(
        data, features, Limits(max_depth=2), rules, Sizes(num_bins=3, capacity=7), np.zeros(1, np.uint32)
    ).tree
    assert tree.num_rows[0] == 2000 and tree.feature[0] == 0
