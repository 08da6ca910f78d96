"""The trees of an additive model predict the sum of its terms, whatever codes share a bin."""

import numpy as np
import pytest

import jaxtree
from tests.examples import mixed_classes, mixed_numbers, mixed_table

FEW = {"outer_bags": 1, "validation_size": 0, "max_rounds": 30, "min_samples_leaf": 1, "learning_rate": 0.2}


@pytest.mark.parametrize("bins", [2, 3, 5, 64])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_trees_predict_the_sum_of_terms(kind, bins):
    """Pairs have coarser bins, and rare categories share theirs."""
    table = mixed_table()
    options = {**FEW, "max_interaction_bins": bins, "min_cat_samples": 16, "interactions": 6}
    if kind == "classes":
        model = jaxtree.ExplainableBoostingClassifier(**options).fit(table, mixed_classes(table))
    else:
        model = jaxtree.ExplainableBoostingRegressor(**options).fit(table, mixed_numbers(table))
    assert any(" & " in name for name in model.term_names_)
    sums = model.intercept_ + model.additive_.term_values(model.encoder_.transform(table)).sum(axis=1)
    np.testing.assert_allclose(model.raw_scores(table), sums, rtol=0, atol=1e-12)


def test_nodes_predict_the_mean_of_the_rows_below_them():
    table = mixed_table()
    model = jaxtree.ExplainableBoostingRegressor(**FEW, interactions=2).fit(table, mixed_numbers(table))
    nodes, forest = model.model_.tree, model.forest_
    np.testing.assert_allclose(nodes.target_sum[forest.first_node[:-1]], 0, atol=1e-9)
    for node in np.flatnonzero(nodes.num_children):
        below = nodes.first_child[node] + np.arange(2)
        np.testing.assert_allclose(nodes.target_sum[below].sum(axis=0), nodes.target_sum[node], atol=1e-9)
        assert nodes.weight[below].sum() == nodes.weight[node]
