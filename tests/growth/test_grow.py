"""The engine against a recursive oracle, and the laws that growth keeps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree import criteria
from jaxtree.errors import InvalidInputError
from jaxtree.growth import Classes, Data, Features, Limits, Rules, Sizes, SplitKind, grow, take_tree
from jaxtree.growth.loop.grow import _grow
from jaxtree.kernels import choose
from tests.reference import oracle

NO_LIMITS = Limits()
KINDS = (SplitKind.THRESHOLD, SplitKind.MULTIWAY, SplitKind.ONE_VS_REST)
ROWS, FEATURES, CODES, CLASSES = 40, 4, 8, 3
CRITERIA = {
    "entropy": (criteria.entropy, oracle.entropy),
    "gini": (criteria.gini, oracle.gini),
    "misclassification": (criteria.misclassification, oracle.misclassification),
}


@st.composite
def small_tables(draw):
    """A table with few values (many ties), duplicate rows, constant columns and absent categories."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    num_rows = draw(st.integers(1, ROWS))
    num_codes = rng.integers(1, CODES + 1, FEATURES)
    codes = np.stack([rng.integers(0, rng.integers(1, n + 1), num_rows) for n in num_codes])
    if draw(st.booleans()):
        codes = codes[:, rng.integers(0, max(1, num_rows // 2), num_rows)]
    labels = rng.integers(0, draw(st.integers(1, CLASSES)), num_rows)
    if draw(st.booleans()):
        labels = (codes[0] + codes[1 % FEATURES]) % 2
    return codes, labels, num_codes


def grow_padded(codes, labels, kinds, num_codes, criterion, limits=NO_LIMITS):
    padding = ROWS - codes.shape[1]
    weight = (np.arange(ROWS) < codes.shape[1]).astype(np.int32)
    data = Data(
        np.pad(codes, ((0, 0), (0, padding))).astype(np.uint8), np.pad(labels, (0, padding)).astype(np.int32), weight
    )
    features = Features(np.asarray(kinds, np.int32), np.asarray(num_codes, np.int32))
    grown = grow(data, features, limits, Rules(Classes(CLASSES, criterion), kinds=KINDS), Sizes(CODES, 1024))
    assert grown.complete
    return take_tree(grown.tree)


@pytest.mark.parametrize(
    "name", [name if name == "gini" else pytest.param(name, marks=pytest.mark.slow) for name in CRITERIA]
)
@given(table=small_tables(), kind_seed=st.integers(0, 1000))
def test_same_tree_as_the_oracle(name, table, kind_seed):
    codes, labels, num_codes = table
    kinds = np.random.default_rng(kind_seed).integers(0, 3, FEATURES)
    criterion, impurity = CRITERIA[name]
    tree = grow_padded(codes, labels, kinds, num_codes, criterion)
    oracle.assert_same_tree(tree, oracle.grow(codes, labels, kinds, num_codes, CLASSES, impurity))


@given(
    table=small_tables(),
    max_depth=st.integers(0, 4),
    min_samples_split=st.integers(2, 10),
    min_samples_leaf=st.integers(1, 6),
    min_gain=st.sampled_from([0.0, 0.03, 0.2]),
)
def test_same_limits_as_the_oracle(table, max_depth, min_samples_split, min_samples_leaf, min_gain):
    codes, labels, num_codes = table
    kinds = np.arange(FEATURES) % 3
    limits = dict(
        max_depth=max_depth, min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf, min_gain=min_gain
    )
    tree = grow_padded(codes, labels, kinds, num_codes, criteria.entropy, Limits(**limits))
    oracle.assert_same_tree(tree, oracle.grow(codes, labels, kinds, num_codes, CLASSES, oracle.entropy, **limits))


TWO_CLASSES, BIG = Rules(Classes(2)), Sizes(num_bins=256, capacity=4096)


def big_table(num_rows=2500, num_features=6, num_codes=200, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, num_codes, (num_features, num_rows)).astype(np.uint8)
    labels = ((codes[0] > 90) ^ (codes[1] > 50) ^ (rng.random(num_rows) < 0.2)).astype(np.int32)
    return codes, labels


@pytest.mark.slow
def test_sorting_gives_the_oracle_s_tree(monkeypatch):
    """2,500 noisy rows with 200 codes: levels wider than a chunk, entries sorted."""
    monkeypatch.setattr(choose, "is_there", lambda: False)
    codes, labels = big_table()
    grown = grow(Data(codes, labels), None, NO_LIMITS, TWO_CLASSES, BIG)
    kinds, num_codes = np.zeros(6, int), np.full(6, 200)
    expected = oracle.grow(codes, labels, kinds, num_codes, 2, oracle.gini)
    tree = take_tree(grown.tree)
    assert tree.n_leaves > 400
    oracle.assert_same_tree(tree, expected)


def assert_equal_trees(a, b):
    for field in ("feature", "code", "first_child", "num_children", "count", "num_rows", "depth", "next_code"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


def grow_big(codes, labels, weight=None, limits=NO_LIMITS):
    return take_tree(grow(Data(codes, labels, weight), None, limits, TWO_CLASSES, BIG).tree)


def test_counts_are_conserved_from_parent_to_children():
    tree = grow_big(*big_table())
    children = np.zeros_like(tree.count)
    np.add.at(children, tree.parent[1:], tree.count[1:])
    np.testing.assert_array_equal(children[~tree.is_leaf], tree.count[~tree.is_leaf])
    np.testing.assert_array_equal(tree.num_rows, tree.count.sum(axis=1))


def test_many_roots_grow_the_trees_that_they_grow_alone():
    codes, labels = big_table()
    rng = np.random.default_rng(3)
    weight = rng.poisson(1, (3, labels.size)).astype(np.int32)
    alone = [grow_big(codes, labels, w) for w in weight]
    row, root = np.tile(np.arange(labels.size), 3), np.repeat(np.arange(3), labels.size)
    data = Data(codes, labels, weight.reshape(-1), row, root)
    together = grow(data, None, NO_LIMITS, TWO_CLASSES, Sizes(num_bins=256, capacity=8192, num_roots=3))
    for root in range(3):
        assert_equal_trees(take_tree(together.tree, root=root), alone[root])


def test_limits_may_differ_from_root_to_root():
    codes, labels = big_table()
    limits = Limits(max_depth=jnp.array([2, 5]), min_samples_split=jnp.array([2, 100]))
    rows = np.arange(labels.size)
    data = Data(codes, labels, row=np.tile(rows, 2), root=np.repeat([0, 1], labels.size))
    together = grow(data, None, limits, TWO_CLASSES, BIG._replace(num_roots=2))
    for root, limit in enumerate((Limits(max_depth=2), Limits(max_depth=5, min_samples_split=100))):
        assert_equal_trees(take_tree(together.tree, root=root), grow_big(codes, labels, limits=limit))


THREE_CLASSES = Rules(Classes(CLASSES))


def grow_small(codes, labels, weight=None, limits=NO_LIMITS, rules=THREE_CLASSES):
    return grow(Data(codes, labels, weight), None, limits, rules, Sizes(num_bins=CODES, capacity=256))


def small_table(seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CODES, (FEATURES, ROWS)).astype(np.uint8)
    return jnp.asarray(codes), jnp.asarray(rng.integers(0, CLASSES, ROWS).astype(np.int32))


def test_jit_in_x32_mode_gives_the_eager_tree():
    assert not jax.config.jax_enable_x64
    codes, labels = small_table()
    eager = grow_small(codes, labels)
    jitted = jax.jit(grow_small)(codes, labels)
    assert_equal_trees(take_tree(eager.tree), take_tree(jitted.tree))
    assert jitted.tree.gain.dtype == jnp.float32


def test_a_full_table_is_reported_and_what_it_holds_is_a_tree():
    codes, labels = big_table()
    grown = grow(Data(codes, labels), None, NO_LIMITS, TWO_CLASSES, BIG._replace(capacity=64))
    assert not grown.complete
    assert int(grown.tree.num_nodes) <= 64
    tree = take_tree(grown.tree)
    np.testing.assert_array_equal(tree.count[tree.is_leaf].sum(axis=0), tree.count[0])


def grow_tiny(codes, labels, limits=NO_LIMITS, criterion=criteria.gini, num_bins=2):
    return grow(Data(codes, labels), None, limits, Rules(Classes(2, criterion)), Sizes(num_bins, capacity=16))


def test_gain_zero_is_split_and_min_gain_forbids_it():
    """Exclusive or: no first split gains anything, and the textbook makes it all the same."""
    codes, labels = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint8), np.array([0, 1, 1, 0])
    assert int(grow_tiny(codes, labels).tree.num_nodes) == 7
    assert int(grow_tiny(codes, labels, limits=Limits(min_gain=1e-6)).tree.num_nodes) == 1


def test_ties_go_to_the_lowest_feature_and_code():
    codes, labels = np.array([[0, 1, 2, 3]] * 2, np.uint8), np.array([0, 1, 0, 1])
    tree = grow_tiny(codes, labels, num_bins=4).tree
    assert (int(tree.feature[0]), int(tree.code[0])) == (0, 0)


def test_rounding_never_decides_a_tie():
    """Counts scaled by 3 and by 7 give gains that are equal in exact arithmetic but not in floating point."""
    table = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    for scale in (3, 7, 11):
        rows = [row for row in [*table, (0, 0, 1), (1, 1, 1)] for _ in range(scale)]
        codes, labels = np.array(rows, np.uint8)[:, :2].T.copy(), np.array(rows)[:, 2]
        swapped = codes[::-1].copy()
        for table_of_codes in (codes, swapped):
            assert int(grow_tiny(table_of_codes, labels, criterion=criteria.entropy).tree.feature[0]) == 0


def test_user_criterion_equals_the_built_in_one():
    codes, labels = small_table()
    own = lambda w: 1 - jnp.sum((w / jnp.maximum(jnp.sum(w), 1)) ** 2)  # noqa: E731
    assert_equal_trees(
        take_tree(grow_small(codes, labels, rules=Rules(Classes(CLASSES, own))).tree),
        take_tree(grow_small(codes, labels).tree),
    )


def test_a_sweep_of_limits_compiles_one_program():
    codes, labels = small_table()
    grow_small(codes, labels)
    before = _grow.num_programs()
    for depth in range(5):
        for least in (2, 5):
            grow_small(codes, labels, limits=Limits(max_depth=depth, min_samples_split=least, min_gain=0.01))
    # Integer and float limits differ in type from the defaults at most once.
    assert _grow.num_programs() - before <= 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(codes=np.full((2, 3), 9, np.uint8)), "codes must be from 0 to 1, got 9"),
        (dict(target=np.array([0, 1, 2])), "target must be from 0 to 1, got 0 to 2"),
        (dict(capacity=0), "capacity must be at least num_roots, 1, got 0"),
    ],
)
def test_codes_classes_and_capacity_past_their_number(change, words):
    given = dict(codes=np.zeros((2, 3), np.uint8), target=np.zeros(3, np.int32), capacity=8) | change
    data, sizes = Data(given["codes"], given["target"]), Sizes(num_bins=2, capacity=given["capacity"])
    with pytest.raises(InvalidInputError, match=words):
        grow(data, None, NO_LIMITS, TWO_CLASSES, sizes)


def test_outputs_that_the_objective_does_not_have():
    data = Data(np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.int32))
    with pytest.raises(InvalidInputError, match="target must have 1 outputs, got 2"):
        grow(data, None, NO_LIMITS, TWO_CLASSES, Sizes(num_bins=2, capacity=8))
