"""Columns of many words: the rarest share one category, and words never seen get it."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from jaxtree import DecisionTreeClassifier
from jaxtree.errors import InvalidInputError, RareWordsWarning
from jaxtree.table import Encoder
from jaxtree.table.columns import MAX_CODES
from jaxtree.table.rare_words import FEW_ROWS, FEW_WORDS, RareWords
from jaxtree.table.summary import merge_summaries

pytestmark = pytest.mark.filterwarnings("ignore::jaxtree.errors.RareWordsWarning")


def words_of(counts):
    """Words in a mixed order, the first `counts[0]` times and so on."""
    words = np.repeat([f"w{number:06d}" for number in range(len(counts))], counts)
    return np.random.default_rng(0).permutation(words)


COUNTS = [5] * 200 + [1] * 100 + [2] * 50 + [FEW_ROWS] * 10
FREQUENT = tuple(f"w{number:06d}" for number in [*range(200), *range(350, 360)])
RARE = RareWords(150, 2, "w000300")


def ways_in(words, tmp_path):
    """The words as tables of every kind."""
    frame = pd.DataFrame({"word": words})
    file = tmp_path / "words.parquet"
    pyarrow.parquet.write_table(pa.table({"word": words}), file, row_group_size=100)
    number = pd.Series(words).str[1:].astype(int).to_numpy()
    return {
        "rows": [[word] for word in words.tolist()],
        "array": words[:, None].astype(object),
        "text": words[:, None],
        "frame": frame,
        "category": frame.astype("category"),
        "polars": pl.DataFrame({"word": words}),
        "arrow": pa.table({"word": words}),
        "parts": [frame[:300], frame[300:301], frame[301:]],
        "parquet": str(file),
    }, pd.DataFrame({"word": number})


def test_the_rarest_words_share_a_category_in_every_kind_of_table(tmp_path):
    words = words_of(COUNTS)
    tables, numbers = ways_in(words, tmp_path)
    expected = None
    for name, X in tables.items():
        encoder = Encoder()
        codes = encoder.fit_transform(X)
        assert encoder.schema_.columns[0].categories == (*FREQUENT, RARE), name
        expected = codes if expected is None else expected
        np.testing.assert_array_equal(codes, expected, err_msg=name)
    places = {word: place for place, word in enumerate(FREQUENT)}
    np.testing.assert_array_equal(expected[0], [places.get(word, len(FREQUENT)) for word in words])
    encoder = Encoder(categorical_features=["word"])
    np.testing.assert_array_equal(encoder.fit_transform(numbers), expected)
    assert encoder.schema_.columns[0].categories[-1] == RareWords(150, 2, 300)


def test_a_word_never_seen_is_as_rare_and_a_missing_one_is_missing():
    encoder = Encoder().fit(pd.DataFrame({"word": words_of(COUNTS)}))
    new = pd.DataFrame({"word": ["w000000", "w000300", "never", None]})
    np.testing.assert_array_equal(encoder.transform(new), [[0, 210, 210, 211]])
    np.testing.assert_array_equal(encoder.values(new), [[0], [210], [210], [np.nan]])
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"word": ["never"] * 2})), [[210, 210]])
    assert encoder.inverse_transform(np.array([[210, 211, 0]], np.uint8)) == {"word": ["w000300", None, "w000000"]}
    with pytest.raises(TypeError, match="had categories such as 'w000000' in fit, and now has numbers"):
        encoder.transform(pd.DataFrame({"word": [1.0]}))


def test_columns_of_few_words_keep_all_of_them():
    """And so do those of many without a rare one: there a word never seen is missing."""
    for counts in ([1] * FEW_WORDS, [FEW_ROWS] * (FEW_WORDS + 1)):
        encoder = Encoder().fit(pd.DataFrame({"word": words_of(counts)}))
        assert encoder.schema_.num_values.tolist() == [len(counts)]
        assert encoder.schema_.columns[0].rare_words is None
        assert encoder.transform(pd.DataFrame({"word": ["never"]})).tolist() == [[len(counts)]]


def test_words_beyond_the_codes_are_the_rarest():
    counts = [3] * 10 + [4] * MAX_CODES
    encoder = Encoder().fit(pd.DataFrame({"word": words_of(counts)}))
    column = encoder.schema_.columns[0]
    assert len(column.categories) == MAX_CODES and column.categories[0] == "w000010"
    assert column.rare_words == RareWords(11, 4, f"w{MAX_CODES + 9:06d}")
    ordered = pd.Series(pd.Categorical(words_of([1] * (MAX_CODES + 1)), ordered=True)).to_frame("id")
    with pytest.raises(InvalidInputError, match="'id' has 65536 ordered categories, more than the 65535 allowed: drop"):
        Encoder().fit(ordered)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_a_smaller_number_may_be_wanted(most):
    encoder = Encoder(max_categories=most).fit(pd.DataFrame({"word": words_of([9, 8, 7] + [6] * 98)}))
    column = encoder.schema_.columns[0]
    assert column.num_values == most and column.rare_words.number == 102 - most
    assert column.named_categories == tuple(f"w{number:06d}" for number in range(most - 1))


def test_parts_and_processes_learn_the_same():
    words = words_of(COUNTS)
    whole = Encoder().fit(pd.DataFrame({"word": words})).schema_
    parts = [(0, 400), (400, 401), (401, len(words))]
    summaries = [Encoder().summarise(pd.DataFrame({"word": words[a:b]}), first_row=a) for a, b in parts]
    sent = [type(own).from_bytes(own.to_bytes()) for own in summaries]
    for some in (summaries, sent, sent[::-1], [merge_summaries(sent[1:]), sent[0]]):
        assert Encoder().fit_summary(merge_summaries(some)).schema_ == whole


def test_a_warning_names_the_column():
    X = pd.DataFrame({"zip": words_of(COUNTS), "x": np.arange(float(sum(COUNTS)))})
    with pytest.warns(
        RareWordsWarning, match="column 'zip' has 360 words: the 150 rarest, in at most 2 rows each"
    ) as seen:
        DecisionTreeClassifier(max_depth=2).fit(X, np.arange(len(X)) % 2)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Encoder().fit(X[["x"]])
