"""Boosted trees keep scikit-learn's conventions: its own checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor

FEW = {"n_estimators": 30, "max_depth": 3}


@parametrize_with_checks([GradientBoostingClassifier(**FEW), GradientBoostingRegressor(**FEW)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
