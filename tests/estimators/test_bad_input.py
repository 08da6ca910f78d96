"""Input that estimators refuse, and in which words; and input that looks bad but is not."""

import dataclasses
import inspect
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    ID3Classifier,
    RandomForestClassifier,
)
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import whole
from tests.marks import in_turn

X = np.arange(6.0)[:, None]
Y = np.array([0, 0, 0, 1, 1, 1])
CLASSIFIERS = (ID3Classifier, C45Classifier, DecisionTreeClassifier)


@pytest.mark.parametrize(("bad", "estimator"), in_turn([np.nan, np.inf], [*CLASSIFIERS, DecisionTreeRegressor]))
def test_targets_that_are_missing_or_infinite(estimator, bad):
    y = Y.astype(float)
    y[2] = bad
    with pytest.raises(InvalidInputError, match=r"y contains|y must be|y has|y:|NaN|infin"):
        estimator().fit(X, y)


@pytest.mark.parametrize(
    ("weight", "words", "estimator"),
    in_turn(
        [
            ([1, 1, -1, 1, 1, 1], "Negative values in data passed to `sample_weight`: row 2 has -1"),
            ([0] * 6, "zero for every row"),
            ([1, 1, np.nan, 1, 1, 1], "sample_weight"),
            ([1, 2], r"sample_weight.shape == \(2,\), expected \(6,\)"),
            (np.ones((6, 1)), "must be 1D array or scalar"),
        ],
        [*CLASSIFIERS, DecisionTreeRegressor],
    ),
)
def test_weights(estimator, weight, words):
    with pytest.raises(InvalidInputError, match=words):
        estimator().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({2: 1.0}, r"class_weight has weights for \[2\], which are no classes of the target: these are \[0, 1\]"),
        ({0: -1.0}, "class_weight of 0 must be a finite number of at least 0, got -1.0"),
        ({0: 0.0, 1: 0.0}, "zero"),
        ("balance", "class_weight"),
    ],
)
def test_class_weights(class_weight, words):
    with pytest.raises(InvalidInputError, match=words):
        DecisionTreeClassifier(class_weight=class_weight).fit(X, Y)


def test_monotone_constraints():
    colors = pd.DataFrame({"color": ["red", "blue"] * 3, "size": np.arange(6.0)})
    fit = lambda cst, y=Y, cls=DecisionTreeClassifier: cls(monotonic_cst=cst).fit(colors, y)  # noqa: E731
    with pytest.raises(InvalidInputError, match="constrains column 'color', which is categorical and has no order"):
        fit([1, 0])
    with pytest.raises(InvalidInputError, match=r"monotonic_cst must name a column, one of 'color', .*, got 'colour'"):
        fit({"colour": 1})
    with pytest.raises(InvalidInputError, match="-1, 0 or 1, but got"):
        fit([0, 2])
    with pytest.raises(InvalidInputError, match="has 2 features"):
        fit([1])
    with pytest.raises(InvalidInputError, match="y has 3 classes, and 2 are allowed"):
        fit([0, 1], [0, 1, 2] * 2)
    with pytest.raises(InvalidInputError, match="not supported with multiple outputs"):
        fit([0, 1], np.stack([Y, Y], axis=1), DecisionTreeRegressor)
    assert fit([0, -1]).get_n_leaves() >= 1


def test_poisson_with_targets_that_are_negative_or_all_zero():
    for y, words in ((Y - 1.0, "negative.*-1.0"), (Y * 0.0, "Sum of y is not positive")):
        with pytest.raises(InvalidInputError, match=words):
            DecisionTreeRegressor(criterion="poisson").fit(X, y)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, DecisionTreeRegressor])
def test_more_rows_asked_of_a_branch_than_half_of_all_are_a_single_leaf(estimator):
    tree = estimator(min_samples_leaf=4).fit(X, Y)
    assert tree.get_n_leaves() == 1
    assert tree.predict([[100.0]]).shape == (1,)


def test_whole_numbers_past_2_to_the_53():
    """They are told apart by float64 or refused; they are not silently wrong."""
    big = np.array([[2**53], [2**53 + 1], [2**53 + 2], [2**53 + 4]])
    try:
        tree = DecisionTreeClassifier().fit(big, [0, 1, 0, 1])
    except InvalidInputError as error:
        assert "2**53" in str(error) or "float64" in str(error)
    else:
        np.testing.assert_array_equal(tree.predict(big), [0, 1, 0, 1])


def test_several_outputs_need_a_weight_for_the_classes_of_each():
    both = np.stack([Y, 1 - Y], axis=1)
    with pytest.raises(InvalidInputError, match="For multi-output, number of elements in class_weight"):
        DecisionTreeClassifier(class_weight=[{0: 1.0}]).fit(X, both)
    assert DecisionTreeClassifier(class_weight=[{0: 2.0}, {1: 3.0}]).fit(X, both).predict(X).shape == (6, 2)


def test_classes_of_weight_zero_are_known_but_never_predicted():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(class_weight={2: 0}).fit(X, y)
    assert list(tree.classes_) == [0, 1, 2]
    assert set(tree.predict(X)) == {0, 1}


@pytest.mark.parametrize(
    "estimator", [*CLASSIFIERS, DecisionTreeRegressor, RandomForestClassifier, ExtraTreesRegressor]
)
def test_every_parameter_has_a_constraint_which_its_signature_does_not_show(estimator):
    signature = inspect.signature(estimator).parameters
    assert set(estimator._parameter_constraints) == set(signature)
    assert signature["max_depth"].annotation == int | None
    assert "Annotated" not in str(signature.values())


def test_a_subclass_keeps_constraints_and_adds_its_own():
    @dataclasses.dataclass(kw_only=True, repr=False, eq=False)
    class Shallow(DecisionTreeClassifier):
        max_depth: int = 2
        margin: Annotated[int, whole(3)] = 3

    assert Shallow().fit(X, Y).get_depth() <= 2
    for wrong in ({"max_depth": 0}, {"margin": 2}):
        with pytest.raises(InvalidInputError, match=f"'{next(iter(wrong))}' parameter"):
            Shallow(**wrong).fit(X, Y)


def test_a_fit_that_fails_leaves_no_fitted_estimator():
    tree = DecisionTreeClassifier()
    with pytest.raises(InvalidInputError):
        tree.fit(X, [0, 0, 0, 1, 1, np.nan])
    with pytest.raises(NotFittedError):
        tree.predict(X)
