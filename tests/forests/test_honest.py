"""Leaves that are filled by other rows than those that chose the splits."""

import jax
import numpy as np
import pytest

from jaxtree.forests.forest import Rows, Sampling, grow_forest, halves_of, sampler_of
from jaxtree.forests.samples import TreeRows, draw_rows
from jaxtree.forests.subsamples import Bags
from jaxtree.growth.inputs.bundles import Features, Limits, Rules
from jaxtree.growth.inputs.moments import LinearMoments, MomentLimits
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.tree.predictor import Predictor

NUM_ROWS, NUM_TREES, KEY = 200, 6, jax.random.key(2)
RNG = np.random.default_rng(4)
CODES = RNG.integers(0, 8, (3, NUM_ROWS)).astype(np.uint8)
FEATURES = Features(np.zeros(3, np.int32), np.full(3, 8), np.full(3, 8))
SAMPLING = Sampling(bags=Bags(0.5, 2), split_share=0.5)
NUMBERS = CODES[0] * 1.0 + RNG.normal(size=NUM_ROWS)
MOMENTS = LinearMoments(1)
ARM = RNG.integers(0, 2, NUM_ROWS) - 0.5
OBJECTIVES = {
    "classes": (Classes(3), (CODES[1] // 3).astype(np.int32)[None], 3, ()),
    "numbers": (Numbers(), NUMBERS[None], 0, ()),
    "moments": (MOMENTS, MOMENTS.statistics(NUMBERS[None], ARM[None]), 0, tuple(MomentLimits(0.05, 0.0, 2.0, 3.0))),
}


def grown(name, sampling=SAMPLING, **limits):
    objective, target, num_classes, parameters = OBJECTIVES[name]
    rows = Rows(CODES, target, num_classes, 8)
    own = Limits(max_features=3, parameters=parameters, **{"min_samples_leaf": 3, **limits})
    rules = Rules(objective, counts_rows=True)
    return rows, grow_forest(rows, FEATURES, own, sampling, rules, key=KEY, trees=range(NUM_TREES))


def divided(rows, sampling=SAMPLING):
    drawn = draw_rows(sampler_of(rows, sampling, KEY), 0, NUM_TREES)
    return halves_of(rows, sampling, KEY).divide(drawn, 0)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_nodes_have_the_sums_of_the_other_half(name):
    rows, forest = grown(name)
    _, fill = divided(rows)
    ends = Predictor(forest).ends_in_trees(CODES.T.astype(np.float64))
    for number, tree in enumerate(forest):
        own = fill.row[fill.tree == number]
        end = ends[own, number] - forest.first_node[number]
        for node in np.flatnonzero(tree.is_leaf):
            here = own[end == node]
            assert tree.num_rows[node] == len(here) > 0
            if name == "classes":
                assert (tree.count[node] == np.bincount(rows.target[0, here], minlength=3)).all()
            else:
                np.testing.assert_allclose(tree.target_sum[node], rows.target[:, here].sum(axis=1), atol=1e-9)
        inner = np.flatnonzero(~tree.is_leaf)
        assert (
            tree.num_rows[inner] == tree.num_rows[tree.first_child[inner]] + tree.num_rows[tree.first_child[inner] + 1]
        ).all()
        assert tree.num_rows[0] == len(own)


def test_splits_are_chosen_without_the_rows_that_fill_leaves():
    rows, forest = grown("numbers")
    _, fill = divided(rows)
    changed = rows.target.copy()
    changed[0, fill.row[fill.tree == 0]] *= -1
    other = grow_forest(
        rows._replace(target=changed), FEATURES, Limits(max_features=3, min_samples_leaf=3), SAMPLING,
        Rules(Numbers(), counts_rows=True), key=KEY, trees=range(1),
    )  # fmt: skip
    assert (other[0].feature == forest[0].feature).all()
    assert (other[0].code == forest[0].code).all()
    assert not np.allclose(other[0].target_sum, forest[0].target_sum)


def test_a_branch_without_rows_gives_way_to_the_other():
    _, forest = grown("numbers", min_samples_leaf=1)
    _, whole = grown("numbers", SAMPLING._replace(split_share=None), min_samples_leaf=1)
    assert forest.nodes.num_rows.min() >= 1
    assert (forest.nodes.num_children[~forest.nodes.is_leaf] == 2).all()
    assert (
        forest.nodes.depth[forest.nodes.first_child[~forest.nodes.is_leaf]]
        == forest.nodes.depth[~forest.nodes.is_leaf] + 1
    ).all()
    assert len(whole.nodes.feature) > len(forest.nodes.feature)


def test_a_bootstrap_sample_is_divided_too():
    sampling = Sampling(num_draws=NUM_ROWS, split_share=0.5)
    rows, forest = grown("classes", sampling)
    _, fill = divided(rows, sampling)
    for number, tree in enumerate(forest):
        assert tree.count[0].sum() == fill.weight[fill.tree == number].sum()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_tree_does_not_depend_on_its_batch(name):
    rows, forest = grown(name)
    objective, _, _, parameters = OBJECTIVES[name]
    limits = Limits(max_features=3, parameters=parameters, min_samples_leaf=3)
    alone = grow_forest(
        rows, FEATURES, limits, SAMPLING, Rules(objective, counts_rows=True), key=KEY, trees=range(4, 5)
    )
    for field in ("feature", "code", "target_sum", "count", "weight", "num_rows"):
        assert np.array_equal(getattr(alone[0], field), getattr(forest[4], field)), field


def test_the_tree_of_one_part_has_the_rows_of_the_other(monkeypatch):
    """Without a division all rows do both: the sums of a leaf are those of the rows that chose it."""
    rows, whole = grown("numbers", SAMPLING._replace(split_share=None))
    drawn = draw_rows(sampler_of(rows, SAMPLING, KEY), 0, NUM_TREES)
    assert isinstance(drawn, TreeRows)
    for number, tree in enumerate(whole):
        assert tree.num_rows[0] == (drawn.tree == number).sum()
