"""An estimator that is not fitted says so, whatever it is asked."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.examples import unfitted

METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "raw_scores", "staged_scores", "apply",
    "decision_path", "predict_dist", "predict_interval", "encode",
)  # fmt: skip
ATTRIBUTES = ("loss_", "model_", "schema_", "tree_", "forest_", "feature_importances_")


@pytest.mark.parametrize("name", unfitted())
def test_an_unfitted_estimator_says_so(name):
    estimator = clone(unfitted()[name][0])
    asked = [method for method in METHODS if hasattr(estimator, method)]
    assert asked
    for method in asked:
        with pytest.raises(NotFittedError):
            result = getattr(estimator, method)(np.zeros((3, 2)))
            next(iter(result))
    assert not [own for own in ATTRIBUTES if hasattr(estimator, own)]
