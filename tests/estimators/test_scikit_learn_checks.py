"""scikit-learn's own checks of estimators, for all four."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier


@parametrize_with_checks([ID3Classifier(), DecisionTreeClassifier(), DecisionTreeRegressor(), C45Classifier()])
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)
