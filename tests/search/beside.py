"""Small tables, and a search beside scikit-learn's.

Growth compiles a program for every number of roots, kind of column, class count and kind of weight, so that tables have
one length, one kind of fold, and as few kinds as will do.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV

from jaxtree import SearchCV
from jaxtree.search.tuning import Plain

ROWS = 120
FOLD = np.arange(ROWS) % 3
FOLDS = [(np.flatnonzero(fold != FOLD), np.flatnonzero(fold == FOLD)) for fold in range(3)]

RARE = {1: "gold", 2: "jade", 5: "lime"}
"""Words of single rows: none is in fold 0, one in fold 1 and two in fold 2, so that each fold's training rows have
another number of categories."""


def numbers(*, num_classes=3, seed=0):
    """Three columns of a few distinct values each, and classes that follow them in part."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (ROWS, 3)) / 2
    noise = rng.integers(0, 3, ROWS)
    return X, (X[:, 0].astype(int) + (X[:, 1] > 2.5) * 2 + (noise == 0)) % num_classes


def targets(*, seed=0):
    """The same columns, and positive numbers that follow them in part."""
    X, _ = numbers(seed=seed)
    noise = np.random.default_rng(seed + 1).normal(size=ROWS)
    return X, np.abs(np.sin(X[:, 0]) * 3 + X[:, 1] + noise)


def words(*, missing=False, seed=0):
    """A frame with two columns of words and one of numbers, and two classes in words."""
    rng = np.random.default_rng(seed)
    color = rng.choice(["red", "blue", "green", "pink"], ROWS, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    shape = rng.choice(["round", "flat", "long"], ROWS).astype(object)
    size = rng.integers(0, 10, ROWS) / 2
    is_yes = (color == "red") ^ ((shape == "flat") & (size > 2)) ^ (rng.random(ROWS) < 0.15)
    if missing:
        color[rng.random(ROWS) < 0.1] = None
        size[rng.random(ROWS) < 0.1] = np.nan
    color[list(RARE)] = list(RARE.values())
    return pd.DataFrame({"color": color, "shape": shape, "size": size}), np.where(is_yes, "yes", "no")


def weights(*, seed=0):
    """Weights of the rows, a few of them 0."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, ROWS) * rng.uniform(0.5, 1.5, ROWS)


def search_twice(estimator, grid, X, y, *, cv=None, fit_params=None, **options):
    """Our search and scikit-learn's, fitted; the warnings of failing fits are not shown."""
    both = []
    for search in (SearchCV, GridSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = search(estimator, grid, cv=FOLDS if cv is None else cv, **options)
            both.append(fitted.fit(X, y, **(fit_params or {})))
    return both


def compare(estimator, grid, X, y, **options):
    """Checks that our search gives what scikit-learn's does, but for the times; returns ours."""
    ours, theirs = search_twice(estimator, grid, X, y, **options)
    assert_same_results(ours.cv_results_, theirs.cv_results_)
    for name in ("best_index_", "best_score_", "best_params_", "multimetric_", "n_splits_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        found, expected = getattr(ours, name, None), getattr(theirs, name, None)
        if name == "best_score_" and expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-9)
        else:
            assert repr(found) == repr(expected), name
    if options.get("refit", True):
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_equal(ours.score(X, y), theirs.score(X, y))
    return ours


def assert_same_results(ours, theirs):
    """Two `cv_results_` agree in their columns, scores, means, deviations, ranks and parameters."""
    assert set(ours) == set(theirs)
    for name, expected in theirs.items():
        if name == "params":
            assert list(map(repr, ours[name])) == list(map(repr, expected))
        elif name.startswith("param_"):
            assert list(map(repr, ours[name].tolist())) == list(map(repr, expected.tolist()))
        elif name.startswith("rank"):
            np.testing.assert_array_equal(ours[name], expected, err_msg=name)
        elif "time" not in name:
            np.testing.assert_allclose(ours[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def beside_plain(tuned):
    """A tuning beside a plain estimator that has the scores of its first setting."""
    first = tuned.tried.scores[0]
    return tuned._replace(plain=Plain(first, first - 1, tuned.scores, 0.5), seconds=1.0)
