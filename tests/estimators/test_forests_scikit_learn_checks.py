"""scikit-learn's own checks of estimators, for all forests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.estimators.comparing import WEIGHTS_AS_ROWS

FEW = dict(n_estimators=5, random_state=0)
RANDOM_FORESTS = [RandomForestClassifier(**FEW), RandomForestRegressor(**FEW)]
EXTRA_TREES = [ExtraTreesClassifier(**FEW), ExtraTreesRegressor(**FEW)]


def expected_to_fail(forest):
    """A row of weight 2 is drawn twice as often as one of weight 1, which is not the draws of a copied row."""
    if not forest.bootstrap:
        return {}
    return dict.fromkeys(WEIGHTS_AS_ROWS, "draws differ, as in scikit-learn's forests")


@pytest.mark.slow
@parametrize_with_checks(RANDOM_FORESTS, expected_failed_checks=expected_to_fail)
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks(EXTRA_TREES, expected_failed_checks=expected_to_fail)
def test_scikit_learn_s_own_checks_of_extra_trees(estimator, check):
    check(estimator)
