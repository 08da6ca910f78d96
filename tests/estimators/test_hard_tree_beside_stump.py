"""Lone trees of hard gates never lose to a stump: of tables of which one column tells everything."""

import numpy as np
import pandas as pd
import pytest

from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    SoftForestClassifier,
    SoftForestRegressor,
    SoftTreeClassifier,
    SoftTreeRegressor,
)
from tests.marks import in_turn, rest_is_slow

ROWS, ROUNDING = 300, 1e-6
KINDS = ("five values", "many values", "twenty values", "words", "missing values")


def table(kind, num_noise, seed=0):
    """A table of one column that tells the target, among others that do not, and the target."""
    rng = np.random.default_rng(seed)
    column, y = rng.normal(size=ROWS), rng.random(ROWS) < 0.5
    if kind == "words":
        column = np.array(["red", "green", "blue"], object)[rng.integers(0, 3, ROWS)]
        y = column == "red"
    elif kind == "missing values":
        column[y] = np.nan
    else:
        column = rng.integers(0, {"five values": 5, "twenty values": 20}.get(kind, 10**6), ROWS).astype(float)
        y = column >= np.median(column)
    others = {f"noise {at}": rng.normal(size=ROWS) for at in range(num_noise)}
    return pd.DataFrame(others | {"telling": column}), y


def loses(soft, stump, X, y, **options):
    """By how much the score of a stump is above that of a soft tree on the rows of the fit."""
    stump.fit(X, y, **options)
    return stump.score(X, y) - soft.fit(X, y, **options).score(X, y)


@pytest.mark.parametrize(("kind", "depth", "num_noise"), rest_is_slow(in_turn(KINDS, [1, 2, "auto"], [4, 0, 10, 4])))
def test_no_tree_of_classes_loses_to_a_stump(kind, depth, num_noise):
    X, y = table(kind, num_noise)
    soft = SoftTreeClassifier(depth, gate="hard", random_state=0)
    assert loses(soft, DecisionTreeClassifier(max_depth=1), X, y) <= 0


@pytest.mark.parametrize(("kind", "depth", "num_noise"), rest_is_slow(in_turn(KINDS, [2, 1, "auto"], [4, 0, 10, 4])))
def test_no_tree_of_numbers_loses_to_a_stump(kind, depth, num_noise):
    X, y = table(kind, num_noise)
    soft = SoftTreeRegressor(depth, gate="hard", random_state=0)
    assert loses(soft, DecisionTreeRegressor(max_depth=1), X, 10 + 3 * y) <= ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", ["poisson", "absolute_error", "normal", "laplace", "logistic", "student_t", "lognormal", "weibull"]
)
def test_further_losses_do_not_lose(loss):
    X, y = table("twenty values", 4)
    soft = SoftTreeRegressor(2, gate="hard", loss=loss, random_state=0).fit(X, 1 + 3.0 * y)
    np.testing.assert_allclose(soft.predict(X), 1 + 3.0 * y, rtol=0.05)


def test_a_stump_is_kept_with_its_weights_and_goes_on():
    X, y = table("five values", 0)
    weight = np.where(np.arange(ROWS) < 200, 1.0, 0.0)
    y[200:] = ~y[200:]
    soft = SoftTreeClassifier(1, gate="hard", max_epochs=3, random_state=0).fit(X, y, weight)
    assert soft.score(X[:200], y[:200]) == 1
    soft.partial_fit(X[:200], y[:200])
    assert soft.score(X[:200], y[:200]) == 1


@pytest.mark.parametrize(("kind", "depth", "num_noise"), rest_is_slow(in_turn(KINDS, [3, 1, 2], [4, 0, 10, 4])))
def test_no_forest_of_one_tree_loses_to_a_stump(kind, depth, num_noise):
    X, y = table(kind, num_noise)
    options = {"n_estimators": 1, "depth": depth, "gate": "hard", "mixture": "mean", "random_state": 0}
    soft = SoftForestClassifier(**options)
    assert loses(soft, DecisionTreeClassifier(max_depth=1), X, y) <= 0
    assert soft.partial_fit(X, y).predict_proba(X).shape == (ROWS, 2)
    numbers = SoftForestRegressor(**options)
    assert loses(numbers, DecisionTreeRegressor(max_depth=1), X, 10 + 3 * y) <= ROUNDING


@pytest.mark.parametrize("mixture", ["by_tree", "by_leaf", "learned"])
def test_no_mixture_of_one_tree_loses_to_a_stump(mixture):
    X, y = table("five values", 4)
    soft = SoftForestClassifier(1, depth=1, gate="hard", mixture=mixture, cv=None, max_epochs=2, random_state=0)
    assert loses(soft, DecisionTreeClassifier(max_depth=1), X, y) <= 0
