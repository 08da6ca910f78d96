"""Numbers to codes: widening while binning, matrices tile by tile, and the array that codes are written to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from jaxtree.buckets import empty_codes, feature_bucket, pad_codes, row_bucket
from jaxtree.cores import using_cores
from jaxtree.table.binning import BinTable, bin_columns, fit_bins


def numbers(dtype, size):
    """Few of them, so that values repeat and lie at the ends of bins."""
    width = np.dtype(dtype).itemsize * 8
    elements = st.floats(-4, 4, width=width) | st.integers(-4, 4).map(float) | st.just(float("nan"))
    return hnp.arrays(dtype, size, elements=elements)


def widened_by_definition(values, bins):
    codes = np.where(np.isnan(values), bins.num_bins, (values.astype(np.float64)[:, None] > bins.edges).sum(axis=1))
    known = [values[codes == code].astype(np.float64) for code in range(bins.num_bins)]
    low = [min([low, *x]) for low, x in zip(bins.low.tolist(), known, strict=True)]
    high = [max([high, *x]) for high, x in zip(bins.high.tolist(), known, strict=True)]
    return codes, low, high


@pytest.mark.parametrize("repeats", [1, 500])
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]), max_bins=st.integers(2, 9))
def test_bins_are_as_wide_as_all_numbers_make_them(repeats, data, dtype, max_bins):
    """More than 4096 rows are counted by the table of cells, fewer by a binary search."""
    fitted = data.draw(numbers(np.float64, st.integers(1, 20)))
    bins = fit_bins(fitted, max_bins)
    values = data.draw(numbers(dtype, 20))
    codes, low, high = widened_by_definition(values, bins)
    if not bins.num_bins:  # known values, where those that were fitted are all missing, count as missing
        codes[:] = 0
    out = np.empty(20 * repeats, np.uint8)
    (widened,) = bin_columns([np.tile(values, repeats)], BinTable.of([bins]), [out], widen=True)
    np.testing.assert_array_equal(out, np.tile(codes, repeats))
    assert widened.low.tolist() == low and widened.high.tolist() == high
    assert widened.exact == (low == high)
    np.testing.assert_array_equal(widened.edges, bins.edges)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("num_rows", [600, 70_000])
def test_a_matrix_is_binned_as_its_columns_are(dtype, num_rows):
    X = np.random.default_rng(0).normal(size=(num_rows, 3)).astype(dtype)
    X[::7, 1] = np.nan
    bins = BinTable.of(fit_bins(x[:300], 100) for x in X.T)
    codes = np.zeros((2, 3, num_rows), np.uint8)
    for widen in (False, True):
        of_columns = bin_columns(list(X.T), bins, list(codes[0]), widen=widen)
        of_matrix = bin_columns(X.T, bins, codes[1], widen=widen)
        np.testing.assert_array_equal(*codes)
        assert of_columns == of_matrix


def test_threads_widen_as_one_thread_does():
    X = np.random.default_rng(0).normal(size=(250_000, 3)).astype(np.float32)
    bins = BinTable.of(fit_bins(x[:1000], 255) for x in X.T)
    codes = np.empty((2, 3, len(X)), np.uint8)
    of_threads = bin_columns(X.T, bins, codes[0], widen=True)
    with using_cores(1):
        assert bin_columns(X.T, bins, codes[1], widen=True) == of_threads
    np.testing.assert_array_equal(*codes)


def test_no_columns():
    none = BinTable.of([])
    assert bin_columns([], none, []) == bin_columns([], none, [], widen=True) == none


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(1, 1), (8, 2048), (28, 5000)])
def test_codes_are_padded_without_a_copy(shape, dtype):
    codes = empty_codes(*shape, np.dtype(dtype))
    codes[:] = 7
    padded = pad_codes(codes)
    assert codes.shape == shape and codes.dtype == dtype
    assert padded.shape == (feature_bucket(shape[0]), row_bucket(shape[1])) and np.shares_memory(padded, codes)
    assert padded.ctypes.data % 64 == 0 and padded.flags.c_contiguous
    assert padded.sum() == codes.sum() == 7 * codes.size


@pytest.mark.parametrize(
    "take", [lambda c: c[:4], lambda c: c[1:], lambda c: c[:, :2999], lambda c: c[:, ::2], np.copy]
)
def test_other_codes_are_padded_by_a_copy(take):
    """A part of an array is no array of its own: what lies behind it are codes, not zeros."""
    codes = empty_codes(6, 3000, np.dtype(np.uint8))
    codes[:] = 7
    taken = take(codes)
    padded = pad_codes(taken)
    np.testing.assert_array_equal(padded[: len(taken), : taken.shape[1]], taken)
    assert padded.sum() == 7 * taken.size
    assert padded.shape == (feature_bucket(len(taken)), row_bucket(taken.shape[1]))
