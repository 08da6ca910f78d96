"""Features that a node may not split by: sets that features of a path lie within, and draws that a level shares."""

import jax
import numpy as np
import pytest

from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, grow, take_tree
from jaxtree.growth.device.open_features import sets_in_bits
from jaxtree.kernels import choose
from tests.growth.native_trees import MIXED, THRESHOLDS, T, assert_same, grown, needs_kernel
from tests.marks import are_exhaustive

SETS = (*({number % 8} for number in range(32)), {0, 1, 3, 5}, {1, 2, 6}, {0, 2, 3, 4, 7}, {0, 4, 6, 7})
"""Sets of several features stand in the second word."""
PER_LEVEL = 4

WAYS = {
    "histograms": {"kinds": MIXED},
    "histograms, drawn ties": {"kinds": MIXED, "num_bins": 32, "draws_ties": True},
    "numbers, rows counted": {"kinds": MIXED, "of_numbers": True, "counts_rows": True, "weight": "floats"},
    "scans": {"kinds": THRESHOLDS, "num_bins": 400},
    "drawn thresholds": {"kinds": THRESHOLDS, "draws_thresholds": True},
    "drawn features": {"kinds": MIXED, "max_features": 3, "num_rows": 2000},
    "drawn features among all": {"kinds": MIXED, "max_features": 5},
    "row order": {"kinds": THRESHOLDS, "num_rows": 20_000, "num_bins": 64, "max_depth": 6},
    "many trees": {"kinds": THRESHOLDS, "num_roots": 3, "max_features": 3},
}

COMBINED = ("drawn features among all",)
"""Ways of two others together."""


def paths(tree):
    """The features above every node."""
    above = [frozenset()] * int(tree.num_nodes)
    for node in range(int(tree.num_nodes)):
        if tree.depth[node] > 0:
            parent = int(tree.parent[node])
            above[node] = above[parent] | {int(tree.feature[parent])}
    return above


def draws(tree):
    """The features that each tree splits by at each depth."""
    split = tree.num_children > 0
    return [
        set(tree.feature[split & (tree.root == root) & (tree.depth == depth)].tolist())
        for root in range(int(tree.root.max()) + 1)
        for depth in range(int(tree.depth.max()))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("way", are_exhaustive(WAYS, *COMBINED))
def test_paths_lie_within_a_set_levels_share_a_draw_and_the_kernel_agrees(way, monkeypatch):
    tree = jax.device_get(grown(False, monkeypatch, **WAYS[way], sets=SETS, level_features=PER_LEVEL))
    above = paths(tree)
    assert all(any(features <= own for own in SETS) for features in above)
    assert max(map(len, above)) >= 2
    assert all(len(features) <= PER_LEVEL for features in draws(tree))
    if choose.is_there():
        by_kernel = grown(True, monkeypatch, **WAYS[way], sets=SETS, level_features=PER_LEVEL)
        assert_same(by_kernel, tree, is_contracted=True)


@pytest.mark.parametrize(
    "uses_kernel", [pytest.param(True, marks=needs_kernel), pytest.param(False, marks=pytest.mark.slow)]
)
def test_a_node_takes_the_best_split_of_the_open_features(uses_kernel, monkeypatch):
    """Its split is that of a tree of depth 1 that is grown on the rows of the node and on these features alone."""
    if not uses_kernel:
        monkeypatch.setattr(choose, "is_there", lambda: False)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 12, (8, 300)).astype(np.uint8)
    target = (codes[0] > 5) + codes[6] * 0.2 + rng.normal(size=300)
    sizes, rules = Sizes(12, capacity=256), Rules(Numbers(), Missing.BRANCH)

    def tree_of(weight, num_codes, sets, max_depth):
        features = Features(np.full(8, T, np.int32), num_codes.astype(np.int32), sets=sets)
        with jax.enable_x64(True):
            limits = Limits(max_depth, min_samples_split=20, min_samples_leaf=5)
            return jax.device_get(grow(Data(codes, target, weight), features, limits, rules, sizes).tree)

    bits, every = sets_in_bits(SETS, 8), np.full(8, 12)
    tree = take_tree(tree_of(np.ones(300, np.int32), every, bits, 5))
    in_node = np.zeros((tree.node_count, 300), bool)
    in_node[0] = True
    all_ = sets_in_bits([range(8)], 8)
    num_closed = 0
    for node, above in enumerate(paths(tree)):
        is_open = [any(above | {feature} <= own for own in SETS) for feature in range(8)]
        alone = tree_of(in_node[node].astype(np.int32), np.where(is_open, every, 0), all_, 1)
        if tree.is_leaf[node]:
            assert alone.num_children[0] == 0 or tree.depth[node] == 5
            continue
        assert (tree.feature[node], tree.code[node]) == (alone.feature[0], alone.code[0])
        num_closed += 8 - sum(is_open)
        left = codes[tree.feature[node]] <= tree.code[node]
        below = tree.first_child[node]
        in_node[below], in_node[below + 1] = in_node[node] & left, in_node[node] & ~left
    assert num_closed > 20


@pytest.mark.slow
def test_one_set_of_all_features_changes_nothing(monkeypatch):
    free, within = (grown(False, monkeypatch, **WAYS["histograms"], sets=s) for s in (None, [range(8)]))
    assert_same(within, free)


def test_a_draw_of_a_level_depends_on_the_seed_and_not_on_the_other_trees():
    rng = np.random.default_rng(0)
    codes, label = rng.integers(0, 16, (12, 400)).astype(np.uint8), rng.integers(0, 2, 400).astype(np.int32)
    rules, limits = Rules(Classes(2), samples_levels=True), Limits(max_depth=5, level_features=4)
    keys = jax.random.split(jax.random.key(1), 3)
    row = np.tile(np.arange(400, dtype=np.int32), 3)
    data = Data(codes, label, row=row, root=np.repeat(np.arange(3, dtype=np.int32), 400))
    together = jax.device_get(grow(data, None, limits, rules, Sizes(16, 256, num_roots=3), key=keys).tree)
    trees = []
    for root in range(3):
        alone = jax.device_get(
            grow(Data(codes, label), None, limits, rules, Sizes(16, 128), key=keys[root : root + 1]).tree
        )
        of_root = (together.root == root) & (np.arange(256) < together.num_nodes)
        np.testing.assert_array_equal(together.feature[of_root], alone.feature[: alone.num_nodes])
        assert max(map(len, draws(alone))) <= 4
        assert len(set().union(*draws(alone))) > 4, "every level draws anew"
        trees.append(tuple(alone.feature[: alone.num_nodes]))
    assert len(set(trees)) == 3
