"""Columns that are drawn for trees, levels and nodes of a boosting."""

import numpy as np
import pytest

from jaxtree import GradientBoostingRegressor
from jaxtree.boosting import BaseLearner, BoostData, ColumnFractions, ScoredRows, Shrinkage, boost, squared
from jaxtree.boosting.rounds import make_rounds
from jaxtree.errors import InvalidInputError
from jaxtree.growth import Features, Limits
from jaxtree.growth.inputs.bundles import Sizes
from jaxtree.kernels import choose
from jaxtree.tree import SplitKind

COLUMNS, BINS = 12, 16
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, BINS, (COLUMNS, 500)).astype(np.uint8)
TARGET = np.sin(CODES).sum(axis=0) + RNG.normal(0, 0.1, 500)


def boosted(fractions, *, codes=CODES, features=None, num_rounds=12, seed=5, num_bins=BINS):
    rows = ScoredRows(codes, TARGET, np.ones(TARGET.size), {})
    learner = BaseLearner(
        Limits(max_depth=5, min_samples_split=0, min_samples_leaf=0, min_gain=1e-300), Sizes(num_bins, 64)
    )
    shrinkage = Shrinkage(0.3, column_fractions=fractions)
    return boost(BoostData(rows, features), squared(), learner, shrinkage, num_rounds=num_rounds, seed=seed)


def features_of_trees(model):
    """The features that every tree splits by, at every depth."""
    return [
        [set(tree.feature[(tree.num_children > 0) & (tree.depth == depth)].tolist()) for depth in range(tree.max_depth)]
        for tree in model.forest
    ]


def all_of(levels):
    return set().union(*levels)


def test_a_tree_draws_its_columns_and_a_level_some_of_these():
    trees = features_of_trees(boosted(ColumnFractions(tree=0.5, level=0.5)))
    assert all(len(all_of(levels)) <= 6 for levels in trees)
    assert all(len(level) <= 3 for levels in trees for level in levels)
    assert max(len(all_of(levels)) for levels in trees) > 3, "levels draw anew"
    assert all_of(all_of(levels) for levels in trees) == set(range(COLUMNS)), "trees draw anew"


def test_a_node_draws_of_the_columns_of_its_level():
    """With one column a node it has no choice, so that nodes of one level differ."""
    trees = features_of_trees(boosted(ColumnFractions(tree=0.75, level=0.5, node=0.25)))
    assert all(len(level) <= 4 for levels in trees for level in levels)
    assert max(len(level) for levels in trees for level in levels) == 4


def test_all_columns_of_a_tree_are_drawn_equally_often():
    trees = features_of_trees(boosted(ColumnFractions(tree=0.25), num_rounds=200))
    times = sum(np.isin(np.arange(COLUMNS), list(all_of(levels))) for levels in trees)
    assert times.min() > 25 and times.max() < 80, times


FRACTIONS = {
    "node": ColumnFractions(node=0.3),
    "all": ColumnFractions(0.7, 0.8, 0.6),
}
MIXED = Features(
    np.array([SplitKind.THRESHOLD, SplitKind.ONE_VS_REST, SplitKind.SUBSET] * 4, np.int32), np.full(COLUMNS, BINS)
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("all", None),
        pytest.param("all", MIXED, marks=pytest.mark.slow),
        pytest.param("node", None, marks=pytest.mark.slow),
    ],
    ids=["all", "all, mixed", "node"],
)
def test_the_model_is_the_same_with_and_without_the_kernel(name, features, monkeypatch):
    if not choose.is_there():
        pytest.skip("the kernel is not installed")
    by_kernel = boosted(FRACTIONS[name], features=features)
    monkeypatch.setattr(choose, "is_there", lambda: False)
    assert_same(boosted(FRACTIONS[name], features=features), by_kernel)


def assert_same(own, other):
    for field in ("feature", "code", "num_rows", "target_sum"):
        np.testing.assert_array_equal(*(getattr(model.forest.nodes, field) for model in (own, other)), err_msg=field)


@pytest.mark.slow
def test_a_scan_of_the_columns_of_a_tree_is_a_histogram_of_them(monkeypatch):
    """Codes past 256 are scanned, in orders that must follow the columns drawn."""
    monkeypatch.setattr(choose, "is_there", lambda: False)
    wide = (CODES.astype(np.uint16) * 25).copy()
    scanned, tabled = (
        boosted(ColumnFractions(tree=0.5, level=0.7), codes=codes, num_bins=bins)
        for codes, bins in ((wide, 400), (CODES, BINS))
    )
    np.testing.assert_array_equal(scanned.forest.nodes.feature, tabled.forest.nodes.feature)
    is_split = tabled.forest.nodes.num_children > 0
    np.testing.assert_array_equal(scanned.forest.nodes.code[is_split], 25 * tabled.forest.nodes.code[is_split])


def test_a_sweep_of_fractions_is_one_program():
    boosted(ColumnFractions(0.9, 0.9, 0.9))
    before = make_rounds.num_programs()
    for fraction in (0.1, 0.34, 0.7):
        boosted(ColumnFractions(fraction, 1 - fraction, fraction))
    assert make_rounds.num_programs() == before


def test_padding_is_never_drawn():
    """Features without codes count for nothing: a third of six columns are two, and the same as of these alone."""
    padded = Features(np.zeros(COLUMNS, np.int32), np.repeat([BINS, 0], 6).astype(np.int32))
    trees = features_of_trees(boosted(ColumnFractions(tree=1 / 3), features=padded))
    assert {len(all_of(levels)) for levels in trees} == {2}
    assert all_of(all_of(levels) for levels in trees) == set(range(6))


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5, float("nan")])
def test_a_fraction_that_is_none_is_named(fraction):
    with pytest.raises(InvalidInputError, match=f"of a level must be in .0, 1., got {fraction}"):
        boosted(ColumnFractions(level=fraction))
    with pytest.raises(InvalidInputError, match="'colsample_bynode' parameter"):
        GradientBoostingRegressor(colsample_bynode=fraction).fit(CODES.T, TARGET)
