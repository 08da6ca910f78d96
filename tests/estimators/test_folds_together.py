"""Samples grown as roots of one growth: each tree is the one that its sample gives alone."""

import jax
import numpy as np
import pandas as pd
import pytest

from jaxtree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from jaxtree.estimators.common import growing

pytestmark = pytest.mark.slow


def parts(seed=0, *, missing=False):
    """A table, and three sets of rows that differ in their distinct values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (300, 6)).astype(float)
    if missing:
        X[:40, 2] = np.nan
    y = ((X[:, 0] > 4) ^ (rng.uniform(size=300) < 0.2)).astype(int)
    X[250:, 1] = 20 + np.arange(50)
    return X, y, [np.arange(200), np.arange(60, 260), np.arange(100, 300)]


CASES = {
    "classes": (DecisionTreeClassifier(), {}),
    "weights": (DecisionTreeClassifier(min_samples_leaf=3), {"weights": True}),
    "learned": (DecisionTreeClassifier(missing="learn"), {"missing": True}),
    "branch": (DecisionTreeClassifier(missing="branch"), {"missing": True}),
    "numbers": (DecisionTreeRegressor(), {}),
    "random features": (DecisionTreeClassifier(max_features=2, random_state=7), {}),
    "C4.5": (C45Classifier(confidence=None), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_together_as_alone(name, monkeypatch):
    estimator, options = CASES[name]
    X, y, rows = parts(missing=options.get("missing", False))
    weight = np.random.default_rng(1).integers(1, 4, 300).astype(float) if options.get("weights") else None
    tasks = [estimator.growth_task(X[r], y[r], None if weight is None else weight[r]) for r in rows]
    alone = [growing.grow_tables([task])[0] for task in tasks]
    calls, grow = [], growing.grow_completely
    monkeypatch.setattr(growing, "grow_completely", lambda *a, **k: calls.append(a[4].num_roots) or grow(*a, **k))
    together = growing.grow_tables(tasks)
    # Rows whose first part alone has missing values are grown by themselves.
    assert calls == ([1, 2] if options.get("missing") else [3])
    for ours, own in zip(together, alone, strict=True):
        for field, expected in zip(jax.tree.leaves(ours), jax.tree.leaves(own), strict=True):
            np.testing.assert_allclose(field, expected, rtol=1e-9, atol=1e-12)


def test_categories_that_only_some_parts_have_are_grown_apart(monkeypatch):
    words = pd.DataFrame({"a": list("uvw" * 20), "b": ["p", "q"] * 30})
    y = np.arange(60) % 5 == 0
    tree = ID3Classifier()
    tasks = [tree.growth_task(words.iloc[r], y[r]) for r in (slice(0, 40), slice(20, 60), slice(0, 2))]
    calls, grow = [], growing.grow_completely
    monkeypatch.setattr(growing, "grow_completely", lambda *a, **k: calls.append(a[4].num_roots) or grow(*a, **k))
    growing.grow_tables(tasks)
    assert sorted(calls) == [1, 2]
