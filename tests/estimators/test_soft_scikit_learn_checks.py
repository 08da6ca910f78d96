"""scikit-learn's own checks of estimators, for soft trees and forests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import SoftForestClassifier, SoftForestRegressor, SoftTreeClassifier, SoftTreeRegressor

FEW = dict(depth=2, max_epochs=60, random_state=0)
TREES = [SoftTreeClassifier(**FEW), SoftTreeRegressor(**FEW)]
FORESTS = [SoftForestClassifier(2, **FEW), SoftForestRegressor(2, **FEW)]


def expected_to_fail(estimator):
    """Weights and repeated rows give the same model up to rounding, which a hundred steps in float32 make larger."""
    return {"check_sample_weight_equivalence_on_dense_data": "equal but for rounding, see test_soft_trees"}


@pytest.mark.slow
@parametrize_with_checks(TREES, expected_failed_checks=expected_to_fail)
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks(FORESTS, expected_failed_checks=expected_to_fail)
def test_scikit_learn_s_own_checks_of_forests(estimator, check):
    check(estimator)
