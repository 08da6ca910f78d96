"""Intervals by CV+ and the jackknife+."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.resampling import ConformalRegressor
from tests.marks import rest_is_slow

TREE = jaxtree.DecisionTreeRegressor(max_depth=3, min_samples_leaf=3)


def simulated(number, seed):
    """Numbers whose noise is not normal."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(number, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + generator.standard_t(3, number)


def by_definition(X, y, new, cv, coverage):
    """Ends of Barber et al. (2021), equation 11, one row at a time."""
    low, high = [[] for _ in new], [[] for _ in new]
    for train, test in cv.split(X):
        model = jaxtree.DecisionTreeRegressor(max_depth=3, min_samples_leaf=3).fit(X[train], y[train])
        residual, center = np.abs(y[test] - model.predict(X[test])), model.predict(new)
        for row, own in enumerate(center):
            low[row] += list(own - residual)
            high[row] += list(own + residual)
    number = len(y)
    share = Fraction(str(coverage))
    above, below = math.ceil(share * (number + 1)), math.floor((1 - share) * (number + 1))
    return np.array([[sorted(a)[below - 1], sorted(b)[above - 1]] for a, b in zip(low, high, strict=True)])


@pytest.mark.parametrize("cv", [KFold(5, shuffle=True, random_state=0), LeaveOneOut()], ids=["cv+", "jackknife+"])
@pytest.mark.parametrize("coverage", rest_is_slow([0.55, 0.8]))
def test_intervals_are_those_of_the_definition(cv, coverage):
    (X, y), (new, _) = simulated(39, 0), simulated(7, 1)
    model = ConformalRegressor(TREE, cv=cv).fit(X, y)
    np.testing.assert_allclose(model.predict_interval(new, coverage=coverage), by_definition(X, y, new, cv, coverage))
    np.testing.assert_allclose(model.predict(new), TREE.fit(X, y).predict(new))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "cv"),
    [(199, KFold(10)), pytest.param(39, LeaveOneOut(), marks=pytest.mark.slow)],
    ids=["cv+", "jackknife+"],
)
def test_intervals_cover_as_they_promise(number, cv):
    """Over 200 tables, to two standard errors; of so many rows (number + 1) / 5 is whole, and the promise exact."""
    inside = []
    for seed in range(200):
        (X, y), (new, truth) = simulated(number, seed), simulated(20, 10_000 + seed)
        interval = ConformalRegressor(LinearRegression(), cv=cv).fit(X, y).predict_interval(new, coverage=0.8)
        inside.append(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))
    assert abs(np.mean(inside) - 0.8) < 2 * np.std(inside) / np.sqrt(len(inside))


def test_too_few_rows_promise_nothing():
    X, y = simulated(8, 0)
    interval = ConformalRegressor(TREE, cv=4).fit(X, y).predict_interval(X[:2], coverage=0.95)
    assert np.isneginf(interval[:, 0]).all() and np.isposinf(interval[:, 1]).all()


def test_blocks_of_rows_change_nothing(monkeypatch):
    (X, y), (new, _) = simulated(40, 0), simulated(9, 1)
    model = ConformalRegressor(TREE, cv=4).fit(X, y)
    whole = model.predict_interval(new)
    monkeypatch.setattr("jaxtree.estimators.common.sorted_lists.CELLS_AT_A_TIME", 80)
    np.testing.assert_array_equal(model.predict_interval(new), whole)


@pytest.mark.parametrize(
    "cv", [RepeatedKFold(n_splits=2, n_repeats=2), ShuffleSplit(2)], ids=lambda cv: type(cv).__name__
)
def test_every_row_is_in_one_fold(cv):
    with pytest.raises(InvalidInputError, match="every row"):
        ConformalRegressor(TREE, cv=cv).fit(*simulated(20, 0))


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1])
def test_a_coverage_is_a_share(coverage):
    model = ConformalRegressor(TREE, cv=2).fit(*simulated(20, 0))
    with pytest.raises(InvalidInputError, match="coverage must be above 0"):
        model.predict_interval(simulated(3, 0)[0], coverage=coverage)


def test_an_estimator_predicts():
    with pytest.raises(InvalidInputError, match="estimator"):
        ConformalRegressor("tree").fit(*simulated(20, 0))
