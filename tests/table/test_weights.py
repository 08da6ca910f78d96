"""Weights of rows and classes: scikit-learn's numbers, and what is no weight."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.target import encode_classes
from jaxtree.table.weights import check_sample_weight, class_weights

NAN = np.nan

WEIGHTS = {
    "list": [2, 0, 1],
    "float32": np.array([2, 0, 1], np.float32),
    "objects": np.array([2.0, 0, True], object),
    "pandas": pd.Series([2, 0, 1], index=[5, 6, 7]),
    "pandas Int64": pd.Series([2, 0, 1], dtype="Int64"),
    "polars": pl.Series([2, 0, 1]),
    "pyarrow": pa.chunked_array([[2], [0, 1]]),
}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_a_weight_for_every_row(weight):
    checked = check_sample_weight(weight, 3)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, [2, 0, 1])


def test_no_weight_and_one_for_all():
    assert check_sample_weight(None, 3) is None
    for weight in (2.5, np.float32(2.5)):
        np.testing.assert_array_equal(check_sample_weight(weight, 3), [2.5, 2.5, 2.5])
    np.testing.assert_array_equal(check_sample_weight([False, True], 2), [0, 1])


WRONG_WEIGHTS = {
    r"Sample weights must be 1D array or scalar, .* == \(3, 1\), expected \(3,\)!": np.ones((3, 1)),
    r"sample_weight.shape == \(2,\), expected \(3,\)!": [1, 1],
    "Negative values in data passed to `sample_weight`: row 1 has -0.5": [1, -0.5, -1],
    "Sample weights must contain at least one non-zero number. sample_weight is zero for every row": [0, 0.0, -0.0],
    "at least one non-zero number": 0,
    "row 0 has -1": -1,
    "Input sample_weight contains NaN: row 1": [1, NAN, 1],
    "Input sample_weight contains NaN: row 0": pd.Series([None, 1, 1], dtype="Int64"),
    "Input sample_weight contains infinity .*: row 2": [1, 1, np.inf],
    "sample_weight contains NaN: row 0": NAN,
    "Complex data not supported": [1j, 1, 1],
    "sample_weight must be a vector, or rows of one length": [[1], [1, 2], [1]],
}


@pytest.mark.parametrize(("message", "weight"), WRONG_WEIGHTS.items())
def test_wrong_weights(message, weight):
    with pytest.raises(InvalidInputError, match=message):
        check_sample_weight(weight, 3)


def test_an_array_without_an_axis_is_no_weight():
    with pytest.raises(InvalidTypeError, match=r"at least 1 dimension .* got scalar `array\(2.5\)`"):
        check_sample_weight(np.array(2.5), 3)


@pytest.mark.parametrize("weight", [["a", "b", "c"], "balanced", np.array([1, 1, "1"], object)])
def test_weights_that_are_no_numbers(weight):
    with pytest.raises(InvalidTypeError, match="sample_weight must be numbers: row"):
        check_sample_weight(weight, 3)


# Classes ----------------------------------------------------------------------------------------------------------


ONE_OUTPUT = ["b", "a", "b", "c", "b"]
TWO_OUTPUTS = np.array([[1, 7], [2, 7], [1, 8], [1, 7]])
CLASS_WEIGHTS = [
    (ONE_OUTPUT, "balanced"),
    (ONE_OUTPUT, {"a": 3, "b": 0.5, "c": 0}),
    (ONE_OUTPUT, {"a": 3.0}),
    (ONE_OUTPUT, {}),
    ([0.0, 1.0, 1.0], {0: 2, 1: 5}),
    (TWO_OUTPUTS, "balanced"),
    (TWO_OUTPUTS, [{1: 2, 2: 3}, {7: 5, 8: 7}]),
    (TWO_OUTPUTS, [{1: 2}, {}]),
]


@pytest.mark.parametrize(("y", "class_weight"), CLASS_WEIGHTS)
def test_factors_are_those_of_scikit_learn(y, class_weight):
    factor = class_weights(class_weight, encode_classes(y))
    assert factor.dtype == np.float64
    np.testing.assert_allclose(factor, compute_sample_weight(class_weight, y), rtol=1e-12)


def test_no_class_weights():
    assert class_weights(None, encode_classes(ONE_OUTPUT)) is None
    assert class_weights(None, encode_classes(TWO_OUTPUTS)) is None


@settings(deadline=None)
@given(y=st.lists(st.sampled_from("abcd"), min_size=1, max_size=30))
def test_balanced_classes_weigh_the_same(y):
    target = encode_classes(y)
    total = np.bincount(target.codes[0], class_weights("balanced", target))
    np.testing.assert_allclose(total, len(y) / len(set(y)))


def test_a_declared_class_without_rows_may_have_a_weight():
    target = encode_classes(pd.Series(pd.Categorical(["b", "a"], categories=["a", "b", "c"])))
    np.testing.assert_array_equal(class_weights({"a": 3, "c": 2}, target), [1, 3])
    np.testing.assert_array_equal(class_weights("balanced", target), [1, 1])  # and has no share


WRONG_CLASS_WEIGHTS = [
    (ONE_OUTPUT, "auto", "class_weight must be None, 'balanced' or a dict, got 'auto'"),
    (ONE_OUTPUT, [{"a": 1}], "must be None, 'balanced' or a dict, got .{'a': 1}"),
    (ONE_OUTPUT, 2.0, "got 2.0"),
    (ONE_OUTPUT, np.ones(3), "must be None, 'balanced' or a dict"),
    (ONE_OUTPUT, {"a": 1, "z": 2, 1: 3}, r"weights for \['z', 1\], .* these are \['a', 'b', 'c'\]"),
    (ONE_OUTPUT, {"a": -1}, "class_weight of 'a' must be a finite number of at least 0, got -1"),
    (ONE_OUTPUT, {"a": NAN}, "got nan"),
    (ONE_OUTPUT, {"b": np.inf}, "got inf"),
    (ONE_OUTPUT, {"b": "1"}, "got '1'"),
    (ONE_OUTPUT, {"b": 1j}, "got 1j"),
    (ONE_OUTPUT, {"a": 0, "b": 0, "c": 0}, "Sample weights must contain .* non-zero number. class_weight is zero"),
    (TWO_OUTPUTS, {1: 2}, "class_weight must be None, 'balanced' or a list of dicts, one for each output"),
    (TWO_OUTPUTS, "auto", "or a list of dicts, one for each output, got 'auto'"),
    (TWO_OUTPUTS, [{1: 2}, "balanced"], "or a list of dicts"),
    (TWO_OUTPUTS, [{1: 2}], "number of elements in class_weight should match number of outputs. Got 1 element"),
    (TWO_OUTPUTS, [{1: 2}, {1: 2}], r"weights for \[1\], .* these are \[7, 8\]"),
]


@pytest.mark.parametrize(("y", "class_weight", "message"), WRONG_CLASS_WEIGHTS)
def test_wrong_class_weights(y, class_weight, message):
    with pytest.raises(InvalidInputError, match=message):
        class_weights(class_weight, encode_classes(y))
