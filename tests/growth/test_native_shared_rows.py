"""The kernel in C++ shares rows whose value is missing among branches, as XLA's programs do."""

import jax
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Selection, Sizes, grow
from tests.growth.native_trees import BRANCHES, MIXED, THRESHOLDS, M, O, S, T, assert_same, choose_engine, needs_kernel
from tests.marks import rest_is_slow

ROWS, BINS, CATEGORIES = 240, 32, 5
C45 = {"criterion": criteria.entropy, "selection": Selection.GAIN_RATIO}
MISSING_SHARES = (0.0, 0.02, 0.2, 0.6)
"""Shares of values that are missing: every case is grown with each, from other random numbers."""

FAST = {
    "C4.5": {"kinds": (T, M, T, M, T, M, M, M), "num_classes": 3, **C45},
    "numbers": {
        "kinds": MIXED,
        "of_numbers": True,
        "num_outputs": 2,
        "counts_rows": True,
        "missing_shares": (0.0, 0.2),
    },
}
SLOW = {
    "C4.5 of few classes, weights": {"kinds": BRANCHES, "has_weights": True, "min_samples_leaf": 2.5, **C45},
    "C4.5 of binary splits": {"kinds": (T, O, T, S, T, O, S, O), "num_classes": 4, "has_weights": True, **C45},
    "C4.5 by gain": {"kinds": BRANCHES, "criterion": criteria.entropy, "selection": Selection.INFORMATION},
    "CART": {"kinds": MIXED, "num_classes": 3},
    "rows counted": {"kinds": MIXED, "counts_rows": True, "min_samples_leaf": 5, "missing_shares": (0.02, 0.2)},
    "Poisson": {"kinds": THRESHOLDS, "of_numbers": True, "criterion": criteria.poisson, "has_weights": True},
    "best first": {"kinds": MIXED, "max_leaf_nodes": 20},
    "several threads": {
        "kinds": (T, M, T, M, T, T, O, S),
        "num_rows": 40_000,
        "max_depth": 4,
        "missing_shares": (0.1,),
    },
    "many classes": {"kinds": (T, M, T, T, M, T, T, O), "num_classes": 70, **C45},
}
ALL_OTHERS = {
    "C4.5, drawn thresholds": {"kinds": THRESHOLDS, "draws": "samples_thresholds", **C45},
    "CART, multiway": {"kinds": BRANCHES, "has_weights": True},
    "two outputs": {"kinds": MIXED, "num_classes": 3, "num_outputs": 2},
    "values too close": {"kinds": MIXED, "is_apart": True},
    "monotone": {"kinds": MIXED, "monotone": (1, -1, 0, 1, 0, 0, 0, 0)},
    "drawn features": {"kinds": MIXED, "draws": "samples_features"},
    "drawn thresholds": {"kinds": MIXED, "draws": "samples_thresholds"},
    "drawn ties": {"kinds": MIXED, "draws": "draws_ties"},
    "many trees": {"kinds": BRANCHES, "num_roots": 3},
}


def arguments(
    seed, missing_share, *, kinds, num_classes=2, num_outputs=1, of_numbers=False, criterion=criteria.gini, draws=None,
    has_weights=False, is_apart=False, monotone=None, max_leaf_nodes=None, num_roots=1, max_depth=99, num_rows=ROWS,
    min_samples_leaf=2, counts_rows=False, selection=Selection.GAIN,
):  # fmt: skip
    """A random table of a case, and how it is grown: `grow` has these arguments."""
    rng = np.random.default_rng(seed)
    num_values = np.where(np.array(kinds) == T, BINS - 1, CATEGORIES).astype(np.int32)
    codes = rng.integers(0, num_values[:, None], (len(kinds), num_rows))
    label = (codes[0] > 9).astype(np.int32) + codes[1] % 3 + rng.integers(0, num_classes, num_rows) // 2
    codes = np.where(rng.random(codes.shape) < missing_share, num_values[:, None], codes).astype(np.uint8)
    label = label % num_classes
    target = label if num_outputs == 1 else np.stack([label, label[::-1]])
    if of_numbers:
        target = target + rng.random(target.shape)
    data = Data(codes, target, rng.random(num_rows) if has_weights else None)
    if num_roots > 1:
        row = np.sort(rng.integers(0, num_rows, (num_roots, num_rows))).reshape(-1).astype(np.int32)
        data = Data(codes, target, row=row, root=np.repeat(np.arange(num_roots, dtype=np.int32), num_rows))
    code = np.arange(BINS)
    features = Features(
        np.array(kinds, np.int32), num_values + 1, num_values,
        monotone=None if monotone is None else np.array(monotone, np.int32),
        first_apart=np.minimum(code + 2, num_values[:, None]).astype(np.int32) if is_apart else None,
        position=np.cumsum(rng.random((len(kinds), BINS)), axis=1) if draws == "samples_thresholds" else None,
    )  # fmt: skip
    number_criterion = criterion if criterion is criteria.poisson else criteria.squared_error
    objective = Numbers(number_criterion, num_outputs) if of_numbers else Classes(num_classes, criterion, num_outputs)
    rules = Rules(
        objective, Missing.FRACTION, selection=selection, counts_rows=counts_rows,
        grows_best_first=max_leaf_nodes is not None, **{} if draws is None else {draws: True},
    )  # fmt: skip
    limits = Limits(max_depth, min_samples_leaf=min_samples_leaf, max_features=3 if draws == "samples_features" else 8)
    if max_leaf_nodes is not None:
        limits = limits._replace(max_leaf_nodes=max_leaf_nodes)
    return data, features, limits, rules, Sizes(BINS, capacity=4096, num_roots=num_roots, entry_capacity=32 * num_rows)


def assert_shares_as_xla(monkeypatch, *, missing_shares=MISSING_SHARES, **case):
    """The kernel grows the trees of XLA's programs, from tables of several shares of missing values."""
    num_nodes = 0
    for seed, share in enumerate(missing_shares):
        trees = []
        for uses_kernel in (False, True):
            choose_engine(uses_kernel, monkeypatch)
            with jax.enable_x64(True):
                tree, is_complete = grow(*arguments(seed, share, **case), key=jax.random.key(3))
            assert is_complete
            trees.append(tree)
        num_nodes += int(trees[1].num_nodes)
        # Weights are fractions, for which XLA contracts products and sums or not: gains may differ in the last bits.
        assert_same(trees[1], trees[0], is_contracted=True)
    assert num_nodes > 20


@pytest.mark.slow
@needs_kernel
@pytest.mark.parametrize("name", rest_is_slow(FAST))
def test_the_tree_is_that_of_xla(name, monkeypatch):
    assert_shares_as_xla(monkeypatch, **FAST[name])


@needs_kernel
def test_the_kernel_needs_no_capacity_for_entries():
    data, features, limits, rules, sizes = arguments(2, 0.2, kinds=BRANCHES, num_classes=3, **C45)
    grown = grow(data, features, limits, rules, sizes._replace(entry_capacity=ROWS))
    num_at_depth = np.bincount(grown.tree.depth, grown.tree.num_rows)
    assert grown.complete and num_at_depth.max() > 2 * ROWS


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_the_tree_of_every_rule_is_that_of_xla(name, monkeypatch):
    assert_shares_as_xla(monkeypatch, **SLOW[name])


@needs_kernel
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ALL_OTHERS)
def test_the_tree_of_any_rule_is_that_of_xla(name, monkeypatch):
    assert_shares_as_xla(monkeypatch, **ALL_OTHERS[name])
