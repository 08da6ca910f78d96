"""Growth to a number of leaves: the trees are those that best-first growth cuts out of the whole ones."""

import dataclasses

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree import criteria
from jaxtree.growth import Classes, Data, Limits, Missing, Numbers, Rules, Sizes, grow
from jaxtree.growth.inputs.newton import Newton, Penalties
from jaxtree.growth.loop.grow import num_programs
from jaxtree.kernels import choose
from jaxtree.prune import max_leaf_nodes
from jaxtree.tree import take_tree
from tests.growth.native_trees import BRANCHES, MIXED, THRESHOLDS, assert_same, grown, needs_kernel
from tests.marks import rest_is_slow

CASES = {
    "classes": {"kinds": MIXED},
    "entropy of many": {"kinds": MIXED, "num_classes": 3, "criterion": criteria.entropy, "weight": "floats"},
    "branches": {"kinds": BRANCHES, "missing": Missing.BRANCH, "num_categories": 4, "num_bins": 32},
    "numbers": {"kinds": MIXED, "of_numbers": True},
    "rows counted": {"kinds": THRESHOLDS, "counts_rows": True, "weight": "floats"},
    "random": {"kinds": THRESHOLDS, "max_features": 3, "draws_ties": True, "level_features": 6},
    "drawn": {"kinds": THRESHOLDS, "draws_thresholds": True},
    "sets": {"kinds": MIXED, "sets": [[0, 1, 2, 6], [3, 4, 5, 7], [0, 7]]},
    "monotone": {"kinds": THRESHOLDS, "monotone": (1, -1, 0, 0, 1, 0, 0, 0), "of_numbers": True},
    "derivatives": {"kinds": MIXED, "newton": Newton(2, 2, has_noise=True), "penalties": Penalties(1.0, 0.1)},
    "wide codes": {"kinds": THRESHOLDS, "num_bins": 512},
}
OF_XLA = ("classes", "numbers", "random", "drawn", "sets", "monotone", "derivatives")
"""Cases that XLA's programs grow best-first in ways of their own; how these score others, tests of whole trees see."""

ways = pytest.mark.parametrize(
    "uses_kernel",
    [pytest.param(True, marks=needs_kernel), pytest.param(False, marks=pytest.mark.slow)],
    ids=["C++", "XLA"],
)
BUDGETS = (2, 3, 11, 30)
CODES = np.random.default_rng(0).integers(0, 32, (6, 800)).astype(np.uint8)
TARGET = ((CODES[0] > 9) ^ (CODES[1] > 20) ^ (CODES[2] + CODES[3] > 31)).astype(np.int32)


def trees(forest, num_roots=1):
    return [take_tree(jax.tree.map(np.asarray, forest), root=root) for root in range(num_roots)]


def assert_cut(own, whole, most):
    """A tree is the part of the whole one that best-first growth makes."""
    expected = take_tree(whole, collapsed=np.asarray(max_leaf_nodes(whole, most)))
    is_split = expected.num_children > 0
    for field in dataclasses.fields(own):
        given, other = getattr(own, field.name), getattr(expected, field.name)
        if field.name in ("feature", "code", "next_code", "threshold", "split_kind", "subset", "gain"):
            given, other = given[is_split], other[is_split]
        if field.name in ("gain", "impurity"):
            # Programs of XLA contract products and sums or not.
            np.testing.assert_allclose(given, other, rtol=1e-12, err_msg=field.name)
        elif field.name not in ("missing_code", "missing_branch"):
            np.testing.assert_array_equal(given, other, err_msg=field.name)


def assert_cuts(uses_kernel, monkeypatch, case):
    # The kernel's whole trees are those of XLA, which would take a program more to compile.
    with monkeypatch.context() as patch:
        (whole,) = trees(grown(choose.is_there(), patch, **case))
    for most in BUDGETS:
        tree = grown(uses_kernel, monkeypatch, **case, max_leaf_nodes=most)
        assert most - 3 <= take_tree(tree).n_leaves <= most
        assert_cut(take_tree(tree), whole, most)


@needs_kernel
@pytest.mark.parametrize("name", rest_is_slow(CASES, 6))
def test_trees_of_the_kernel_are_cut_out_of_whole_ones(name, monkeypatch):
    assert_cuts(True, monkeypatch, CASES[name])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in OF_XLA else pytest.mark.exhaustive) for n in CASES]
)
def test_trees_of_xla_are_cut_out_of_whole_ones(name, monkeypatch):
    assert_cuts(False, monkeypatch, CASES[name])


@ways
def test_every_root_has_a_budget_of_its_own(uses_kernel, monkeypatch):
    case, budgets = {"kinds": MIXED, "num_roots": 4}, [1, 5, 40, 12]
    whole = trees(grown(uses_kernel, monkeypatch, **case), 4)
    own = trees(grown(uses_kernel, monkeypatch, **case, max_leaf_nodes=np.array(budgets)), 4)
    for tree, other, most in zip(own, whole, budgets, strict=True):
        assert tree.n_leaves == most
        assert_cut(tree, other, most)


@pytest.mark.slow
def test_rows_shared_among_branches(monkeypatch):
    case = {"kinds": THRESHOLDS, "missing": Missing.FRACTION, "num_rows": 300}
    (whole,) = trees(grown(False, monkeypatch, **case))
    for most in BUDGETS:
        assert_cut(take_tree(grown(False, monkeypatch, **case, max_leaf_nodes=most)), whole, most)


@ways
def test_of_splits_that_save_the_same_that_of_the_first_node_is_made(uses_kernel, monkeypatch):
    """Sixteen blocks of rows are alike, so that every level's splits save the same."""
    if not uses_kernel:
        monkeypatch.setattr(choose, "is_there", lambda: False)
    bits = np.arange(16) >> np.arange(4)[:, None] & 1
    codes, target = np.repeat(bits, 4, axis=1).astype(np.uint8), np.tile([0.0, 1.0, 2.0, 3.0], 16)
    target += np.repeat(np.arange(4) @ (bits * [[16], [8], [4], [2]]), 4)
    given = Data(codes, target), None, Limits(), Rules(Numbers(criteria.squared_error, 1))
    (whole,) = trees(grow(*given, Sizes(2, 64)).tree)
    for most in range(2, 16):
        limits, rules = Limits(max_leaf_nodes=most), given[3]._replace(grows_best_first=True)
        (own,) = trees(grow(*given[:2], limits, rules, Sizes(2, 32)).tree)
        assert own.n_leaves == most
        assert_cut(own, whole, most)


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_tree_is_that_of_one_device(num_devices):
    given = (
        Data(CODES, TARGET),
        None,
        Limits(max_leaf_nodes=13),
        Rules(Classes(2), grows_best_first=True),
        Sizes(32, 32),
    )
    mesh = Mesh(np.array(jax.devices()[:num_devices]), ("rows",))
    assert_same(grow(*given, mesh=mesh).tree, grow(*given).tree)


@ways
def test_budgets_share_a_program(uses_kernel, monkeypatch):
    if not uses_kernel:
        monkeypatch.setattr(choose, "is_there", lambda: False)
    rules, before = Rules(Classes(2), grows_best_first=True), num_programs()
    for most in (2, 5, 9, 16):
        tree, complete = grow(Data(CODES, TARGET), None, Limits(max_leaf_nodes=most), rules, Sizes(32, 31))
        assert complete and take_tree(tree).n_leaves == most
    assert num_programs() <= before + 1


def test_a_table_without_room_is_not_complete():
    given = Data(CODES, TARGET), None, Limits(max_leaf_nodes=16), Rules(Classes(2), grows_best_first=True)
    assert grow(*given, Sizes(32, 31)).complete and not grow(*given, Sizes(32, 30)).complete
