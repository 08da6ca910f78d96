"""Means over the trees that count, and the spread of scores in bags: the kernel and NumPy give the same bits."""

import numpy as np
import pytest

from jaxtree import RandomForestRegressor
from jaxtree.kernels import choose
from jaxtree.kernels.native_walk import Counts
from jaxtree.tree.predictor import Predictor
from tests.growth.native_trees import needs_kernel

NUM_TREES, BAG_SIZE = 17, 5
RNG = np.random.default_rng(4)
X = RNG.normal(size=(150, 6))
ROWS = RNG.normal(size=(517, 6))
Y = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=150)
COUNTS = Counts(RNG.random((NUM_TREES, len(ROWS))) < 0.8, np.arange(NUM_TREES, dtype=np.int32))
OF_BAGS = Counts(RNG.random((4, len(ROWS))) < 0.6, (np.arange(NUM_TREES) // BAG_SIZE).astype(np.int32))


@pytest.fixture(scope="module")
def predictor():
    return Predictor(RandomForestRegressor(NUM_TREES, random_state=0, max_depth=6).fit(X, Y).forest_)


@pytest.fixture(scope="module")
def node_value(predictor):
    size = predictor.ends_in_trees(ROWS).max() + 200
    return np.random.default_rng(1).normal(size=(size, 3))


COEFFICIENTS = RNG.normal(size=(2, 4, len(ROWS)))


def by_definition(predictor, node_value, counts):
    """Means and scores from the nodes of all rows in all trees."""
    values = node_value[predictor.ends_in_trees(ROWS)]
    is_counted = np.ones((NUM_TREES, len(ROWS)), bool) if counts is None else counts.is_counted[counts.line]
    with np.errstate(invalid="ignore"):
        means = np.einsum("tr,rtc->rc", is_counted, values) / is_counted.sum(axis=0)[:, None]
    score = COEFFICIENTS[:, 0, :, None] + np.einsum("ecr,rtc->ert", COEFFICIENTS[:, 1:], values)
    bags = score[..., :15].reshape(2, len(ROWS), 3, BAG_SIZE)
    is_used = is_counted[:15].reshape(3, BAG_SIZE, -1).all(axis=1).T
    between = (bags.mean(axis=3) ** 2 * is_used).sum(axis=2)
    return means, between, (bags.var(axis=3) * is_used).sum(axis=2), is_used.sum(axis=1)


@pytest.mark.parametrize("counts", [None, COUNTS, OF_BAGS], ids=["all", "some", "some bags"])
@pytest.mark.parametrize("uses_kernel", [pytest.param(True, marks=needs_kernel), False], ids=["kernel", "NumPy"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_those_of_the_definition(predictor, node_value, counts, uses_kernel, dtype, monkeypatch):
    means, between, within, num_bags = by_definition(predictor, node_value, counts)
    monkeypatch.setattr(choose, "is_there", lambda: uses_kernel)
    rows = ROWS.astype(dtype)
    if counts is not None:
        np.testing.assert_allclose(predictor.masked_mean(rows, node_value, counts), means, rtol=1e-9, atol=1e-12)
    sums = predictor.bag_sums(rows, node_value, COEFFICIENTS, BAG_SIZE, counts)
    np.testing.assert_allclose(sums.between, between, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums.within, within, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(sums.num_bags, num_bags)


@needs_kernel
@pytest.mark.parametrize("num_rows", [1, 31, 517])
@pytest.mark.parametrize("counts", [None, COUNTS, OF_BAGS], ids=["all", "some", "some bags"])
def test_the_kernel_has_the_bits_of_numpy(predictor, node_value, num_rows, counts, monkeypatch):
    rows, coefficients = ROWS[:num_rows], COEFFICIENTS[:, :, :num_rows]
    counts = counts and counts._replace(is_counted=counts.is_counted[:, :num_rows])
    made = []
    for uses_kernel in (True, False):
        monkeypatch.setattr(choose, "is_there", lambda uses_kernel=uses_kernel: uses_kernel)
        sums = predictor.bag_sums(rows, node_value, coefficients, BAG_SIZE, counts)
        made.append((*sums, *([] if counts is None else [predictor.masked_mean(rows, node_value, counts)])))
    for own, other in zip(*made, strict=True):
        np.testing.assert_array_equal(own, other)
