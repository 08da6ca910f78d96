"""Reading tables: every kind of table says the same, and what is wrong with one is said at once."""

import datetime
from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse

from jaxtree import DecisionTreeClassifier
from jaxtree.errors import InvalidInputError, InvalidTypeError, RareWordsWarning
from jaxtree.table import Encoder, reading
from jaxtree.table.columns import as_categorical
from jaxtree.table.reading import read_table

INF, NAN = np.inf, np.nan
WORDS = ["b", None, "a"]


def column_of(X, column=0):
    return read_table(X).columns[column]


def words_of(X, column=0):
    """Returns the kind of a word column, and its words, None where one is missing."""
    read = column_of(X, column)
    assert read.has_categories
    return read.kind, read.items().tolist()


def pandas_column(values, **options):
    return pd.DataFrame({"x": pd.array(values, **options)})


def polars_column(values, dtype=None):
    return pl.DataFrame({"x": pl.Series(values, dtype=dtype, strict=False)})


NUMBER_TABLES = {
    "rows": [[1.5], [None], [3.0]],
    "tuples": ((1.5,), (NAN,), (3,)),
    "float32": np.array([[1.5], [NAN], [3]], np.float32),
    "float16": np.array([[1.5], [NAN], [3]], np.float16),
    "jax": jnp.array([[1.5], [NAN], [3]]),
    "big endian": np.array([[1.5], [NAN], [3]], ">f8"),
    "object": np.array([[1.5], [None], [np.int64(3)]], object),
    "object with NA": np.array([[np.float32(1.5)], [pd.NA], [3]], object),
    "masked": np.ma.array([[1.5], [7.0], [3.0]], mask=[[0], [1], [0]]),
    "masked object": np.ma.array(np.array([[1.5], ["?"], [3.0]], object), mask=[[0], [1], [0]]),
    "masked values in rows": [[1.5], [np.ma.masked], [3.0]],
    "pandas": pandas_column([1.5, NAN, 3]),
    "pandas Float64": pandas_column([1.5, None, 3], dtype="Float64"),
    "pandas Float32": pandas_column([1.5, None, 3], dtype="Float32"),
    "pandas arrow": pandas_column([1.5, None, 3], dtype="double[pyarrow]"),
    "pandas object": pd.DataFrame({"x": np.array([1.5, None, 3], object)}),
    "pandas sparse": pd.DataFrame({"x": pd.arrays.SparseArray([1.5, NAN, 3])}),
    "polars": polars_column([1.5, None, 3.0]),
    "polars NaN": polars_column([1.5, NAN, 3.0]),
    "polars lazy": polars_column([1.5, None, 3.0]).lazy(),
    "pyarrow": pa.table({"x": pa.array([1.5, None, 3])}),
    "pyarrow chunks": pa.concat_tables([pa.table({"x": pa.array([1.5, None])}), pa.table({"x": pa.array([3.0])})]),
}


DECIMALS = [Decimal("1.5"), None, Decimal(3)]
NUMBER_TABLES |= {
    "decimals": [[value] for value in DECIMALS],
    "decimals that are none": [[Decimal("1.5")], [Decimal("NaN")], [3.0]],
    "fractions": [[Fraction(3, 2)], [None], [Fraction(3)]],
    "pandas decimals": pd.DataFrame({"x": DECIMALS}),
    "pandas arrow decimals": pandas_column(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
    "polars decimals": polars_column(DECIMALS, pl.Decimal(9, 2)),
    "pyarrow decimals": pa.table({"x": pa.array(DECIMALS, pa.decimal128(9, 2))}),
}


@pytest.mark.parametrize("X", NUMBER_TABLES.values(), ids=NUMBER_TABLES)
def test_numbers_with_one_missing(X):
    column = column_of(X)
    assert column.kind == "numeric" and column.has_missing
    np.testing.assert_array_equal(column.values, [1.5, NAN, 3])


INTEGER_TABLES = {
    "masked": np.ma.array([[1], [7], [3]], mask=[[0], [1], [0]]),
    "pandas Int64": pandas_column([1, None, 3], dtype="Int64"),
    "pandas UInt8": pandas_column([1, None, 3], dtype="UInt8"),
    "pandas arrow": pandas_column([1, None, 3], dtype="int64[pyarrow]"),
    "polars": polars_column([1, None, 3]),
    "pyarrow": pa.table({"x": pa.array([1, None, 3])}),
}


@pytest.mark.parametrize("X", INTEGER_TABLES.values(), ids=INTEGER_TABLES)
def test_integers_with_one_missing(X):
    column = column_of(X)
    assert column.kind == "numeric" and column.has_missing
    np.testing.assert_array_equal(column.values, [1, NAN, 3])


WORD_TABLES = {
    "rows": [["b"], [None], ["a"]],
    "rows with NaN": [["b"], [NAN], ["a"]],
    "object": np.array([["b"], [np.float32(NAN)], ["a"]], object),
    "masked": np.ma.array([["b"], ["c"], ["a"]], mask=[[0], [1], [0]]),
    "pandas": pd.DataFrame({"x": WORDS}),
    "pandas object": pd.DataFrame({"x": np.array(WORDS, object)}),
    "pandas string": pandas_column(WORDS, dtype="string"),
    "pandas arrow": pandas_column(WORDS, dtype="string[pyarrow]"),
    "polars": polars_column(WORDS),
    "polars categorical": polars_column(WORDS, pl.Categorical),
    "pyarrow": pa.table({"x": WORDS}),
}


@pytest.mark.parametrize("X", WORD_TABLES.values(), ids=WORD_TABLES)
def test_words_with_one_missing(X):
    assert words_of(X) == ("categorical", ["b", None, "a"])
    assert column_of(X).categories == ("a", "b")  # in order, and only those that a row has


LONG = [None if row % 7 == 0 else f"{row * row % 11}ä" for row in range(1000)]
LONG_TABLES = {
    "pandas": pandas_column(LONG, dtype="str"),
    "pandas objects": pandas_column(LONG, dtype=object),
    "pandas python strings": pandas_column(LONG, dtype=pd.StringDtype("python")),
    "pandas arrow strings": pandas_column(LONG, dtype=pd.ArrowDtype(pa.string())),
    "pandas categories": pandas_column(LONG, dtype="category"),
    "pandas arrow dictionary": pandas_column(LONG, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "polars": polars_column(LONG, pl.String),
    "polars categories": polars_column(LONG, pl.Categorical),
    "polars enum": polars_column(LONG, pl.Enum(sorted({*LONG} - {None}))),
    "pyarrow": pa.table({"x": pa.array(LONG)}),
    "pyarrow large strings": pa.table({"x": pa.array(LONG, pa.large_string())}),
    "pyarrow chunks": pa.table({"x": pa.chunked_array([LONG[:3], [], LONG[3:]], pa.string())}),
    "pyarrow dictionaries": pa.table(
        {"x": pa.chunked_array([pa.array(part).dictionary_encode() for part in (LONG[:5], LONG[5:])])}
    ),
    "pyarrow positions without sign": pa.table({"x": pa.array(LONG, pa.dictionary(pa.uint8(), pa.string()))}),
    "pyarrow slice": pa.table({"x": pa.array(["before", None, *LONG, "behind"])}).slice(2, len(LONG)),
    "pyarrow slice of positions": pa.table(
        {"x": pa.array([None, *LONG, "0ä"]).dictionary_encode().slice(1, len(LONG))}
    ),
    "pandas slice": pandas_column([None, *LONG, "0ä"], dtype="str").iloc[1:-1],
    "pandas slice of objects": pandas_column([None, *LONG, "behind"], dtype=object).iloc[1:-1],
    "polars slice": polars_column(["before", None, *LONG, "behind"], pl.String)[2:-1],
    "polars slice of categories": polars_column(["before", None, *LONG, "behind"], pl.Categorical)[2:-1],
}


@pytest.mark.parametrize("X", LONG_TABLES.values(), ids=LONG_TABLES)
def test_python_reads_a_word_once_whatever_the_number_of_rows(X, monkeypatch):
    num_read = []
    for reader in (reading.column_of_values, reading.column_of_categories):

        def read(*args, own=reader, **options):
            num_read.append(len(args[-1]))
            return own(*args, **options)

        monkeypatch.setattr(reading, reader.__name__, read)
    column = column_of(X)
    assert column.items().tolist() == LONG and column.has_missing
    assert max(num_read) == len({*LONG})


@pytest.mark.parametrize("kind", ["pandas", "pandas objects", "polars", "polars categories", "pyarrow"])
def test_long_columns_are_read_at_once(kind, monkeypatch):
    """Each has other words, some thousand, and numbers stand between them."""
    monkeypatch.setattr(reading, "ROWS_AT_A_TIME", 1000)
    words = [[None if row % 5 == 0 else f"{(row + 7 * own) % 3000}" for row in range(4000)] for own in range(3)]
    columns = {"a": words[0], "b": words[1], "n": [0.5] * 4000, "c": words[2]}
    if kind == "pyarrow":
        X = pa.table(columns)
    elif kind.startswith("polars"):
        dtype = pl.Categorical if kind == "polars categories" else pl.String
        X = pl.DataFrame(columns, schema_overrides=dict.fromkeys("abc", dtype))
    else:
        X = pd.DataFrame(columns).astype(dict.fromkeys("abc", object if kind == "pandas objects" else "str"))
    table = read_table(X)
    assert [column.name for column in table.columns] == [*columns]
    for column, own in zip((table.column(place) for place in (0, 1, 3)), words, strict=True):
        assert column.items().tolist() == own and column.categories == tuple(sorted({*own} - {None}))


@pytest.mark.parametrize("X", LONG_TABLES.values(), ids=LONG_TABLES)
def test_rows_without_missing_words_say_so(X):
    rows = [row for row, word in enumerate(LONG) if word is not None]
    column = column_of(X.take(rows) if hasattr(X, "take") else X[rows])
    assert not column.has_missing and column.items().tolist() == [LONG[row] for row in rows]


@pytest.mark.parametrize("X", [polars_column([None], pl.String), pandas_column([None], dtype="str")])
def test_words_that_are_all_missing_are_numbers(X):
    column = column_of(X)
    assert column.kind == "numeric" and np.isnan(column.values).all() and column.has_missing


def dictionary(words, categories, ordered=False):
    positions = pa.array([None if word is None else categories.index(word) for word in words], pa.int8())
    return pa.DictionaryArray.from_arrays(positions, pa.array(categories), ordered=ordered)


ARROW_DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
DECLARED_TABLES = {
    "pandas": pd.DataFrame({"x": pd.Categorical(WORDS, categories=["b", "c", "a"])}),
    "pandas rows left out": pd.DataFrame({"x": pd.Categorical(["c", *WORDS], categories=["b", "c", "a"])})[1:],
    "pyarrow": pa.table({"x": dictionary(WORDS, ["b", "c", "a"])}),
    "pyarrow chunks": pa.table(
        {"x": pa.chunked_array([dictionary(WORDS[:1], ["b", "c"]), dictionary(WORDS[1:], ["a"])])}
    ),
    "pandas arrow": pd.DataFrame({"x": pd.Series(["b", "c", None, "a"], dtype=ARROW_DICTIONARY)}).drop(1),
}


@pytest.mark.parametrize("X", DECLARED_TABLES.values(), ids=DECLARED_TABLES)
def test_declared_categories_are_kept_without_rows_and_in_their_order(X):
    assert words_of(X) == ("categorical", ["b", None, "a"])
    assert column_of(X).categories == ("b", "c", "a")


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        ([10, None, 9], (10, 11, 9)),
        ([0.5, None, -1.5], (2.5, 0.5, -1.5)),
        ([True, None, False], (True, False)),
        ([None, None, None], ("b", "a")),
        ([None, None, None], ()),
    ],
)
def test_declared_categories_of_other_types(values, categories):
    X = pd.DataFrame({"x": pd.Categorical(values, categories=list(categories))})
    assert words_of(X) == ("categorical", values)
    words = column_of(X).categories
    assert words == categories and [type(word) for word in words] == [type(category) for category in categories]


def test_polars_declares_no_categories():
    """It has those that were met so far, here also "c"."""
    X = pl.DataFrame({"x": pl.Series(["c", *WORDS], dtype=pl.Categorical)})[1:]
    assert words_of(X) == ("categorical", ["b", None, "a"])
    assert column_of(X).categories == ("a", "b")


def test_a_missing_category_of_pyarrow_is_none():
    X = pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["b", None, "a", "b"]))})
    assert words_of(X) == ("categorical", ["b", None, "a", "b"])
    assert column_of(X).categories == ("b", "a")


ORDERED_TABLES = {
    "pandas": pd.DataFrame({"x": pd.Categorical(WORDS, categories=["b", "a", "c"], ordered=True)}),
    "polars": polars_column(WORDS, pl.Enum(["b", "a", "c"])),
    "pyarrow": pa.table({"x": dictionary(WORDS, ["b", "a", "c"], ordered=True)}),
}


@pytest.mark.parametrize("X", ORDERED_TABLES.values(), ids=ORDERED_TABLES)
def test_ordered_words_keep_the_declared_order(X):
    assert words_of(X) == ("ordered", ["b", None, "a"])
    assert column_of(X).categories == ("b", "a", "c")


def test_categories_may_be_numbers():
    assert words_of(pd.DataFrame({"x": pd.Categorical([10, None, 9])})) == ("categorical", [10, None, 9])
    ordered = pd.Categorical([10, None, 9], categories=[10, 9], ordered=True)
    assert words_of(pd.DataFrame({"x": ordered})) == ("ordered", [10, None, 9])


BOOLEAN_TABLES = {
    "rows": [[True], [None], [False]],
    "object": np.array([[np.True_], [NAN], [False]], object),
    "masked": np.ma.array([[True], [True], [False]], mask=[[0], [1], [0]]),
    "pandas": pandas_column([True, None, False], dtype="boolean"),
    "pandas object": pd.DataFrame({"x": np.array([True, None, False], object)}),
    "polars": polars_column([True, None, False]),
    "pyarrow": pa.table({"x": [True, None, False]}),
}


@pytest.mark.parametrize("X", BOOLEAN_TABLES.values(), ids=BOOLEAN_TABLES)
def test_truth_values_with_one_missing(X):
    assert words_of(X) == ("boolean", [True, None, False])


@pytest.mark.parametrize("make", [np.array, lambda rows: pd.DataFrame(rows, columns=["a", "b"]), list])
def test_truth_values_without_missing(make):
    X = make([[True, False], [False, False]])
    assert words_of(X, 0) == ("boolean", [True, False])
    assert words_of(X, 1) == ("boolean", [False, False])


ALL_MISSING_TABLES = {
    "rows": [[None], [None]],
    "float": np.full((2, 1), NAN),
    "pandas": pd.DataFrame({"x": [None, None]}),
    "pandas string": pandas_column([None, None], dtype="string"),
    "polars": polars_column([None, None]),
    "polars string": polars_column([None, None], pl.String),
    "pyarrow": pa.table({"x": pa.nulls(2)}),
}


@pytest.mark.parametrize("X", ALL_MISSING_TABLES.values(), ids=ALL_MISSING_TABLES)
def test_a_column_all_missing_is_one_of_numbers(X):
    column = column_of(X)
    assert column.kind == "numeric" and column.has_missing
    assert np.isnan(column.values).all()


def test_distinct_numbers_become_categories_in_order():
    column = as_categorical(column_of([[2.0], [-0.0], [None], [0.0]]))
    assert column.categories == (0.0, 2.0) and not np.signbit(column.categories[0])
    np.testing.assert_array_equal(column.values, [1, 0, 2, 0])


MANY_WORDS = ["a", "b", None, "c", "d", "a"]
MANY_CATEGORIES = {
    "rows": [[word] for word in MANY_WORDS],
    "array": np.array(MANY_WORDS, object)[:, None],
    "strings": pd.DataFrame({"x0": MANY_WORDS}),
    "polars": pl.DataFrame({"x0": pl.Series(MANY_WORDS, dtype=pl.Categorical)}),
    "declared": pd.DataFrame({"x0": pd.Categorical(["a"], categories=["a", "b", "c", "d"])}),
}


@pytest.mark.parametrize("X", MANY_CATEGORIES.values(), ids=MANY_CATEGORIES)
def test_too_many_categories_share_the_last(X):
    assert Encoder(max_categories=4).fit(X).schema_.columns[0].categories == ("a", "b", "c", "d")
    with pytest.warns(RareWordsWarning, match="column 'x0' has 4 words: the 2 rarest"):
        assert Encoder(max_categories=3).fit(X).schema_.columns[0].named_categories == ("a", "b")


def test_ordered_categories_may_be_many():
    X = pd.DataFrame({"x": pd.Categorical([1, 2], categories=[2, 1, 0], ordered=True)})
    assert Encoder(max_categories=2).fit(X).schema_.columns[0].categories == (2, 1, 0)


def test_names():
    assert read_table(np.eye(2)).names == ("x0", "x1")
    assert read_table(pd.DataFrame(np.eye(2))).names == ("x0", "x1")  # pandas' own are numbers
    assert read_table(pd.DataFrame(np.eye(2), columns=["b", "a"])).names == ("b", "a")
    assert read_table(pl.DataFrame({"b": [1], "a": [2]})).names == ("b", "a")


STRANGE_NAMES = {
    "integers": ([10, 20], ("10", "20")),
    "integers in disorder": ([1, 0], ("1", "0")),
    "strings and integers": (["a", 3], ("a", "3")),
    "levels": (pd.MultiIndex.from_tuples([("pay", 5), ("age", "")]), ("pay, 5", "age")),
    "dates": (pd.to_datetime(["2020-01-01", "2021-01-01"]), ("2020-01-01 00:00:00", "2021-01-01 00:00:00")),
    "categories": (pd.CategoricalIndex(["b", "a"]), ("b", "a")),
    "intervals": (pd.IntervalIndex.from_breaks([0, 1, 2]), ("(0, 1]", "(1, 2]")),
}


@pytest.mark.parametrize(("names", "words"), STRANGE_NAMES.values(), ids=STRANGE_NAMES)
def test_names_that_are_no_strings_become_strings_and_are_compared(names, words):
    X = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], columns=names)
    assert read_table(X).names == words and read_table(X).is_named
    encoder = Encoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(encoder.transform(X.set_axis(list(words), axis=1)), [[0, 1], [1, 0]])
    assert Encoder().fit([X[:1], X[1:]]).schema_ == encoder.schema_
    with pytest.raises(InvalidInputError, match="must be in the same order as they were in fit"):
        encoder.transform(X[X.columns[::-1]])


def test_numbers_of_the_columns_of_a_bare_array_are_compared_where_they_are_in_disorder():
    X = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]])
    for one, other in ((X, X[[1, 0]]), (X[[1, 0]], X)):
        encoder = Encoder().fit(one)
        encoder.transform(one.to_numpy())
        with pytest.raises(InvalidInputError, match="must be in the same order as they were in fit"):
            encoder.transform(other)


def test_names_that_become_one_are_refused():
    with pytest.raises(InvalidInputError, match="names of X's columns must be unique, and '1' appears twice"):
        read_table(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_rows_may_name_their_values():
    table = read_table([{"size": 1.5, ("pay", 5): "a"}, {("pay", 5): "b"}])
    assert table.names == ("size", "pay, 5") and table.is_named
    np.testing.assert_array_equal(table.columns[0].values, [1.5, NAN])
    with pytest.raises(InvalidInputError, match="row 1 of X has a value 'b', which the first row does not have"):
        read_table([{"a": 1}, {"b": 1}])


SAVED = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([7, 8], name="id"))
WITH_INDEX = {
    "pyarrow": pa.Table.from_pandas(SAVED),
    "pyarrow, without a name": pa.Table.from_pandas(SAVED.rename_axis(None)),
    "polars": pl.from_arrow(pa.Table.from_pandas(SAVED.rename_axis(None))),
    "polars lazy": pl.from_arrow(pa.Table.from_pandas(SAVED.rename_axis(None))).lazy(),
    "pandas": pa.Table.from_pandas(SAVED).to_pandas(),
    "batches": pa.Table.from_pandas(SAVED).to_batches(max_chunksize=1),
    "in-memory dataset": pa.dataset.dataset(pa.Table.from_pandas(SAVED)),
}


@pytest.mark.parametrize("X", WITH_INDEX.values(), ids=WITH_INDEX)
def test_a_saved_index_is_no_column(X):
    assert Encoder().fit(X).schema_.column_names == ("x",)
    model = DecisionTreeClassifier().fit(X, [0, 1])
    assert model.n_features_in_ == 1 and model.feature_names_in_ == ["x"]
    assert model.predict(X).tolist() == [0, 1]


def test_reading_changes_nothing():
    X = np.array([[1.0, NAN], [3.0, 4.0]])
    before = X.copy()
    read_table(X)
    np.testing.assert_array_equal(X, before)


def test_finite_numbers_whose_sum_is_not():
    X = np.full((4, 2), np.finfo(np.float32).max)
    assert not any(column.has_missing for column in read_table(X).columns)


WRONG_SHAPES = {
    "Expected 2D array, got 1D array": np.ones(3),
    "Reshape your data": [1.0, 2.0],
    "got 1D array instead": pd.Series([1.0]),
    "Expected 2D array, got 1D": pl.Series([1.0]),
    "got 1D array": ["a", "b"],
    "Expected 2D array, got 1D array instead": [],
    "got scalar array": np.array(1.0),
    "dim 3": np.ones((1, 1, 1)),
    "array with dim 3": [[[1.0]]],
    r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required": np.ones((0, 2)),
    r"0 sample\(s\)": pd.DataFrame({"a": []}),
    r"0 sample": pl.DataFrame({"a": []}),
    r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required": np.ones((2, 0)),
    r"0 feature\(s\)": [[], []],
    r"0 feature": pd.DataFrame(index=[0, 1]),
    r"lengths \[1, 2\]": [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize(("message", "X"), WRONG_SHAPES.items())
def test_wrong_shapes(message, X):
    with pytest.raises(InvalidInputError, match=message):
        read_table(X)


WRONG_VALUES = {
    "contains infinity in column 'x1'": np.array([[1.0, INF]]),
    "infinity in column 'x1'": np.array([[NAN, -INF]], np.float32),
    "infinity in column 'b'": pd.DataFrame({"a": [1.0], "b": [INF]}),
    "infinity in column 'x0'": [[INF]],
    "'x0' holds integers beyond 2": np.array([[2**53 + 1]]),
    "'x1' holds integers beyond": np.array([[0, -(2**53) - 1]]),
    "'x1' holds integers": np.array([[0, 2**64 - 1]], np.uint64),
    "'x0' holds integers": [[10**30]],
    "'a' holds integers beyond": pl.DataFrame({"a": [2**53 + 1, None]}),
    "'a' holds integers": pd.DataFrame({"a": pd.array([2**53 + 1, None], dtype="Int64")}),
    "'d' holds integers": pl.DataFrame({"d": [Decimal(2**53 + 1)]}, schema={"d": pl.Decimal(20, 0)}),
    "column 'x0' holds integers": [[Fraction(2**53 + 1)]],
    "column 'x0' holds": np.ma.array([[2**53 + 1], [0]], mask=[[0], [1]]),
    "Complex data not supported": np.array([[1j]]),
    "Complex data not supported: X has dtype": scipy.sparse.csr_array(np.array([[1j]])),
    "contains infinity in column 'x2'": scipy.sparse.csr_array(np.array([[1.0, 0.0, INF]])),
    "'x1' holds integers beyond 2..53": scipy.sparse.coo_array(np.array([[0, -(2**53) - 1]])),
    "Expected 2D array, got 1D array": scipy.sparse.coo_array(np.array([1.0, 0.0])),
    "0 sample": scipy.sparse.csr_array((0, 2)),
    "must be unique": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "be unique": pa.table([[1], [2]], names=["a", "a"]),
}


@pytest.mark.parametrize(("message", "X"), WRONG_VALUES.items())
def test_wrong_values(message, X):
    with pytest.raises(InvalidInputError, match=message):
        read_table(X)


DAY = datetime.date(2020, 1, 1)
WRONG_TYPES = {
    "X has dtype float128|X has dtype longdouble": scipy.sparse.eye(3, dtype=np.longdouble).tocsr(),
    "got dict": {"a": [1]},
    "got str": "table",
    "got NoneType": None,
    "X has dtype .S1": np.array([[b"a"]]),
    "X has dtype float128|X has dtype": np.ones((1, 1), np.longdouble),
    "column 'b' has dtype Time": pl.DataFrame({"a": [1], "b": [datetime.time(1)]}),
    "column 'b' has dtype List": pl.DataFrame({"a": [1], "b": [[1]]}),
    "column 'b' has dtype Binary": pa.table({"a": [1], "b": [b"1"]}),
    "column 'b' has dtype Int128": pl.DataFrame({"b": [1]}, schema={"b": pl.Int128}),
    "column 'b'.* got a Period": pd.DataFrame({"a": [1], "b": pd.period_range("2020", periods=1)}),
    "column 'b'.* got a Interval": pd.DataFrame({"b": pd.cut([1.0, 2.0], 2)}),
    "column 'b' has dates or durations as categories": pd.DataFrame({"b": pd.Categorical(pd.to_datetime(["2020"]))}),
    "column 'b' mixes integers and strings": pd.DataFrame({"b": pd.Categorical(["a"], categories=["a", 1])}),
    "column 'x0'.* got a time": [[datetime.time(1)]],
    "'x0' mixes dates and integers": [[DAY], [1]],
    "'x0' mixes dates with and without a time zone": [[DAY], [datetime.datetime.now(datetime.UTC)]],
    "dtype timedelta64.M.: months and years have no fixed length": np.array([[1]], "timedelta64[M]"),
    "dtype timedelta64, without a unit": np.array([[1]], "timedelta64"),
    "'x0'.* argument must be a string, a boolean or a number .*, got a dict": np.array([[{}]], object),
    "'x0'.* got a complex": [[1j]],
    "'x0' mixes numbers and strings: make it all numbers, all booleans or all strings": [[1.5], ["a"]],
    "'x0' mixes integers and strings": np.array([[1], ["a"]], object),
    "'a' mixes integers and strings": pd.DataFrame({"a": np.array([1, "a"], object)}),
    "'x1' mixes booleans and integers": [[0, True], [0, 1]],
    "'x1' mixes booleans and numbers": [[0, True], [0, 1.0]],
}


@pytest.mark.parametrize(("message", "X"), WRONG_TYPES.items())
def test_wrong_types(message, X):
    with pytest.raises(InvalidTypeError, match=message):
        read_table(X)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float8_e4m3fn, np.float16])
def test_numbers_of_few_bits_are_numbers(dtype):
    """Numbers of accelerators were refused as no numbers of up to 64 bits."""
    short = np.array([[1.5], [-2.0], [0.25]]).astype(dtype)
    read = Encoder().fit(short)
    np.testing.assert_array_equal(read.values(short)[:, 0], [1.5, -2.0, 0.25])
