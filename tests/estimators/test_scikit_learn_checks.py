"""scikit-learn's own checks of estimators, for all four."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier


@parametrize_with_checks([DecisionTreeClassifier(), DecisionTreeRegressor()])
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([ID3Classifier(), C45Classifier()])
def test_scikit_learn_s_own_checks_of_the_classical_trees(estimator, check):
    check(estimator)
