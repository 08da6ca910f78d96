"""Another table than the fitted one: unseen categories, and columns or kinds that changed."""

import numpy as np
import pandas as pd
import pytest

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table import Encoder


@pytest.mark.parametrize("words", [["a", "b"], ["a", "b", None]])
def test_an_unseen_category_is_missing(words):
    encoder = Encoder().fit([[word] for word in words])
    for unseen in ("c", None):
        np.testing.assert_array_equal(encoder.transform([[unseen]]), 2)
        np.testing.assert_array_equal(encoder.values([[unseen]]), np.nan)


def test_an_unseen_category_is_an_error_if_wanted():
    encoder = Encoder(unseen="error").fit(pd.DataFrame({"k": ["a", "b"]}))
    np.testing.assert_array_equal(encoder.transform([["b"], [None]]), [[1, 2]])
    with pytest.raises(InvalidInputError, match="column 'k' has values never seen in fit: c, d;"):
        encoder.transform([["a"], ["d"], ["c"], ["d"]])


def test_a_declared_category_is_unseen_only_if_a_row_has_it():
    def sizes(categories):
        return pd.DataFrame({"size": pd.Categorical(["s", "m"], categories=categories, ordered=True)})

    encoder = Encoder(unseen="error").fit(sizes(["s", "m"]))
    np.testing.assert_array_equal(encoder.transform(sizes(["xs", "s", "m"])), [[0, 1]])
    np.testing.assert_array_equal(encoder.transform([["m"], ["s"]]), [[1, 0]])


def test_declared_categories_in_another_order():
    def outlook(categories):
        return pd.DataFrame({"outlook": pd.Categorical(["rain", "sunny"], categories=categories)})

    encoder = Encoder(unseen="error").fit(outlook(["snow", "sunny", "rain"]))
    for categories in (["snow", "sunny", "rain"], ["rain", "sunny"], ["fog", "rain", "snow", "sunny"]):
        np.testing.assert_array_equal(encoder.transform(outlook(categories)), [[2, 1]])
    np.testing.assert_array_equal(encoder.transform([["rain"], ["sunny"]]), [[2, 1]])


def test_categories_that_are_numbers_are_found_among_numbers():
    encoder = Encoder(unseen="error").fit(pd.DataFrame({"k": pd.Categorical([3, 1], categories=[3, 2, 1])}))
    for table in (np.array([[1.0], [3.0], [np.nan]]), [[1], [3], [None]]):
        np.testing.assert_array_equal(encoder.transform(table), [[2, 0, 3]])


def test_a_word_column_without_words_is_one_of_missing_numbers():
    encoder = Encoder().fit([[1.0], [2.0]])
    for categories in ([], ["a"]):
        table = pd.DataFrame({"x0": pd.Categorical([None], categories=categories)})
        np.testing.assert_array_equal(encoder.transform(table), [[2]])
        np.testing.assert_array_equal(encoder.values(table), [[np.nan]])


def test_numbers_zero_and_one_are_truth_values():
    encoder = Encoder().fit([[True], [False]])
    np.testing.assert_array_equal(encoder.transform(np.array([[1.0], [0.0], [np.nan], [0.5]])), [[1, 0, 2, 2]])
    encoder = Encoder().fit([[0.0], [0.5], [1.0]])
    np.testing.assert_array_equal(encoder.transform([[True], [False], [None]]), [[2, 0, 3]])


def test_kinds_that_changed_since_fit():
    message = "column 'x0' had numbers in fit, and now has (ordered )?categories such as 'b': turn them"
    for table in ([["b"]], pd.DataFrame({"x0": pd.Categorical([None, "b"], categories=["a", "b"])})):
        with pytest.raises(InvalidTypeError, match=message):
            Encoder().fit([[1.0]]).transform(table)
    with pytest.raises(
        InvalidTypeError, match=r"column 'x0' had categories such as 'a' in fit, and now has numbers such as 1\.0"
    ):
        Encoder().fit([["a"]]).transform([[1.0]])


def test_columns_that_changed_since_fit():
    encoder = Encoder().fit(pd.DataFrame({"a": [1], "b": [2]}))
    for names, message in [
        (["b", "a"], "must be in the same order as they were in fit"),
        (["a", "c"], "unseen at fit time:\n- c\n.*yet now missing:\n- b"),
        (["a", "b", "c"], "unseen at fit time:\n- c"),
        (["a"], "yet now missing:\n- b"),
    ]:
        with pytest.raises(InvalidInputError, match=f"(?s)The feature names should match.*{message}"):
            encoder.transform(pd.DataFrame([[1] * len(names)], columns=names))
    with pytest.raises(InvalidInputError, match="X has 1 features, but Encoder is expecting 2 features as input"):
        encoder.transform([[1]])
    with pytest.raises(InvalidInputError, match="X has 3 features"):
        Encoder().fit([[1, 2]]).values(pd.DataFrame([[1, 2, 3]], columns=list("abc")))
    np.testing.assert_array_equal(encoder.transform([[1, 2]]), [[0], [0]])  # by position where names are lacking
