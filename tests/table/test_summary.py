"""Summaries of parts merge into that of the whole, however a table is cut and in whatever order they come."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree.errors import InvalidInputError
from jaxtree.table import Encoder
from jaxtree.table.summary import Summary, merge_summaries, sample_rows

WORDS = st.sampled_from(["b", "a", "d", "c", None])
NUMBERS = st.floats(-100, 100, width=32) | st.integers(-3, 3).map(float) | st.none()
ROW = st.tuples(NUMBERS, WORDS, st.sampled_from([True, False, None]), st.integers(-5, 5))
ROWS = st.lists(ROW, min_size=1, max_size=40)
MANY_ROWS = st.lists(ROW, min_size=15, max_size=40)
SCHEMA = pa.schema([("x", pa.float32()), ("word", pa.string()), ("flag", pa.bool_()), ("n", pa.int64())])


def table_of(rows):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


def parts_of(table, cuts):
    """The table cut at some rows, with the number of the first row of each part; parts may be empty."""
    ends = sorted({min(cut, table.num_rows) for cut in cuts} | {table.num_rows})
    return [(start, table.slice(start, stop - start)) for start, stop in itertools.pairwise([0, *ends])]


@pytest.fixture
def few_rows_fitted(monkeypatch):
    monkeypatch.setattr("jaxtree.table.summary.MAX_FITTED_ROWS", 6)


@pytest.mark.usefixtures("few_rows_fitted")
@given(
    rows=ROWS | MANY_ROWS,
    cuts=st.lists(st.integers(0, 40), max_size=4),
    max_bins=st.sampled_from([3, 255, "auto"]),
    data=st.data(),
)
def test_parts_give_the_schema_and_codes_of_the_whole(rows, cuts, max_bins, data):
    """Edges of a sample, bins as wide as all rows, categories, missing values: all of it, to the last bit."""
    table = table_of(rows)
    whole = Encoder(max_bins=max_bins)
    codes = whole.fit_transform(table)
    parts = data.draw(st.permutations(parts_of(table, cuts)))
    encoders = [Encoder(max_bins=max_bins) for _ in parts]
    # An in-memory table has at least one row, a source need not have any.
    summaries = [e.summarise([part], first_row=start) for e, (start, part) in zip(encoders, parts, strict=True)]
    summaries = [Summary.from_bytes(summary.to_bytes()) for summary in summaries]
    of_parts = [
        e.fit_summary(merge_summaries(summaries)).encode_part([part])
        for e, (_, part) in zip(encoders, parts, strict=True)
    ]
    ranges = [encoder.bin_ranges() for encoder in encoders]
    for encoder, part_codes, (start, part) in zip(encoders, of_parts, parts, strict=True):
        assert encoder.widen(*ranges).schema_ == whole.schema_
        np.testing.assert_array_equal(part_codes, codes[:, start : start + part.num_rows])


@pytest.mark.usefixtures("few_rows_fitted")
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40), max_size=4))
def test_a_source_gives_the_schema_and_codes_of_the_whole(rows, cuts):
    table = table_of(rows)
    source = [part for _, part in parts_of(table, cuts)]
    one, other = Encoder(max_bins=4), Encoder(max_bins=4)
    np.testing.assert_array_equal(one.fit_transform(source), other.fit_transform(table))
    assert one.schema_ == other.schema_ == Encoder(max_bins=4).fit(iter_again(source)).schema_
    np.testing.assert_array_equal(one.transform(iter(source)), other.transform(table))
    np.testing.assert_array_equal(one.values(source), other.values(table))


def iter_again(parts):
    return lambda: iter(parts)


def contents(summary):
    columns = [(c.name, c.kind, c.has_missing, c.values.tolist(), c.categories, c.statistics) for c in summary.columns]
    return summary.num_rows, summary.rows.tolist(), repr(columns)


@pytest.mark.usefixtures("few_rows_fitted")
@given(rows=ROWS, first=st.integers(0, 40), second=st.integers(0, 40))
def test_merging_is_associative_and_commutative(rows, first, second):
    parts = parts_of(table_of(rows), (first, second)) + [(0, table_of([]))] * 2
    a, b, c = (Encoder().summarise([part], first_row=start) for start, part in parts[:3])
    merged = contents(merge_summaries([a, b, c]))
    assert (
        contents(merge_summaries([merge_summaries([a, b]), c]))
        == contents(merge_summaries([a, merge_summaries([b, c])]))
        == merged
    )
    assert contents(merge_summaries([c, a, b])) == contents(merge_summaries([b, a, c])) == merged


def test_the_sample_of_a_long_source_is_that_of_the_whole():
    """As many parts as there are rows of Python's, so that summaries are merged on the way."""
    x = np.random.default_rng(0).normal(size=450_000).astype(np.float32)
    table = pd.DataFrame({"x": x})
    source = [table[start : start + 60_000] for start in range(0, len(x), 60_000)]
    summary = Encoder().summarise(source)
    np.testing.assert_array_equal(summary.rows, sample_rows(len(x)))
    np.testing.assert_array_equal(summary.columns[0].values, x[summary.rows])
    assert summary.is_sampled and summary.num_rows == len(x)


def test_tails_of_parts_are_those_of_the_whole(monkeypatch):
    """Five processes read 20,000 of 50,000 rows in parts of any lengths."""
    monkeypatch.setattr("jaxtree.table.summary.MAX_FITTED_ROWS", 20_000)
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=50_000)})
    whole = Encoder(max_bins=255).fit(table)
    starts = [0, 7, 20_000, 20_001, 45_000]
    parts = [table[start:stop] for start, stop in zip(starts, [*starts[1:], len(table)], strict=True)]
    summaries = [Encoder().summarise([part], first_row=start) for start, part in zip(starts, parts, strict=True)]
    bins = Encoder(max_bins=255).fit_summary(merge_summaries(summaries[::-1])).schema_.columns[0].bins
    np.testing.assert_array_equal(bins.edges, whole.schema_.columns[0].bins.edges)
    fill = np.bincount(whole.transform(table)[0])
    assert fill[:3].sum() < fill[120] // 2 and fill[-3:].sum() < fill[120] // 2


def test_many_short_parts():
    parts = [pd.DataFrame({"x": [float(i)], "word": [f"w{i % 7}"]}) for i in range(300)]
    whole = pd.concat(parts, ignore_index=True)
    assert Encoder().fit(parts).schema_ == Encoder().fit(whole).schema_


def declared(words, categories, ordered=False):
    return pd.DataFrame({"size": pd.Categorical(words, categories=categories, ordered=ordered)})


def test_declared_categories_keep_their_order():
    parts = [declared(["small"], ["small", "big", "huge"]), declared(["big"], ["small", "big", "huge"])]
    assert Encoder().fit(parts).schema_.columns[0].categories == ("small", "big", "huge")
    dictionaries = [pa.table({"c": pa.array(words).dictionary_encode()}) for words in (["b", "a"], ["c", "a"])]
    of_parts, of_whole = Encoder().fit(dictionaries).schema_, Encoder().fit(pa.concat_tables(dictionaries)).schema_
    assert of_parts == of_whole and of_parts.columns[0].categories == ("b", "a", "c")


def test_a_value_missing_in_one_part_is_a_code_in_all():
    parts = [
        pd.DataFrame({"x": [1.0, 2.0], "word": ["a", "b"]}),
        pd.DataFrame({"x": [np.nan, 1.0], "word": ["a", None]}),
    ]
    encoder = Encoder()
    codes = encoder.fit_transform(parts)
    assert encoder.schema_.columns.has_missing.tolist() == [True, True]
    np.testing.assert_array_equal(codes, [[0, 1, 2, 0], [0, 1, 0, 2]])


@pytest.mark.parametrize("values", [["a", "b"], [True, False], [1.5, 2.5]])
def test_a_column_without_values_in_one_part_is_of_the_kind_it_has_elsewhere(values):
    parts = [pa.table({"c": pa.nulls(2)}), pa.table({"c": values}), pa.table({"c": pa.nulls(1, pa.string())})]
    encoder = Encoder()
    codes = encoder.fit_transform(parts)
    np.testing.assert_array_equal(np.isin(codes[0], [0, 1]), [False, False, True, True, False])
    assert encoder.schema_.columns[0].has_missing
    whole = Encoder().fit(pa.table({"c": pa.array([None, None, *values, None])}))
    assert encoder.schema_ == whole.schema_


NUMBER, WORD = pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": ["a"]})
UNLIKE = {
    "column 'x' has categories in part 1, and numbers in part 0": [NUMBER, WORD],
    "column 'x' has truth values in part 1, and categories in part 0": [WORD, pd.DataFrame({"x": [True]})],
    "part 1 has no column 'x'": [NUMBER, pd.DataFrame({"z": [1.0]})],
    "part 1 has a column 'z'": [NUMBER, pd.DataFrame({"x": [1.0], "z": [1.0]})],
    "part 2 has its columns in the order": [pa.table({"a": [1], "b": [1]})] * 2 + [pa.table({"b": [1], "a": [1]})],
    "declares its categories in part 1, and none in part 0": [WORD, pd.DataFrame({"x": pd.Categorical(["a"])})],
    "has the ordered categories": [
        declared(["a"], ["a", "b"], ordered=True),
        declared(["a"], ["b", "a"], ordered=True),
    ],
    "part 1: Input X contains infinity in column 'x'": [NUMBER, pd.DataFrame({"x": [np.inf]})],
    "part 1: column 'x' holds integers beyond": [pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [2**60]})],
    "no rows in any of its parts": [NUMBER[:0], NUMBER[:0]],
}


@pytest.mark.parametrize(("message", "parts"), UNLIKE.items())
def test_parts_that_do_not_go_together(message, parts):
    with pytest.raises(InvalidInputError, match=message):
        Encoder().fit(parts)


def test_columns_of_processes_that_do_not_go_together():
    with pytest.raises(InvalidInputError, match="must have the same columns"):
        merge_summaries([Encoder().summarise([NUMBER]), Encoder().summarise([pd.DataFrame({"z": [1.0]})], first_row=1)])


def test_rows_of_the_same_number():
    with pytest.raises(InvalidInputError, match="first row of each"):
        merge_summaries([Encoder().summarise(NUMBER), Encoder().summarise(NUMBER)])


def test_ranges_of_other_bins():
    encoder = Encoder().fit([[1.0], [2.0]])
    with pytest.raises(InvalidInputError, match="2 bins"):
        encoder.widen(np.zeros((2, 3)))


def test_a_summary_of_other_bytes():
    with pytest.raises(InvalidInputError, match="not those of a summary"):
        Summary.from_bytes(b"no archive")
