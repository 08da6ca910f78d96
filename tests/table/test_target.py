"""Targets: classes in order, numbers as they are, and what is no target."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table.columns import TableColumn
from jaxtree.table.reading import check_same_length
from jaxtree.table.target import encode_classes, encode_numbers
from tests.marks import in_turn

NAN = np.nan
LEVELS = ["b", "c", "a"]

TARGETS = [
    ["b", "a", "b"],
    [3, 1, 3],
    [1.0, -1.0, 1.0],
    [True, False, True],
    np.array(["b", "a", "b"], object),
    np.ma.array([2, 1, 2], mask=False),
    pd.Series(["b", "a", "b"]),
    pd.Series(["b", "a", "b"], dtype="category"),
    pd.Series([2, 1, 2], dtype="Int64"),
    pl.Series(["b", "a", "b"]),
    pa.chunked_array([["b", "a"], ["b"]]).to_pandas(),
]


@pytest.mark.parametrize("y", TARGETS)
def test_classes_are_in_order(y):
    target = encode_classes(y)
    (classes,) = target.classes
    assert target.codes.dtype == np.int32
    np.testing.assert_array_equal(target.codes, [[1, 0, 1]])
    assert classes[0] < classes[1]
    assert list(classes[target.codes[0]]) == list(y)
    np.testing.assert_array_equal(target.declared, [[0, 1]])
    assert target.absent == ((),) and target.num_declared == (2,)


DECLARED = {
    "bare categorical": pd.Categorical(["a", "b", "a"], categories=LEVELS),
    "pandas": pd.Series(pd.Categorical(["a", "b", "a"], categories=LEVELS)),
    "pandas ordered": pd.Series(pd.Categorical(["a", "b", "a"], categories=LEVELS, ordered=True)),
    "data frame": pd.DataFrame({"y": pd.Categorical(["a", "b", "a"], categories=LEVELS)}),
    "polars": pl.Series(["a", "b", "a"], dtype=pl.Enum(LEVELS)),
    "pyarrow": pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(LEVELS))]),
}


@pytest.mark.parametrize("y", DECLARED.values(), ids=DECLARED)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_declared_classes_keep_their_order(y):
    target = encode_classes(y)
    assert target.classes[0].tolist() == ["a", "b"]
    np.testing.assert_array_equal(target.codes, [[0, 1, 0]])
    np.testing.assert_array_equal(target.declared, [[1, 0]])
    assert target.declared[0].dtype == np.int32
    assert target.absent == (("c",),) and target.num_declared == (3,)


def test_declared_classes_may_be_numbers():
    target = encode_classes(pd.Series(pd.Categorical([10, 9, 10], categories=[11, 10, 9])))
    np.testing.assert_array_equal(target.declared, [[1, 0]])
    assert target.classes[0].tolist() == [9, 10] and target.absent == ((11,),)


def test_a_polars_categorical_declares_nothing():
    target = encode_classes(pl.Series(["c", "b", "a"], dtype=pl.Categorical)[1:])
    np.testing.assert_array_equal(target.declared, [[0, 1]])
    assert target.num_declared == (2,)


@pytest.mark.parametrize(
    "y", [np.array([[2], [1]]), [[2], [1]], pd.DataFrame({"y": [2, 1]}), pl.DataFrame({"y": [2, 1]})]
)
def test_a_single_column_is_accepted_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        target = encode_classes(y)
    np.testing.assert_array_equal(target.codes, [[1, 0]])


MANY_OUTPUTS = {
    "integers": np.array([[3, 2], [1, 2], [2, 1]]),
    "floats": np.array([[3.0, 2.0], [1.0, 2.0], [2.0, 1.0]]),
    "strings": np.array([["c", "b"], ["a", "b"], ["b", "a"]]),
    "objects": np.array([["c", "b"], ["a", "b"], ["b", "a"]], object),
    "rows": [["c", "b"], ["a", "b"], ["b", "a"]],
    "pandas": pd.DataFrame({"u": ["c", "a", "b"], "v": ["b", "b", "a"]}),
    "polars": pl.DataFrame({"u": ["c", "a", "b"], "v": ["b", "b", "a"]}),
    "pyarrow": pa.table({"u": ["c", "a", "b"], "v": ["b", "b", "a"]}),
    "mixed": pd.DataFrame({"u": [3, 1, 2], "v": ["b", "b", "a"]}),
    "same names": pd.DataFrame([[3, 2], [1, 2], [2, 1]], columns=["y", "y"]),
}


@pytest.mark.parametrize("y", MANY_OUTPUTS.values(), ids=MANY_OUTPUTS)
def test_every_output_has_its_own_classes(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataConversionWarning)
        target = encode_classes(y)
    np.testing.assert_array_equal(target.codes, [[2, 0, 1], [1, 1, 0]])
    assert [len(classes) for classes in target.classes] == [3, 2]
    assert [declared.tolist() for declared in target.declared] == [[0, 1, 2], [0, 1]]
    assert target.num_declared == (3, 2)


@pytest.mark.parametrize("name", ["integers", "floats", "strings", "objects", "rows"])
def test_classes_are_those_of_scikit_learn(name):
    y = MANY_OUTPUTS[name]
    expected = DecisionTreeClassifier().fit(np.eye(3), y).classes_
    for classes, other in zip(encode_classes(y).classes, expected, strict=True):
        np.testing.assert_array_equal(classes, other)
        assert classes.dtype == other.dtype


def test_outputs_declare_their_classes_one_by_one():
    y = pd.DataFrame({"u": pd.Categorical(["a", "b"], categories=LEVELS), "v": [2, 1]})
    target = encode_classes(y)
    assert [declared.tolist() for declared in target.declared] == [[1, 0], [0, 1]]
    assert target.num_declared == (3, 2)


WRONG_CLASSES = {
    "target y is None": None,
    "Unknown label type": [0.5, 1.5, 2.5],
    "Unknown label type: continuous": np.array([[0.5], [1.5]]),
    "output 1 of y: Unknown label type: continuous": np.array([[0, 0.5], [1, 1.5]]),
    "Input y contains NaN": [0.0, np.nan],
    "contains NaN": ["a", None],
    "contains NaN or another": np.array(["a", np.nan], object),
    "missing value": pd.Series(["a", None]),
    "Input y contains NaN: every row": np.ma.array([1, 2], mask=[0, 1]),
    "NaN": pd.Series([1, None], dtype="Int64"),
    "contains NaN: every row": np.array(["2020-01-01", "NaT"], "datetime64[D]"),
    "missing value .NaT": np.array([pd.NaT, pd.NaT], object),
    "output 1 of y: Input y contains NaN": pl.DataFrame({"u": [1, 2], "v": [1, None]}),
    "Unknown label type: unknown": np.array([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], object),
    "every row needs a class": pl.Series(["a", None]),
    "another missing value": pd.Series(pd.Categorical(["a", None])),
    "missing value .None": pa.chunked_array([pa.array(["a", None]).dictionary_encode()]),
    "missing value .None.:": pa.array(["a", None, "b"]).dictionary_encode(),
    "Input y contains infinity": [0.0, np.inf],
    "Complex data not supported": np.array([1j, 2.0]),
}


@pytest.mark.parametrize(("message", "y"), WRONG_CLASSES.items())
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_wrong_classes(message, y):
    with pytest.raises(InvalidInputError, match=message):
        encode_classes(y)


def test_a_target_of_mixed_types():
    with pytest.raises((InvalidTypeError, InvalidInputError)):
        encode_classes(np.array(["a", 1], object))
    with pytest.raises(InvalidTypeError, match="output 0 of y must be all strings, all numbers or all booleans"):
        encode_classes(np.array([["a", "b"], [1, "c"]], object))


WRONG_SHAPES = {
    r"y should be a 1d array, or .* got an array of shape \(2, 0\)": np.ones((2, 0)),
    r"y should be a 1d array, or .* shape \(2, 2, 2\)": np.ones((2, 2, 2)),
    r"y should be a 1d array, or .* shape \(\)": 3.0,
    r"y should be a 1d array, or .* got an array of shape \(\) instead": "yes",
    "y must be a vector, or rows of one length": [[1, 2], [1]],
    "y should be a 1d array: .* requires y to be passed, but the target y is None": None,
}


@pytest.mark.parametrize(("message", "y", "encode"), in_turn(WRONG_SHAPES.items(), [encode_classes, encode_numbers]))
def test_wrong_shapes(encode, message, y):
    with pytest.raises(InvalidInputError, match=message):
        encode(y)


@pytest.mark.parametrize("encode", [encode_classes, encode_numbers])
def test_a_sparse_target(encode):
    with pytest.raises(InvalidTypeError, match=r"y is a sparse matrix, .* pass y.toarray\(\)"):
        encode(scipy.sparse.csr_matrix([[0], [1]]))


# Numbers ----------------------------------------------------------------------------------------------------------


VECTORS = {
    "floats": [2.0, -0.5, 2.0],
    "float32": np.array([2.0, -0.5, 2.0], np.float32),
    "big endian": np.array([2.0, -0.5, 2.0], ">f8"),
    "objects": np.array([2, np.float32(-0.5), True + 1], object),
    "masked": np.ma.array([2.0, -0.5, 2.0], mask=False),
    "pandas": pd.Series([2.0, -0.5, 2.0]),
    "pandas Float64": pd.Series([2.0, -0.5, 2.0], dtype="Float64"),
    "pandas categorical": pd.Series([2.0, -0.5, 2.0], dtype="category"),
    "polars": pl.Series([2.0, -0.5, 2.0]),
    "pyarrow": pa.chunked_array([[2.0, -0.5], [2.0]]),
    "column": np.array([[2.0], [-0.5], [2.0]]),
    "rows of one": [[2.0], [-0.5], [2.0]],
    "data frame": pd.DataFrame({"y": [2.0, -0.5, 2.0]}),
    "lazy frame": pl.LazyFrame({"y": [2.0, -0.5, 2.0]}),
}


@pytest.mark.parametrize("y", VECTORS.values(), ids=VECTORS)
def test_numbers_of_a_vector_or_a_single_column(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target = encode_numbers(y)
    assert target.is_vector and target.values.dtype == np.float64
    np.testing.assert_array_equal(target.values, [[2.0, -0.5, 2.0]])


@pytest.mark.parametrize("y", [[True, False], np.array([1, 0], np.uint8), pd.Series([1, 0], dtype="Int64")])
def test_truth_values_and_integers_are_numbers(y):
    np.testing.assert_array_equal(encode_numbers(y).values, [[1.0, 0.0]])


@pytest.mark.parametrize(
    "y", [[[1, 2], [3, 4.5]], pd.DataFrame({"u": [1, 3], "v": [2, 4.5]}), pl.DataFrame({"u": [1, 3], "v": [2.0, 4.5]})]
)
def test_several_outputs(y):
    target = encode_numbers(y)
    assert not target.is_vector and target.values.flags.c_contiguous
    np.testing.assert_array_equal(target.values, [[1, 3], [2, 4.5]])


@pytest.mark.parametrize("y", [[1.0, 2.0], [[1.0], [2.0]], [[1.0, 2.0], [3.0, 4.0]]])
def test_predictions_are_a_vector_where_those_of_scikit_learn_are(y):
    predicted = DecisionTreeRegressor().fit(np.eye(2), y).predict(np.eye(2))
    assert encode_numbers(y).is_vector == (predicted.ndim == 1)


WRONG_NUMBERS = {
    "Input y contains NaN: row 1 has no number": [0.5, NAN, np.inf],
    r"Input y contains infinity or a value too large for dtype\('float64'\): row 0 has -inf": [-np.inf, NAN],
    "Input y contains NaN: row 2": np.array([1, 2, None], object),
    "Input y contains NaN: row 0": pd.Series([None, 2], dtype="Int64"),
    "contains NaN: row 1": pl.Series([1, None]),
    "y contains NaN: row 1": pa.chunked_array([[1, None]]),
    "NaN: row 1": np.ma.array([1, 2], mask=[0, 1]),
    "Input output 1 of y contains NaN: row 0": np.array([[1, NAN], [2, 3]]),
    "value too large .* row 1 has 1000": [1, 10**400],
    "infinity or a value too large .* row 0": np.array([1e300], np.longdouble) ** 2,
    "Complex data not supported": np.array([1j]),
}


@pytest.mark.parametrize(("message", "y"), WRONG_NUMBERS.items())
def test_wrong_numbers(message, y):
    with pytest.raises(InvalidInputError, match=message):
        encode_numbers(y)


NO_NUMBERS = {
    "y must be numbers: row 0 has '1.5', a str; turn it into a float": ["1.5", "2"],
    "y must be numbers: row 1 has 'a'": np.array([1.0, "a"], object),
    "output 1 of y must be numbers: row 0 has 'a'": pd.DataFrame({"u": [1], "v": ["a"]}),
    "y must be numbers: row 0 has datetime": np.array(["2020-01-01"], "datetime64[D]"),
    "row 0 has .*a complex": np.array([1j], object),
}


@pytest.mark.parametrize(("message", "y"), NO_NUMBERS.items())
def test_targets_that_are_no_numbers(message, y):
    with pytest.raises(InvalidTypeError, match=message):
        encode_numbers(y)


def test_as_many_targets_as_rows():
    check_same_length(2, np.ones(2))
    with pytest.raises(InvalidInputError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        check_same_length(3, [1, 2])


@given(data=st.data(), dtype=st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32]))
def test_integers_are_counted_as_they_would_be_sorted(data, dtype):
    """Close together they are counted, far apart sorted; at the ends of their dtype, too."""
    limits = np.iinfo(dtype)
    low = data.draw(st.sampled_from([limits.min, 0, max(limits.min, limits.max - 200)]))
    near = st.integers(low, min(low + 200, limits.max))
    y = np.array(data.draw(st.lists(near | st.sampled_from([limits.min, limits.max]), min_size=1, max_size=9)), dtype)
    classes, codes = np.unique(y, return_inverse=True)
    target = encode_classes(y)
    np.testing.assert_array_equal(target.classes[0], classes)
    np.testing.assert_array_equal(target.codes[0], codes)
    assert target.classes[0].dtype == dtype and target.codes.dtype == np.int32


def word_column(words, codes, is_declared=False):
    return TableColumn("kind", "categorical", np.array(codes, np.int32), len(words) in codes, words, is_declared)


@given(st.lists(st.text(max_size=3), min_size=1, max_size=40), st.sampled_from(["U3", object]))
def test_strings_are_looked_up_as_they_would_be_sorted(words, dtype):
    y = np.array(words, dtype)
    target = encode_classes(y)
    classes, codes = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(target.classes[0], classes)
    np.testing.assert_array_equal(target.codes[0], codes)
    assert target.classes[0].dtype == classes.dtype


def test_strings_are_compared_once_a_class():
    """A million of them are sorted in seconds, and looked up in tenths."""
    compared = []

    class Word(str):
        def __lt__(self, other):
            compared.append(self)
            return str(self) < str(other)

    words = [Word(number % 5) for number in range(1000)]
    assert encode_classes(np.array(words, object)).classes[0].tolist() == ["0", "1", "2", "3", "4"]
    assert len(compared) < 20


def test_columns_of_a_source_are_targets():
    target = encode_classes(word_column(("a", "b", "c"), [2, 0, 2]))
    assert target.classes[0].tolist() == ["a", "c"] and target.codes.tolist() == [[1, 0, 1]]
    assert target.absent == ((),) and target.declared[0].tolist() == [0, 1]
    declared = encode_classes(word_column(("z", "b", "a"), [2, 0, 2], is_declared=True))
    assert declared.classes[0].tolist() == ["a", "z"] and declared.codes.tolist() == [[0, 1, 0]]
    assert declared.absent == (("b",),) and declared.declared[0].tolist() == [1, 0]
    numbers = TableColumn("y", "numeric", np.array([2.0, 1.0, 2.0]), False)
    assert encode_numbers(numbers).values.tolist() == [[2.0, 1.0, 2.0]]
    both = encode_classes([numbers, word_column(("b", "a"), [0, 1, 1])])
    assert [classes.tolist() for classes in both.classes] == [[1.0, 2.0], ["a", "b"]]
    flags = TableColumn("y", "boolean", np.array([1, 0], np.int32), False, (False, True))
    assert encode_numbers(flags).values.tolist() == [[1.0, 0.0]]
    assert encode_classes(flags).classes[0].tolist() == [False, True]


def test_columns_of_a_source_that_are_no_targets():
    with pytest.raises(InvalidInputError, match="every row needs a class, and row 1 has none"):
        encode_classes(word_column(("a",), [0, 1]))
    with pytest.raises(InvalidTypeError, match="y must be numbers: row 0 has 'a'"):
        encode_numbers(word_column(("a",), [0]))


def _words_by_library():
    words = ["b", "a", "c", "a"]
    arrow = pa.array(words)
    dictionary = pa.DictionaryArray.from_arrays([1, 0, 2, 0], ["a", "b", "c"])
    return {
        "polars": (pl.Series(words), ()),
        "Arrow": (arrow, ()),
        "Arrow in chunks": (pa.chunked_array([arrow[:1], arrow[1:]]), ()),
        "Arrow's dictionary": (dictionary, ()),
        "a dictionary in chunks": (pa.chunked_array([dictionary[:1], dictionary[1:]]), ()),
        "a dictionary with more words": (pa.DictionaryArray.from_arrays([1, 0, 2, 0], ["a", "b", "c", "d"]), ("d",)),
    }


@pytest.mark.parametrize("library", _words_by_library())
def test_words_are_read_as_their_library_holds_them(library):
    given, absent = _words_by_library()[library]
    target = encode_classes(given)
    assert target.classes[0].tolist() == ["a", "b", "c"] and target.codes.tolist() == [[1, 0, 2, 0]]
    assert target.absent == (absent,)
    with pytest.raises(InvalidTypeError, match="y must be numbers: row 0 has 'b'"):
        encode_numbers(given)


@pytest.mark.parametrize(
    "given", [pl.Series(["a", None]), pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()]
)
def test_a_missing_word_of_any_library_is_refused(given):
    with pytest.raises(InvalidInputError, match="missing value"):
        encode_classes(given)
