"""Nodes that look at random features or thresholds: no node stops early, and every choice has its chance."""

import itertools

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, grow
from jaxtree.kernels import choose
from jaxtree.tree import SplitKind
from tests.growth.native_trees import choose_engine
from tests.marks import slow

NUM_FEATURES, PADDED = 4, 8
VALUES = np.array(list(itertools.product(range(3), repeat=NUM_FEATURES))).T
"""Every row another combination of three values."""
NUM_ROWS = VALUES.shape[1]
MAX_FEATURES = np.repeat([1, 2, 3, 4], 4)

KINDS = {
    "thresholds": [SplitKind.THRESHOLD] * 4,
    "branches": [SplitKind.MULTIWAY] * 4,
    "one against the rest": [SplitKind.ONE_VS_REST] * 4,
    "subsets": [SplitKind.SUBSET] * 4,
    "mixed": [SplitKind.THRESHOLD, SplitKind.MULTIWAY, SplitKind.ONE_VS_REST, SplitKind.SUBSET],
}
WAYS = {"histograms": (8, 1), "scans": (512, 130)}
"""How nodes are scored: the number of bins, and how far apart the three codes of a feature lie."""

HOW = [
    pytest.param(False, id="XLA"),
    pytest.param(True, id="C++", marks=pytest.mark.skipif(not choose.is_there(), reason="the kernel is not installed")),
]


@pytest.fixture
def uses_kernel(request, monkeypatch):
    """Whether the kernel in C++ grows the trees that it can."""
    if not request.param:
        choose_engine(False, monkeypatch)


def grown(
    kinds, num_bins=8, apart=1, *, targets="numbers", max_features=MAX_FEATURES, rows=None, max_depth=99,
    last_is_missing=False, position=None, **rules
):  # fmt: skip
    """One tree for each of `max_features`, with the features padded as estimators pad them."""
    rows = np.arange(NUM_ROWS) if rows is None else rows
    num_roots = len(max_features)
    codes = np.zeros((PADDED, len(rows)), np.uint16)
    codes[:NUM_FEATURES] = apart * VALUES[:, rows]
    num_codes = np.where(np.arange(PADDED) < NUM_FEATURES, 2 * apart + 1, 0)
    features = Features(
        np.append(kinds, [SplitKind.THRESHOLD] * 4).astype(np.int32),
        num_codes,
        num_codes - last_is_missing * (num_codes > 0),
        position=position,
    )
    number = np.random.default_rng(0).permutation(NUM_ROWS)[rows]
    data = Data(
        codes,
        number.astype(float) if targets == "numbers" else (number % 2).astype(np.int32),
        row=np.tile(np.arange(len(rows), dtype=np.int32), num_roots),
        root=np.repeat(np.arange(num_roots, dtype=np.int32), len(rows)),
    )
    limits = Limits(max_depth=max_depth, max_features=np.asarray(max_features, np.int32))
    rules = Rules(Numbers() if targets == "numbers" else Classes(2), **rules)
    sizes = Sizes(num_bins, capacity=2**13, num_roots=num_roots)
    growth = grow(data, features, limits, rules, sizes, key=jax.random.key(3))
    assert growth.complete
    in_use = int(growth.tree.num_nodes)
    return jax.tree.map(lambda of_node: np.asarray(of_node)[:in_use] if of_node.ndim else of_node, growth.tree)


def assert_leaves_are_pure(tree):
    impure = tree.is_leaf & (tree.impurity > 1e-9)
    assert not impure.any(), f"{impure.sum()} impure leaves, in the trees {sorted(set(tree.root[impure].tolist()))}"
    np.testing.assert_array_equal(
        np.bincount(tree.root, tree.is_leaf * tree.num_rows), np.full(MAX_FEATURES.size, NUM_ROWS)
    )


@pytest.mark.parametrize("uses_kernel", [slow(HOW[0]), HOW[1]], indirect=True)
@pytest.mark.parametrize("way", WAYS)
def test_every_leaf_is_pure_however_few_features_a_node_draws(way, uses_kernel):
    assert_leaves_are_pure(grown(KINDS["thresholds"], *WAYS[way], samples_features=True))


@pytest.mark.parametrize("uses_kernel", [slow(HOW[0]), HOW[1]], indirect=True)
@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("mixed", "numbers"),
        pytest.param("mixed", "classes", marks=pytest.mark.slow),
        *(pytest.param(name, "numbers", marks=pytest.mark.slow) for name in KINDS if name != "mixed"),
        *(pytest.param(name, "classes", marks=pytest.mark.exhaustive) for name in KINDS if name != "mixed"),
    ],
)
def test_every_leaf_is_pure_for_every_kind_of_split(name, targets, uses_kernel):
    assert_leaves_are_pure(grown(KINDS[name], targets=targets, samples_features=True))


@pytest.mark.parametrize("last_is_missing", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("samples_features", [pytest.param(False, marks=pytest.mark.slow), True])
def test_every_leaf_is_pure_with_random_thresholds(samples_features, last_is_missing):
    draws = dict(samples_thresholds=True, samples_features=samples_features, last_is_missing=last_is_missing)
    assert_leaves_are_pure(grown(KINDS["thresholds"], 256, 100, **draws))


def test_every_leaf_is_pure_where_a_random_threshold_rounds_to_the_greatest_value():
    position = np.tile(1 + np.arange(256) // 100 * np.spacing(1.0), (PADDED, 1))
    draws = dict(samples_thresholds=True, samples_features=True, position=position)
    assert_leaves_are_pure(grown(KINDS["thresholds"], 256, 100, **draws))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, missing",
    # A split by branches that puts missing values with a category never tells the two apart.
    [
        ("thresholds", Missing.LEARN),
        ("subsets", Missing.LEARN),
        ("thresholds", Missing.BRANCH),
        ("mixed", Missing.BRANCH),
    ],
)
def test_every_leaf_is_pure_with_missing_values(name, missing):
    assert_leaves_are_pure(grown(KINDS[name], missing=missing, last_is_missing=True, samples_features=True))


# How often every feature is chosen

LOOKED = np.tile([1, 2, 3], 600)
SOME_ROWS = np.random.default_rng(1).choice(NUM_ROWS, 40, replace=False)


def gains():
    """The gains of the two cuts of every feature at the root."""
    number = np.random.default_rng(0).permutation(NUM_ROWS)[SOME_ROWS].astype(float)
    sides = VALUES[:, None, SOME_ROWS] <= np.arange(2)[None, :, None]
    mean = np.where(sides, number, 0).sum(2) / sides.sum(2), np.where(sides, 0, number).sum(2) / (~sides).sum(2)
    return sides.sum(2) * mean[0] ** 2 + (~sides).sum(2) * mean[1] ** 2


def chances(looked, samples_thresholds):
    """The chance of every feature to be chosen, by counting all that may be drawn."""
    gain, wins = gains(), np.zeros(NUM_FEATURES)
    for drawn in itertools.combinations(range(NUM_FEATURES), looked):
        for cuts in itertools.product(range(2), repeat=looked):
            of_drawn = gain[list(drawn), list(cuts)] if samples_thresholds else gain[list(drawn)].max(axis=1)
            wins[drawn[of_drawn.argmax()]] += 1
    return wins / wins.sum()


@pytest.mark.parametrize(
    "num_bins, apart, samples_thresholds",
    [
        pytest.param(8, 1, False, id="histograms"),
        pytest.param(512, 130, False, id="scans", marks=pytest.mark.slow),
        pytest.param(8, 1, True, id="random thresholds"),
    ],
)
def test_every_feature_is_chosen_with_its_chance(num_bins, apart, samples_thresholds):
    tree = grown(
        KINDS["thresholds"], num_bins, apart, max_features=LOOKED, rows=SOME_ROWS, max_depth=1, samples_features=True,
        samples_thresholds=samples_thresholds,
    )  # fmt: skip
    for looked in (1, 2, 3):
        found = np.bincount(tree.feature[: LOOKED.size][looked == LOOKED], minlength=NUM_FEATURES)
        expected = found.sum() * chances(looked, samples_thresholds)
        assert not found[expected == 0].any()
        assert chisquare(found[expected > 0], expected[expected > 0]).pvalue > 1e-3
