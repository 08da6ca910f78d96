"""C4.5's pessimistic pruning: worked numbers, the errors of leaves by a slow formula, trees by recursion, laws."""

import dataclasses
import functools
import statistics
import time

import jax
import numpy as np
import pytest
import scipy.stats

from jaxtree import DecisionTreeRegressor, ID3Classifier
from jaxtree.datasets import load_play_tennis
from jaxtree.errors import InvalidInputError
from jaxtree.prune.training_errors import added_errors, errors_as_leaves, pessimistic
from jaxtree.tree.paths import stop_at
from tests.prune.growths import (
    assert_nodes_out_of_reach_do_not_count,
    assert_one_by_one,
    assert_same_traced,
    children,
    pessimistic_errors,
    tree_of,
)
from tests.prune.test_cost_complexity import chain_of_splits
from tests.reference import c45_pruning

pytestmark = pytest.mark.slow

TREES = ("classes", "weights", "multiway")
CONFIDENCES = np.array([0.5, 0.25, 0.1, 0.001])
# Weight, errors, confidence; the errors estimated by C4.5 Release 8 and by J48, as both print them.
WORKED = [
    (1, 0, 0.25, 0.7500, 0.7500),
    (6, 0, 0.25, 1.2378, 1.2378),
    (9, 0, 0.25, 1.2848, 1.2848),
    (16, 1, 0.25, 2.5069, 2.4757),
    (14, 5, 0.25, 6.7950, 6.7611),
    (168, 1, 0.25, 2.6101, 2.5738),
    (54, 5, 0.25, 7.2332, 7.1832),
    (16, 1, 0.10, 3.6481, 3.6514),
    (10.5, 0.5, 0.25, 1.8738, 1.8596),
]


@pytest.mark.parametrize(("weight", "errors", "confidence", "release8", "j48"), WORKED)
def test_worked_numbers(weight, errors, confidence, release8, j48):
    """Quinlan (1993, section 4.2) has leaves of 1, 6 and 9 rows without errors at 25 %, and one of 16 with one."""
    assert errors + added_errors(weight, errors, confidence) == pytest.approx(j48, abs=5e-5)
    assert errors + added_errors(weight, errors, confidence, z="release8") == pytest.approx(release8, abs=5e-5)


def test_quinlan_s_example_of_a_subtree():
    """Leaves of 6, 9 and 1 votes without errors have 3.273 errors together, one of 16 with an error 2.512 (sec. 4.2).

    The book takes exact limits, 0.157 of 16; for a leaf with errors the programs approximate them.
    """
    assert added_errors(np.array([6.0, 9.0, 1.0]), np.zeros(3)).sum() == pytest.approx(3.273, abs=1e-3)
    assert 1 + added_errors(16, 1) == pytest.approx(2.512, abs=0.05)


@pytest.mark.parametrize("z", ["exact", "release8"])
def test_many_leaves_beside_the_formula_of_one(z):
    rng = np.random.default_rng(0)
    weight = np.concatenate([rng.integers(1, 60, 300), rng.uniform(0.05, 60, 300)])
    share = rng.choice([0, 1, 0.5, 0.97, 0.1], weight.size)
    errors = np.concatenate([np.floor(weight * share)[:300], (weight * share)[300:]])
    for confidence in (0.5, 0.25, 0.03):
        expected = [c45_pruning.added_errors(*leaf, confidence, z) for leaf in zip(weight, errors, strict=True)]
        np.testing.assert_allclose(added_errors(weight, errors, confidence, z=z), expected, rtol=1e-9, atol=1e-9)


def test_the_limit_is_that_of_the_binomial_distribution():
    """Without errors exactly; else approximately the limit of Clopper and Pearson."""
    for confidence in (0.5, 0.25, 0.1):
        weight = np.array([1.0, 5, 40, 1e6])
        limit = added_errors(weight, np.zeros(4), confidence) / weight
        np.testing.assert_allclose((1 - limit) ** weight, confidence, rtol=1e-6)
        weight, errors = np.array([20.0, 50, 300, 300]), np.array([2, 10, 30, 200])
        limit = errors + added_errors(weight, errors, confidence)
        exact = weight * scipy.stats.beta.ppf(1 - confidence, errors + 1, weight - errors)
        np.testing.assert_allclose(limit, exact, rtol=0.05)


def test_the_deviates():
    """For a leaf so large that rounding and the continuity correction vanish; Release 8's 0.6925 at 25 %."""
    weight, errors = 1e12, 5e11
    deviate = lambda confidence, z: 2e-6 * (added_errors(weight, errors, confidence, z=z) - 0.5)  # noqa: E731
    for confidence in (0.5, 0.25, 0.01):
        expected = statistics.NormalDist().inv_cdf(1 - confidence)
        assert deviate(confidence, "exact") == pytest.approx(expected, abs=1e-3)
    assert deviate(0.25, "release8") == pytest.approx(0.6925, abs=1e-3)
    assert deviate(0.05, "release8") == pytest.approx(1.65, abs=1e-3)
    assert deviate(0.5, "release8") == pytest.approx(0.25 * 5 / 6, abs=1e-3)


@pytest.mark.parametrize("z", ["exact", "release8"])
def test_all_arguments_broadcast_and_may_be_traced(z):
    weight, errors, confidence = np.array([[8.0], [0.0]]), np.array([0.0, 0.4, 1.0, 7.8]), np.full((3, 1, 1), 0.25)
    confidence[1] = 0.05
    host = added_errors(weight, errors, confidence, z=z)
    assert isinstance(host, np.ndarray) and host.shape == (3, 2, 4) and not host[:, 1].any()
    for x64 in (False, True):
        with jax.enable_x64(x64):
            traced = jax.jit(functools.partial(added_errors, z=z))(weight, errors, confidence)
            np.testing.assert_allclose(traced, host, atol=1e-5)


# Trees


def errors_by_recursion(tree, node, confidence, z, stops=()):
    """The errors estimated below a node, and the nodes that pruning makes leaves."""
    own = c45_pruning.estimated_errors(np.asarray(tree.count[node], float), confidence, z)
    if not tree.num_children[node] or node in stops:
        return own, []
    parts = [errors_by_recursion(tree, child, confidence, z, stops) for child in children(tree, node)]
    below = sum(errors for errors, _ in parts)
    if own <= below + 0.1 + 1e-6:
        return own, [node]
    return below, [collapsed for _, part in parts for collapsed in part]


@pytest.mark.parametrize("z", ["exact", "release8"])
@pytest.mark.parametrize("kind", TREES)
def test_the_tree_by_recursion(kind, z):
    for seed in range(4):
        tree = tree_of(kind, seed)
        for confidence in CONFIDENCES:
            errors, collapsed = errors_by_recursion(tree, 0, confidence, z)
            mask = pessimistic(tree, confidence, z=z)
            highest = mask & ~np.array([has_collapsed_ancestor(tree, mask, node) for node in range(tree.capacity)])
            assert set(np.flatnonzero(highest)) == set(collapsed)
            assert pessimistic_errors(stop_at(tree, mask), confidence, z=z)[0] == pytest.approx(errors)


def has_collapsed_ancestor(tree, mask, node):
    while node:
        node = tree.parent[node]
        if mask[node]:
            return True
    return False


@pytest.mark.parametrize("kind", TREES)
def test_masks_are_those_of_the_rule_for_any_way_to_call_it(kind):
    tree = tree_of(kind)
    assert_one_by_one(pessimistic, tree, CONFIDENCES)
    assert_same_traced(pessimistic, tree, CONFIDENCES)
    assert_nodes_out_of_reach_do_not_count(functools.partial(pessimistic, confidence=CONFIDENCES), tree)
    assert not pessimistic(tree, CONFIDENCES)[:, tree.is_leaf].any()


def test_play_tennis():
    """The tree of five leaves without errors, of 3, 2, 4, 3 and 2 rows; Release 8 estimates 38.5 % of 14 errors."""
    tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
    rows = np.array([3, 2, 4, 3, 2])
    assert pessimistic_errors(tree)[0] == pytest.approx(np.sum(rows * (1 - 0.25 ** (1 / rows))))
    assert pessimistic_errors(tree, z="release8")[0] / 14 == pytest.approx(0.385, abs=5e-4)
    # As a leaf the root has 6.76 errors, the tree 5.39; at a confidence of 5 % it is 8.51 and 9.00.
    assert not pessimistic(tree).any()
    assert pessimistic(tree, 0.05)[0]


def test_an_empty_node_makes_no_errors():
    """As in monk1's `attribute#2 = 1: 1 (0.0)`: else a tree of many empty branches would look bad."""
    X = np.array([["a"], ["a"], ["b"], ["b"]], object)
    tree = ID3Classifier().fit(X, [0, 0, 1, 1]).tree_
    empty = jax.tree.map(np.copy, tree)
    empty.weight[1], empty.count[1] = 0, 0
    assert errors_as_leaves(empty)[1] == 0 and errors_as_leaves(tree)[1] == pytest.approx(1)
    assert pessimistic_errors(empty)[0] == errors_as_leaves(tree)[2]


def test_a_deep_tree_is_pruned_quickly():
    """A chain of 20,000 splits, where work that grows with nodes times depth would take minutes."""
    chain = chain_of_splits(np.ones(20_000))
    count = np.stack([np.arange(40_001.0, 0, -1), np.zeros(40_001)], axis=1)
    tree = dataclasses.replace(chain, count=count, weight=count.sum(axis=1))
    start = time.perf_counter()
    assert pessimistic(tree)[0]
    assert time.perf_counter() - start < 10


# Refusals


@pytest.mark.parametrize("confidence", [0, -0.1, 0.51, np.nan, np.array([0.25, 0.7])])
def test_what_is_no_confidence(confidence):
    with pytest.raises(InvalidInputError, match=r"confidence must be above 0 and at most 0\.5, got"):
        pessimistic(tree_of("classes"), confidence)


def test_what_is_no_deviate():
    with pytest.raises(InvalidInputError, match="z must be one of 'exact', 'release8', got 'normal'"):
        added_errors(9, 3, z="normal")


def test_trees_without_classes_or_of_several_outputs():
    number = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    with pytest.raises(InvalidInputError, match="one output, got one of numbers"):
        pessimistic(number)
    with pytest.raises(InvalidInputError, match="one output, got one of 2 outputs"):
        pessimistic(tree_of("two targets"))
