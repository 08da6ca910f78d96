"""Fits by joblib's workers are those of the parent, or say at once why there are none: in no way do they hang."""

import os
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import jaxtree
from jaxtree.errors import ForkedProcessError
from jaxtree.kernels import library

SECONDS = 120
X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
FAMILIES = {
    "tree": jaxtree.DecisionTreeClassifier(max_depth=2),
    "forest": jaxtree.RandomForestClassifier(2, max_depth=2, random_state=0),
    "boosting": jaxtree.GradientBoostingClassifier(2, max_depth=2, min_samples_leaf=4),
    "folds": jaxtree.GradientBoostingClassifier(2, max_depth=2, min_samples_leaf=4, early_stopping="cv"),
    "additive": jaxtree.ExplainableBoostingClassifier(outer_bags=1, max_rounds=3),
    "soft": jaxtree.SoftTreeClassifier(depth=1, max_epochs=1, random_state=0),
    "optimal": jaxtree.OptimalTreeClassifier(max_depth=1),
}
FITTED_IN_FORKS = {"tree"} if library.load() is not None else set()
"""The families that a child which is cut off from JAX fits; the kernel grows their trees."""


def fitted(estimator):
    """The probabilities of a model that is fitted here, or the error."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return clone(estimator).fit(X, Y).predict_proba(X)
        except Exception as error:
            return error


def by_workers(backend, estimators):
    with warnings.catch_warnings(action="ignore"):  # of JAX and of Python, that a forked child may hang
        return Parallel(n_jobs=2, backend=backend, timeout=SECONDS)(delayed(fitted)(own) for own in estimators)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_threads_and_processes_of_their_own_fit_what_their_parent_does(backend):
    for name, own in zip(FAMILIES, by_workers(backend, FAMILIES.values()), strict=True):
        np.testing.assert_array_equal(own, fitted(FAMILIES[name]), err_msg=name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_workers_fit_by_the_kernel_or_refuse():
    expected = {name: fitted(own) for name, own in FAMILIES.items()}  # JAX has started now
    for name, own in zip(FAMILIES, by_workers("multiprocessing", FAMILIES.values()), strict=True):
        if name in FITTED_IN_FORKS:
            np.testing.assert_array_equal(own, expected[name])
        else:
            assert type(own) is ForkedProcessError and "loky" in str(own), (name, own)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.parametrize("name", ["tree", "boosting"])
def test_searches_of_scikit_learn_are_the_same_in_workers_or_say_why_not(backend, name):
    grid = GridSearchCV(FAMILIES[name], {"max_depth": [1, 2]}, cv=2, error_score="raise")
    with warnings.catch_warnings(action="ignore"):
        alone = clone(grid).fit(X, Y)
        with parallel_config(backend, n_jobs=2):
            if backend == "multiprocessing" and name not in FITTED_IN_FORKS:
                with pytest.raises(ForkedProcessError, match="spawn"):
                    clone(grid).fit(X, Y)
                return
            beside = clone(grid).fit(X, Y)
    np.testing.assert_array_equal(beside.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
