"""How many growth programs the estimators compile: settings that are numbers compile nothing."""

import traceback

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from jaxtree.growth.loop.grow import num_programs
from tests.growth.native_trees import needs_kernel
from tests.marks import rest_is_slow

EVENT = "/jax/core/compile/backend_compile_duration"
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


def words_with_gaps(num_rows, num_columns, share):
    rng = np.random.default_rng(0)
    X = rng.choice(["a", "b", "c"], (num_rows, num_columns)).astype(object)
    target = (X[:, 0] == "a") ^ (rng.random(num_rows) < 0.2)
    X[rng.random(X.shape) < share] = None
    return X, target


@needs_kernel
def test_rows_shared_among_branches_compile_no_program():
    """However many parts of rows there are: XLA's programs of growth have room for a number of them."""
    before = num_programs()
    C45Classifier(confidence=None).fit(*words_with_gaps(150, 13, 0.5))
    assert num_programs() == before


def programs_by_themselves(fit):
    """The files whose operations compile programs of their own in a fit of a table of a new size."""
    others = []

    def note(event, duration, **_):
        own = [frame.filename for frame in traceback.extract_stack() if "/jaxtree/" in frame.filename]
        if event == EVENT and not own[-1].endswith("compilation.py"):
            others.append(own[-1])

    fit(100, 3)
    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        fit(3000, 11)
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    return others


@pytest.mark.parametrize("criterion", rest_is_slow(["entropy", "gini"]))
def test_subtrees_raised_in_a_table_of_a_new_size_compile_only_what_is_let_go_again(criterion):
    tree = C45Classifier(criterion=criterion)
    assert programs_by_themselves(lambda *shape: tree.fit(*words_with_gaps(*shape, 0.05))) == []


@pytest.mark.parametrize(
    "estimator",
    rest_is_slow(
        [
            DecisionTreeClassifier(max_depth=2, ccp_alpha=0.01),
            RandomForestClassifier(2, max_depth=2, random_state=0),
            GradientBoostingClassifier(2, max_depth=2, early_stopping=True, random_state=0),
        ],
        2,
    ),
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_table_of_a_new_size_compiles_only_what_is_let_go_again(estimator):
    """JAX keeps programs of operations by themselves, thousands of them; `compiled` keeps those last used."""

    def fit(number, size):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(number, size))
        clone(estimator).fit(X, X[:, 0] > 0).predict(X)

    assert programs_by_themselves(fit) == []
