"""scikit-learn's own checks of estimators, for soft trees and forests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import SoftForestClassifier, SoftForestRegressor, SoftTreeClassifier, SoftTreeRegressor
from tests.estimators.comparing import WEIGHTS_AS_ROWS

FEW = dict(depth=2, max_epochs=60, random_state=0)
TREES = [SoftTreeClassifier(**FEW), SoftTreeRegressor(**FEW)]
FORESTS = [SoftForestClassifier(2, **FEW), SoftForestRegressor(2, **FEW)]


def expected_to_fail(estimator):
    """The noise is drawn row by row; without it weights and repeated rows give the same model up to rounding."""
    return dict.fromkeys(WEIGHTS_AS_ROWS, "noise differs; without it equal but for rounding, see test_soft_trees")


@pytest.mark.slow
@parametrize_with_checks(TREES, expected_failed_checks=expected_to_fail)
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks(FORESTS, expected_failed_checks=expected_to_fail)
def test_scikit_learn_s_own_checks_of_forests(estimator, check):
    check(estimator)
