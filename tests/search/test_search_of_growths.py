"""The search is scikit-learn's where parameters change splits, and a growth serves what they leave the same."""

import pytest

from jaxtree import DecisionTreeClassifier, Dropout
from tests.search.beside import compare, numbers

pytestmark = pytest.mark.exhaustive

X, Y = numbers()


def test_criteria():
    grid = {"criterion": ["gini", "entropy"], "max_depth": [2, None], "min_impurity_decrease": [0, 0.02]}
    compare(DecisionTreeClassifier(), grid, X, Y, scoring="neg_log_loss")


@pytest.mark.parametrize("draws", [{"max_features": [1, 2]}, {"splitter": ["random"]}], ids=str)
def test_random_growth(draws):
    """The seed then changes the tree, and each fold draws what it draws alone."""
    grid = {**draws, "max_depth": [2, None], "random_state": [0, 1], "pruning": [None, Dropout(0.3)]}
    compare(DecisionTreeClassifier(), grid, X, Y)
