"""Estimates and variances of forests whose trees come in bags."""

import numpy as np
import pytest

from jaxtree import CausalForest
from jaxtree.moments.little_bags import debiased, estimate

RNG = np.random.default_rng(1)
X = RNG.random((300, 3))
ARM = RNG.integers(0, 2, 300)
Y = ARM * X[:, 0] + 0.3 * RNG.normal(size=300)
ROWS = RNG.random((7, 3))


@pytest.fixture(scope="module")
def forest():
    known = {"y_hat": np.full(300, Y.mean()), "treatment_hat": np.full(300, 0.5)}
    return CausalForest(22, bag_size=5, random_state=0).fit(X, Y, treatment=ARM, **known)


def estimated(forest, rows=ROWS, **options):
    model = forest.model_
    return estimate(model.predictor, rows, model.node_value, forest.local_, **options)


def test_the_estimate_solves_the_mean_over_trees(forest):
    model, local = forest.model_, forest.local_
    means = model.node_value[model.predictor.ends_in_trees(ROWS)].mean(axis=1)
    np.testing.assert_allclose(estimated(forest).effect, local.effects(means.T).T, rtol=1e-12)


def test_the_variance_is_that_of_bags_less_the_noise_of_trees(forest):
    model, local = forest.model_, forest.local_
    by_tree = model.node_value[model.predictor.ends_in_trees(ROWS)]
    coefficients = local.influence(local.solve(by_tree.mean(axis=1).T))[0]
    score = coefficients[0][:, None] + np.einsum("cr,rtc->rt", coefficients[1:], by_tree)
    bags = score[:, :20].reshape(7, 4, 5)
    between = (bags.mean(axis=2) ** 2).mean(axis=1)
    noise = bags.var(axis=2, ddof=1).mean(axis=1) / 5
    found = estimated(forest, bag_size=5).variance
    np.testing.assert_allclose(found[:, 0], debiased(between[None], noise[None], np.full(7, 4))[0], rtol=1e-9)


def test_trees_that_do_not_count_are_left_out(forest):
    counts = np.zeros((22, 7), bool)
    counts[5:15] = True
    some = estimated(forest, bag_size=5, counts=counts)
    model, local = forest.model_, forest.local_
    means = model.node_value[model.predictor.ends_in_trees(ROWS)][:, 5:15].mean(axis=1)
    np.testing.assert_allclose(some.effect, local.effects(means.T).T, rtol=1e-12)
    counts[7] = False  # its bag says nothing of variances
    without = estimated(forest, bag_size=5, counts=counts)
    counts[5:10] = False
    assert not np.allclose(without.effect, estimated(forest, bag_size=5, counts=counts).effect)
    assert (without.variance > 0).all()


@pytest.mark.parametrize("between", [0.0, 0.2, 1.0, 50.0])
def test_a_variance_is_positive_whatever_the_difference(between):
    found = debiased(np.array([[between]]), np.array([[1.0]]), np.array([25]))
    assert found[0, 0] > 0
    if between == 50:
        assert found[0, 0] == pytest.approx(49, rel=1e-3)


def test_a_variance_far_below_0_has_no_overflow():
    found = debiased(np.array([[1e-9]]), np.array([[1.0]]), np.array([10**9]))
    assert 0 <= found[0, 0] < 1e-3


def test_more_bags_take_less_from_a_difference_above_0():
    few, many = (debiased(np.array([[2.0]]), np.array([[1.0]]), np.array([number]))[0, 0] for number in (10, 1000))
    assert few > many == pytest.approx(1.0, abs=1e-6)
