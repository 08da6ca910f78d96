"""Tables to codes and back, for every kind of column and table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from jaxtree.errors import InvalidInputError
from jaxtree.table import Encoder, summary
from jaxtree.table.binning import MAX_EXACT_ROWS
from tests.marks import in_turn

NAN = np.nan


def all_kinds(missing=True):
    """A column of each kind, each with a missing value if wanted."""
    gap = [None] if missing else []
    columns = {
        "number": pd.array([2.5, 1.0, 2.5, *gap], dtype="Float64"),
        "word": pd.Series(["b", "c", "a", *gap]),
        "size": pd.Categorical(["low", "high", "low", *gap], categories=["low", "mid", "high"], ordered=True),
        "flag": pd.array([True, False, False, *gap], dtype="boolean"),
    }
    return pd.DataFrame(columns)


CODES_OF_ALL_KINDS = [[1, 0, 1, 2], [1, 2, 0, 3], [0, 2, 0, 3], [1, 0, 0, 2]]


def test_every_kind_of_column():
    encoder = Encoder()
    codes = encoder.fit_transform(all_kinds())
    assert codes.dtype == np.uint8 and codes.strides[1] == 1
    np.testing.assert_array_equal(codes, CODES_OF_ALL_KINDS)
    assert [column.kind for column in encoder.schema_.columns] == ["numeric", "categorical", "ordered", "boolean"]
    assert all(column.has_missing for column in encoder.schema_.columns)
    np.testing.assert_array_equal(encoder.schema_.num_codes, [3, 4, 4, 3])


def test_a_missing_value_has_its_code_even_if_none_was_seen_in_fit():
    encoder = Encoder().fit(all_kinds(missing=False))
    assert not any(column.has_missing for column in encoder.schema_.columns)
    np.testing.assert_array_equal(encoder.transform(all_kinds()), CODES_OF_ALL_KINDS)


def frames():
    rows = {"x": [1.5, None, 3.0, 1.5], "i": [3, 1, 2, 2], "c": ["b", "a", None, "b"], "f": [True, False, True, True]}
    polars = pl.DataFrame(rows)
    return {
        "pandas": polars.to_pandas(),
        "pandas arrow": pd.DataFrame({name: pd.array(pa.array(values)) for name, values in rows.items()}),
        "pandas nullable": pd.DataFrame(rows).convert_dtypes(),
        "polars": polars,
        "polars lazy": polars.lazy(),
        "polars categorical": polars.with_columns(pl.col("c").cast(pl.Categorical)),
        "pyarrow": pa.table(rows),
        "rows": [list(row) for row in zip(*rows.values(), strict=True)],
        "object": np.array(list(zip(*rows.values(), strict=True)), object),
    }


@pytest.mark.parametrize("library", frames())
def test_every_library_gives_the_same_codes(library):
    reference, X = frames()["object"], frames()[library]
    encoder, expected = Encoder(), Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(X), expected.fit_transform(reference))
    np.testing.assert_array_equal(encoder.transform(reference), expected.transform(X))
    np.testing.assert_array_equal(encoder.values(X), expected.values(reference))


NUMBERS = st.floats(-1e3, 1e3) | st.integers(-2, 2).map(float) | st.just(NAN)
TABLES = st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["a", "b", "", None])), min_size=1, max_size=50)


@settings(deadline=None)
@given(rows=TABLES, max_bins=st.integers(2, 20))
def test_codes_to_values_and_back(rows, max_bins):
    encoder = Encoder(max_bins=max_bins)
    codes = encoder.fit_transform(rows)
    np.testing.assert_array_equal(encoder.transform(rows), codes)
    columns = encoder.inverse_transform(codes)
    assert list(columns) == ["x0", "x1", "x2"]
    assert columns["x2"] == [row[2] for row in rows]
    np.testing.assert_array_equal(encoder.transform(list(zip(*columns.values(), strict=True))), codes)


@settings(deadline=None)
@given(rows=TABLES, seed=st.integers(0, 100), max_bins=st.integers(2, 20))
def test_shuffled_rows_give_the_same_schema(rows, seed, max_bins):
    order = np.random.default_rng(seed).permutation(len(rows))
    encoder, shuffled = Encoder(max_bins=max_bins), Encoder(max_bins=max_bins)
    codes = encoder.fit_transform(rows)
    np.testing.assert_array_equal(shuffled.fit_transform([rows[row] for row in order]), codes[:, order])
    assert encoder.schema_ == shuffled.schema_


@settings(deadline=None)
@given(values=st.lists(st.integers(-50, 50), min_size=1, max_size=80), max_bins=st.integers(2, 20))
def test_a_monotone_map_of_a_column_changes_no_code(values, max_bins):
    x = np.array(values, np.float64)[:, None]
    codes = Encoder(max_bins=max_bins).fit_transform(x)
    np.testing.assert_array_equal(Encoder(max_bins=max_bins).fit_transform(np.arctan(x / 10)), codes)


@pytest.mark.parametrize(("dtype", "num_rows"), in_turn([np.float32, np.float64, np.int32], [100, 10_000, 250_000]))
def test_transform_does_what_fit_transform_did(num_rows, dtype):
    X = (100 * np.random.default_rng(0).normal(size=(num_rows, 5))).astype(dtype)
    encoder = Encoder(max_bins=100)
    codes = encoder.fit_transform(X)
    np.testing.assert_array_equal(encoder.transform(X), codes)
    np.testing.assert_array_equal(encoder.transform(np.asfortranarray(X)), codes)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame(X)), codes)
    edges = [column.bins.edges for column in encoder.schema_.columns]
    expected = [np.searchsorted(e, x) for e, x in zip(edges, X.T.astype(np.float64), strict=True)]
    np.testing.assert_array_equal(codes, expected)


def test_numbers_outside_the_fitted_range_are_in_the_outer_bins():
    encoder = Encoder().fit([[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(encoder.transform([[-9.0], [9.0]]), [[0, 2]])


def test_float32_and_float64_are_compared_alike():
    """0.1 as a float32 lies above 0.1 as a float64."""
    encoder = Encoder().fit(np.array([[0.0], [0.2]]))
    edge = encoder.schema_.columns[0].bins.edges[0]
    near = np.nextafter(np.float32(edge), np.float32([-1, 1]))[:, None]
    for repeats in (1, 5000):
        X = np.tile(near, (repeats, 1))
        np.testing.assert_array_equal(encoder.transform(X), encoder.transform(X.astype(np.float64)))
        np.testing.assert_array_equal(encoder.transform(X)[0, :2], [0, 1])


def test_short_tables_are_exact_and_long_ones_have_255_bins():
    assert Encoder().max_bins == "auto" and MAX_EXACT_ROWS == 100_000
    X = np.arange(MAX_EXACT_ROWS + 1.0)[:, None]
    exact, binned = Encoder().fit(X[1:]).schema_, Encoder().fit(X).schema_
    assert exact.num_values[0] == 65_535 and exact.code_dtype == np.uint16
    assert binned.num_values[0] == 255 and binned.code_dtype == np.uint8


def test_with_no_limit_past_65535_values_there_are_as_many_bins():
    encoder = Encoder(max_bins=None)
    codes = encoder.fit_transform(np.arange(70_000.0)[:, None])
    assert codes.max() == 65_534 and not encoder.schema_.columns[0].bins.exact


def test_bins_are_as_wide_as_all_rows_make_them(monkeypatch):
    """Also where edges are fitted on some of the rows."""
    monkeypatch.setattr(summary, "MAX_FITTED_ROWS", 40)
    X = np.random.default_rng(0).normal(size=(1000, 2)).round(1)
    X[::9, 1] = NAN
    X = np.column_stack([X, np.full(1000, NAN), np.arange(1000) % 2])
    encoder, refitted = Encoder(max_bins=30), Encoder(max_bins=30)
    codes = encoder.fit_transform(X)
    for feature, column in enumerate(encoder.schema_.columns):
        values = [X[codes[feature] == code, feature] for code in range(column.num_values)]
        assert all(len(v) for v in values)
        np.testing.assert_array_equal(column.bins.low, [v.min() for v in values])
        np.testing.assert_array_equal(column.bins.high, [v.max() for v in values])
        assert column.bins.exact == all(len(np.unique(v)) == 1 for v in values)
    assert [column.bins.exact for column in encoder.schema_.columns] == [False, False, True, True]
    assert refitted.fit(X).schema_ == encoder.schema_
    np.testing.assert_array_equal(encoder.transform(X), codes)


# Declared categories ----------------------------------------------------------------------------------------------


CARS = [["vhigh", "2", "small"], ["low", "5more", "big"], ["med", "4", "small"], ["high", "2", "med"]]
ALL_WORDS = (("high", "low", "med", "vhigh"), ("2", "4", "5more"), ("big", "med", "small"))


@pytest.mark.parametrize("dtype", [object, str])
def test_all_columns_of_an_array_of_strings_are_categorical(dtype):
    encoder = Encoder().fit(np.array(CARS, dtype))
    assert tuple(column.categories for column in encoder.schema_.columns) == ALL_WORDS
    assert encoder.schema_.indicator_names[4:7] == ("x1=2", "x1=4", "x1=5more")


@pytest.mark.parametrize("ordered", [False, True])
def test_declared_categories_have_codes_without_rows(ordered):
    words = pd.Categorical(["sunny", None, "rain"], categories=["sunny", "fog", "rain"], ordered=ordered)
    table = pd.DataFrame({"outlook": words})
    encoder = Encoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table), [[0, 3, 2]])
    assert encoder.schema_.columns[0].categories == ("sunny", "fog", "rain")
    np.testing.assert_array_equal(encoder.transform([["fog"]]), [[1]])
    assert encoder.inverse_transform(encoder.transform(table)) == {"outlook": ["sunny", None, "rain"]}


def test_a_declared_column_all_missing_keeps_its_categories():
    table = pd.DataFrame({"c": pd.Categorical([None, None], categories=["b", "a"])})
    encoder = Encoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table), [[2, 2]])
    np.testing.assert_array_equal(encoder.transform([["a"], ["b"]]), [[1, 0]])
    np.testing.assert_array_equal(encoder.values([["a"], [None], ["z"]]), [[1], [NAN], [NAN]])


# Which columns are categorical ------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [["b"], [1], np.array([1]), [False, True], np.array([False, True]), "b"])
def test_numbers_may_be_categorical(listed):
    table = pd.DataFrame({"a": [1, 2, 3, 4], "b": [30.0, NAN, -1.0, 30.0]})
    encoder = Encoder(categorical_features=listed, max_bins=2)
    np.testing.assert_array_equal(encoder.fit_transform(table), [[0, 0, 1, 1], [1, 2, 0, 1]])
    assert encoder.schema_.columns[1].categories == (-1.0, 30.0)
    np.testing.assert_array_equal(encoder.transform(table + 1), [[0, 1, 1, 1], [2, 2, 2, 2]])  # none was seen
    np.testing.assert_array_equal(encoder.transform(table.assign(b=[30, -1, 30, 7])), [[0, 0, 1, 1], [1, 0, 1, 2]])


def test_listed_columns_are_categorical_beside_those_of_strings():
    encoder = Encoder(categorical_features=["a"]).fit(pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [1, 2]}))
    np.testing.assert_array_equal(encoder.schema_.is_categorical, [True, True, False])
    assert not Encoder(categorical_features=[]).fit(np.eye(2)).schema_.is_categorical.any()


def test_truth_values_and_ordered_words_may_be_categorical():
    encoder = Encoder(categorical_features=["size", "flag"])
    np.testing.assert_array_equal(encoder.fit_transform(all_kinds()), CODES_OF_ALL_KINDS)
    np.testing.assert_array_equal(encoder.schema_.is_categorical, [False, True, True, True])
    np.testing.assert_array_equal(encoder.transform(all_kinds()), CODES_OF_ALL_KINDS)


# Values -----------------------------------------------------------------------------------------------------------


def test_values_of_every_kind():
    encoder = Encoder()
    values = encoder.fit(all_kinds()).values(all_kinds())
    assert values.dtype == np.float64 and values.flags.c_contiguous
    expected = [[2.5, 1, 2.5, NAN], [1, 2, 0, NAN], [0, 2, 0, NAN], [1, 0, 0, NAN]]
    np.testing.assert_array_equal(values.T, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_of_numbers_are_not_copied(dtype):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(dtype)
    X[0, 0] = NAN
    encoder = Encoder().fit(X)
    for array in (X, np.asfortranarray(X), X[::2, ::-1][:, ::-1]):
        assert encoder.values(array) is array
    values = encoder.values(pd.DataFrame(X))
    assert values.dtype == dtype and values.flags.c_contiguous
    np.testing.assert_array_equal(values, X)


def test_values_that_are_not_copied_are_checked():
    X = np.random.default_rng(0).normal(size=(50, 3))
    encoder = Encoder().fit(X)
    assert encoder.schema_.columns.is_plain.all()
    with pytest.raises(InvalidInputError, match="infinity in column 'x1'"):
        encoder.values(np.where(X[7, 1] == X, np.inf, X))
    with pytest.raises(InvalidInputError, match="X has 2 features"):
        encoder.values(X[:, :2])
    with pytest.raises(InvalidInputError, match="0 sample"):
        encoder.values(X[:0])


def test_columns_that_are_not_plain_numbers():
    """Categories, times, and a column that was missing in fit."""
    others = [["a"], ["b"]], np.array([["2020-01-01"], ["2020-01-02"]], "datetime64[D]"), np.full((2, 1), NAN)
    assert not any(Encoder().fit(other).schema_.columns.is_plain.any() for other in others)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, ">f4", bool])
def test_values_of_other_dtypes_are_float64(dtype):
    X = np.array([[1, 0], [0, 1]]).astype(dtype)
    values = Encoder().fit(X).values(X)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [[1, 0], [0, 1]])


def test_values_fall_where_codes_do():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    X[::7, 1] = NAN
    encoder = Encoder(max_bins=9).fit(X)
    codes, values = encoder.transform(X), encoder.values(X)
    for feature in (0, 1):
        for code in range(8):
            threshold = encoder.schema_.threshold(feature, code, code + 1)
            np.testing.assert_array_equal(values[:, feature] <= threshold, codes[feature] <= code)
    np.testing.assert_array_equal(values[:, 1] <= encoder.schema_.threshold(1, 8, 9), codes[1] <= 8)


# Columns without a known value -----------------------------------------------------------------------------------


def test_any_column_may_be_all_missing():
    table = all_kinds()
    nothing = pd.DataFrame({name: [None, None] for name in table})
    np.testing.assert_array_equal(Encoder().fit(table).transform(nothing), [[2, 2], [3, 3], [3, 3], [2, 2]])
    encoder = Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(nothing), np.zeros((4, 2)))
    np.testing.assert_array_equal(encoder.schema_.num_codes, [1, 1, 1, 1])
    np.testing.assert_array_equal(encoder.transform(table), np.zeros((4, 4)))
    assert encoder.inverse_transform(np.zeros((4, 1), np.uint8)) == {name: [None] for name in table}
    with pytest.raises(InvalidInputError, match="column 'word' has values never seen in fit"):
        Encoder(unseen="error").fit(nothing[["word"]]).transform(table[["word"]])


def test_a_categorical_column_without_categories_is_one_feature():
    table = pd.DataFrame({"c": pd.Categorical([None, None]), "x": [1.0, 2.0]})
    encoder = Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(table), [[0, 0], [0, 1]])
    assert encoder.schema_.indicator_names == ("c", "x")
    np.testing.assert_array_equal(encoder.values(table), [[NAN, 1], [NAN, 2]])


def test_an_encoder_that_is_not_fitted():
    for method in ("transform", "values", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(Encoder(), method)(np.zeros((1, 1), np.uint8))


def test_inverse_transform_checks_codes():
    with pytest.raises(InvalidInputError, match="must have 1 features, got 2"):
        Encoder().fit([[1.0]]).inverse_transform(np.zeros((2, 1), np.uint8))
