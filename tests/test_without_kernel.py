"""Every estimator makes the same model with the kernel in C++ and without it, bit for bit.

Soft trees and forests of hard gates alone, whose training is all sums, are the same but for rounding.
"""

import dataclasses
import functools
import hashlib
import json
import os
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.doctor.checking import CATEGORIES, REPORTED, make_table
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.kernels import library
from tests.examples import EXTRAS, predictions, unfitted
from tests.marks import rest_is_slow

CHILD = "from tests import test_without_kernel; test_without_kernel.print_sums({!r})"

FEW = {"max_depth": 5, "random_state": 0}


@functools.cache
def of_more_rows():
    """Estimators with a table of 2,000 rows and a target: their larger ways through the engine."""
    gaps, classes = make_table(2_000)
    X = np.nan_to_num(gaps)
    numbers = X[:, 0] + 4 * X[:, 2] + classes
    categories = {"categorical_features": CATEGORIES}
    normal, noisy = np.random.default_rng(0).normal(size=(700, 5)), np.random.default_rng(1).random(700) < 0.1
    crossed = (normal[:, 0] * normal[:, 1] > 0) ^ noisy
    small = slice(0, 200), slice(0, 3)
    boosting, folds = {"n_estimators": 10, **FEW}, {"early_stopping": "cv"}
    return {
        "optimal, some thresholds first": (jaxtree.OptimalTreeClassifier(max_depth=3), normal[small], crossed[:200]),
        "optimal of 700 rows": (jaxtree.OptimalTreeClassifier(max_depth=2), normal, crossed),
        "policy of 300 rows": (jaxtree.PolicyTree(max_depth=2), normal[:300, :3], normal[:300, 2:] * normal[:300, :3]),
        "optimal of numbers": (jaxtree.OptimalTreeRegressor(max_depth=2), normal[small], numbers[:200]),
        "large cart": (jaxtree.DecisionTreeClassifier(**categories), gaps, classes),
        "cart of numbers": (jaxtree.DecisionTreeRegressor(max_leaf_nodes=30), gaps, numbers),
        "large c45": (jaxtree.C45Classifier(**categories), gaps, classes),
        "large forest": (jaxtree.RandomForestClassifier(10, random_state=0, oob_score=True), X, classes),
        "extra trees": (jaxtree.ExtraTreesRegressor(10, **FEW), X, numbers),
        "boosting": (jaxtree.GradientBoostingClassifier(**boosting, **categories), gaps, classes),
        "boosting of samples": (jaxtree.GradientBoostingRegressor(**boosting, subsample=0.5), gaps, numbers),
        "boosting of quantiles": (jaxtree.GradientBoostingRegressor(**boosting, loss="absolute_error"), X, numbers),
        "boosting of folds": (jaxtree.GradientBoostingRegressor(**boosting, **folds), X, numbers),
        "large additive": (jaxtree.ExplainableBoostingClassifier(max_rounds=50, outer_bags=2), gaps, classes == 1),
        "additive of numbers": (jaxtree.ExplainableBoostingRegressor(max_rounds=50, outer_bags=2), gaps, numbers),
        "large soft": (jaxtree.SoftTreeClassifier(depth=3, max_epochs=2, random_state=0), X, classes),
    }


def print_sums(name):
    """Prints what a model is as JSON, for the process that started this one."""
    print(json.dumps(sums_of(name)))


def is_trained_by_kernel(estimator):
    """Whether the kernel has a part in the training of a model by gradients: that of trees, and of hard gates."""
    return isinstance(estimator, BaseSoft) and (not hasattr(estimator, "n_estimators") or estimator.gate == "hard")


def sums_of(name):
    """A sum of every array of a fitted model, of what it says of its optimality, and of its predictions.

    For a model that the kernel trains by gradients it returns the predictions themselves.
    """
    estimator, X, y = (of_more_rows() | unfitted())[name]
    with warnings.catch_warnings(action="ignore"):
        fitted = clone(estimator).fit(X, y, **EXTRAS.get(name, {}))
    found = predictions(fitted, X) | {"optimality": np.array(str(getattr(fitted, "optimality_", None)))}
    for kind in ("tree_", "forest_"):
        nodes = getattr(fitted, kind, None)
        nodes = getattr(nodes, "nodes", nodes)
        if isinstance(nodes, jaxtree.Tree):
            found |= {field.name: getattr(nodes, field.name) for field in dataclasses.fields(nodes)}
    found |= {
        f"parameter {number}": leaf for number, leaf in enumerate(jax.tree.leaves(getattr(fitted, "params_", ())))
    }
    kept = {name: values for name, values in found.items() if name not in REPORTED}
    if is_trained_by_kernel(estimator):
        return {name: np.asarray(values).tolist() for name, values in kept.items()}
    return {name: _sum(values) for name, values in kept.items()}


def _sum(values):
    values = np.asarray(values)
    content = str(values.tolist()).encode() if values.dtype.kind in "OUT" else np.ascontiguousarray(values).tobytes()
    return f"{values.dtype} {values.shape} {hashlib.sha256(content).hexdigest()}"


@pytest.mark.skipif(library.load() is None, reason="the kernel is not installed")
@pytest.mark.parametrize("name", rest_is_slow(unfitted() | of_more_rows()))
def test_a_model_is_the_same_without_the_kernel(name):
    command = [sys.executable, "-c", CHILD.format(name)]
    done = subprocess.run(command, env=os.environ | {"JAXTREE_NATIVE": "0"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs, ours = json.loads(done.stdout.splitlines()[-1]), sums_of(name)
    if not is_trained_by_kernel((of_more_rows() | unfitted())[name][0]):
        assert theirs == ours
        return
    assert theirs.keys() == ours.keys()
    for own, values in ours.items():
        if np.asarray(values).dtype.kind == "f":
            np.testing.assert_allclose(theirs[own], values, rtol=1e-3, atol=1e-4, err_msg=own)
        else:
            assert theirs[own] == values, own
