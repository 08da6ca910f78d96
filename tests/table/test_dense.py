"""Codes as a dense array: a column for every category."""

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

import jaxtree
from jaxtree.table import Encoder

NAN = np.nan
NUMBERS = st.floats(-1e3, 1e3) | st.just(NAN)
TABLES = st.lists(st.tuples(NUMBERS, st.sampled_from(["a", "b", "", None])), min_size=1, max_size=50)
MIXED = pd.DataFrame(
    {
        "town": ["b", None, "a", "b"],
        "size": pd.Categorical(["big", "small", "small", "big"], categories=["small", "middle", "big"], ordered=True),
        "kind": ["x", "y", "x", "y"],
        "age": [3.0, NAN, 1.0, 3.0],
        "open": [True, False, True, True],
    }
)


def both(codes, schema):
    """The array of NumPy, after a comparison with that of a program."""
    dense = jaxtree.one_hot(codes, schema)
    of_jax = jax.jit(jaxtree.one_hot, static_argnames="schema")(codes, schema=schema)
    assert isinstance(dense, np.ndarray) and dense.dtype == of_jax.dtype == np.float32
    np.testing.assert_array_equal(dense, of_jax)
    return dense


def test_a_category_has_a_column_and_anything_else_its_codes():
    encoder = Encoder().fit(MIXED)
    dense = both(encoder.transform(MIXED), encoder.schema_)
    assert encoder.schema_.indicator_names == ("town=a", "town=b", "size", "kind=x", "kind=y", "age", "open")
    expected = [[0, 1, 2, 1, 0, 1, 1], [NAN, NAN, 0, 0, 1, NAN, 0], [1, 0, 0, 1, 0, 0, 1], [0, 1, 2, 0, 1, 1, 1]]
    np.testing.assert_array_equal(dense, expected)


def test_what_fit_has_not_seen_is_none_of_the_categories():
    encoder = Encoder().fit(MIXED)
    later = MIXED.assign(town=["c", "a", "b", None], kind=["z", None, "x", "y"], age=[NAN] * 4)
    dense = both(encoder.transform(later), encoder.schema_)
    np.testing.assert_array_equal(dense[:, :2], [[NAN, NAN], [1, 0], [0, 1], [NAN, NAN]])
    np.testing.assert_array_equal(dense[:, 3:5], [[0, 0], [0, 0], [1, 0], [0, 1]])
    assert np.isnan(dense[:, 5]).all()


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_it_is_what_scikit_learn_makes_of_words(library):
    words = np.random.default_rng(0).choice(["ash", "birch", "cedar", "elm"], (50, 3))
    encoder = Encoder().fit(words)
    codes = encoder.transform(words)
    dense = jaxtree.one_hot(codes if library == "numpy" else jax.numpy.asarray(codes), encoder.schema_)
    np.testing.assert_array_equal(dense, OneHotEncoder(sparse_output=False).fit_transform(words))


@settings(deadline=None)
@given(rows=TABLES)
def test_the_code_of_a_row_is_where_its_column_is_one(rows):
    encoder = Encoder()
    codes, schema = encoder.fit_transform(rows), encoder.schema_
    dense, (place, category) = jaxtree.one_hot(codes, schema).T, schema.indicators
    for own, at, code in zip(dense, place.tolist(), category.tolist(), strict=True):
        is_missing = codes[at] == schema.num_values[at]
        known = codes[at][~is_missing]
        np.testing.assert_array_equal(own[~is_missing], known if code < 0 else known == code)
        assert np.isnan(own[is_missing]).all()
    assert len(schema.indicator_names) == len(dense)


def test_columns_follow_those_of_the_table_and_then_the_categories():
    declared = pd.Categorical(["sunny", None, "rain"], categories=["sunny", "fog", "rain"])
    table = pd.DataFrame({"outlook": declared, "none": pd.Categorical([None] * 3), "x": [1, 2, 3]})
    encoder = Encoder().fit(table)
    assert encoder.schema_.indicator_names == ("outlook=sunny", "outlook=fog", "outlook=rain", "none", "x")
    dense = both(encoder.transform(table), encoder.schema_)
    np.testing.assert_array_equal(dense.T[:4], [[1, NAN, 0], [0, NAN, 0], [0, NAN, 1], [NAN] * 3])


def test_rare_words_share_a_column():
    words = [f"w{number:06d}" for number in np.repeat(np.arange(2030), [4] * 30 + [3] * 2000)]
    encoder = Encoder(max_categories=1024)
    codes = encoder.fit_transform(pd.DataFrame({"word": words}))
    dense = jaxtree.one_hot(codes, encoder.schema_)
    assert dense.shape[1] == 1024 and encoder.schema_.indicator_names[-1] == "word=any other"
    np.testing.assert_array_equal(dense.sum(axis=1), 1)
    other = encoder.transform(pd.DataFrame({"word": ["never"]}))
    assert jaxtree.one_hot(other, encoder.schema_)[0, -1] == 1


def test_codes_of_other_columns_are_refused():
    encoder = Encoder().fit(MIXED)
    codes = encoder.transform(MIXED)
    for wrong in (codes[:1], codes.T, np.concatenate([codes, codes])):
        with pytest.raises(jaxtree.errors.InvalidInputError, match="codes must be an array"):
            jaxtree.one_hot(wrong, encoder.schema_)
