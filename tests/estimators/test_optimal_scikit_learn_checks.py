"""scikit-learn's own checks of estimators, for optimal trees."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import OptimalTreeClassifier, OptimalTreeRegressor

SMALL = {"max_depth": 2, "max_thresholds": 4}


@pytest.mark.slow
@parametrize_with_checks([OptimalTreeClassifier(**SMALL), OptimalTreeRegressor(**SMALL)])
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)
