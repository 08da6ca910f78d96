"""The search is scikit-learn's for targets that are numbers."""

import numpy as np
import pytest

from jaxtree import (
    CostComplexity,
    CriticalValue,
    DecisionTreeRegressor,
    Dropout,
    MaxLeafNodes,
    ReducedError,
    ValidationGate,
)
from tests.search.beside import ROWS, compare, targets, weights

pytestmark = pytest.mark.exhaustive

X, Y = targets()
LIMITS = {
    "max_depth": [1, 2, 4, None],
    "min_samples_split": [2, 5, 0.1, 30],
    "min_impurity_decrease": [0.0, 0.01, 0.1],
}
PRUNINGS = [
    None,
    MaxLeafNodes(5),
    CriticalValue(0.2),
    CostComplexity(0.05),
    Dropout(0.2),
    Dropout(0.2, draws=5),
    Dropout(0.2, 0.5, draws="all"),
]


@pytest.mark.parametrize("weight", [None, weights()], ids=["rows", "weights"])
def test_limits_and_prunings(weight):
    fit_params = {} if weight is None else {"sample_weight": weight}
    compare(DecisionTreeRegressor(), LIMITS, X, Y, fit_params=fit_params, return_train_score=True)
    prunings = {"pruning": PRUNINGS, "max_depth": [3, None], "ccp_alpha": [0, 0.02], "random_state": [0, 1]}
    compare(DecisionTreeRegressor(), prunings, X, Y, fit_params=fit_params, scoring="neg_mean_squared_error")


@pytest.mark.parametrize(
    "scoring",
    ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error", "explained_variance"],
)
def test_scores(scoring):
    """The fully grown tree's errors on its own rows are 0, which rounding must not make negative."""
    grid = {"max_depth": [1, 2, 5, None], "ccp_alpha": [0, 0.01]}
    compare(DecisionTreeRegressor(), grid, X, Y, scoring=scoring, return_train_score=True)


def test_a_score_of_classes_fails_as_it_does_there():
    ours = compare(DecisionTreeRegressor(), {"max_depth": [1, 2]}, X, Y, scoring="accuracy", refit=False)
    assert np.isnan(ours.cv_results_["mean_test_score"]).all()


def test_large_and_small_numbers():
    """Far from 0 squares must not cancel; close to it they are not all the same."""
    grid = {"max_depth": [1, 2, None], "ccp_alpha": [0.0]}
    compare(DecisionTreeRegressor(), grid, X, 1e6 + Y)
    compare(DecisionTreeRegressor(), grid, X, 1e-9 * Y)


def test_held_out_rows():
    grid = {"pruning": [ReducedError(), ValidationGate(0.4)], "max_depth": [3, None], "random_state": [0, 1]}
    compare(DecisionTreeRegressor(), grid, X, Y)


def test_prices_found_by_cross_validation():
    prunings = [CostComplexity("cv", folds=3), CostComplexity("cv", rule="1se", folds=3)]
    compare(DecisionTreeRegressor(random_state=0), {"pruning": prunings, "max_depth": [3, None]}, X, Y)


def test_poisson():
    grid = {"max_depth": [1, 3, None], "min_impurity_decrease": [0, 0.01]}
    compare(DecisionTreeRegressor(criterion="poisson"), grid, X, Y, scoring="neg_mean_poisson_deviance")


def test_test_rows_whose_numbers_are_all_the_same():
    """scikit-learn calls R^2 0 or 1 there."""
    y = np.where(np.arange(ROWS) < 40, 0.1, Y)
    folds = [(np.arange(40, ROWS), np.arange(40)), (np.arange(80), np.arange(80, ROWS))]
    compare(DecisionTreeRegressor(), {"max_depth": [1, 2, None]}, X, y, cv=folds)


def test_several_outputs():
    compare(DecisionTreeRegressor(), LIMITS, X, np.stack([Y, X[:, 0]], axis=1))
