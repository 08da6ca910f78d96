"""Searches of many levels find nothing worse than greed does, and no split that is not worth its penalty."""

import numpy as np
import pytest

from jaxtree.optimal.greedy import greedy_tree, without_dear_splits
from jaxtree.optimal.nodes import CodedTable, objective_of, split_nodes
from jaxtree.optimal.search import SearchLimits, find_trees
from tests.optimal.tables import IS_CATEGORICAL, NUM_VALUES, case_of


@pytest.mark.parametrize("name", ["errors", "loss_weighted", "gini", "squared_error", "squared_error_weighted"])
@pytest.mark.parametrize("learns_missing", [True, False])
def test_no_search_is_worse_than_greed(name, learns_missing):
    codes, _, _, made = case_of(name, seed=41)
    table = CodedTable(codes, NUM_VALUES, IS_CATEGORICAL)
    greedy = greedy_tree(table, made, 4, platform="cpu", learns_missing=learns_missing)
    limits = SearchLimits(4, time_limit=0.0, learns_missing=learns_missing, max_thresholds=1)
    found = find_trees(table, made, [limits])[0]
    assert found.bound <= found.objective <= objective_of(greedy, table, made) + 1e-9
    assert found.objective == objective_of(found.tree, table, made)


@pytest.mark.parametrize("name", ["errors", "squared_error"])
def test_a_split_saves_more_than_its_penalty(name):
    codes, _, _, made = case_of(name, seed=42)
    table = CodedTable(codes, NUM_VALUES, IS_CATEGORICAL)
    tree, sizes = greedy_tree(table, made, 5, platform="cpu"), []
    for penalty in (0.0, 0.5, 2.0, 1e9):
        smaller = without_dear_splits(tree, table, made, penalty)
        whole, left = ((objective_of(t, table, made), len(split_nodes(t))) for t in (tree, smaller))
        assert left[0] + penalty * left[1] <= whole[0] + penalty * whole[1] + 1e-9
        sizes.append(left[1])
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 0 and sizes[-1] == 0
    np.testing.assert_allclose(objective_of(without_dear_splits(tree, table, made, 0.0), table, made), whole[0])
