"""How many growth programs the estimators compile: settings that are numbers compile nothing."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from jaxtree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.growth.grow import num_programs

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
SWEEPS = {
    "classifier": (
        DecisionTreeClassifier(),
        IRIS,
        [dict(min_samples_split=s, min_samples_leaf=n) for s in (2, 5, 0.1) for n in (1, 4)]
        + [dict(min_impurity_decrease=0.01), dict(max_leaf_nodes=4), dict(max_depth=20)],
    ),
    "regressor": (
        DecisionTreeRegressor(max_bins=64),
        DIABETES,
        [dict(min_samples_leaf=n, max_leaf_nodes=m) for n in (1, 7) for m in (None, 5)]
        + [dict(min_weight_fraction_leaf=0.1), dict(min_impurity_decrease=5.0)],
    ),
    "C4.5": (
        C45Classifier(),
        IRIS,
        [dict(min_samples_leaf=n, mdl_correction=m, collapse=c) for n in (2, 5) for m in (0, 1) for c in (0, 1)],
    ),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_of_settings_compiles_once(name):
    estimator, data, settings = SWEEPS[name]
    estimator.fit(*data)
    before = num_programs()
    for setting in settings:
        setting = {
            key: bool(value) if key in ("mdl_correction", "collapse") else value for key, value in setting.items()
        }
        estimator.set_params(**setting).fit(*data)
    assert num_programs() == before


def test_weights_compile_once_whatever_they_are():
    tree = DecisionTreeClassifier()
    rng = np.random.default_rng(0)
    tree.fit(*IRIS, sample_weight=rng.random(150))
    before = num_programs()
    for scale in (1e-9, 1.0, 1e9):
        tree.fit(*IRIS, sample_weight=scale * rng.random(150))
    tree.fit(IRIS[0][:140], IRIS[1][:140], sample_weight=rng.random(140))
    assert num_programs() == before
