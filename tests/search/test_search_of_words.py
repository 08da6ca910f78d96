"""The search is scikit-learn's on tables of words: every fold has other categories, and values are missing."""

import numpy as np
import pytest

from jaxtree import (
    C45Classifier,
    ChiSquared,
    CostComplexity,
    DecisionTreeClassifier,
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


@pytest.mark.parametrize("encoding", ["categorical", "onehot"])
def test_id3(encoding):
    compare(ID3Classifier(encoding=encoding), LIMITS, X, Y, return_train_score=True)
    compare(ID3Classifier(encoding=encoding, random_state=0), PRUNINGS, X, Y, scoring="roc_auc")


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


@pytest.mark.parametrize(
    "estimator",
    [
        ID3Classifier(missing="branch"),
        DecisionTreeClassifier(missing="learn"),
        DecisionTreeClassifier(missing="branch"),
    ],
    ids=["ID3, branch", "CART, learn", "CART, branch"],
)
def test_missing_values(estimator):
    for scoring in ("neg_log_loss", None):
        estimator.set_params(random_state=0)
        compare(estimator, PRUNINGS, X_MISSING, Y_MISSING, scoring=scoring)


def test_missing_values_that_are_shared_out():
    """Counts at nodes do not tell what a row in parts is predicted: such folds are scored on rows."""
    grid = {"min_gain": [0, 0.1], **PRUNINGS, "random_state": [0]}
    compare(
        ID3Classifier(missing="fraction"), grid, X_MISSING, Y_MISSING, scoring=["accuracy", "roc_auc"], refit="roc_auc"
    )
    compare(ID3Classifier(missing="fraction", random_state=0), {"pruning": [ReducedError()]}, X_MISSING, Y_MISSING)


def test_c45():
    own = {
        "confidence": [None, 0.1, 0.4],
        "subtree_raising": [True, False],
        "collapse": [True, False],
        "max_depth": [2, None],
        "z": ["exact", "release8"],
    }
    compare(C45Classifier(), own, X_MISSING, Y_MISSING)
    pruning = {"pruning": [None, Dropout(0.2), MinimumError(), CostComplexity(0.01)], "max_depth": [2, None]}
    compare(C45Classifier(random_state=0, laplace=True), pruning, X_MISSING, Y_MISSING, scoring="neg_log_loss")


def test_splits_of_c45_that_fractions_of_rows_make_possible_are_not_undone():
    """Growth takes a weight within 1e-6 of the least for enough; so must a search that leaves the limit alone."""
    grid = {"min_samples_leaf": [1.5, 2, 3], "max_depth": [3, None], "confidence": [None]}
    compare(C45Classifier(), grid, X_MISSING, Y_MISSING)


def test_several_outputs():
    """Scored on rows, by a function: the estimator's own score knows one output."""
    both = np.stack([Y, np.where(X["size"] > 2, "big", "small")], axis=1)

    def right(estimator, X, y):
        return (estimator.predict(X) == y).mean()

    compare(DecisionTreeClassifier(), {"max_depth": [1, 2, None], "ccp_alpha": [0, 0.01]}, X, both, scoring=right)
