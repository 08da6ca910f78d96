"""Linear moments: every split of a tree is the best by the definition of pseudo-outcomes."""

import jax
import numpy as np
import pytest

from jaxtree.growth import Data, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.host import grow_on_host
from jaxtree.growth.inputs.moments import LinearMoments, MomentLimits
from tests.growth.native_trees import needs_kernel
from tests.reference.moment_oracle import Rows, best_threshold

NUM_ROWS, NUM_FEATURES, NUM_BINS, MAX_DEPTH, LEAST_ROWS = 240, 3, 12, 3, 5
PLAIN, STRICT = MomentLimits(0.0), MomentLimits(alpha=0.15, imbalance_penalty=0.3, arm_rows=6, rows=15)
SLIGHT = STRICT._replace(imbalance_penalty=1e-3)
CASES = {
    "means": (LinearMoments(), PLAIN),
    "several means, limits": (LinearMoments(num_outcomes=2), STRICT),
    "one arm": (LinearMoments(1), PLAIN),
    "one arm, limits": (LinearMoments(1), STRICT),
    "one arm, limits of weight": (LinearMoments(1, is_stabilised=False), STRICT),
    "two arms": (LinearMoments(2), MomentLimits()),
    "three arms, limits": (LinearMoments(3), SLIGHT),
    "an instrument": (LinearMoments(1, has_instruments=True), STRICT),
    "two instruments": (LinearMoments(2, has_instruments=True), MomentLimits()),
    "two instruments, limits of weight": (LinearMoments(2, has_instruments=True, is_stabilised=False), SLIGHT),
}


def table(moments, seed):
    """Codes and rows, some of them of weight 2, whose effects differ by their codes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, NUM_BINS, (NUM_FEATURES, NUM_ROWS)).astype(np.uint8)
    shape = (moments.num_arms, NUM_ROWS)
    instrument = (rng.random(shape) < 0.5).astype(float) if seed % 2 else rng.normal(size=shape)
    treatment = instrument + moments.has_instruments * rng.normal(size=shape)
    effect = 1.0 + (codes[0] > 4) - 2 * (codes[1] > 7)
    outcome = effect * treatment.sum(axis=0) + codes[2] / 4 + rng.normal(size=(moments.num_outcomes, NUM_ROWS))
    return codes, Rows(outcome, treatment, instrument, rng.integers(1, 3, NUM_ROWS).astype(float))


def growth_of(moments, limits, codes, rows):
    """The arguments of a growth."""
    data = Data(codes, moments.statistics(*rows))
    own = Limits(MAX_DEPTH, min_samples_leaf=LEAST_ROWS, parameters=limits)
    return data, None, own, Rules(moments, counts_rows=True)


def assert_best_splits(tree, moments, limits, codes, rows):
    """Every split is the best of its node, and a node without one has none."""
    at = {0: np.ones(NUM_ROWS, bool)}
    for node in range(int(tree.num_nodes)):
        own = at[node]
        if tree.depth[node] == MAX_DEPTH:
            continue
        best = best_threshold(moments, limits, rows.where(own), codes[:, own], LEAST_ROWS)
        if tree.num_children[node] == 0:
            assert best is None or best[0] < 1e-9
            continue
        assert best is not None
        np.testing.assert_allclose(tree.gain[node], best[0], rtol=1e-8)
        assert (tree.feature[node], tree.code[node]) == best[1:]
        is_below = codes[tree.feature[node]] <= tree.code[node]
        first = tree.first_child[node]
        at[first], at[first + 1] = own & is_below, own & ~is_below


@needs_kernel
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_every_split_is_the_best_by_definition(name, seed):
    moments, limits = CASES[name]
    codes, rows = table(moments, seed)
    tree = grow_on_host(*growth_of(moments, limits, codes, rows), NUM_BINS, np.zeros(1, np.uint32))
    assert tree.num_nodes > 3
    assert_best_splits(tree, moments, limits, codes, rows)


@pytest.mark.parametrize("name", ["one arm, limits"])
def test_every_split_of_a_program_is_the_best_by_definition(name):
    moments, limits = CASES[name]
    codes, rows = table(moments, 0)
    with jax.enable_x64(True):
        growth = grow(*growth_of(moments, limits, codes, rows), Sizes(NUM_BINS, capacity=2 ** (MAX_DEPTH + 1) - 1))
    assert growth.complete and growth.tree.num_nodes > 3
    assert_best_splits(jax.tree.map(np.asarray, growth.tree), moments, limits, codes, rows)


@needs_kernel
@pytest.mark.parametrize("moments", [LinearMoments(1), LinearMoments(2), LinearMoments(1, has_instruments=True)])
def test_a_node_whose_moment_has_no_single_solution_is_not_split(moments):
    codes, rows = table(moments, 0)
    rows = rows._replace(instrument=np.full_like(rows.instrument, 0.3), treatment=np.full_like(rows.treatment, 0.3))
    tree = grow_on_host(*growth_of(moments, PLAIN, codes, rows), NUM_BINS, np.zeros(1, np.uint32))
    assert tree.num_nodes == 1


@needs_kernel
def test_treatments_that_are_multiples_of_each_other_have_no_split():
    moments = LinearMoments(2)
    codes, rows = table(moments, 0)
    twice = np.stack([rows.treatment[0], 2 * rows.treatment[0]])
    rows = rows._replace(treatment=twice, instrument=twice)
    tree = grow_on_host(*growth_of(moments, PLAIN, codes, rows), NUM_BINS, np.zeros(1, np.uint32))
    assert tree.num_nodes == 1


def test_the_moment_of_a_mean_makes_the_tree_of_squared_errors():
    rng = np.random.default_rng(3)
    codes, y = rng.integers(0, 16, (4, 300)).astype(np.uint8), np.round(rng.normal(size=300) * 2**20) / 2**20
    moments, sizes = LinearMoments(), Sizes(num_bins=16, capacity=1024)
    own = grow(
        Data(codes, moments.statistics(y[None])), None, Limits(min_samples_leaf=3, parameters=MomentLimits(0.0)),
        Rules(moments, counts_rows=True), sizes,
    ).tree  # fmt: skip
    other = grow(Data(codes, y), None, Limits(min_samples_leaf=3), Rules(Numbers()), sizes).tree
    size = int(other.num_nodes)
    assert int(own.num_nodes) == size > 100
    for name in ("feature", "code", "first_child", "num_rows"):
        np.testing.assert_array_equal(getattr(own, name)[:size], getattr(other, name)[:size])
    np.testing.assert_array_equal(own.target_sum[:size, 1], other.target_sum[:size, 0])
