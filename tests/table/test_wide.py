"""Tables of many columns: columns of numbers are read and coded together, in few calls of Python for each."""

import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jaxtree.table import Encoder
from jaxtree.table.binning import fit_bins, rank_columns
from jaxtree.table.columns import CELLS_AT_A_TIME
from jaxtree.table.reading import read_table

ROWS = 6
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas that may miss": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


def columns_of_types():
    rng = np.random.default_rng(0)
    types = ["f4", "f8", "f8", "i1", "i8", "i8", "u2", "u2", "?", "?", "f4"]
    columns = {f"{kind}-{at}": rng.integers(0, 2, ROWS).astype(kind) for at, kind in enumerate(types)}
    columns["f8-1"][2] = np.nan
    columns["f4-10"][:] = np.nan
    return columns | {"words": np.array(list("abcabc"), object)}


def with_nulls():
    return {f"x{at}": pl.Series([1, None, 3, 2**50, at]) for at in range(3)} | {"y0": [1, 2, 3, 4, 5]}


def assert_columns_are_those_read_alone(frame):
    table = read_table(frame)
    for place, own in enumerate(table.columns):
        (alone,) = read_table(nw.from_native(frame)[:, [place]].to_native()).columns
        assert (own.name, own.kind, own.has_missing, own.categories) == (
            alone.name,
            alone.kind,
            alone.has_missing,
            alone.categories,
        )
        np.testing.assert_array_equal(own.values, alone.values)
        assert own.values.dtype == alone.values.dtype


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_read_together_are_those_read_alone(make):
    assert_columns_are_those_read_alone(make(columns_of_types()))


@pytest.mark.parametrize("convert", [lambda own: own, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas])
def test_integers_with_nulls_are_read_one_by_one(convert):
    assert_columns_are_those_read_alone(convert(pl.DataFrame(with_nulls())))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_of_one_type_has_the_codes_of_its_array(make):
    values = np.random.default_rng(0).integers(0, 4, (ROWS, 5)).astype(float)
    values[2, 3] = np.nan
    frame = make({f"x{at}": column for at, column in enumerate(values.T)})
    own, other = Encoder(), Encoder()
    np.testing.assert_array_equal(own.fit_transform(frame), other.fit_transform(values))
    assert own.schema_ == other.schema_
    np.testing.assert_array_equal(own.values(frame), values)
    assert own.values(frame).flags.c_contiguous


def test_a_large_frame_is_read_without_a_copy():
    column = np.zeros(CELLS_AT_A_TIME // 2 + 1)
    table = read_table(pd.DataFrame({"a": column, "b": column}, copy=False))
    assert all(np.shares_memory(own.values, column) for own in table.columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_of_many_columns_are_those_of_each(dtype):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(50, 9)) * 2).astype(dtype)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[3] = np.nan
    values[4, :2] = -0.0, 0.0
    bins, codes = rank_columns(values)
    assert list(bins) == [fit_bins(own, max_bins=9) for own in values]
    np.testing.assert_array_equal(codes, bins.count_edges_below(values))
    np.testing.assert_array_equal(codes[3], 0)


def calls_of(function):
    """The number of calls of functions of this package and of the libraries of frames, without checks of types."""
    counted = 0

    def count(frame, event, argument):
        nonlocal counted
        counted += event == "call" and any(f"/{own}/" in frame.f_code.co_filename for own in LIBRARIES)

    function()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counted


LIBRARIES = "jaxtree", "narwhals", "pandas", "polars"
ARRAYS = {"array": np.asarray, "pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.parametrize("of", ARRAYS.values(), ids=ARRAYS)
def test_a_further_column_takes_few_calls(of):
    def calls(num_columns):
        values = np.random.default_rng(0).normal(size=(ROWS, num_columns))
        table = of({f"x{at}": own for at, own in enumerate(values.T)}) if of is not np.asarray else values
        encoder = Encoder()
        encoder.fit_transform(table)
        return np.array([calls_of(lambda: encoder.values(table)), calls_of(lambda: Encoder().fit_transform(table))])

    of_values, of_fit = (calls(240) - calls(40)) / 200
    # Read one by one, a column of pandas took 189 calls to predict and 217 to fit, one of polars 77 and 105.
    assert of_values <= 22
    assert of_fit <= 28
