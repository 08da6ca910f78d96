"""Bins of numbers: which values they hold, and that every way of finding them agrees."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from jaxtree.cores import using_cores
from jaxtree.table.binning import Bins, BinTable, bin_columns, fit_bins, fit_columns, midpoint, round_down_to_float32
from jaxtree.table.columns import TableColumn
from jaxtree.table.reading import Table
from jaxtree.table.summary import learn_schema, sample_rows, summarise
from tests.marks import in_turn

FIRST_SAMPLED_ROWS = [2, 4, 6, 32, 33]  # of a million


SIZES = st.integers(1, 60)


def numbers(dtype, size=SIZES, allow_nan=True):
    width = np.dtype(dtype).itemsize * 8
    elements = st.floats(width=width, allow_infinity=False, allow_nan=allow_nan)
    few = st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.0])  # so that values repeat
    return hnp.arrays(dtype, size, elements=elements | few)


def fitted(columns, max_bins):
    """The bins of numeric columns, as a schema has them."""
    table = Table.of(
        (TableColumn("x", "numeric", values, bool(np.isnan(values).any())) for values in columns), is_named=True
    )
    sampled = Table.of(summarise(table).columns, is_named=True)
    return [c.bins for c in learn_schema(sampled, max_bins=max_bins)[0].columns]


def codes_of(values, bins, code_dtype=np.uint8):
    codes = np.empty(len(values), code_dtype)
    bin_columns([values], BinTable.of([bins]), [codes])
    return codes


def codes_by_definition(values, bins):
    """Counts the edges below each value, in float64."""
    codes = (values.astype(np.float64)[:, None] > bins.edges).sum(axis=1)
    return np.where(np.isnan(values), bins.num_bins, codes)


@settings(deadline=None)
@given(values=numbers(np.float32) | numbers(np.float64), max_bins=st.integers(2, 12))
def test_bins_hold_what_their_edges_say(values, max_bins):
    bins = fit_bins(values, max_bins)
    known = values[~np.isnan(values)].astype(np.float64)
    assert bins.num_bins <= max_bins
    assert (bins.low[1:] > bins.edges).all() and (bins.high[:-1] <= bins.edges).all()
    codes = codes_by_definition(known, bins)
    for code in range(bins.num_bins):  # and no bin is empty
        assert known[codes == code].min() == bins.low[code]
        assert known[codes == code].max() == bins.high[code]


@settings(deadline=None)
@given(values=numbers(np.float64), max_bins=st.integers(2, 80))
def test_a_column_with_few_values_has_a_bin_for_each(values, max_bins):
    bins = fit_bins(values, max_bins)
    distinct = np.unique(values[~np.isnan(values)])
    assert bins.exact == (len(distinct) <= max_bins)
    if bins.exact:
        np.testing.assert_array_equal(bins.low, distinct)
        np.testing.assert_array_equal(bins.high, distinct)


@pytest.mark.parametrize(("max_bins", "num_rows"), [(2, 10_000), (7, 10_000), (15, 10_000), (255, 2_100)])
def test_bins_of_few_values_are_equally_full(max_bins, num_rows):
    values = np.random.default_rng(0).permutation(num_rows).astype(np.float64)
    bins = fit_bins(values, max_bins)
    fill = np.bincount(codes_by_definition(values, bins))
    assert len(fill) == max_bins
    assert fill.max() - fill.min() <= 1


def test_a_value_that_fills_bins_leaves_the_others_to_the_rest():
    rest = np.arange(1, 1001.0)
    values = np.concatenate([np.zeros(100_000), rest, np.full(50_000, 2000.0)])
    fill = np.bincount(codes_by_definition(values, fit_bins(values, 10)))
    assert len(fill) == 10
    assert fill[1:-1].max() <= 1.6 * len(rest) / 8


def many_numbers(draw_seed, kind):
    """More numbers than bins, in whose tails are many: distinct, of ties everywhere, or with values that fill bins."""
    rng = np.random.default_rng(draw_seed)
    values = np.exp(2 * rng.normal(size=20_000))
    if kind == "ties":
        return values.round(1)
    return np.where(rng.random(len(values)) < 0.6, 1.0, values) if kind == "heavy" else values


KINDS_OF_NUMBERS = pytest.mark.parametrize("kind", ["distinct", "ties", "heavy"])


@pytest.mark.parametrize("max_bins", [16, 64, 255])
@KINDS_OF_NUMBERS
def test_tails_end_in_bins_of_few_rows(kind, max_bins):
    """Some bins at the upper end share what an equally full one would hold, and the last has a few rows."""
    values = many_numbers(0, kind)
    bins = fit_bins(values, max_bins)
    assert bins.num_bins <= max_bins
    fill = np.bincount(codes_by_definition(values, bins))
    beyond = np.cumsum(fill[::-1])
    assert beyond[0] <= 16
    assert np.count_nonzero(beyond < fill[len(fill) // 2 - 1]) >= 1


def test_both_ends_have_tails_of_steps_that_halve_twice():
    values = np.arange(255 * 392.0)
    fill = np.bincount(codes_by_definition(values, fit_bins(values, 255)))
    assert len(fill) == 255
    beyond = np.cumsum(fill)[:12]
    np.testing.assert_allclose(beyond[1:] / beyond[:-1], 2**0.5, rtol=0.15)
    np.testing.assert_array_equal(fill, fill[::-1])
    assert np.ptp(fill[13:-13]) <= 1


@pytest.mark.parametrize("times", [2, 3])
@KINDS_OF_NUMBERS
def test_rows_that_are_all_repeated_change_no_bin(kind, times):
    values = many_numbers(1, kind)
    assert fit_bins(np.repeat(values, times), 255) == fit_bins(values, 255)


@KINDS_OF_NUMBERS
def test_a_rising_map_of_a_column_changes_no_code(kind):
    values = many_numbers(2, kind)
    mapped = np.log(values + 1) * 7 - 3
    codes, of_mapped = (codes_by_definition(own, fit_bins(own, 255)) for own in (values, mapped))
    np.testing.assert_array_equal(of_mapped, codes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 40, 255, 65_535])
def test_columns_that_are_fitted_together_have_the_bins_of_each(dtype, max_bins):
    values = np.stack([many_numbers(3, kind) for kind in ("distinct", "ties", "heavy", "distinct", "ties", "ties")])
    values[3] = np.nan
    values[4] = np.where(values[4] > 1, 0.0, -0.0)
    values[5, ::7] = np.nan
    values = values.astype(dtype)
    expected = [fit_bins(own, max_bins) for own in values]
    of_two_types = [*values, np.arange(len(values[0]), dtype=np.int16)]
    assert list(fit_columns(values, max_bins)) == expected
    assert list(fit_columns(np.ascontiguousarray(values.T).T, max_bins)) == expected
    assert list(fit_columns(of_two_types, max_bins)) == [
        *expected,
        fit_bins(of_two_types[-1].astype(np.float32), max_bins),
    ]


FORKED = """
import multiprocessing, threading
import numpy as np
from jaxtree.table import Encoder
X = np.random.default_rng(0).normal(size=(20_000, 6))
def encode(results):
    results.append(Encoder(max_bins=255).fit_transform(X).tolist())
expected, of_threads = [], []
encode(expected)
def check():
    own = []
    encode(own)
    assert own == expected
threads = [threading.Thread(target=encode, args=(of_threads,)) for _ in range(3)]
for thread in threads:
    thread.start()
process = multiprocessing.get_context("fork").Process(target=check)
process.start()
process.join(60)
for thread in threads:
    thread.join()
assert process.exitcode == 0 and of_threads == 3 * expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no system call of that name")
def test_threads_and_forked_processes_bin_at_the_same_time():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=120)


def test_an_end_that_one_value_fills_has_no_tail():
    values = np.concatenate([np.zeros(10_000), np.arange(1.0, 10_001)])
    fill = np.bincount(codes_by_definition(values, fit_bins(values, 255)))
    assert len(fill) == 255
    assert np.ptp(fill[1:200]) <= 1
    assert fill[-1] <= 10


def test_bins_depend_on_the_values_and_not_on_their_order():
    values = np.random.default_rng(1).normal(size=5000).round(2)
    shuffled = np.random.default_rng(2).permutation(values)
    assert fit_bins(values, 20) == fit_bins(shuffled, 20)
    assert fit_bins(values, 64) == fit_bins(shuffled, 64)
    assert hash(fit_bins(values, 20)) == hash(fit_bins(shuffled, 20))
    assert fit_bins(values, 20) != fit_bins(values, 21)


def test_negative_zero_is_zero():
    bins = fit_bins(np.array([-0.0, 0.0, 1.0, -1.0]), 4)
    np.testing.assert_array_equal(bins.edges, [-0.5, 0.5])
    assert not np.signbit(bins.low[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_edge_at_negative_zero_is_one_at_zero(dtype):
    bins = Bins(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), np.array([-0.0]), exact=True)
    values = np.resize(np.array([0.0, -0.0, 1e-30, -1e-30], dtype), 5000)
    np.testing.assert_array_equal(codes_of(values, bins), np.resize([0, 0, 1, 0], 5000))


@settings(deadline=None)
@given(values=numbers(np.float64, size=2, allow_nan=False))
def test_a_midpoint_lies_at_or_above_the_lower_and_below_the_upper_value(values):
    below, above = np.sort(values)
    middle = midpoint(np.array([below]), np.array([above]))[0]
    assert middle == below if below == above else below <= middle < above


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        (1.0, 2.0, 1.5),
        (1.0, np.nextafter(1.0, 2.0), 1.0),  # halfway rounds to the even neighbour, here the lower
        (np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0), np.nextafter(1.0, 2.0)),  # here the upper
        (1e308, 1.7e308, 1.35e308),
        (-1.7e308, 1.7e308, 0.0),
    ],
)
def test_midpoints_that_round(below, above, expected):
    assert midpoint(np.array([below]), np.array([above]))[0] == expected


@settings(deadline=None)
@given(values=numbers(np.float32, allow_nan=False), edges=numbers(np.float64, allow_nan=False))
def test_rounding_edges_down_keeps_every_comparison_with_a_float32(values, edges):
    rounded = round_down_to_float32(edges)
    assert rounded.dtype == np.float32
    np.testing.assert_array_equal(values[:, None] <= rounded, values[:, None].astype(np.float64) <= edges)


def test_edges_next_to_a_float32():
    value = np.float32(0.1)
    edges = np.nextafter(np.float64(value), [-np.inf, np.inf])
    np.testing.assert_array_equal(value <= round_down_to_float32(edges), [False, True])
    np.testing.assert_array_equal(round_down_to_float32(np.array([1e300, -1e300])) >= value, [True, False])


def bins_of_edges(edges):
    edges = np.unique(edges + 0.0)
    low = np.append(edges[:1], edges)
    return Bins(low, low, edges, exact=True)


@settings(deadline=None)
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]), repeats=st.sampled_from([1, 400]))
def test_every_way_of_binning_counts_the_edges_below(data, dtype, repeats):
    """More than 4096 rows are binned by the table of cells; edges lie on, and right beside, the values."""
    values = data.draw(numbers(dtype, size=st.integers(12, 40)))
    known = values[~np.isnan(values)].astype(np.float64)
    beside = np.concatenate([known, np.nextafter(known, np.inf), np.nextafter(known, -np.inf)])
    beside = beside[np.abs(beside) < np.inf]
    bins = bins_of_edges(data.draw(numbers(np.float64, allow_nan=False)) if not len(beside) else beside)
    values = np.tile(values, repeats)
    np.testing.assert_array_equal(codes_of(values, bins), codes_by_definition(values, bins))


@pytest.mark.parametrize(
    ("dtype", "offset"),
    in_turn([np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint32], [0.0, 1e6, -1e6]),
)
def test_many_rows_of_every_dtype(dtype, offset):
    rng = np.random.default_rng(0)
    scale = 1 if np.issubdtype(dtype, np.floating) else 100
    low, high = (-60000, 60000) if np.issubdtype(dtype, np.floating) else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = np.clip(offset + scale * rng.normal(size=70_000), low, high).astype(dtype)
    bins = fitted([values], 255)[0]
    codes = codes_of(values, bins)
    np.testing.assert_array_equal(codes, np.searchsorted(bins.edges, values.astype(np.float64)))


def test_as_many_bins_as_a_uint16_has_codes():
    values = np.random.default_rng(0).permutation(65_535).astype(np.float64)
    bins = fit_bins(values, 65_535)
    np.testing.assert_array_equal(codes_of(values, bins, np.uint16), values)


def test_missing_numbers_have_the_code_after_the_last_bin():
    for rows in (4, 30_000):
        values = np.resize([1.0, np.nan, -np.nan, 2.0], rows)
        np.testing.assert_array_equal(codes_of(values, fit_bins(values, 255)), np.resize([0, 2, 2, 1], rows))


def test_threads_bin_as_one_thread_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250_000, 5)).astype(np.float32)

    def fit_and_bin():
        bins = fitted(X.T, 255)
        codes = np.empty((5, len(X)), np.uint8)
        bin_columns(X.T, BinTable.of(bins), codes)
        return bins, codes

    bins, codes = fit_and_bin()
    with using_cores(1):
        bins_of_one_thread, codes_of_one_thread = fit_and_bin()
    assert bins == bins_of_one_thread
    np.testing.assert_array_equal(codes, codes_of_one_thread)


@pytest.mark.parametrize("num_rows", [200_001, 1_000_000])
def test_of_a_large_table_200_000_rows_are_fitted(num_rows):
    rows = sample_rows(num_rows)
    assert len(rows) == 200_000
    assert (np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < num_rows
    np.testing.assert_array_equal(rows, sample_rows(num_rows))
    fill = np.bincount(rows * 10 // num_rows)  # as many from every tenth of the table
    assert np.abs(fill - 20_000).max() < 800


def test_a_row_s_hash_does_not_depend_on_the_number_of_rows():
    """Rows of the longer table's sample that the shorter table has are in the shorter one's sample too."""
    longer, shorter = sample_rows(400_000), sample_rows(300_000)
    assert np.isin(longer[longer < 300_000], shorter).all()


def test_sampled_rows_are_fixed_for_good():
    np.testing.assert_array_equal(sample_rows(1_000_000)[:5], FIRST_SAMPLED_ROWS)


def test_edges_of_a_large_table_are_those_of_its_sample():
    values = np.random.default_rng(0).normal(size=300_000)
    assert fitted([values], 255)[0] == fit_bins(values[sample_rows(300_000)], 255)
