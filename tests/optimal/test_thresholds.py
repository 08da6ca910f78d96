"""The search among all thresholds, by bounds, against sums over all pairs of them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from jaxtree import OptimalTreeClassifier
from jaxtree.kernels import choose
from jaxtree.optimal.costs import cost_of_classes
from jaxtree.optimal.nodes import CodedTable, objective_of, split_nodes
from jaxtree.optimal.search import SearchLimits, find_trees, penalty_in_units
from jaxtree.optimal.thresholds import can_search, improved_among_all, indicators_of_all
from tests.marks import rest_is_slow, rows_are_slow
from tests.optimal.tables import IS_CATEGORICAL, LOSS

NUM_VALUES = np.array([9, 4, 5, 12], np.int32)
needs_kernel = pytest.mark.skipif(not choose.is_there(), reason="the kernel is not installed")


@pytest.fixture(params=["kernel", "numpy"])
def engine(request, monkeypatch):
    """Who searches."""
    if request.param == "numpy":
        monkeypatch.setattr(choose, "is_there", lambda: False)
    elif not choose.is_there():
        pytest.skip("the kernel is not installed")
    return request.param


def improved(*arguments, **options):
    """The best tree of all thresholds by who computes on the host."""
    return improved_among_all(*arguments, **options, engine=choose.choose("cpu"))


def table_of(seed, rows=48):
    """Codes with missing values and categories, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, values, rows) for values in NUM_VALUES]).astype(np.uint8)
    score = codes[0] / 4 + 2 * (codes[2] == 1) * (codes[3] > 5) + rng.normal(size=rows) / 2
    for feature in (0, 2):
        codes[feature, rng.random(rows) < 0.1] = NUM_VALUES[feature]
    return CodedTable(codes, NUM_VALUES, IS_CATEGORICAL), np.digitize(score, [1.0, 2.5]), rng


@pytest.mark.parametrize("depth", rest_is_slow([2, 3]))
@pytest.mark.parametrize("kind", ["errors", "losses", "weights", "two_classes"])
@pytest.mark.parametrize("penalty", rest_is_slow([0.0, 0.7, 2.0], 2))
def test_bounds_leave_out_no_better_tree(engine, depth, kind, penalty):
    table, label, rng = table_of([depth, len(kind)])
    label = np.minimum(label, 1) if kind == "two_classes" else label
    weight = rng.random(label.size) + 0.1 if kind == "weights" else None
    loss = LOSS if kind == "losses" else None
    made = cost_of_classes(label, int(label.max()) + 1, weight, loss=loss)
    for learns_missing in (True, False):
        limits = SearchLimits(depth, leaf_penalty=penalty, learns_missing=learns_missing)
        best = find_trees(table, made, [limits])[0]
        assert best.optimality == "proven"
        indicators = indicators_of_all(table, learns_missing=learns_missing)
        own = penalty_in_units(penalty, made)
        found = improved(None, indicators, table, made, depth=depth, penalty=own, cells=2**40)
        assert found.is_proven
        leaves = len(split_nodes(found.tree)) + 1
        assert objective_of(found.tree, table, made) + penalty * leaves == pytest.approx(best.objective, rel=1e-9)
        assert leaves == len(split_nodes(best.tree)) + 1
        # A tree in hand that is the best stays.
        again = improved(best.tree, indicators, table, made, depth=depth, penalty=own, cells=2**40)
        assert again.tree == best.tree and again.is_proven


def test_a_search_that_ends_early_keeps_the_tree_in_hand_and_proves_nothing(engine):
    table, label, _ = table_of(3)
    made = cost_of_classes(label, 3, None)
    assert can_search(table, made, 3)
    indicators = indicators_of_all(table, learns_missing=True)
    best = find_trees(table, made, [SearchLimits(3)])[0]
    for cells in (0, 1_000, 20_000):
        found = improved(best.tree, indicators, table, made, depth=3, penalty=0.0, cells=cells)
        assert found.tree == best.tree and not found.is_proven
        alone = improved(None, indicators, table, made, depth=3, penalty=0.0, cells=cells)
        assert objective_of(alone.tree, table, made) >= best.objective


@needs_kernel
@pytest.mark.parametrize("kind", ["errors", "losses", "weights"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_numpy_looks_at_what_the_kernel_looks_at(depth, kind):
    """It finds the same tree with the same cells left, also where it ends early."""
    for seed, rows in enumerate((3, 17, 60)):
        table, label, rng = table_of([seed, depth, len(kind)], rows)
        weight = rng.random(rows) + 0.1 if kind == "weights" else None
        made = cost_of_classes(label, 3, weight, loss=LOSS if kind == "losses" else None)
        indicators = indicators_of_all(table, learns_missing=seed != 1)
        for penalty, cells in ((0.0, 2**40), (0.7, 2**40), (0.0, 100), (0.0, 1_500), (0.0, 20_000)):
            given = {"depth": depth, "penalty": penalty_in_units(penalty, made), "cells": cells}
            by_kernel, by_numpy = (
                improved_among_all(None, indicators, table, made, **given, engine=own)
                for own in (choose.Engine.HOST, choose.Engine.XLA)
            )
            assert by_kernel == by_numpy


@needs_kernel
@pytest.mark.parametrize(("load", "depth", "errors"), rows_are_slow([(load_breast_cancer, 2, 22), (load_wine, 3, 0)]))
def test_small_tables_of_many_values_have_proven_trees(load, depth, errors):
    """The errors are those of sums over all pairs of 15,131 and 1,259 thresholds; of wine none can be fewer."""
    X, y = load(return_X_y=True)
    best = OptimalTreeClassifier(max_depth=depth).fit(X, y)
    assert (best.objective_, best.optimality_) == (errors, "proven")
    assert (best.predict(X) != y).sum() == errors


def test_what_is_not_searched_among_all_thresholds_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    for options in ({}, {"refine_thresholds": False}, {"criterion": "gini"}, {"min_samples_leaf": 5}):
        model = OptimalTreeClassifier(max_depth=2, max_thresholds=4).set_params(**options)
        assert model.fit(X, y).optimality_ == "proven on bins"
