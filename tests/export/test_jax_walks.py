"""Programs of JAX for trees that share out rows with missing values, and for planes: both predict what trees do."""

import jax
import numpy as np
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.export.programs import to_jax_export
from tests.examples import example, mixed_classes, mixed_numbers, mixed_table
from tests.export.shipping import SHARING, edge_rows
from tests.export.test_planes import random_rows, standard_numbers

FRACTIONS = {
    "numbers": lambda X: jaxtree.DecisionTreeRegressor(max_depth=4, missing="fraction").fit(X, mixed_numbers(X)),
    "subsets": lambda X: jaxtree.DecisionTreeClassifier(missing="fraction", categorical_splits="subset").fit(
        X, mixed_classes(X)
    ),
    "forest": lambda X: jaxtree.RandomForestClassifier(3, max_depth=4, missing="fraction", random_state=0).fit(
        X, mixed_classes(X)
    ),
    "forest of numbers": lambda X: jaxtree.RandomForestRegressor(
        3, max_depth=4, missing="fraction", random_state=0
    ).fit(X, mixed_numbers(X)),
}


def called(estimator, X, **options):
    """The results of a program for rows, after it was bytes."""
    values = np.asarray(estimator.encoder_.values(X), np.float32)
    return jax.export.deserialize(to_jax_export(estimator, **options).serialize()).call(values)


def check(estimator, X, said):
    if not is_classifier(estimator):
        np.testing.assert_allclose(said, estimator.predict(X), rtol=1e-5)
        return
    np.testing.assert_allclose(said[1], estimator.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(estimator.classes_[np.asarray(said[0])], estimator.predict(X))


@pytest.mark.parametrize("name", SHARING)
def test_rows_are_shared_out(name):
    estimator = example(name)
    X = edge_rows(estimator, dtype=np.float32)
    check(estimator, X, called(estimator, X))
    known = edge_rows(estimator, known=True, dtype=np.float32)
    check(estimator, known, called(estimator, known, no_missing=True))


@pytest.mark.parametrize("name", FRACTIONS)
def test_rows_are_shared_out_in_every_kind_of_tree(name):
    X = mixed_table()
    estimator = FRACTIONS[name](X)
    assert estimator.model_.predictor.shares_out.any()
    check(estimator, X, called(estimator, X, num_rows=len(X)))


def test_planes_of_words_and_of_numbers():
    for estimator in (example("hardened"), standard_numbers()):
        X = random_rows(estimator)
        check(estimator, X, called(estimator, X))


def test_planes_scaled_by_quantiles_are_refused():
    with pytest.raises(InvalidInputError, match=r"scaled by quantiles.*scaling='standard'"):
        to_jax_export(example("hardened_regression"))
