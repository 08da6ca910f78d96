"""Rows that go through trees by ranks end where they walk to, with the same bits."""

import itertools

import numpy as np
import pytest

from jaxtree.growth import SplitKind
from jaxtree.kernels import choose, native_walk
from jaxtree.tree.predictor import Predictor
from tests.reference.walks import made_up_values
from tests.tree.test_native_walk import assert_as_without, of_nested_subsets, rows_of, trees_of

pytestmark = pytest.mark.skipif(not choose.is_there(), reason="the kernel is not installed")


@pytest.fixture(autouse=True)
def _always_ranked(monkeypatch):
    monkeypatch.setattr("jaxtree.kernels.native_ranks.pays", lambda *_: True)
    monkeypatch.setattr(native_walk, "ROWS_TO_RANK", 1)
    monkeypatch.setattr(native_walk, "LEVELS_TO_RANK", 0)


@pytest.mark.parametrize("number", [1, 8, 127, 128, 129, 1100])
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_rows_end_where_they_walk_to(monkeypatch, number, share_missing):
    forest = trees_of()
    values = rows_of(forest, number, share_missing=share_missing)
    values[::5, 0], values[1::5, 1] = np.inf, -np.inf
    for dtype, columns in itertools.product((np.float64, np.float32), (1, 3)):
        with np.errstate(over="ignore", under="ignore"):
            own = np.where(np.isinf(values), values, np.clip(values, -1e38, 1e38)).astype(dtype)
        assert_as_without(monkeypatch, forest, own, columns)


@pytest.mark.parametrize(("sizes", "bytes_of_rank"), [((255, 255, 3), 1), ((400, 0), 2)])
def test_ranks_take_as_many_bytes_as_leaves_need(monkeypatch, sizes, bytes_of_rank):
    forest = trees_of(sizes)
    values = rows_of(forest, 300)
    assert_as_without(monkeypatch, forest, values)
    walked = Predictor(forest)
    walked.ends_in_trees(values)
    assert walked._native_trees(values.dtype)._ranked._bytes_of_rank == bytes_of_rank


def test_nested_subsets_walk(monkeypatch):
    forest = of_nested_subsets(trees_of((40,) * 8, kinds=(SplitKind.SUBSET,)), num_chains=2, num_codes=40)
    values = made_up_values(forest.nodes, 500, seed=1)
    assert_as_without(monkeypatch, forest, values)
    walked = Predictor(forest)
    walked.ends_in_trees(values)
    assert walked._native_trees(values.dtype)._ranked is None


def test_rows_in_any_order_of_memory_and_threads():
    forest = trees_of((40, 60))
    values = rows_of(forest, 3000, share_missing=0.1)
    expected = Predictor(forest).ends_in_trees(values)
    for other in (np.asfortranarray(values), np.repeat(values, 3, axis=0)[::3], values[::-1].copy()[::-1]):
        np.testing.assert_array_equal(Predictor(forest).ends_in_trees(other), expected)
    parts = [Predictor(forest).ends_in_trees(values[first : first + 700]) for first in range(0, 3000, 700)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
