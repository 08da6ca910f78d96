"""Splits in units and words: thresholds agree with codes, and say what they mean."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtree.errors import InvalidInputError
from jaxtree.table import Encoder, summary
from jaxtree.table.binning import Bins
from jaxtree.table.schema import Column, Columns, Schema

INF = np.inf


def numeric_schema(values, max_bins=255):
    return Encoder(max_bins=max_bins).fit(np.asarray(values, np.float64)[:, None]).schema_


@pytest.fixture
def schema():
    """One column of each kind."""
    bins = Bins(np.array([1.0, 4.0, 7.0]), np.array([3.0, 6.0, 9.0]), np.array([3.5, 6.5]), exact=False)
    exact = Bins(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]), np.array([1.5, 3.0]), exact=True)
    columns = (
        Column("density", "numeric", (), bins, False),
        Column("count", "numeric", (), exact, True),
        Column("size", "ordered", ("small", "medium", "big"), None, False),
        Column("outlook", "categorical", ("rain", "sunny"), None, True),
        Column("safety", "categorical", ("high", "low"), None, False),
        Column("wet", "boolean", (False, True), None, False),
    )
    return Schema(Columns.of(columns))


def test_what_a_schema_says_of_its_features(schema):
    assert schema.num_features == 6
    assert schema.column_names == ("density", "count", "size", "outlook", "safety", "wet")
    np.testing.assert_array_equal(schema.num_codes, [3, 4, 3, 3, 2, 2])
    np.testing.assert_array_equal(schema.num_values, [3, 3, 3, 2, 2, 2])
    np.testing.assert_array_equal(schema.is_categorical, [False, False, False, True, True, False])
    assert schema.num_codes.dtype == np.int32 and schema.is_categorical.dtype == bool
    same = Schema(Columns.of(tuple(schema.columns)))
    assert schema == same and hash(schema) == hash(same)


def test_indicators_of_categories(schema):
    names = "density", "count", "size", "outlook=rain", "outlook=sunny", "safety=high", "safety=low", "wet"
    assert schema.indicator_names == names
    np.testing.assert_array_equal(schema.indicators[0], [0, 1, 2, 3, 3, 4, 4, 5])
    np.testing.assert_array_equal(schema.indicators[1], [-1, -1, -1, 0, 1, 0, 1, -1])


@pytest.mark.parametrize(
    ("feature", "code", "next_code", "threshold", "split_code"),
    [
        (0, 0, 1, 3.5, 0),  # binned: the edge
        (0, 0, 2, 3.5, 0),  # midway of 3 and 7 is 5, equally far from both edges: the lower
        (0, 1, 2, 6.5, 1),
        (1, 0, 1, 1.5, 0),  # exact: midway
        (1, 0, 2, 2.5, 1),  # code 1 is not in the node, and its value lies below the threshold
        (1, 1, 2, 3.0, 1),
        (2, 0, 1, 0.5, 0),  # codes are compared
        (2, 0, 2, 1.0, 1),
        (4, 0, 1, 0.5, 0),
        (5, 0, 1, 0.5, 0),
        (0, 2, 3, INF, 2),  # known or missing
        (1, 0, 3, INF, 2),
        (4, 0, 2, INF, 1),
    ],
)
def test_thresholds(schema, feature, code, next_code, threshold, split_code):
    assert schema.threshold(feature, code, next_code) == threshold
    nodes = (np.array([feature]), np.array([code]), np.array([next_code]))
    np.testing.assert_array_equal(schema.split_codes(*nodes), [split_code])


def test_thresholds_that_are_values_of_the_table(schema):
    feature, code, next_code, threshold = np.array(
        [
            (0, 0, 1, 3.0),  # the highest value below the edge 3.5
            (0, 1, 2, 6.0),
            (1, 0, 1, 1.0),
            (1, 0, 2, 2.0),  # midway is 2.5, above a value that is not in the node
            (1, 1, 2, 2.0),
            (2, 0, 2, 1.0),  # codes are compared
            (2, 1, 2, 1.0),
            (4, 0, 1, 0.0),
            (5, 0, 1, 0.0),
            (1, 0, 3, INF),  # known or missing
            (4, 1, 2, INF),
        ]
    ).T
    nodes = [index.astype(np.int32) for index in (feature, code, next_code)]
    np.testing.assert_array_equal(schema.value_thresholds(*nodes), threshold)


def test_codes_that_are_further_apart_than_a_distance(schema):
    """Between the codes of feature 0 lie gaps of 1, of feature 1 of 1 and 2, of all others none."""
    assert schema.next_separable(0.0) is None and schema.next_separable(0.99) is None
    np.testing.assert_array_equal(schema.next_separable(1.0), [[2, 3, 3], [2, 2, 3], *[[1, 2, 3]] * 4])
    np.testing.assert_array_equal(schema.next_separable(3.0)[:2], [[2, 3, 3], [3, 3, 3]])
    assert schema.next_separable(1.0).dtype == np.int32
    for distance in (-1.0, np.nan):
        with pytest.raises(InvalidInputError, match="distance must be at least 0, got"):
            schema.next_separable(distance)


@settings(deadline=None)
@given(
    values=st.lists(st.integers(0, 12).map(lambda i: i / 4) | st.just(np.nan), min_size=1, max_size=40),
    max_bins=st.integers(2, 20),
    distance=st.sampled_from([0.0, 0.25, 0.3, 1.0]),
)
def test_first_apart_by_definition(values, max_bins, distance):
    schema = numeric_schema(values, max_bins)
    bins = schema.columns[0].bins
    expected = [
        next((d for d in range(bins.num_bins) if bins.high[c] + distance < bins.low[d]), bins.num_bins)
        for c in range(bins.num_bins)
    ]
    first = schema.next_separable(distance)
    if first is None:
        assert expected == list(range(1, bins.num_bins + 1))
    else:
        assert first.tolist() == [expected] and expected != list(range(1, bins.num_bins + 1))


def test_values_at_most_a_hundred_thousandth_apart():
    schema = numeric_schema([1.0, 1.0 + 0.9e-5, 1.0 + 1.8e-5, 2.0, 2.00002])
    np.testing.assert_array_equal(schema.next_separable(1e-5), [[2, 3, 3, 4, 5]])


def test_the_nearest_edge_is_taken():
    low, high = np.array([0.0, 10.0, 11.0, 20.0]), np.array([1.0, 10.5, 12.0, 30.0])
    bins = Bins(low, high, (low[1:] + high[:-1]) / 2, exact=False)
    schema = Schema(Columns.of([Column("x", "numeric", (), bins, False)]))
    assert schema.threshold(0, 0, 3) == 10.75  # of 5.5, 10.75 and 16; the middle is 10.5
    assert schema.threshold(0, 0, 2) == 5.5  # of 5.5 and 10.75; the middle is 6
    assert schema.threshold(0, 1, 3) == 16.0  # of 10.75 and 16; the middle is 15.25


def test_a_threshold_that_would_round_to_the_upper_value():
    lower = np.nextafter(1.0, 2.0)
    schema = numeric_schema([lower, np.nextafter(lower, 2.0)])
    assert schema.threshold(0, 0, 1) == lower
    assert numeric_schema([1e308, 1.7e308]).threshold(0, 0, 1) == 1.35e308


@settings(deadline=None)
@given(
    values=st.lists(st.floats(-100, 100) | st.integers(-3, 3).map(float), min_size=2, max_size=60),
    max_bins=st.integers(2, 40),
    data=st.data(),
)
def test_codes_and_values_fall_on_the_same_side(values, max_bins, data):
    encoder = Encoder(max_bins=max_bins)
    x = np.array(values)[:, None]
    codes = encoder.fit_transform(x)[0].astype(int)
    schema = encoder.schema_
    node = np.unique(data.draw(st.lists(st.sampled_from(codes.tolist()), min_size=1, max_size=5)))
    if len(node) < 2:
        return
    zeros = np.zeros(len(node) - 1, int)
    thresholds = schema.thresholds(zeros, node[:-1], node[1:])
    split_codes = schema.split_codes(zeros, node[:-1], node[1:])
    for code, next_code, threshold, split_code in zip(node[:-1], node[1:], thresholds, split_codes, strict=True):
        assert code <= split_code < next_code
        np.testing.assert_array_equal(x[:, 0] <= threshold, codes <= split_code)
        assert threshold == schema.threshold(0, int(code), int(next_code))
        if schema.columns[0].bins.exact:
            middle = (x[codes == code].max() + x[codes == next_code].min()) / 2
            assert threshold == pytest.approx(middle)


@settings(deadline=None)
@given(
    values=st.lists(st.floats(-100, 100) | st.integers(-3, 3).map(float), min_size=2, max_size=60),
    max_bins=st.integers(2, 40),
    fitted_rows=st.sampled_from([10, 1000]),
    data=st.data(),
)
def test_codes_and_values_fall_on_the_same_side_of_a_value(values, max_bins, fitted_rows, data):
    """The law holds for every row's value, also for those that edges were not fitted on."""
    encoder = Encoder(max_bins=max_bins)
    x = np.array(values)
    with mock.patch.object(summary, "MAX_FITTED_ROWS", fitted_rows):
        codes = encoder.fit_transform(x[:, None])[0].astype(int)
    schema = encoder.schema_
    node = np.unique(data.draw(st.lists(st.sampled_from(codes.tolist()), min_size=1, max_size=5)))
    nodes = (np.zeros(len(node) - 1, int), node[:-1], node[1:])
    bounds = zip(schema.value_thresholds(*nodes), schema.thresholds(*nodes), schema.split_codes(*nodes), strict=True)
    for value, threshold, split_code in bounds:
        assert value == x[x <= threshold].max()
        np.testing.assert_array_equal(x <= value, codes <= split_code)


@pytest.mark.parametrize(
    ("feature", "threshold", "branches"),
    [
        (0, 0.38150001, ("density <= 0.3815", "density > 0.3815")),
        (0, 1e6, ("density <= 1000000", "density > 1000000")),
        (0, -0.0, ("density <= 0", "density > 0")),
        (0, INF, ("density is known", "density is missing")),
        (2, 0.5, ("size <= small", "size > small")),
        (2, 1.0, ("size <= medium", "size > medium")),
        (2, INF, ("size is known", "size is missing")),
        (4, INF, ("safety is known", "safety is missing")),
        (5, 0.5, ("wet = False", "wet = True")),
        (5, INF, ("wet is known", "wet is missing")),
    ],
)
def test_branches_in_words(schema, feature, threshold, branches):
    assert tuple(schema.branch_in_words(feature, threshold, branch) for branch in (0, 1)) == branches


@pytest.mark.parametrize(
    ("feature", "words", "sentences"),
    [
        (
            0,
            ["x <= 3.5", "3.5 < x <= 6.5", "x > 6.5", "missing"],
            ["density <= 3.5", "3.5 < density <= 6.5", "density > 6.5", "density is missing"],
        ),
        (1, ["1", "2", "4", "missing"], ["count = 1", "count = 2", "count = 4", "count is missing"]),
        (2, ["small", "medium", "big", "missing"], ["size = small", "size = medium", "size = big", "size is missing"]),
        (3, ["rain", "sunny", "missing"], ["outlook = rain", "outlook = sunny", "outlook is missing"]),
        (4, ["high", "low", "missing"], ["safety = high", "safety = low", "safety is missing"]),
        (5, ["False", "True", "missing"], ["wet = False", "wet = True", "wet is missing"]),
    ],
)
def test_codes_in_words(schema, feature, words, sentences):
    codes = range(len(words))
    assert [schema.code_in_words(feature, code) for code in codes] == words
    assert [schema.category_in_words(feature, code) for code in codes] == sentences


def test_categories_that_are_numbers_in_words():
    schema = Encoder(categorical_features=[0]).fit(np.array([[1.0], [2.5]])).schema_
    assert schema.category_in_words(0, 0) == "x0 = 1"
    assert schema.category_in_words(0, 1) == "x0 = 2.5"


def test_codes_are_checked(schema):
    codes = np.tile(schema.num_values.astype(np.uint8)[:, None], 2)  # all missing
    schema.check_codes(codes)
    schema.check_codes(codes[:, :0])
    with pytest.raises(InvalidInputError, match="must have 6 features, got 5"):
        schema.check_codes(codes[:5])
    codes[3, 1] = 3
    with pytest.raises(InvalidInputError, match=r"feature 'outlook' must be at most 2 \(missing\), got 3"):
        schema.check_codes(codes)


def test_the_smallest_dtype_that_holds_the_codes():
    for num_values, dtype in ((255, np.uint8), (256, np.uint16)):
        schema = numeric_schema(np.arange(num_values), max_bins=None)
        assert schema.code_dtype == dtype


def test_a_schema_can_be_told_from_another():
    table = pd.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]})
    schema = Encoder().fit(table).schema_
    assert schema == Encoder().fit(table[::-1]).schema_
    assert schema != Encoder().fit(table.assign(x=[1.0, 2.5])).schema_
    assert schema != Encoder().fit(table.assign(c=["a", "c"])).schema_
