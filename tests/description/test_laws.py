"""Laws of `describe`: neither the order of rows nor the library matters, and weights count as rows that often."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxtree
from jaxtree.description.columns import exact_weights

ROWS = 300
OF_ROWS = ("identifier", "repeated rows", "shared rows")
"""Kinds of warnings that count rows, whatever these weigh."""


def table(seed, rows=ROWS):
    """Columns of every kind, some of them with missing values."""
    rng = np.random.default_rng(seed)
    lacks = rng.random((rows, 3)) < 0.1
    frame = pd.DataFrame(
        {
            "number": np.where(lacks[:, 0], np.nan, np.round(rng.normal(size=rows), 1)),
            "whole": rng.integers(-3, 4, rows),
            "word": pd.Series(rng.choice(["red", "green", "blue"], rows), dtype=object).where(~lacks[:, 1], None),
            "truth": rng.random(rows) < 0.3,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 40, rows), unit="D"),
            "wait": pd.to_timedelta(rng.integers(0, 9, rows), unit="h"),
            "same": 1.5,
        }
    )
    frame["tells"] = (frame["whole"] > 0) + rng.random(rows) / 2
    return frame, np.where(frame["whole"] > 0, "yes", "no"), frame["whole"] * 2.5 + rng.random(rows) / 100


def said(found):
    """All that a description says, without rows as rows."""
    record = found.to_dict()
    record["warnings"] = [own for own in record["warnings"] if own["kind"] not in OF_ROWS]
    return {name: own for name, own in record.items() if name not in ("num_rows", "repeats")}


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_the_order_of_rows_does_not_matter(seed):
    X, words, numbers = table(seed)
    order = np.random.default_rng(seed + 1).permutation(ROWS)
    weight = np.random.default_rng(seed + 2).random(ROWS)
    for y in (words, numbers.to_numpy()):
        for weights in (None, weight):
            own = jaxtree.describe(X, y, sample_weight=weights)
            mixed = weights if weights is None else weights[order]
            other = jaxtree.describe(X.iloc[order], y[order], sample_weight=mixed)
            assert own.to_dict() == other.to_dict() and str(own) == str(other)


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_weights_count_as_rows_that_often_and_rows_of_weight_0_are_not_there(seed):
    X, words, numbers = table(seed)
    weight = np.random.default_rng(seed).integers(0, 4, ROWS)
    often = np.repeat(np.arange(ROWS), weight)
    for y in (words, numbers.to_numpy()):
        weighted = jaxtree.describe(X, y, sample_weight=weight)
        assert said(weighted) == said(jaxtree.describe(X.iloc[often], y[often]))
        assert weighted.num_rows == np.count_nonzero(weight)
        there = np.flatnonzero(weight)
        alone = jaxtree.describe(X.iloc[there], y[there], sample_weight=weight[there])
        assert alone.to_dict() == weighted.to_dict()


def test_what_rows_of_weight_0_hold_does_not_matter():
    X, words, _ = table(0)
    strange = X.head(3).assign(number=1e6, word="strange")
    both, y = pd.concat([X, strange], ignore_index=True), [*words, "no", "maybe", None]
    assert jaxtree.describe(both, y, sample_weight=[1.0] * ROWS + [0.0] * 3).to_dict() == (
        jaxtree.describe(X, words, sample_weight=[1.0] * ROWS).to_dict()
    )


def test_every_library_gives_the_same(tmp_path):
    X, words, _ = table(1)
    expected = jaxtree.describe(X, words).to_dict()
    arrow = pa.Table.from_pandas(X, preserve_index=False)
    for name, own in {
        "polars": pl.from_pandas(X),
        "arrow": arrow,
        "arrow in pandas": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "records": X.astype(object).where(X.notna(), None).to_dict("records"),
        "parts": [X[:100], X[100:101], X[101:]],
    }.items():
        assert jaxtree.describe(own, words).to_dict() == expected, name
    pyarrow.parquet.write_table(arrow.append_column("y", pa.array(words)), tmp_path / "t.parquet", row_group_size=90)
    assert jaxtree.describe(str(tmp_path / "t.parquet"), "y").to_dict() == expected


def test_arrays_and_sparse_tables_give_the_same_as_frames():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = np.where(rng.random((ROWS, 4)) < 0.7, 0.0, np.round(rng.normal(size=(ROWS, 4)), 1))
    y = X[:, 0] > 0
    expected = jaxtree.describe(pd.DataFrame(X), y).to_dict()
    for own in (X, np.asfortranarray(X), X.tolist(), sparse.csr_matrix(X), sparse.csc_array(X)):
        assert jaxtree.describe(own, y).to_dict() == expected
    singles = jaxtree.describe(np.round(X).astype(np.float32), y).to_dict()
    assert singles == jaxtree.describe(np.round(X).astype(int), y).to_dict()


def test_a_part_without_values_takes_the_kind_of_the_others():
    X = table(2)[0]
    bare = pd.DataFrame({name: [None] * 5 for name in X})
    both = [X, bare]
    found = {own.name: own for own in jaxtree.describe(both).columns}
    alone = {own.name: own for own in jaxtree.describe(X).columns}
    assert {name: own.kind for name, own in found.items()} == {name: own.kind for name, own in alone.items()}
    assert all(own.missing == alone[name].missing + 5 for name, own in found.items())
    assert all(
        dataclasses.replace(own, **{f: getattr(alone[n], f) for f in CHANGES}) == alone[n] for n, own in found.items()
    )


CHANGES = ("missing", "missing_share", "top_share")
"""Facts that further rows without values change."""


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=30), st.randoms())
def test_sums_of_exact_weights_have_no_order(weights, random):
    own = exact_weights(np.array(weights))
    mixed = own.copy()
    random.shuffle(mixed)
    assert own.cumsum()[-1] == mixed.cumsum()[-1]
    assert np.allclose(own, weights, rtol=1e-4) and np.abs(own - weights).max() <= 1e-15 * sum(weights)


@pytest.mark.parametrize("weight", [[1.0, 2.0, 3.0], [0.5, 0.25, 8.0], [1e9, 1.0, 7.0]])
def test_whole_weights_stay_as_they_are(weight):
    assert exact_weights(np.array(weight)).tolist() == weight
