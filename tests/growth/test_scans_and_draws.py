"""Scans of features with many codes give the trees of histograms; random features and thresholds keep to their key."""

import jax
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Selection, Sizes, grow, take_tree

ROWS, FEATURES, MOST = 256, 3, 400
FIELDS = ("feature", "num_children", "first_child", "num_rows", "depth", "weight", "missing_branch")
RULES = {
    "gini, missing learned": Rules(Classes(3), Missing.LEARN),
    "C4.5": Rules(Classes(3, criteria.entropy), Missing.FRACTION, Selection.GAIN_RATIO),
    "numbers, missing last, rows counted": Rules(Numbers(), Missing.BRANCH, counts_rows=True),
    "Poisson, missing shared out": Rules(Numbers(criteria.poisson), Missing.FRACTION),
}


def table(seed=0):
    """Codes past 255 of few distinct values, so that the same rows fit into a histogram; weights and targets."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice(MOST, 60, replace=False))
    codes = values[rng.integers(0, 60, (FEATURES, ROWS))]
    is_missing = rng.random(codes.shape) < 0.1
    dense = np.searchsorted(values, codes)
    signal = codes[0] / 100 + (codes[1] > 200) + rng.random(ROWS)
    return np.where(is_missing, MOST, codes), np.where(is_missing, 60, dense), signal, rng.random(ROWS) + 0.5


def num_bins(num_values):
    return 512 if num_values > 255 else 64


def of_every_code(apart, num_codes):
    """The same for every feature, of codes that no row has as of the last."""
    return np.tile(np.pad(apart, (0, num_codes - len(apart)), mode="edge"), (FEATURES, 1)).astype(np.int32)


def grown(codes, num_values, signal, weight, rules):
    target = np.floor(signal).clip(0, 2).astype(np.int32) if rules.objective.classes else signal
    features = Features(
        np.zeros(FEATURES, np.int32),
        np.full(FEATURES, num_values + 1, np.int32),
        np.full(FEATURES, num_values, np.int32),
        next_separable=of_every_code(np.minimum(np.arange(num_values + 1) + 1, num_values), num_bins(num_values)),
    )
    with jax.enable_x64(True):
        data, limits = Data(codes.astype(np.uint16), target, weight), Limits(min_samples_leaf=2, min_samples_split=4)
        sizes = Sizes(num_bins(num_values), capacity=512, entry_capacity=16 * ROWS)
        growth = grow(data, features, limits, rules, sizes)
    assert growth.complete
    return take_tree(growth.tree)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "learned" not in name else name for name in RULES]
)
def test_a_scan_gives_the_tree_of_a_histogram(name):
    wide, dense, signal, weight = table()
    scanned, tabled = grown(wide, MOST, signal, weight, RULES[name]), grown(dense, 60, signal, weight, RULES[name])
    assert scanned.node_count > 20
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(scanned, field), getattr(tabled, field), err_msg=field)
    for field in ("impurity", "gain"):
        np.testing.assert_allclose(getattr(scanned, field), getattr(tabled, field), rtol=1e-12, atol=1e-14)
    # The codes are other ones, the cuts are the same.
    values = np.sort(np.unique(wide[wide < MOST]))
    known = ~tabled.is_leaf & (tabled.code < 60)
    np.testing.assert_array_equal(scanned.code[known], values[tabled.code[known]])


@pytest.mark.slow
def test_codes_too_close_are_not_cut_apart():
    """With every code close to the next three, fewer cuts are left, the same for scans and histograms."""
    wide, dense, signal, _ = table(1)
    wide, dense = np.where(wide == MOST, 0, wide), np.where(dense == 60, 0, dense)
    values = np.sort(np.unique(wide))
    # For codes between present ones the nearest present one above decides.
    apart_dense = np.minimum(np.arange(61) + 4, 60)
    apart_wide = np.array(
        [np.append(values, [MOST] * 8)[np.searchsorted(values, c, side="right") + 3] for c in range(401)]
    )
    trees = []
    for codes, num_values, apart in ((wide, MOST, apart_wide), (dense, 60, apart_dense)):
        features = Features(
            np.zeros(FEATURES, np.int32), np.full(FEATURES, num_values + 1, np.int32),
            np.full(FEATURES, num_values, np.int32), next_separable=of_every_code(apart, num_bins(num_values)),
        )  # fmt: skip
        data, sizes = Data(codes.astype(np.uint16), signal), Sizes(num_bins(num_values), capacity=512)
        trees.append(take_tree(grow(data, features, Limits(), Rules(Numbers()), sizes).tree))
    for field in ("feature", "num_children", "num_rows", "depth"):
        np.testing.assert_array_equal(getattr(trees[0], field), getattr(trees[1], field), err_msg=field)
    tree, split = trees[1], ~trees[1].is_leaf
    assert np.all(tree.next_code[split] >= apart_dense[tree.code[split]])


# Draws


def drawn(seed, *, key=None, max_features=2**31 - 1, rows=None, **draws):
    _, dense, signal, _ = table()
    codes = np.concatenate([dense, dense[:, ::-1]])
    rows = np.arange(ROWS) if rows is None else rows
    key = jax.random.key(seed) if key is None else key
    data, limits = Data(codes[:, rows].astype(np.uint8), signal[rows]), Limits(max_features=max_features, max_depth=4)
    growth = grow(data, None, limits, Rules(Numbers(), **draws), Sizes(num_bins=64, capacity=64), key=key)
    return take_tree(growth.tree)


@pytest.mark.parametrize("draws", ["samples_features", "samples_thresholds"])
def test_the_same_key_gives_the_same_tree_and_another_key_another(draws):
    options = {draws: True, "max_features": 2}
    first, again = drawn(1, **options), drawn(1, **options)
    np.testing.assert_array_equal(first.feature, again.feature)
    np.testing.assert_array_equal(first.code, again.code)
    others = [drawn(seed, **options) for seed in range(2, 6)]
    assert any((tree.feature[0], tree.code[0]) != (first.feature[0], first.code[0]) for tree in others)


@pytest.mark.parametrize("draws", ["samples_features", "samples_thresholds"])
def test_what_is_drawn_does_not_depend_on_the_order_of_rows(draws):
    options = {draws: True, "max_features": 2}
    order = np.random.default_rng(0).permutation(ROWS)
    a, b = drawn(1, **options), drawn(1, rows=order, **options)
    for field in ("feature", "code", "num_rows", "target_sum"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


def test_every_feature_is_drawn_by_some_key_and_one_alone_is_looked_at():
    roots = {int(drawn(seed, samples_features=True, max_features=1).feature[0]) for seed in range(40)}
    assert roots == set(range(2 * FEATURES))


@pytest.mark.slow
def test_all_features_drawn_is_the_tree_without_draws():
    """As many features as there are: the draw changes nothing."""
    a, b = drawn(1, samples_features=True), drawn(1)
    np.testing.assert_array_equal(a.feature, b.feature)
    np.testing.assert_array_equal(a.code, b.code)


def test_random_thresholds_spread_over_the_range_and_leave_both_sides_rows():
    cuts = [drawn(seed, samples_thresholds=True) for seed in range(30)]
    assert len({int(tree.code[0]) for tree in cuts}) > 15
    for tree in cuts:
        assert np.all(tree.num_rows > 0)
