"""Targets that look like identifiers of rows."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.errors import IdentifierWarning
from tests.marks import are_slow

ESTIMATORS = {
    "tree": jaxtree.DecisionTreeClassifier(max_depth=1),
    "forest": jaxtree.RandomForestClassifier(2, max_depth=1),
    "optimal": jaxtree.OptimalTreeClassifier(max_depth=1),
    "boosted": jaxtree.GradientBoostingClassifier(n_estimators=1, max_depth=1),
    "soft": jaxtree.SoftTreeClassifier(depth=1, max_epochs=1),
}


@pytest.mark.parametrize("name", are_slow(ESTIMATORS, "boosted", "soft"))
def test_a_class_a_row_is_noted_whatever_is_fitted(name):
    X, y = np.arange(24.0)[:, None], np.arange(24)
    with pytest.warns(IdentifierWarning, match=r"y has 24 classes in 24 rows, 1\.0 rows a class"):
        clone(ESTIMATORS[name]).fit(X, y)


@pytest.mark.parametrize(
    ("num_classes", "rows_of_class", "is_noted"),
    [(20, 1, False), (21, 1, True), (21, 2, False), (100, 2, False), (101, 9, True), (101, 10, False)],
)
def test_few_classes_and_classes_of_many_rows_are_none(num_classes, rows_of_class, is_noted):
    y = np.arange(num_classes).repeat(rows_of_class)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jaxtree.DecisionTreeClassifier(max_depth=1).fit(np.zeros((len(y), 1)), y)
    assert [warning.category for warning in caught] == [IdentifierWarning] * is_noted
