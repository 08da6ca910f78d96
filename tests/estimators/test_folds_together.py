"""Which samples grow as roots of one growth; `tests/test_batches.py` compares their trees with lone ones."""

import numpy as np
import pandas as pd
import pytest

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from jaxtree.estimators.common import growing

ROW = np.arange(90)
X = np.random.default_rng(0).integers(0, 9, (90, 2)).astype(float)
MISSING = np.where(ROW[:, None] % 9 == 0, np.nan, X)
WEIGHT = ROW % 3 + 1.0


@pytest.fixture
def growths(monkeypatch):
    """The number of roots of every growth."""
    calls, grow = [], growing.grow_until_it_fits
    monkeypatch.setattr(growing, "grow_until_it_fits", lambda *a, **k: calls.append(a[4].num_roots) or grow(*a, **k))
    return calls


@pytest.mark.parametrize(
    ("tree", "table", "weight", "expected"),
    [
        (DecisionTreeClassifier(), X, None, [3]),
        (DecisionTreeClassifier(missing="branch"), MISSING, WEIGHT, [3]),
        # The unit of fixed point follows from all rows of a growth.
        (DecisionTreeClassifier(missing="fraction"), MISSING, None, [1, 1, 1]),
        (DecisionTreeClassifier(), X, WEIGHT / 7, [1, 1, 1]),
        (DecisionTreeRegressor(), X, None, [1, 1, 1]),
    ],
    ids=["classes", "whole weights", "shares", "weights", "numbers"],
)
def test_sums_of_whole_numbers_alone_share_a_growth(tree, table, weight, expected, growths):
    parts = [slice(0, 60), slice(30, 90), slice(10, 70)]
    y = X[:, 0] > 4
    growing.grow_tables([tree.growth_task(table[r], y[r], None if weight is None else weight[r]) for r in parts])
    assert growths == expected


def test_categories_that_only_some_parts_have_are_grown_apart(growths):
    words = pd.DataFrame({"a": list("uvw" * 20), "b": ["p", "q"] * 30})
    y = np.arange(60) % 5 == 0
    tree = ID3Classifier()
    tasks = [tree.growth_task(words.iloc[r], y[r]) for r in (slice(0, 40), slice(20, 60), slice(0, 2))]
    growing.grow_tables(tasks)
    assert sorted(growths) == [1, 2]
