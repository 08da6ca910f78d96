"""Laws of growth with weights, numbers and missing values: what is conserved, and what may not matter."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtree.criteria import poisson, squared_error
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, SplitKind, grow, take_tree
from tests.growth.test_all_rules import CODES, ROWS, SETTINGS, draw_problem, grow_padded

FRACTION, LEARN = SETTINGS[3], SETTINGS[6]
SHARED = [SETTINGS[3], SETTINGS[8]]
seeds = given(seed=st.integers(0, 2**32 - 1))
few = settings(max_examples=8)


def name(setting):
    return f"{setting.criterion}-{setting.missing}"


def assert_identical(a, b, fields=None):
    """Equal to the last bit."""
    for field in fields or [f.name for f in dataclasses.fields(a) if f.name != "num_classes"]:
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


@pytest.mark.parametrize("setting", SHARED, ids=name)
@seeds
def test_weight_is_conserved_where_rows_are_shared_out(setting, seed):
    problem, weight = draw_problem(setting, seed, ROWS)
    weight = weight * np.random.default_rng(seed).random(ROWS)
    tree = grow_padded(setting, problem, weight)
    split = np.flatnonzero(~tree.is_leaf)
    for field in ("weight", "count", "target_sum"):
        values = np.asarray(getattr(tree, field), np.float64).reshape(tree.node_count, -1)
        children = np.zeros_like(values)
        np.add.at(children, tree.parent[1:], values[1:])
        np.testing.assert_allclose(children[split], values[split], rtol=1e-12, atol=1e-12, err_msg=field)
    assert tree.weight[0] == pytest.approx(weight.sum(), rel=1e-14)
    assert tree.weight[tree.is_leaf].sum() == pytest.approx(weight.sum(), rel=1e-12)


SLOWER = (pytest.param(setting, marks=pytest.mark.slow) for setting in (SETTINGS[0], SETTINGS[8], SETTINGS[10]))


@pytest.mark.parametrize("setting", [FRACTION, LEARN, *SLOWER], ids=name)
@few
@seeds
def test_order_of_rows_does_not_matter_to_the_last_bit(setting, seed):
    problem, weight = draw_problem(setting, seed, ROWS)
    rng = np.random.default_rng(seed)
    # Weights and targets that no fixed point holds exactly.
    weight = weight * rng.random(ROWS)
    target = problem.target if setting.num_classes else problem.target * rng.random(problem.target.shape)
    problem = dataclasses.replace(problem, target=target)
    order = rng.permutation(ROWS)
    shuffled = dataclasses.replace(problem, codes=problem.codes[:, order], target=target[:, order])
    assert_identical(grow_padded(setting, problem, weight), grow_padded(setting, shuffled, weight[order]))


@pytest.mark.parametrize("setting", [SETTINGS[0], FRACTION, LEARN], ids=name)
@few
@seeds
def test_a_row_twice_is_its_weight_twice_and_weight_zero_is_no_row(setting, seed):
    problem, weight = draw_problem(setting, seed, ROWS, min_samples_split=0.1, min_samples_leaf=0.01)
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 3, ROWS)
    while times.sum() > ROWS or not times.any():
        times = rng.integers(0, 3, ROWS)
    row = np.repeat(np.arange(ROWS), times)
    repeated = dataclasses.replace(problem, codes=problem.codes[:, row], target=problem.target[:, row])
    # Targets of rows without weight are not looked at, however large.
    target = problem.target if setting.num_classes else np.where(times > 0, problem.target, 1e12)
    a = grow_padded(setting, dataclasses.replace(problem, target=target), weight * times)
    b = grow_padded(setting, repeated, weight[row])
    assert_identical(a, b, ["feature", "code", "subset", "num_children", "missing_branch", "depth"])
    for field in ("weight", "count", "target_sum", "gain", "impurity"):
        np.testing.assert_allclose(getattr(a, field), getattr(b, field), rtol=1e-9, atol=1e-9, err_msg=field)


@few
@seeds
def test_names_of_classes_do_not_matter(seed):
    problem, weight = draw_problem(SETTINGS[2], seed, ROWS)
    order = np.random.default_rng(seed).permutation(3)
    renamed = dataclasses.replace(problem, target=order[problem.target])
    a, b = (grow_padded(SETTINGS[2], p, weight) for p in (problem, renamed))
    assert_identical(a, b, ["feature", "code", "num_children", "missing_branch", "num_rows", "depth"])
    np.testing.assert_array_equal(a.count, b.count[:, order])


@pytest.mark.slow
@few
@seeds
def test_order_of_columns_does_not_matter_where_no_gains_are_equal(seed):
    """Columns 0 and 4, both of thresholds, change places; targets are drawn so that gains differ."""
    problem, weight = draw_problem(SETTINGS[7], seed, ROWS)
    order = np.array([4, 1, 2, 3, 0])
    target = np.random.default_rng(seed).normal(size=(1, ROWS))
    codes = np.stack([np.random.default_rng((seed, f)).permutation(problem.codes[f]) for f in range(5)])
    problem = dataclasses.replace(problem, target=target, codes=codes, min_samples_leaf=3)
    fields = {name: getattr(problem, name)[order] for name in ("codes", "num_codes", "num_values", "next_separable")}
    a, b = (grow_padded(SETTINGS[7], p, weight) for p in (problem, dataclasses.replace(problem, **fields)))
    # Two columns may divide the few rows of a node the same way: then the lower one wins, whichever it is.
    assert_identical(a, b, ["num_children", "num_rows", "gain", "target_sum", "depth"])


# Under jit in x32 mode, and vmap


@pytest.mark.slow
@pytest.mark.parametrize("missing", [Missing.LEARN, Missing.FRACTION])
def test_jit_in_x32_mode_and_vmap_with_weights_numbers_and_missing_values(missing):
    assert not jax.config.jax_enable_x64
    rng = np.random.default_rng(3)
    codes = jnp.asarray(rng.integers(0, CODES, (3, ROWS)).astype(np.uint8))
    targets = jnp.asarray(rng.normal(size=(2, ROWS)).astype(np.float32))
    weights = jnp.asarray(rng.random((2, ROWS)).astype(np.float32))
    kinds = np.array([SplitKind.THRESHOLD, SplitKind.MULTIWAY, SplitKind.SUBSET], np.int32)
    features = Features(kinds, np.full(3, CODES, np.int32), np.full(3, CODES - 1, np.int32))

    def grown(y, w):
        sizes = Sizes(num_bins=CODES, capacity=512, entry_capacity=16 * ROWS)
        return grow(Data(codes, y, w), features, Limits(), Rules(Numbers(), missing=missing), sizes)

    fields = ["feature", "code", "num_children", "missing_branch", "num_rows", "weight", "target_sum", "gain"]
    batch = jax.jit(jax.vmap(grown))(targets, weights)
    for i in range(2):
        eager, jitted = grown(targets[i], weights[i]), jax.jit(grown)(targets[i], weights[i])
        assert eager.complete
        assert jitted.tree.gain.dtype == jnp.float32
        one = jax.tree.map(lambda x, i=i: x[i], batch.tree)
        for other in (jitted.tree, one):
            assert_identical(take_tree(other), take_tree(eager.tree), fields)


# Ties of numbers


def grow_numbers(codes, y, weight, criterion, limits):
    return grow(Data(codes, y, weight), None, limits, Rules(Numbers(criterion)), Sizes(num_bins=2, capacity=32)).tree


@pytest.mark.slow
@pytest.mark.parametrize("criterion", [squared_error, poisson])
def test_rounding_never_decides_a_tie_of_numbers(criterion):
    """Exclusive or with targets and weights that no binary fraction holds: no split gains; the lowest column wins."""
    corners = np.array([(a, b) for a in (0, 1) for b in (0, 1)] * 3, np.uint8).T.copy()
    for low, high, weight in ((0.1, 0.7, 1 / 3), (1 / 3, 1e6 / 7, 0.1), (0.3, 0.3000001, 7.7)):
        y = np.where(corners[0] ^ corners[1], high, low)
        for codes in (corners, corners[::-1].copy()):
            for w in (None, np.full(12, weight)):
                tree = grow_numbers(codes, y, w, criterion, Limits(min_samples_split=0, min_samples_leaf=0))
                assert int(tree.num_nodes) == 7
                assert int(tree.feature[0]) == 0


def test_rounding_never_decides_a_tie_of_gains():
    """Targets that lie symmetrically: cutting off the k least gains as much as cutting off the k greatest."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        half, k = np.sort(rng.random(5)), int(rng.integers(1, 5))
        y = np.concatenate([half, 2.3 - half[::-1]])
        least, greatest = np.arange(10) < k, np.arange(10) >= 10 - k
        for codes in (np.stack([least, greatest]), np.stack([greatest, least])):
            tree = grow_numbers(codes.astype(np.uint8), y, None, squared_error, Limits(max_depth=1))
            assert int(tree.num_nodes) == 3
            assert int(tree.feature[0]) == 0


@pytest.mark.parametrize("feature", range(5))
def test_a_split_that_gains_nothing_is_made_whatever_the_rounding(feature):
    """Every category has the classes in the same proportion, with weights that no binary fraction holds."""
    problem, _ = draw_problem(SETTINGS[0], 0, ROWS, max_depth=1, min_samples_split=0, min_samples_leaf=0)
    codes, label = np.zeros_like(problem.codes), np.arange(ROWS) % 2
    codes[feature] = np.arange(ROWS) // 2 % problem.num_values[feature]
    problem = dataclasses.replace(problem, codes=codes, target=label[None])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weight = rng.random(8)[codes[feature]] * np.where(label == 1, rng.random(), rng.random())
        tree = grow_padded(SETTINGS[0], problem, weight)
        assert not tree.is_leaf[0]
        assert tree.gain[0] == 0


@pytest.mark.parametrize("criterion", [squared_error, poisson])
def test_equal_targets_are_a_leaf_however_they_are_written(criterion):
    """Ten times 0.1 is a node of one target; 0.1 + 0.2 and 0.3 are two."""
    codes = np.arange(10, dtype=np.uint8)[None] % 2
    limits = Limits(min_samples_split=0, min_samples_leaf=0)
    tree = grow_numbers(codes, np.full(10, 0.1), np.full(10, 0.3), criterion, limits)
    assert int(tree.num_nodes) == 1
    assert float(tree.impurity[0]) == 0
    tree = grow_numbers(codes, np.where(codes[0] == 1, 0.1 + 0.2, 0.3), np.full(10, 0.3), criterion, limits)
    assert int(tree.num_nodes) == 3


@pytest.mark.slow
def test_trees_that_are_done_do_not_count_in_the_others():
    """The first of three trees on rows side by side is done after one split; with more rows than a block."""
    rng, size = np.random.default_rng(0), 4096 + 100
    codes = rng.integers(0, 8, (4, 3 * size)).astype(np.uint8)
    root = np.repeat(np.arange(3, dtype=np.int32), size)
    label = np.where(root == 0, codes[0] > 3, rng.random(3 * size) < codes[1] / 8).astype(np.int32)
    data = Data(codes, label, root=root)
    given = (None, Limits(min_samples_leaf=20), Rules(Classes(2)), Sizes(num_bins=8, capacity=8192, num_roots=3))
    in_order = grow(data, *given)
    looked_up = grow(data._replace(row=np.arange(3 * size)), *given)
    assert in_order.complete and looked_up.complete and in_order.tree.num_nodes > 100
    assert np.sum(np.asarray(in_order.tree.root)[: in_order.tree.num_nodes] == 0) == 3
    assert_identical(in_order.tree, looked_up.tree, ["feature", "code", "first_child", "count", "num_rows"])
