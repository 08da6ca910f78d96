"""Targets: classes in order, and what is no target for a classifier."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table import check_same_length, encode_target

TARGETS = [
    ["b", "a", "b"],
    [3, 1, 3],
    [1.0, -1.0, 1.0],
    [True, False, True],
    np.array(["b", "a", "b"], object),
    pd.Series(["b", "a", "b"]),
    pd.Series(["b", "a", "b"], dtype="category"),
    pd.Series([2, 1, 2], dtype="Int64"),
    pl.Series(["b", "a", "b"]),
]


@pytest.mark.parametrize("y", TARGETS)
def test_classes_are_in_order(y):
    classes, codes = encode_target(y)
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(codes, [1, 0, 1])
    assert classes[0] < classes[1]
    assert list(classes[codes]) == list(y)


def test_a_single_column_is_accepted_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        _, codes = encode_target(np.array([[2], [1]]))
    np.testing.assert_array_equal(codes, [1, 0])


WRONG_TARGETS = {
    "target y is None": None,
    "1d": np.ones((2, 2)),
    "y should be a 1d array": np.ones((2, 2), int),
    "Unknown label type": [0.5, 1.5, 2.5],
    "Input y contains NaN": [0.0, np.nan],
    "contains NaN": ["a", None],
    "contains NaN or another": np.array(["a", np.nan], object),
    "missing value": pd.Series(["a", None]),
    "NaN": pd.Series([1, None], dtype="Int64"),
    "Unknown label type: unknown": np.array([2, 1], object),
    "every row needs a class": pl.Series(["a", None]),
    "Input y contains infinity": [0.0, np.inf],
}


@pytest.mark.parametrize(("message", "y"), WRONG_TARGETS.items())
def test_wrong_targets(message, y):
    with pytest.raises(InvalidInputError, match=message):
        encode_target(y)


def test_a_target_of_mixed_types():
    with pytest.raises((InvalidTypeError, InvalidInputError)):
        encode_target(np.array(["a", 1], object))


def test_as_many_targets_as_rows():
    check_same_length(2, np.ones(2))
    with pytest.raises(InvalidInputError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        check_same_length(3, [1, 2])
