"""scikit-learn's checks of the estimators that fit others on parts of a table."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import jaxtree
from jaxtree.resampling import BorutaSelector, ConformalRegressor

pytestmark = pytest.mark.slow


@parametrize_with_checks(
    [
        ConformalRegressor(jaxtree.DecisionTreeRegressor(max_depth=3), cv=2),
        BorutaSelector(jaxtree.RandomForestClassifier(3, max_depth=2), max_rounds=8),
    ]
)
def test_conventions(estimator, check):
    check(estimator)
