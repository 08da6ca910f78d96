"""Random tables for every estimator whose trees the kernel grows; with sanitizers, `.ci/run` takes more of them."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tests.examples import EXTRAS, unfitted

NUMBER = int(os.environ.get("JAXTREE_RANDOM_TABLES", "1"))
"""Tables for each estimator."""

MOST_GROWTH_PROGRAMS = 120
"""Estimators of every kind stand in this one file, on tables with and without missing values and weights."""

NAMES = [name for name in unfitted() if not name.startswith(("soft", "hardened"))]


def random_table(X, y, rng):
    """Rows drawn anew, with some cells blank and some columns of one value, and targets of other rows."""
    rows = rng.integers(0, len(y), len(y)) if rng.random() < 0.7 else np.full(len(y), rng.integers(len(y)))
    if isinstance(X, pd.DataFrame):
        table = X.iloc[rows].reset_index(drop=True)
        for name in table.columns:
            if rng.random() < 0.2:
                table[name] = table[name].iloc[0]
            elif table[name].isna().any():
                table[name] = table[name].where(rng.random(len(y)) < rng.random(), None)
    else:
        table = np.where(rng.random(X.shape) < 0.1, X[:1], X[rows])
    shuffled = rng.permutation(len(y))
    # All classes are there: others are other programs.
    return table, y[shuffled] if not isinstance(y, pd.Series | pd.Categorical | pd.DataFrame) else y.take(shuffled)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_random_tables(name):
    estimator, X, y = unfitted()[name]
    for seed in range(NUMBER):
        rng = np.random.default_rng(seed)
        table, target = random_table(X, y, rng)
        with warnings.catch_warnings(action="ignore"):
            model = clone(estimator).fit(table, target, **EXTRAS.get(name, {}))
        kinds = ("predict_proba", "predict") if hasattr(model, "predict_proba") else ("predict",)
        for kind in kinds:
            predicted = getattr(model, kind)(X)
            # Several outputs have an array each.
            for own in map(np.asarray, predicted if isinstance(predicted, list) else [predicted]):
                assert len(own) == len(X)
                assert own.dtype.kind != "f" or np.isfinite(own).all(), seed
