"""Shapley interaction values beside their definition, beside another library, and the sums that they must have."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.export.node_tables import to_sklearn
from tests.examples import example
from tests.explain.test_shap import predictions, rows_of, unknowing
from tests.export.shipping import FORESTS, PLAIN, edge_rows


def by_definition(worth, num_columns):
    """The interaction values of a game, as means over all sets of the other columns; nothing for a column itself."""
    columns = range(num_columns)
    sets = itertools.chain.from_iterable(itertools.combinations(columns, size) for size in range(num_columns + 1))
    worth = {frozenset(known): worth(set(known)) for known in sets}
    values = np.zeros((num_columns, num_columns, *np.shape(worth[frozenset()])))
    for first, second in itertools.permutations(columns, 2):
        for known in worth:
            if not known & {first, second}:
                weight = math.factorial(len(known)) * math.factorial(num_columns - len(known) - 2)
                alone = worth[known | {first}] + worth[known | {second}]
                change = worth[known | {first, second}] - alone + worth[known]
                values[first, second] += weight / (2 * math.factorial(num_columns - 1)) * change
    return values


@pytest.mark.parametrize("name", ["cart", "c45", "id3_onehot", "regression"])
def test_values_are_those_of_the_definition(name):
    estimator = example(name)
    model, X = estimator.model_, rows_of(estimator, 8)
    found = shap_interaction_values(estimator, X).values
    num_columns = len(model.schema.columns)
    for row, own in zip(estimator.encoder_.values(X), found, strict=True):
        expected = by_definition(partial(unknowing, model, row), num_columns)
        apart = ~np.eye(num_columns, dtype=bool)
        np.testing.assert_allclose(own[apart].reshape(expected[apart].shape), expected[apart], atol=1e-12)


MORE_FORESTS = (pytest.param(name, marks=pytest.mark.slow) for name in FORESTS if name != "forest")


@pytest.mark.parametrize("name", ["cart", "cart_fraction", "forest", *MORE_FORESTS])
def test_values_add_up(name):
    """Over one column to the Shapley value of the other, over both and with the base to the prediction."""
    estimator = example(name)
    X = rows_of(estimator, 30)
    found, main = shap_interaction_values(estimator, X), shap_values(estimator, X)
    np.testing.assert_allclose(found.values.sum(axis=2), main.values, atol=1e-10)
    np.testing.assert_allclose(found.values, found.values.swapaxes(1, 2), atol=1e-15)
    np.testing.assert_allclose(found.base + found.values.sum(axis=(1, 2)), predictions(estimator, X), atol=1e-10)
    assert np.abs(found.values).max() > 1e-3


@pytest.mark.parametrize("name", PLAIN)
def test_values_are_those_of_another_library(name):
    shap = pytest.importorskip("shap")
    estimator = example(name)
    X = edge_rows(estimator, 40, known=True, dtype=np.float32)
    trees = getattr(estimator, "estimators_", [estimator])
    theirs = np.mean([shap.TreeExplainer(to_sklearn(tree)).shap_interaction_values(X) for tree in trees], axis=0)
    np.testing.assert_allclose(shap_interaction_values(estimator, X).values, theirs, atol=1e-6)
    assert np.abs(theirs[:, 0, 1]).max() > 1e-3


def test_a_leaf_and_no_rows_have_no_interactions():
    tree = jaxtree.prune_to(example("cart_plain"), np.arange(example("cart_plain").tree_.node_count) == 0)
    assert not shap_interaction_values(tree, np.zeros((3, 2))).values.any()
    with pytest.raises(InvalidInputError, match="one output"):
        shap_interaction_values(example("cart_outputs"), rows_of(example("cart_outputs"), 2))
