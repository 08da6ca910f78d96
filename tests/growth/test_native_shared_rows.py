"""The kernel in C++ shares rows whose value is missing among branches, as XLA's programs do."""

import jax
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.growth import Missing, Selection, grow
from tests.growth import native_trees as native
from tests.growth.native_trees import BRANCHES, MIXED, THRESHOLDS, M, O, S, T, needs_kernel
from tests.marks import are_exhaustive

ROWS = 240
C45 = {"criterion": criteria.entropy, "selection": Selection.GAIN_RATIO}
MISSING_SHARES = (0.0, 0.02, 0.2, 0.6)
"""Shares of values that are missing: every case is grown with each, from other random numbers."""

CASES = {
    "C4.5": {"kinds": (T, M, T, M, T, M, M, M), "num_classes": 3, **C45},
    "C4.5 of few classes, weights": {"kinds": BRANCHES, "weight": "floats", "min_samples_leaf": 2.5, **C45},
    "C4.5 of binary splits": {"kinds": (T, O, T, S, T, O, S, O), "num_classes": 4, "weight": "floats", **C45},
    "C4.5 by gain": {"kinds": BRANCHES, "criterion": criteria.entropy, "selection": Selection.INFORMATION},
    "C4.5, drawn thresholds": {"kinds": THRESHOLDS, "draws_thresholds": True, **C45},
    "CART": {"kinds": MIXED, "num_classes": 3},
    "CART, multiway": {"kinds": BRANCHES, "weight": "floats"},
    "rows counted": {"kinds": MIXED, "counts_rows": True, "min_samples_leaf": 5, "missing_shares": (0.02, 0.2)},
    "two outputs": {"kinds": MIXED, "num_classes": 3, "num_outputs": 2},
    "two numbers": {"kinds": MIXED, "of_numbers": True, "num_outputs": 2, "missing_shares": (0.0, 0.2)},
    "Poisson": {"kinds": THRESHOLDS, "of_numbers": True, "criterion": criteria.poisson, "weight": "floats"},
    "best first": {"kinds": MIXED, "max_leaf_nodes": 20},
    "several threads": {"kinds": BRANCHES, "num_rows": 40_000, "max_depth": 4, "missing_shares": (0.1,)},
    "many classes": {"kinds": (T, M, T, T, M, T, T, O), "num_classes": 70, **C45},
    "values too close": {"kinds": MIXED, "is_apart": True},
    "monotone": {"kinds": MIXED, "monotone": (1, -1, 0, 1, 0, 0, 0, 0)},
    "drawn features": {"kinds": MIXED, "max_features": 3},
    "drawn thresholds": {"kinds": MIXED, "draws_thresholds": True},
    "drawn ties": {"kinds": MIXED, "draws_ties": True},
    "many trees": {"kinds": BRANCHES, "num_roots": 3},
}
OTHERS = (
    "C4.5, drawn thresholds", "CART, multiway", "two outputs", "values too close", "monotone", "drawn features",
    "drawn thresholds", "drawn ties", "many trees",
)  # fmt: skip
"""Rules that share rows as those above do, and whose own ways trees of whole rows test."""


def shared(seed, missing_share, **case):
    """A random table of a case, and how it is grown: `grow` has these arguments."""
    case = {"num_rows": ROWS, "num_bins": 32, "num_categories": 5, "missing": Missing.FRACTION, **case}
    *given, sizes = native.arguments(seed=seed, missing_share=missing_share, **case)
    return *given, sizes._replace(capacity=4096, entry_capacity=32 * case["num_rows"])


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", are_exhaustive(CASES, *OTHERS))
def test_the_tree_is_that_of_xla(name, monkeypatch):
    case, num_nodes = dict(CASES[name]), 0
    for seed, share in enumerate(case.pop("missing_shares", MISSING_SHARES)):
        trees = []
        for uses_kernel in (False, True):
            native.choose_engine(uses_kernel, monkeypatch)
            with jax.enable_x64(True):
                tree, is_complete = grow(*shared(seed, share, **case), key=jax.random.key(3))
            assert is_complete
            trees.append(tree)
        num_nodes += int(trees[1].num_nodes)
        # Weights are fractions, for which XLA contracts products and sums or not: gains may differ in the last bits.
        native.assert_same(trees[1], trees[0], is_contracted=True)
    assert num_nodes > 20


@needs_kernel
def test_the_kernel_needs_no_capacity_for_entries():
    data, features, limits, rules, sizes = shared(2, 0.4, kinds=BRANCHES, num_classes=3, **C45)
    grown = grow(data, features, limits, rules, sizes._replace(entry_capacity=ROWS))
    num_at_depth = np.bincount(grown.tree.depth, grown.tree.num_rows)
    assert grown.complete and num_at_depth.max() > 2 * ROWS
