"""Additive estimators keep scikit-learn's conventions: its own checks."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor

FEW = {"outer_bags": 2, "max_rounds": 500, "learning_rate": 0.1, "interactions": 1}
ALL_ROWS = {"outer_bags": 1, "validation_size": 0, "min_samples_leaf": 1, "max_rounds": 100, "interactions": 0}
WEIGHTS_AS_REPEATS = "check_sample_weight_equivalence"
"""A check of models that hold no rows out, and count none: a row of weight 2 is held out once, two rows by turns."""

ROUNDED = dict.fromkeys(
    [f"{WEIGHTS_AS_REPEATS}_on_{kind}_data" for kind in ("dense", "sparse")],
    "second derivatives are rounded row by row, so that two rows may have another sum than one of twice their weight",
)


def failing(estimator):
    return ROUNDED if isinstance(estimator, ExplainableBoostingClassifier) else {}


@pytest.mark.slow
@parametrize_with_checks(
    [ExplainableBoostingClassifier(**FEW), ExplainableBoostingRegressor(**FEW)], expected_failed_checks=failing
)
def test_scikit_learn_conventions(estimator, check):
    is_of_weights = check.func.__name__.startswith(WEIGHTS_AS_REPEATS)
    check(clone(estimator).set_params(**ALL_ROWS) if is_of_weights else estimator)
