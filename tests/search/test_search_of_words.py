"""The search is scikit-learn's on tables of words: every fold has other categories, and values are missing."""

import pytest

from jaxtree import (
    C45Classifier,
    ChiSquared,
    Dropout,
    ID3Classifier,
    MinimumError,
    ReducedError,
    ValidationGate,
)
from tests.search.beside import FOLDS, RARE, compare, weights, words

pytestmark = pytest.mark.exhaustive

X, Y = words()
X_MISSING, Y_MISSING = words(missing=True)
LIMITS = {"max_depth": [0, 1, 2, None], "min_samples_split": [2, 4.5, 20], "min_gain": [0, 0.05, 0.2]}
PRUNINGS = {
    "pruning": [None, MinimumError(), ChiSquared(0.3), Dropout(0.3), Dropout(0.3, draws=5), Dropout(0.3, draws="all")],
    "max_depth": [2, None],
}


def test_every_fold_has_other_categories():
    known = [len(set(X["color"].iloc[train])) for train, _ in FOLDS]
    assert sorted(known) == [5, 6, 7]
    assert all(X["color"].iloc[row] == word and (X["color"] == word).sum() == 1 for row, word in RARE.items())


def test_limits_of_id3_count_weight():
    compare(ID3Classifier(), LIMITS, X, Y, fit_params={"sample_weight": weights()}, scoring="balanced_accuracy")


def test_held_out_parts_with_categories_that_the_rest_lacks():
    """An encoder that two growths share is the whole fold's, not that of the rest without the held-out rows."""
    grid = [
        {"max_depth": [2, None]},
        {"pruning": [ReducedError(0.4), ValidationGate()], "max_depth": [2, None]},
        {"min_samples_leaf": [1, 2]},
    ]
    compare(ID3Classifier(random_state=0), grid, X, Y)


def test_missing_values_that_are_shared_out():
    """Counts at nodes do not tell what a row in parts is predicted: such folds are scored on rows."""
    grid = {"min_gain": [0, 0.1], **PRUNINGS, "random_state": [0]}
    compare(
        ID3Classifier(missing="fraction"), grid, X_MISSING, Y_MISSING, scoring=["accuracy", "roc_auc"], refit="roc_auc"
    )
    compare(ID3Classifier(missing="fraction", random_state=0), {"pruning": [ReducedError()]}, X_MISSING, Y_MISSING)


def test_splits_of_c45_that_fractions_of_rows_make_possible_are_not_undone():
    """Growth takes a weight within 1e-6 of the least for enough; so must a search that leaves the limit alone."""
    grid = {"min_samples_leaf": [1.5, 2, 3], "max_depth": [3, None], "confidence": [None]}
    compare(C45Classifier(), grid, X_MISSING, Y_MISSING)
