"""Permutation importances beside scikit-learn's, of tables of numbers and of words."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.tree import DecisionTreeClassifier

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain import permutation_importances
from tests.export.keeping import mixed_classes, mixed_numbers, mixed_table
from tests.export.shipping import kept

TABLE = mixed_table()
CLASSES, NUMBERS = mixed_classes(TABLE), mixed_numbers(TABLE)
PLAIN = TABLE[["number", "is_new"]].to_numpy(np.float64)


@pytest.mark.parametrize("name, scoring", [("cart_plain", None), ("cart_plain", "neg_log_loss"), ("hardened", None)])
def test_they_are_those_of_scikit_learn(name, scoring):
    estimator, X = kept(name), PLAIN if name == "cart_plain" else TABLE
    options = {"scoring": scoring, "n_repeats": 4, "random_state": 3}
    ours = permutation_importances(estimator, X, CLASSES, **options)
    theirs = permutation_importance(estimator, X, CLASSES, **options)
    np.testing.assert_array_equal(ours.importances, theirs.importances)
    np.testing.assert_array_equal(ours.mean, theirs.importances_mean)
    np.testing.assert_array_equal(ours.std, theirs.importances_std)
    assert ours.importances.shape == (X.shape[1], 4) and ours.mean.max() > 0.05


@pytest.mark.parametrize("name", ["forest_regression", "regression"])
def test_words_and_missing_values_are_shuffled_too(name):
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    options = {"scoring": scoring, "random_state": 1, "sample_weight": np.arange(len(TABLE)) % 3}
    ours = permutation_importances(kept(name), TABLE, NUMBERS, **options)
    theirs = permutation_importance(kept(name), TABLE, NUMBERS, **options)
    np.testing.assert_allclose(ours.importances, theirs.importances, atol=1e-12)


def test_one_hot_features_of_a_column_are_shuffled_together():
    options = {"random_state": 5, "n_repeats": 3}
    ours = permutation_importances(kept("id3_onehot"), TABLE, CLASSES, **options)
    theirs = permutation_importance(kept("id3_onehot"), TABLE, CLASSES, **options)
    np.testing.assert_array_equal(ours.importances, theirs.importances)


def test_the_estimator_stays_as_it_is():
    tree = kept("cart_plain")
    before, encoder = tree.predict(PLAIN), tree.encoder_
    permutation_importances(tree, PLAIN, CLASSES, n_repeats=1)
    assert tree.encoder_ is encoder and tree.n_features_in_ == 2
    np.testing.assert_array_equal(tree.predict(PLAIN), before)


def test_what_has_no_importances_is_refused():
    with pytest.raises(InvalidInputError, match="n_repeats must be an integer >= 1, got 0"):
        permutation_importances(kept("cart_plain"), PLAIN, CLASSES, n_repeats=0)
    with pytest.raises(InvalidInputError, match="60 and 3"):
        permutation_importances(kept("cart_plain"), PLAIN, CLASSES[:3])
    with pytest.raises(NotFittedError):
        permutation_importances(jaxtree.DecisionTreeClassifier(), PLAIN, CLASSES)
    for other in ([], DecisionTreeClassifier().fit(PLAIN[:, 1:], CLASSES)):
        with pytest.raises(InvalidTypeError, match=type(other).__name__):
            permutation_importances(other, PLAIN[:, 1:], CLASSES)
