"""scikit-learn's own tests of its trees pass with jaxtree's classes, or fail for a reason that is written down."""

import pathlib
import subprocess
import sys
from types import SimpleNamespace

import pytest
import sklearn

from tests import sklearn_tree_tests

pytestmark = pytest.mark.exhaustive

SCRIPT = pathlib.Path(__file__).with_name("sklearn_tree_tests.py")


def case(name):
    """A test as pytest collects it, of which the rule reads the id."""
    return SimpleNamespace(name=name, function=case)


def test_the_rule_of_counting():
    tree = sklearn_tree_tests.SUITES["tree"]
    assert sklearn_tree_tests.subject(tree, case("test_xor")) is None
    assert sklearn_tree_tests.subject(tree, case("test_1d_input[ExtraTreeRegressor]")) == "extra trees"
    assert (
        sklearn_tree_tests.subject(tree, case("test_min_weight_leaf_split_level[csc_array-DecisionTreeClassifier]"))
        is None
    )
    about = sklearn_tree_tests.subject(tree, case("test_regression_toy[absolute_error-DecisionTreeRegressor]"))
    assert about == "absolute error"
    assert sklearn_tree_tests.reason(tree, "test_big_input")
    assert sklearn_tree_tests.subject(sklearn_tree_tests.SUITES["bagging"], case("test_svm")) == "other estimators"


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["tree", "export"])
@pytest.mark.skipif(
    sklearn.__version__ != sklearn_tree_tests.VERSION,
    reason=f"the reasons are those of scikit-learn {sklearn_tree_tests.VERSION}",
)
def test_every_failure_is_explained(suite):
    """In a process of its own, since it changes scikit-learn's names and what pytest is configured to do."""
    done = subprocess.run([sys.executable, SCRIPT, suite], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
