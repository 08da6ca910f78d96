"""Sparse matrices and arrays say what the dense arrays say that they stand for, bit for bit."""

import numpy as np
import pytest
import scipy.sparse

from jaxtree.table import Encoder, reading, summary
from jaxtree.table.columns import SparseVector, blocks_of_rows
from jaxtree.table.reading import read_table, take_rows
from jaxtree.table.summary import merge_summaries

NAN = np.nan
CHANCE = np.random.default_rng(0)
DENSE = np.where(CHANCE.random((40, 5)) < 0.3, CHANCE.integers(-2, 4, (40, 5)) / 2, 0.0)
DENSE[:, 3] = 0  # without an entry
DENSE[:, 4] = CHANCE.normal(size=40)  # without a zero
DENSE[[3, 7], [2, 1]] = NAN
WHOLE = np.nan_to_num(2 * DENSE).astype(np.int64)
FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


def in_format(dense, kind, container="array"):
    return getattr(scipy.sparse, f"{kind}_{container}")(dense)


def with_explicit_zeros(dense):
    """Half of the zeros are entries."""
    row, column = np.nonzero((dense != 0) | (np.arange(dense.size).reshape(dense.shape) % 2 == 0))
    return scipy.sparse.coo_array((dense[row, column], (row, column)), shape=dense.shape)


def with_duplicates(dense):
    """Every entry is the sum of two, in no order, by rows and columns numbered in 64 bits."""
    row, column = (np.tile(place, 2).astype(np.int64) for place in np.nonzero(dense))
    entry = np.tile(dense[np.nonzero(dense)] / 2, 2).astype(dense.dtype)
    shuffled = CHANCE.permutation(len(entry))
    return scipy.sparse.coo_array((entry[shuffled], (row[shuffled], column[shuffled])), shape=dense.shape)


def unsorted(dense):
    """Rows of a CSR array that list their entries backwards."""
    whole = scipy.sparse.csr_array(dense)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(whole.indptr[:-1], whole.indptr[1:], strict=True)])
    return scipy.sparse.csr_array((whole.data[order], whole.indices[order], whole.indptr), shape=dense.shape)


SPARSE = {
    **{
        f"{kind} {container}": in_format(DENSE, kind, container)
        for kind in FORMATS
        for container in ("array", "matrix")
    },
    "explicit zeros": with_explicit_zeros(DENSE),
    "duplicates": with_duplicates(DENSE),
    "duplicates by column": scipy.sparse.csr_array(with_duplicates(DENSE).tocsr().T).T,
    "unsorted": unsorted(DENSE),
}


@pytest.mark.parametrize("X", SPARSE.values(), ids=SPARSE)
def test_every_format_gives_the_codes_of_the_dense_array(X):
    encoder, dense = Encoder(), Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(X), dense.fit_transform(DENSE))
    assert encoder.schema_ == dense.schema_
    np.testing.assert_array_equal(dense.transform(X), dense.transform(DENSE))
    np.testing.assert_array_equal(encoder.values(X), DENSE)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint16, bool])
def test_every_dtype_is_read_as_the_dense_one(dtype):
    dense = (WHOLE % 7 if dtype == np.uint16 else WHOLE).astype(dtype)
    sparse = scipy.sparse.csr_array(dense)
    encoder = Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(sparse), Encoder().fit_transform(dense))
    assert encoder.schema_ == Encoder().fit(dense).schema_
    values = encoder.values(sparse)
    assert values.dtype == Encoder().fit(dense).values(dense).dtype
    np.testing.assert_array_equal(values, dense)


@pytest.mark.parametrize("listed", [[0, 2], range(5)], ids=["some", "all"])
def test_listed_columns_are_categories(listed):
    encoder, dense = (Encoder(categorical_features=list(listed)) for _ in range(2))
    np.testing.assert_array_equal(encoder.fit_transform(SPARSE["csr array"]), dense.fit_transform(DENSE))
    assert encoder.schema_ == dense.schema_
    np.testing.assert_array_equal(encoder.values(SPARSE["csr array"]), dense.values(DENSE))


def test_edges_of_few_rows_are_widened_to_all(monkeypatch):
    monkeypatch.setattr(summary, "MAX_FITTED_ROWS", 10)
    encoder, dense = Encoder(max_bins=4), Encoder(max_bins=4)
    np.testing.assert_array_equal(encoder.fit_transform(SPARSE["csc array"]), dense.fit_transform(DENSE))
    assert encoder.schema_ == dense.schema_ and any(not column.bins.exact for column in encoder.schema_.columns)


def test_parts_of_a_sparse_table():
    by_row = SPARSE["csr matrix"]
    whole = Encoder().fit(DENSE)
    assert Encoder().fit([by_row[:15], by_row[15:]]).schema_ == whole.schema_
    np.testing.assert_array_equal(whole.transform(lambda: iter([by_row[:15], by_row[15:]])), whole.transform(DENSE))
    summaries = [Encoder().summarise(by_row[:15]), Encoder().summarise(by_row[15:], first_row=15)]
    sent = [type(summary).from_bytes(summary.to_bytes()) for summary in summaries]
    assert Encoder().fit_summary(merge_summaries(sent)).schema_ == whole.schema_


def test_numbers_of_a_model_fitted_on_a_dense_table_and_the_other_way_round():
    dense = Encoder().fit(DENSE)
    np.testing.assert_array_equal(dense.transform(SPARSE["coo array"]), dense.transform(DENSE))
    np.testing.assert_array_equal(Encoder().fit(SPARSE["coo array"]).transform(DENSE), dense.transform(DENSE))
    truth = WHOLE.astype(bool)
    np.testing.assert_array_equal(dense.transform(scipy.sparse.csr_array(truth)), dense.transform(truth))


def test_the_matrix_of_the_user_is_left_as_it_is():
    matrix = scipy.sparse.csc_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(3, 1))
    assert np.asarray(read_table(matrix).columns[0].values).tolist() == [2.0, 0.0, 5.0]
    assert matrix.data.tolist() == [1.0, 2.0, 4.0] and matrix.indices.tolist() == [2, 0, 2]


def test_rows_of_a_sparse_matrix():
    rows = np.array([7, 0, 7])
    for X in SPARSE.values():
        np.testing.assert_array_equal(take_rows(X, rows, X.shape[0]).toarray(), DENSE[rows])


def test_blocks_of_rows_follow_one_another(monkeypatch):
    monkeypatch.setattr("jaxtree.table.columns.CELLS_AT_A_TIME", 35)
    blocks = list(blocks_of_rows(SPARSE["coo matrix"]))
    assert [block.shape for block in blocks] == [(7, 5)] * 5 + [(5, 5)]
    np.testing.assert_array_equal(scipy.sparse.vstack(blocks).toarray(), DENSE)


def test_a_vector_gives_any_block_and_any_places():
    vector, dense = (
        SparseVector(np.array([1, 4, 5]), np.array([2.0, 0.0, -1.0]), 8),
        np.array([0, 2.0, 0, 0, 0, -1, 0, 0]),
    )
    for start in range(9):
        np.testing.assert_array_equal(vector[start : start + 3], dense[start : start + 3])
    places = np.array([0, 1, 5, 7])
    np.testing.assert_array_equal(np.asarray(vector.take(places)), dense[places])
    assert np.asarray(SparseVector(np.zeros(0, int), np.zeros(0), 3).take(np.array([1]))).tolist() == [0.0]


def test_no_more_than_a_column_is_held_with_its_zeros(monkeypatch):
    """Else a table that fits in memory as entries would not be fitted; one that is small with zeros is given them."""
    held = []
    original = SparseVector.__array__

    def counted(self, *arguments, **options):
        array = original(self, *arguments, **options)
        held.append(array.size)
        return array

    monkeypatch.setattr(SparseVector, "__array__", counted)
    monkeypatch.setattr(reading, "CELLS_AT_A_TIME", SPARSE["csr array"].shape[0])
    Encoder().fit_transform(SPARSE["csr array"])
    assert set(held) == {40}  # to fit edges; codes are made from the entries alone
