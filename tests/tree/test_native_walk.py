"""Walks by the kernel in C++, beside those that NumPy and XLA make of the same steps."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree import DecisionTreeRegressor
from jaxtree.errors import InvalidInputError
from jaxtree.growth import SplitKind
from jaxtree.kernels import choose, native_walk
from jaxtree.kernels.nested_subsets import chains_of
from jaxtree.tree import ALL_BRANCHES
from jaxtree.tree.forest import join_trees
from jaxtree.tree.predictor import Predictor
from jaxtree.tree.subsets import SharedSubsets, words_of_subsets
from tests.reference.walks import made_up_tree, made_up_values

pytestmark = pytest.mark.skipif(not choose.is_there(), reason="the kernel is not installed")

SIZES = (0, 1, 3, 20, 200)
"""Splits of trees."""


def trees_of(sizes=SIZES, kinds=(SplitKind.THRESHOLD,)):
    return join_trees([made_up_tree(seed, num_splits=size, kinds=kinds) for seed, size in enumerate(sizes)])


def rows_of(forest, number, **options):
    """Rows with numbers on thresholds, with both zeros, and with the greatest numbers that there are."""
    values = made_up_values(forest.nodes, number, seed=1, **options)
    rng = np.random.default_rng(2)
    ends = rng.random(values.shape) < 0.05
    values[ends] = rng.choice([0.0, -0.0, 1e308, -1e308], ends.sum())
    return values


def said_at(forest, columns):
    return np.random.default_rng(3).normal(size=(forest.nodes.node_count, columns))


def without_the_kernel(monkeypatch, predict):
    with monkeypatch.context() as patched:
        patched.setattr(choose, "is_there", lambda: False)
        return predict()


def assert_as_without(monkeypatch, forest, values, columns=1):
    """Nodes and means are those of a walk without the kernel, bit for bit."""
    walked, said = Predictor(forest), said_at(forest, columns)
    for predict in (lambda: walked.ends_in_trees(values), lambda: walked.mean(values, said)):
        np.testing.assert_array_equal(predict(), without_the_kernel(monkeypatch, predict))


@pytest.mark.parametrize("number", [1, 7, 8, 9, 3000])
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_any_number_of_rows(monkeypatch, number, share_missing):
    forest = trees_of()
    values = rows_of(forest, number, share_missing=share_missing)
    for dtype, columns in itertools.product((np.float64, np.float32), (1, 3)):
        with np.errstate(over="ignore", under="ignore"):
            assert_as_without(monkeypatch, forest, np.clip(values, -1e38, 1e38).astype(dtype), columns)


def test_infinite_numbers_are_no_missing_values(monkeypatch):
    forest = trees_of()
    values = rows_of(forest, 40)
    values[::3, 0], values[1::3, 0] = np.inf, -np.inf
    assert_as_without(monkeypatch, forest, values)


def test_trees_that_are_deeper_than_their_upper_levels(monkeypatch):
    """Every split cuts off the rows of the greatest target."""
    X = np.random.default_rng(0).permuted(np.tile(np.arange(40.0), (3, 1)), axis=1).T
    trees = [DecisionTreeRegressor().fit(X, 4.0 ** X[:, column]).tree_ for column in range(3)]
    forest = join_trees(trees)
    walked = Predictor(forest)
    walked.ends(X)
    assert (walked._native_trees(X.dtype)._arrays["more_levels"] > 10).all()
    values = np.random.default_rng(1).uniform(-1, 41, (3000, 3)).round(1)
    assert_as_without(monkeypatch, forest, values)
    values[np.random.default_rng(2).random(values.shape) < 0.2] = np.nan
    assert_as_without(monkeypatch, forest, values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_order_of_memory_is_read_where_it_is(dtype):
    forest = trees_of()
    values = rows_of(forest, 100).clip(-1e38, 1e38).astype(dtype)
    walked, apart = Predictor(forest), np.zeros((300, 20), dtype)
    expected = walked.ends_in_trees(values)
    apart[::3, 2:14:2] = values
    packed = np.zeros(100, [("mark", "u1"), ("row", dtype, 6)])
    packed["row"] = values
    others = {
        "columns": np.asfortranarray(values),
        "some rows of some columns": apart[::3, 2:14:2],
        "backwards": values[::-1, ::-1].copy()[::-1, ::-1],
        "packed": packed["row"],
        "at an odd address": np.frombuffer(b"x" + values.tobytes(), dtype, offset=1).reshape(values.shape),
        "other bytes": values.astype(values.dtype.newbyteorder()),
    }
    for name, other in others.items():
        np.testing.assert_array_equal(walked.ends_in_trees(other), expected, err_msg=name)


def test_values_of_nodes_may_begin_at_an_odd_address():
    forest = trees_of()
    values, said = rows_of(forest, 100), said_at(forest, 2)
    odd = np.frombuffer(b"x" + said.tobytes(), said.dtype, offset=1).reshape(said.shape)
    np.testing.assert_array_equal(Predictor(forest).mean(values, odd), Predictor(forest).mean(values, said))


def test_few_columns_of_many(monkeypatch):
    forest = trees_of()
    moved = np.zeros((500, 400))
    moved[:, 300:306] = rows_of(forest, 500)
    nodes = forest.nodes
    object.__setattr__(nodes, "feature", np.where(nodes.is_leaf, nodes.feature, nodes.feature + 300))
    assert_as_without(monkeypatch, forest, moved)


def test_threads_change_nothing(monkeypatch):
    forest = trees_of((20,) * 30)
    values, said = rows_of(forest, 5000), said_at(forest, 2)
    expected = Predictor(forest).mean(values, said)
    for number, work in ((1, 1), (4, 1), (3, 10**9)):
        monkeypatch.setattr(native_walk, "num_cores", lambda number=number: number)
        monkeypatch.setattr(native_walk, "STEPS_OF_A_THREAD", work)
        np.testing.assert_array_equal(Predictor(forest).mean(values, said), expected)


def of_wide_subsets(forest, num_words=40):
    """The trees with a few wide subsets, which nodes share, and in whose first words and last ones are codes."""
    words = np.random.default_rng(4).integers(0, 2**32, (5, num_words), dtype=np.uint32)
    row = np.random.default_rng(5).integers(0, len(words), forest.nodes.node_count).astype(np.int32)
    nodes = dataclasses.replace(forest.nodes, subset=SharedSubsets(row, words))
    return dataclasses.replace(forest, nodes=nodes)


@pytest.mark.parametrize("missing", [(0, 1), (0, 1, 9), (0, 1, ALL_BRANCHES)], ids=["branch", "stays", "shared out"])
@pytest.mark.parametrize("number", [3, 3000])
def test_splits_of_every_kind(monkeypatch, number, missing):
    trees = [made_up_tree(seed, num_splits=size, missing=missing) for seed, size in enumerate(SIZES)]
    narrow = join_trees(trees)
    values = made_up_values(narrow.nodes, number, seed=1)
    for forest in (narrow, of_wide_subsets(narrow)):
        own = values.copy()
        if forest is not narrow:
            own[::2, 1::2] *= 30  # codes up to the last words
        for dtype, columns in itertools.product((np.float64, np.float32), (1, 3)):
            with np.errstate(under="ignore"):
                assert_as_without(monkeypatch, forest, own.astype(dtype), columns)
                assert_as_without(monkeypatch, forest.first(4), own.astype(dtype), columns)


def test_subsets_that_nodes_share_are_those_of_nodes():
    forest = of_wide_subsets(trees_of(kinds=tuple(SplitKind)))
    alone = dataclasses.replace(forest, nodes=dataclasses.replace(forest.nodes, subset=np.asarray(forest.nodes.subset)))
    values = made_up_values(forest.nodes, 1000, seed=1)
    for predict in (lambda own: own.ends_in_trees(values), lambda own: own.mean(values, said_at(forest, 2))):
        np.testing.assert_array_equal(predict(Predictor(forest)), predict(Predictor(alone)))
    assert not np.array_equal(Predictor(forest).ends_in_trees(values), Predictor(trees_of()).ends_in_trees(values))


def of_nested_subsets(forest, num_chains, num_codes):
    """The trees with subsets that are the first codes of one of some orders of all codes."""
    rng = np.random.default_rng(6)
    rank = rng.permuted(np.tile(np.arange(num_codes), (num_chains, 1)), axis=1)
    words = words_of_subsets(
        (rank[:, None] < rng.integers(0, num_codes + 1, (num_chains, 30, 1))).reshape(-1, num_codes)
    )
    row = rng.integers(0, len(words), forest.nodes.node_count).astype(np.int32)
    return dataclasses.replace(forest, nodes=dataclasses.replace(forest.nodes, subset=SharedSubsets(row, words)))


@pytest.mark.parametrize(("num_chains", "is_ranked"), [(1, True), (3, True), (30, False)])
@pytest.mark.parametrize("num_codes", [40, 96, 1000])
def test_nested_subsets_are_thresholds(monkeypatch, num_chains, is_ranked, num_codes):
    forest = of_nested_subsets(trees_of((40,) * 8, kinds=(SplitKind.SUBSET,)), num_chains, num_codes)
    values = made_up_values(forest.nodes, 500, seed=1)
    values[::2, 1::2] *= num_codes // 30  # some codes are behind all that subsets have
    for dtype, columns in itertools.product((np.float64, np.float32), (1, 3)):
        with np.errstate(under="ignore"):
            assert_as_without(monkeypatch, forest, values.astype(dtype), columns)
    walked = Predictor(forest)
    walked.ends_in_trees(values)
    assert (walked._native[values.dtype]._pointers.num_ranks > 0) == is_ranked


@given(st.lists(st.integers(0, 2**12 - 1), min_size=1, max_size=20, unique=True))
def test_chains_hold_every_subset_once_each_in_the_next(subsets):
    words = np.array(subsets, np.uint32)[:, None]
    chains = chains_of(words, len(subsets))
    assert sorted(itertools.chain(*chains)) == list(range(len(subsets)))
    for chain in chains:
        assert not any(subsets[low] & ~subsets[high] for low, high in itertools.pairwise(chain))
    assert chains_of(words, len(chains) - 1) is None


def test_rows_without_the_columns_of_the_trees_are_refused():
    with pytest.raises(InvalidInputError, match="columns, got 1"):
        Predictor(trees_of()).ends_in_trees(np.zeros((3, 1)))
