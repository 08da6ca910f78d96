"""Boosted estimators keep scikit-learn's conventions: its own checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import (
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)

FEW = {"n_estimators": 30, "max_depth": 3}


class RankerOfOneGroup(GradientBoostingRanker):
    """A ranker for checks, which know of no groups."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight, group=np.zeros(np.asarray(y).shape))

    def score(self, X, y):
        return super().score(X, y, group=np.zeros(np.asarray(y).shape))


@pytest.mark.slow
@parametrize_with_checks([GradientBoostingClassifier(**FEW), GradientBoostingRegressor(**FEW)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [GradientBoostingDistribution(**FEW), RankerOfOneGroup(n_estimators=5, max_depth=2, loss="pairwise")]
)
def test_scikit_learn_conventions_of_derived_estimators(estimator, check):
    check(estimator)
