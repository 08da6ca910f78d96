"""Masks of many settings on one tree: what each would have grown and pruned by itself."""

import copy
import dataclasses
import functools

import numpy as np
import pytest

from jaxtree import (
    C45Classifier,
    ChiSquared,
    Collapse,
    CostComplexity,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Dropout,
    ID3Classifier,
    MaxLeafNodes,
    MinimumError,
    Pessimistic,
)
from jaxtree.estimators.common.conventions import configured, key_of
from jaxtree.estimators.common.growing import grow_tables
from jaxtree.estimators.common.limits import limit_masks
from jaxtree.growth import take_tree
from jaxtree.search import tree_folds as masking
from jaxtree.search.tree_folds import masks_of, votes_of
from jaxtree.tree.paths import stop_at
from tests.estimators.comparing import assert_same_tree
from tests.search.beside import numbers, targets, weights, words

ESTIMATORS = {
    "CART": DecisionTreeClassifier(random_state=0),
    "CART, weights": DecisionTreeClassifier(random_state=0),
    "numbers": DecisionTreeRegressor(random_state=0),
    "ID3": ID3Classifier(random_state=0),
    "ID3, weights": ID3Classifier(random_state=0),
}


def table_of(kind):
    table = {"CART": numbers, "numbers": targets, "ID3": words}[kind.split(",")[0]]()
    return (*table, weights() if "weights" in kind else None)


@functools.cache
def grown(kind):
    """An estimator that began to fit, how it did, and the tree it grew without limits."""
    estimator = copy.copy(ESTIMATORS[kind])
    task = estimator.growth_task(*table_of(kind))
    estimator.learn(task.data)
    return estimator, task, grow_tables([task])[0]


def grown_with(kind, parameters):
    """The tree that the estimator grows with other parameters."""
    estimator = configured(ESTIMATORS[kind], parameters)
    return grow_tables([estimator.growth_task(*table_of(kind))])[0]


def limits_of(kind, tree):
    """Settings of limits, with numbers that nodes of the tree reach exactly, and others between.

    Growth sums float weights exactly, but the tree has them rounded: weights are reached by 1e-9 more.
    """
    split = np.flatnonzero(~tree.is_leaf)[::3]
    decrease = (tree.gain * tree.weight / tree.weight[0])[split]
    size = tree.num_rows if kind != "ID3, weights" else tree.weight * (1 - 1e-9)
    settings = [{"max_depth": depth} for depth in (1, 2, 3, int(tree.max_depth), None)]
    settings += [{"min_samples_split": number.item()} for number in np.maximum(size[split], 2)]
    if kind.startswith("ID3"):
        settings += [{"min_gain": gain} for gain in (*tree.gain[split], 0.01, 0.1)]
    else:
        settings += [{"min_samples_split": share} for share in (0.05, 0.25, 1.0)]
        settings += [{"min_impurity_decrease": part} for part in (*decrease, *(decrease + 1e-15), 0.01)]
    return [*settings, {"max_depth": 3, "min_samples_split": 12}]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind != "CART, weights" else kind for kind in ESTIMATORS]
)
def test_limits_leave_the_tree_that_grows_with_them(kind):
    estimator, task, tree = grown(kind)
    parameters = limits_of(kind, tree)
    masks = limit_masks([configured(estimator, own) for own in parameters], tree, task)
    assert not (masks & tree.is_leaf).any()
    sizes = set()
    for own, mask in zip(parameters, masks, strict=True):
        left = take_tree(tree, collapsed=mask)
        assert_same_tree(left, grown_with(kind, own), rtol=1e-13)
        sizes.add(left.node_count)
    assert len(sizes) > 8


def test_rows_are_counted_where_they_have_weights_though_the_growth_did_not():
    """A node of few heavy rows: the growth for all settings, which splits any two rows, counts none."""
    estimator, task, tree = grown("CART, weights")
    assert not task.recipe.rules.counts_rows
    mask = limit_masks([configured(estimator, {"min_samples_split": 20})], tree, task)[0]
    np.testing.assert_array_equal(mask, (tree.num_rows < 20) & ~tree.is_leaf)
    assert np.any(mask != (tree.weight < 20) & ~tree.is_leaf)


def test_a_limit_that_growth_has_heeded_is_not_asked_again():
    """C4.5 splits a node whose weight, summed from fractions, is short of the least by less than 1e-6."""
    estimator = C45Classifier()
    task = estimator.growth_task(*words(missing=True))
    estimator.learn(task.data)
    (tree,) = grow_tables([task])
    node = np.flatnonzero(~tree.is_leaf)[-1]
    tree.weight[node] = 4 - 5e-7
    assert not limit_masks([estimator, configured(estimator, {"confidence": 0.1})], tree, task).any()
    assert limit_masks([configured(estimator, {"max_depth": 1})], tree, task).any()


SETTINGS = [
    {"max_depth": depth, "pruning": pruning, "max_leaf_nodes": most, "ccp_alpha": alpha, "random_state": seed}
    for depth in (3, None)
    for most in (None, 6)
    for alpha in (0.0, 0.01)
    for seed, pruning in [
        (0, None),
        (0, Dropout(0.1)),
        (0, Dropout(0.3, 0.5)),
        (1, Dropout(0.3, 0.5)),
        (0, Dropout(0.3, draws=4)),
        (1, Dropout(0.3, draws=4)),
        (0, Dropout(0.1, draws=4)),
        (0, Dropout(0.1, draws="all")),
        (0, Dropout(0.4, 0.2, draws="all")),
        (0, Pessimistic(0.1)),
        (0, Pessimistic(0.4)),
        (0, Pessimistic(0.4, z="release8")),
        (0, ChiSquared(0.2)),
        (0, ChiSquared(0.2) | Dropout(0.2)),
        (1, ChiSquared(0.2) | Dropout(0.2)),
        (0, MaxLeafNodes(4)),
        (0, MaxLeafNodes(7)),
        (0, CostComplexity(0.02)),
        (0, CostComplexity(0.02, cost="error")),
        (0, MinimumError(3)),
        (0, Collapse()),
    ]
]


def as_if_alone(setting, tree, task):
    """The nodes that a setting collapses in the tree grown for it alone, in nodes of the tree grown for all."""
    limits = limit_masks([setting], tree, task)[0]
    return limits | setting.find_collapsed(setting.list_prunings(), stop_at(tree, limits), task)


@pytest.mark.slow
def test_masks_are_those_of_each_setting():
    estimator, task, tree = grown("CART")
    settings = [configured(estimator, own) for own in SETTINGS]
    masks = masks_of(settings, tree, task, None)
    for setting, mask in zip(settings, masks, strict=True):
        assert_same_tree(take_tree(tree, collapsed=mask), take_tree(tree, collapsed=as_if_alone(setting, tree, task)))
    assert len(np.unique(masks, axis=0)) > 30


@pytest.mark.slow
def test_votes_are_those_of_each_setting():
    estimator, task, tree = grown("CART")
    settings = [configured(estimator, own) for own in SETTINGS]
    masks = masks_of(settings, tree, task, None)
    votes = votes_of(settings, tree, masks)
    assert set(votes) == {i for i, own in enumerate(SETTINGS) if own["pruning"] is not None and own["pruning"].votes}
    for number, found in votes.items():
        own = settings[number]
        pruned = take_tree(tree, collapsed=masks[number])
        expected = own.pruning.vote(pruned, own.model_of(pruned).node_votes(), key=key_of(own.random_state))
        kept = take_tree(dataclasses.replace(tree, code=np.arange(tree.node_count)), collapsed=masks[number]).code
        np.testing.assert_allclose(found[kept], expected, atol=1e-12)


def test_settings_that_differ_in_batched_parameters_are_pruned_by_one_call(monkeypatch):
    calls = []

    def record(self, tree, **keywords):
        calls.append(np.size(self.p))
        return collapsed(self, tree, **keywords)

    collapsed = Dropout.collapsed
    monkeypatch.setattr(Dropout, "collapsed", record)
    estimator, task, tree = grown("CART")
    rates = [{"pruning": Dropout(p, q)} for p in (0.1, 0.2, 0.3) for q in (0.0, 0.5)]
    settings = [configured(estimator, {**own, "random_state": seed}) for own in rates for seed in (0, 1)]
    masking.masks_of(settings, tree, task, None)
    assert calls == [6, 6]
