"""The splits of quantiles and of survival times beside their definitions, by brute force on small tables."""

import numpy as np
import pytest

from jaxtree.growth.inputs.bundles import Limits
from jaxtree.moments.growth import TreeEntries
from jaxtree.moments.quantiles import Quantiles
from jaxtree.moments.survival import SurvivalTimes
from tests.moments.tables import coded_table, grow


def all_rows(num_rows, weight=None):
    every = np.arange(num_rows, dtype=np.int32)
    return TreeEntries(every, np.zeros(num_rows, np.int32), np.ones(num_rows, np.int32) if weight is None else weight)


def log_rank(time, event, weight, left):
    """The squared numerator of the log-rank statistic over the variance of permutations, time by time."""
    difference = 0.0
    for at in np.unique(time[event]):
        watched, dies = time >= at, (time == at) & event
        share = weight[watched & left].sum() / weight[watched].sum()
        difference += weight[dies & left].sum() - weight[dies].sum() * share
    return difference**2 * (1 / weight[left].sum() + 1 / weight[~left].sum()) / weight.sum()


def gini_of_intervals(y, weight, levels, left):
    """The gain of Gini's impurity of the intervals between the quantiles of all rows."""
    order = np.argsort(y)
    reached = np.cumsum(weight[order])
    quantiles = [y[order][np.flatnonzero(reached >= level * weight.sum())[0]] for level in levels]
    interval = np.sum([y > quantile for quantile in quantiles], axis=0)

    def share(rows):
        return sum(weight[rows & (interval == own)].sum() ** 2 for own in set(interval)) / weight[rows].sum()

    everyone = np.ones(len(y), bool)
    return (share(left) + share(~left) - share(everyone)) / weight.sum()


def best_by_force(codes, gain):
    """The feature and code of the greatest gain, and the gain."""
    splits = {}
    for feature, own in enumerate(codes):
        for code in np.unique(own)[:-1]:
            splits[feature, code] = gain(own <= code)
    best = max(splits, key=splits.get)
    return best, splits[best]


@pytest.mark.parametrize("seed", range(6))
def test_a_split_has_the_greatest_log_rank_statistic(seed):
    rng, table = np.random.default_rng(seed), coded_table(50, 3, 6, seed)
    time, event = rng.integers(1, 12, 50), rng.random(50) < 0.6
    weight = rng.integers(1, 4, 50).astype(np.int32)
    moment = SurvivalTimes(np.unique(time, return_inverse=True)[1], event)
    tree = grow(moment, table, all_rows(50, weight), Limits(max_depth=1))
    best, gain = best_by_force(table.codes, lambda left: log_rank(time, event, weight, left))
    assert (tree.feature[0], tree.code[0]) == best
    np.testing.assert_allclose(tree.gain[0], gain, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_split_has_the_greatest_gain_of_intervals(seed):
    rng, table = np.random.default_rng(seed), coded_table(50, 3, 6, seed)
    y, weight = rng.integers(1, 12, 50), rng.integers(1, 4, 50).astype(np.int32)
    levels = (0.1, 0.5, 0.9)
    moment = Quantiles(np.unique(y, return_inverse=True)[1], levels)
    tree = grow(moment, table, all_rows(50, weight), Limits(max_depth=1))
    best, gain = best_by_force(table.codes, lambda left: gini_of_intervals(y, weight, levels, left))
    assert (tree.feature[0], tree.code[0]) == best
    np.testing.assert_allclose(tree.gain[0], gain, rtol=1e-9)


@pytest.mark.parametrize("depth", [1, 2])
def test_deeper_nodes_are_split_by_their_own_rows(depth):
    rng, table = np.random.default_rng(8), coded_table(80, 3, 6, 8)
    time, event = rng.integers(1, 20, 80), rng.random(80) < 0.6
    moment = SurvivalTimes(np.unique(time, return_inverse=True)[1], event)
    tree = grow(moment, table, all_rows(80), Limits(max_depth=depth, min_samples_leaf=5))
    number = int(np.flatnonzero((tree.depth == depth - 1) & ~tree.is_leaf)[-1])
    rows, node = np.ones(80, bool), number
    while tree.depth[node]:
        above = tree.parent[node]
        own = table.codes[tree.feature[above]] > tree.code[above]
        rows &= own == (node - tree.first_child[above])
        node = above
    codes, ones = table.codes[:, rows], np.ones(rows.sum())

    def allowed(left):
        return 0 if min(left.sum(), (~left).sum()) < 5 else log_rank(time[rows], event[rows], ones, left)

    best, gain = best_by_force(codes, allowed)
    assert (tree.feature[number], tree.code[number]) == best
    np.testing.assert_allclose(tree.gain[number], gain, rtol=1e-6)


def test_a_node_without_events_is_a_leaf():
    rank, event = np.arange(40), np.zeros(40, bool)
    assert grow(SurvivalTimes(rank, event), coded_table(40), all_rows(40)).node_count == 1
