"""Sums over rows: those of the reference, whatever the numbers of rows, terms, bins and threads."""

import dataclasses

import numpy as np
import pytest

from jaxtree.buckets import empty_codes, pad_codes, pad_to
from jaxtree.errors import InvalidInputError
from jaxtree.kernels.additive import bin_sums, count_pairs, gram_sums, multiply_columns, row_scores
from jaxtree.kernels.layout import TermKind, join_layouts, to_plain, to_running
from jaxtree.kernels.padded_terms import pad_places, pad_terms, sizes_of
from tests.additive import reference
from tests.additive.engines import ENGINES, both, use
from tests.additive.problems import mixed_layout, one_term, random_codes, random_problem
from tests.growth.native_trees import needs_kernel

CASES = {
    "few rows": {"num_rows": 37, "num_codes": 5},
    "unaligned rows": {"num_rows": 1003, "num_codes": 9},
    "codes of 16 bits": {"num_rows": 300, "num_codes": 300, "dtype": np.uint16, "terms": (0, 3, 6, 9)},
    "no rows": {"num_rows": 0, "num_codes": 5},
    "large weights": {"num_rows": 211, "num_codes": 5, "most": 10_000_000},
}


MANY_ROWS = [
    pytest.param(3, "kernel", marks=needs_kernel),
    pytest.param(600, "kernel", marks=needs_kernel),
    (3, "xla"),
]


def plain(layout, gram):
    """The weights of pairs of bins by themselves, from their running form."""
    matrix = np.array(gram.matrix, np.int64)[: layout.num_places, : layout.num_places]
    return to_plain(layout, to_plain(layout, matrix).T).T


def assert_sums_are_those_of_the_reference(layout, codes, weight, num_threads=None):
    expected = reference.gram(layout, codes, weight)
    gram = gram_sums(layout, codes, weight, num_threads=num_threads, engines=both())
    np.testing.assert_array_equal(plain(layout, gram), expected)
    np.testing.assert_array_equal(gram.diagonal, np.diagonal(expected))
    assert gram.diagonal.dtype == np.int64 and gram.matrix.dtype == np.int32


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_pairs_of_bins(name, engine, monkeypatch):
    use(engine, monkeypatch)
    layout, codes, weight, _ = random_problem(0, **CASES[name])
    for num_threads in (1, 2):
        assert_sums_are_those_of_the_reference(layout, codes, weight, num_threads)


@needs_kernel
@pytest.mark.parametrize("num_terms", [1, 2, 7, 8, 9, 17])
def test_pairs_of_any_number_of_terms(num_terms):
    """Terms are counted in groups of up to eight."""
    random = np.random.default_rng(num_terms)
    codes = random_codes(random, num_terms, 700, 4)
    layout = join_layouts([one_term(TermKind.ORDERED, [at], [np.arange(4)]) for at in range(num_terms)])
    assert_sums_are_those_of_the_reference(layout, codes, random.integers(0, 3, 700, dtype=np.int32))


@pytest.mark.parametrize(("num_bins", "engine"), MANY_ROWS)
def test_many_rows_of_one_term(num_bins, engine, monkeypatch):
    """Rows in blocks, of which several threads count parts."""
    use(engine, monkeypatch)
    random = np.random.default_rng(1)
    codes = random.integers(0, num_bins, (1, 150_001), dtype=np.uint16)
    weight = random.integers(0, 2, 150_001, dtype=np.int32)
    layout = one_term(TermKind.SUBSET, [0], [np.arange(num_bins)])
    expected = np.diag(np.bincount(codes[0], weight, num_bins).astype(np.int64))
    for num_threads in (1, 2):
        gram = gram_sums(layout, codes, weight, num_threads=num_threads, engines=both())
        np.testing.assert_array_equal(plain(layout, gram), expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_without_some_rows_are_a_difference(engine, monkeypatch):
    use(engine, monkeypatch)
    layout, codes, weight, _ = random_problem(3, 500, 6)
    is_left_out = np.arange(500) % 3 == 0
    whole = gram_sums(layout, codes, weight, engines=both())
    part = gram_sums(layout, codes, np.where(is_left_out, weight, 0).astype(np.int32), engines=both())
    rest = gram_sums(layout, codes, np.where(is_left_out, 0, weight).astype(np.int32), engines=both())
    difference = whole.minus(part)
    np.testing.assert_array_equal(difference.matrix, rest.matrix)
    np.testing.assert_array_equal(difference.diagonal, rest.diagonal)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_values_of_bins_and_scores_of_rows(name, engine, monkeypatch):
    use(engine, monkeypatch)
    layout, codes, weight, residual = random_problem(1, **CASES[name])
    values = weight * (residual << 40)
    for num_threads in (1, 2):
        own = bin_sums(layout, codes, values, engine=both().of_host, num_threads=num_threads)
        np.testing.assert_array_equal(own, reference.sums(layout, codes, values))
        score = row_scores(layout, codes, own, codes.shape[1], engine=both().of_host, num_threads=num_threads)
        np.testing.assert_array_equal(score, reference.scores(layout, codes, own))


@needs_kernel
def test_values_of_many_rows_and_of_terms_of_many_bins():
    random = np.random.default_rng(5)
    codes = random.integers(0, 2000, (2, 140_003), dtype=np.uint16)
    bins = np.arange(2000)
    layout = join_layouts([one_term(TermKind.ORDERED, [0], [bins]), one_term(TermKind.SUBSET, [1], [bins // 500])])
    values = random.integers(-(2**50), 2**50, 140_003)
    own = bin_sums(layout, codes, values, engine=both().of_host)
    np.testing.assert_array_equal(own, reference.sums(layout, codes, values))
    score = row_scores(layout, codes, own, 140_003, engine=both().of_host)
    np.testing.assert_array_equal(score, reference.scores(layout, codes, own))


@needs_kernel
def test_codes_with_room_behind_them_are_the_same():
    layout, codes, weight, _ = random_problem(2, 300, 5)
    corner = empty_codes(*codes.shape, codes.dtype)
    corner[:] = codes
    for own in (corner, np.asfortranarray(codes)):
        assert not own.flags.c_contiguous
        assert_sums_are_those_of_the_reference(layout, own, weight)


@needs_kernel
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bins": np.full((10, 2, 5), 7, np.uint16)}, "bins must be those of their term"),
        ({"bins": mixed_layout(4).bins}, "codes must be those that have bins"),
        ({"features": np.full((10, 2), 9, np.int32)}, "terms must be of features that exist"),
        ({"kind": np.full(10, 3, np.int32)}, "kinds of terms must be 0, 1 or 2"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    layout, codes, weight, _ = random_problem(4, 200, 5)
    with pytest.raises(InvalidInputError, match=message):
        gram_sums(dataclasses.replace(layout, **change), codes, weight, engines=both())


@pytest.mark.parametrize("name", CASES)
def test_an_accelerator_multiplies_columns(name):
    layout, codes, weight, _ = random_problem(0, **CASES[name])
    padded, size = pad_codes(codes), sizes_of(layout).places
    matrix = multiply_columns(
        pad_terms(layout), pad_places(layout), padded, pad_to(weight, padded.shape[1]),
        num_limbs=3 if name == "large weights" else 1, platform="cpu",
    )  # fmt: skip
    assert matrix.shape == (size, size)
    np.testing.assert_array_equal(matrix, count_pairs(layout, codes, weight))


def test_sums_in_running_form_and_back():
    layout = mixed_layout(6)
    values = np.random.default_rng(0).integers(-9, 9, (2, layout.num_places))
    running = to_running(layout, values)
    np.testing.assert_array_equal(to_plain(layout, running), values)
    pair = layout.places(7)
    cells = values[:, pair].reshape(2, *layout.num_bins[7])
    np.testing.assert_array_equal(running[:, pair.start + 2 * 6 + 3], cells[:, :3, :4].sum(axis=(1, 2)))
    np.testing.assert_array_equal(running[:, layout.places(3)], values[:, layout.places(3)])
    np.testing.assert_array_equal(running[:, 5], values[:, 5])
    np.testing.assert_array_equal(running[:, 4], values[:, :5].sum(axis=1))
