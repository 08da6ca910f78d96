"""scikit-learn's own checks of estimators: all keep its conventions, but for what is named here."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import jaxtree
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.resampling import BorutaSelector, ConformalRegressor
from tests.estimators.comparing import WEIGHTS_AS_ROWS


class RankerOfOneGroup(jaxtree.GradientBoostingRanker):
    """A ranker for checks, which know of no groups."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight, group=np.zeros(np.asarray(y).shape))

    def score(self, X, y):
        return super().score(X, y, group=np.zeros(np.asarray(y).shape))


BOOSTED = {"n_estimators": 30, "max_depth": 3}
FOREST = {"n_estimators": 5, "random_state": 0}
SOFT = {"depth": 2, "max_epochs": 60, "random_state": 0}
OPTIMAL = {"max_depth": 2, "max_thresholds": 4}
ADDITIVE = {"outer_bags": 2, "max_rounds": 500, "learning_rate": 0.1, "interactions": 1}

FAST = [jaxtree.DecisionTreeClassifier(), jaxtree.DecisionTreeRegressor()]
SLOW = [
    jaxtree.ID3Classifier(),
    jaxtree.C45Classifier(),
    jaxtree.RandomForestClassifier(**FOREST),
    jaxtree.RandomForestRegressor(**FOREST),
    jaxtree.GradientBoostingClassifier(**BOOSTED),
    jaxtree.GradientBoostingRegressor(**BOOSTED),
    jaxtree.GradientBoostingDistribution(**BOOSTED),
    RankerOfOneGroup(n_estimators=5, max_depth=2, loss="pairwise"),
    jaxtree.ExplainableBoostingClassifier(**ADDITIVE),
    jaxtree.ExplainableBoostingRegressor(**ADDITIVE),
    jaxtree.OptimalTreeClassifier(**OPTIMAL),
    jaxtree.OptimalTreeRegressor(**OPTIMAL),
    jaxtree.SoftTreeClassifier(**SOFT),
    jaxtree.SoftTreeRegressor(**SOFT),
    ConformalRegressor(jaxtree.DecisionTreeRegressor(max_depth=3), cv=2),
    BorutaSelector(jaxtree.RandomForestClassifier(3, max_depth=2), max_rounds=8),
]
EXHAUSTIVE = [
    jaxtree.ExtraTreesClassifier(**FOREST),
    jaxtree.ExtraTreesRegressor(**FOREST),
    jaxtree.SoftForestClassifier(2, **SOFT),
    jaxtree.SoftForestRegressor(2, **SOFT),
]

ALL_ROWS = {"outer_bags": 1, "validation_size": 0, "min_samples_leaf": 1, "max_rounds": 100, "interactions": 0}
"""An additive model that holds no rows out and counts none: a row of weight 2 is held out once, two rows by turns."""


def expected_to_fail(estimator):
    """The checks that an estimator cannot pass, and why."""
    match estimator:
        case jaxtree.DecisionTreeClassifier() | jaxtree.DecisionTreeRegressor():
            return {"check_fit_score_takes_y": "partial_fit does not go on from fit, which keeps no rows"}
        case jaxtree.RandomForestClassifier() | jaxtree.RandomForestRegressor():
            return dict.fromkeys(WEIGHTS_AS_ROWS, "a row of weight 2 is drawn once, two rows twice, as in scikit-learn")
        case jaxtree.SoftTreeClassifier() | jaxtree.SoftTreeRegressor():
            return dict.fromkeys(WEIGHTS_AS_ROWS, "noise is drawn row by row; without it see test_soft_trees")
        case jaxtree.SoftForestClassifier() | jaxtree.SoftForestRegressor():
            return dict.fromkeys(WEIGHTS_AS_ROWS, "noise is drawn row by row; without it see test_soft_trees")
        case jaxtree.ExplainableBoostingClassifier():
            return dict.fromkeys(WEIGHTS_AS_ROWS, "second derivatives are rounded row by row, not by their weight")
        case RankerOfOneGroup():
            return dict.fromkeys(
                WEIGHTS_AS_ROWS, "a pair has the mean weight of its rows; two rows, each twice, are four"
            )
        case jaxtree.OptimalTreeClassifier():
            light = "leaves without the heavy class predict the light one, also of other rows"
            return {"check_class_weight_classifiers": light}
    return {}


def checks_of(estimators):
    return parametrize_with_checks(estimators, expected_failed_checks=expected_to_fail)


@checks_of(FAST)
def test_conventions(estimator, check):
    check(estimator)


@pytest.mark.slow
@checks_of(SLOW)
def test_conventions_of_the_others(estimator, check):
    is_additive = isinstance(estimator, jaxtree.ExplainableBoostingClassifier | jaxtree.ExplainableBoostingRegressor)
    if is_additive and check.func.__name__ in WEIGHTS_AS_ROWS:
        estimator = clone(estimator).set_params(**ALL_ROWS)
    if isinstance(estimator, BaseBoosting) and check.func.__name__ in WEIGHTS_AS_ROWS:
        # "auto" follows from the number of rows, which weights do not change, and the least rows of a leaf are counted.
        estimator = clone(estimator).set_params(min_samples_leaf=1, max_leaf_nodes=4)
    check(estimator)


@pytest.mark.exhaustive
@checks_of(EXHAUSTIVE)
def test_conventions_of_more_forests(estimator, check):
    check(estimator)
