"""Accuracies and losses of dropout pruning: of draws, and their means and variances over all draws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.dropout import scores
from jaxtree.dropout.scores import (
    accuracy_variance,
    expected_accuracy,
    expected_log_loss,
    expected_squared_error,
    sampled_accuracy,
)
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import draws, dropout, node_rates
from tests.prune import dropouts
from tests.reference import dropout_oracle as oracle

pytestmark = pytest.mark.slow

P, Q = np.array([0.0, 0.05, 0.1, 0.25])[:, None], np.array([0.0, 0.5, 1.0])
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def cars():
    return dropouts.cars()


@pytest.fixture(scope="module")
def tiny():
    """A tree whose masks can all be written down, with rows some of which stay at inner nodes."""
    tree, codes, y = dropouts.tiny()
    assert not tree.is_leaf[oracle.end_nodes(tree, codes, None)].all()
    return tree, codes, y


@pytest.fixture(scope="module")
def regression():
    return dropouts.tiny_regression()


def some_rates(tree):
    """Rates without a pattern, 0 and 1 among them."""
    rates = np.random.default_rng(1).random(tree.node_count)
    inner = np.flatnonzero(~tree.is_leaf)
    rates[inner[-1]], rates[inner[-2]] = 0, 1
    return rates


def test_expected_accuracy_is_the_paper_s_table(cars):
    """Exact means over all draws at p = 0.10, q = 0 to 1, computed by an independent program."""
    expected = [0.8440, 0.8448, 0.8455, 0.8461, 0.8466, 0.8470, 0.8472, 0.8477, 0.8483, 0.8490, 0.8498]
    ours = expected_accuracy(*cars, node_rates(cars[0], 0.1, np.arange(11) / 10))
    np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_a_draw_is_the_accuracy_of_its_mask(cars):
    accuracy = sampled_accuracy(*cars, node_rates(cars[0], 0.1, 0.5), key=KEY, num_draws=8)
    for d, mask in enumerate(draws(cars[0], node_rates(cars[0], 0.1, 0.5), key=KEY, num_draws=8)):
        assert accuracy[d] == pytest.approx(oracle.accuracy(*cars, mask), abs=1e-6)


def test_fewer_draws_are_the_first_of_more_and_settings_do_not_change_them(cars):
    many = sampled_accuracy(*cars, node_rates(cars[0], P, Q), key=KEY, num_draws=300)
    few = sampled_accuracy(*cars, node_rates(cars[0], 0.1, 0.5), key=KEY, num_draws=10)
    np.testing.assert_array_equal(few, many[2, 1, :10])
    rates = np.asarray(node_rates(cars[0], P, Q))
    np.testing.assert_array_equal(sampled_accuracy(*cars, rates, key=KEY, num_draws=300), many)


def test_mean_and_variance_of_draws_are_the_expected_ones(cars):
    """Within 4 standard errors; that of the variance has the fourth central moment."""
    sample = np.asarray(sampled_accuracy(*cars, node_rates(cars[0], P, Q), key=KEY, num_draws=100_000), np.float64)
    mean, variance = sample.mean(axis=-1), sample.var(axis=-1)
    fourth = ((sample - mean[..., None]) ** 4).mean(axis=-1)
    error, error_of_variance = np.sqrt(variance / 100_000), np.sqrt((fourth - variance**2) / 100_000)
    assert np.all(np.abs(mean - expected_accuracy(*cars, node_rates(cars[0], P, Q))) < 4 * error + 1e-6)
    assert np.all(np.abs(variance - accuracy_variance(*cars, node_rates(cars[0], P, Q))) < 4 * error_of_variance + 1e-7)
    assert sample.max() == pytest.approx(414 / 432, abs=1e-6)


@pytest.mark.parametrize("by_rates", [False, True])
def test_means_and_variance_are_sums_over_all_masks(tiny, regression, by_rates):
    def given(tree):
        return some_rates(tree) if by_rates else node_rates(tree, 0.3, 0.4)

    def mean(data, value):
        return oracle.mean_over_masks(data[0], np.asarray(given(data[0])), lambda mask: value(*data, mask))

    with jax.enable_x64(True):
        accuracy = mean(tiny, oracle.accuracy)
        square = mean(tiny, lambda *data: oracle.accuracy(*data) ** 2)
        np.testing.assert_allclose(expected_accuracy(*tiny, given(tiny[0])), accuracy, rtol=1e-12)
        np.testing.assert_allclose(accuracy_variance(*tiny, given(tiny[0])), square - accuracy**2, rtol=1e-9)
        for laplace in (1.0, 0.2):
            np.testing.assert_allclose(
                expected_log_loss(*tiny, given(tiny[0]), laplace=laplace),
                mean(tiny, functools.partial(oracle.log_loss, laplace=laplace)),
                rtol=1e-12,
            )
        error = expected_squared_error(*regression, given(regression[0]))
        np.testing.assert_allclose(error, mean(regression, oracle.squared_error), rtol=1e-10)


def test_float32_is_close_to_float64(tiny, regression):
    """Large targets, 10,000 with a deviation of 1, do not cancel."""
    for function, data in (
        (expected_accuracy, tiny),
        (expected_log_loss, tiny),
        (accuracy_variance, tiny),
        (expected_squared_error, regression),
    ):
        rates = node_rates(data[0], 0.3, 0.4)
        narrow = function(*data, rates)
        assert narrow.dtype == np.float32
        with jax.enable_x64(True):
            np.testing.assert_allclose(narrow, function(*data, rates), rtol=2e-6)


def test_nothing_below_a_stopped_node_counts(cars, tiny, regression):
    """A table in which nodes still stand below a leaf gives what the tree without them gives."""
    for data, function in (
        (cars, functools.partial(sampled_accuracy, key=KEY, num_draws=50)),
        (cars, expected_accuracy),
        (cars, accuracy_variance),
        (tiny, expected_log_loss),
        (regression, expected_squared_error),
    ):
        tree, *rows = data
        node = np.flatnonzero(~tree.is_leaf)[3]
        stopped, small = dropouts.stop_at(tree, node)
        ours, without, unstopped = (function(t, *rows, node_rates(t, 0.2, 0.3)) for t in (stopped, small, tree))
        np.testing.assert_allclose(ours, without, rtol=1e-6)
        assert not np.allclose(ours, unstopped, rtol=1e-4)


def test_a_tree_as_deep_as_it_has_inner_nodes():
    tree, *rows = dropouts.chain()
    assert tree.max_depth == 60 and (tree.depth[oracle.end_nodes(tree, rows[0], None)] > 32).sum() > 20
    rates = node_rates(tree, 0.01, 0.02)
    sample = np.asarray(sampled_accuracy(tree, *rows, rates, key=KEY, num_draws=20_000), np.float64)
    for d, mask in enumerate(draws(tree, rates, key=KEY, num_draws=8)):
        assert sample[d] == pytest.approx(oracle.accuracy(tree, *rows, mask), abs=1e-6)
    error = sample.std() / np.sqrt(20_000)
    assert abs(sample.mean() - expected_accuracy(tree, *rows, rates)) < 4 * error
    assert sample.var() == pytest.approx(float(accuracy_variance(tree, *rows, rates)), rel=0.05)


def test_a_tree_that_is_one_leaf(tiny):
    tree, codes, y = dropouts.stop_at(tiny[0], 0)[1], *tiny[1:]
    share = oracle.accuracy(tree, codes, y, None)
    assert expected_accuracy(tree, codes, y, node_rates(tree, 0.5)) == pytest.approx(share)
    assert accuracy_variance(tree, codes, y, node_rates(tree, 0.5)) == 0
    np.testing.assert_allclose(
        sampled_accuracy(tree, codes, y, node_rates(tree, 0.5), key=KEY, num_draws=3), share, rtol=1e-6
    )
    assert not dropout(tree, node_rates(tree, 0.5), key=KEY).any()


SCORES = (expected_accuracy, expected_log_loss, accuracy_variance)


@pytest.fixture(scope="module")
def scores_and_slopes(tiny, regression):
    """All scores of p and q, and their slopes in both."""

    def all_scores(p, q):
        of_classes = [score(*tiny, node_rates(tiny[0], p, q)) for score in SCORES]
        return jnp.stack([*of_classes, expected_squared_error(*regression, node_rates(regression[0], p, q))])

    return jax.jit(all_scores), jax.jit(jax.jacrev(all_scores, argnums=(0, 1)))


@pytest.mark.parametrize("p_q", [(0.07, 0.3), (0.0, 0.3), (1.0, 0.3), (1.0, 0.0), (0.4, 0.0), (0.0, 0.0)])
def test_gradient_in_p_and_q_is_the_finite_difference(scores_and_slopes, p_q):
    """At the ends of the ranges the difference is taken inwards; in q at p = 1 the rates stay 1 on that side."""
    step = 1e-7
    inwards = -step if p_q[0] == 1 else step
    with jax.enable_x64(True):
        f, slopes = scores_and_slopes
        slope = slopes(*p_q)
        np.testing.assert_allclose(slope[0], (f(p_q[0] + inwards, p_q[1]) - f(*p_q)) / inwards, rtol=1e-4, atol=1e-5)
        assert np.all(np.isfinite(slope[1]))
        if p_q[0] < 1:
            np.testing.assert_allclose(slope[1], (f(p_q[0], p_q[1] + step) - f(*p_q)) / step, rtol=1e-4, atol=1e-5)


def test_gradients_are_finite_where_rates_overflow(scores_and_slopes):
    """(1+q)^l is past float32 on the third level."""
    for p, q in ((0.0, 1e30), (0.5, 1e30), (1.0, 1e30)):
        assert np.all(np.isfinite(scores_and_slopes[1](p, q))), (p, q)


def test_gradient_in_the_rates_is_the_finite_difference(tiny):
    """The expectation is linear in one rate, the variance quadratic; both also beyond 0 and 1."""
    tree, rates = tiny[0], some_rates(tiny[0])
    inner = np.flatnonzero(~tree.is_leaf)[1:]
    with jax.enable_x64(True):
        f = jax.jit(lambda rates: jnp.stack([score(*tiny, rates) for score in SCORES]))
        slope = jax.jit(jax.jacrev(f))(rates)
        for node in inner:
            step = 1e-4 * (np.arange(rates.size) == node)
            numeric = (f(rates + step) - f(rates - step)) / 2e-4
            np.testing.assert_allclose(slope[:, node], numeric, rtol=1e-7, atol=1e-11)
        assert not slope[:, 0].any()


def test_jit_and_vmap_change_nothing(tiny, regression):
    def all_scores(trees, p):
        data, numbers = (trees[0], *tiny[1:]), (trees[1], *regression[1:])
        of_classes = [score(*data, node_rates(data[0], p, 0.3)) for score in SCORES]
        draws_ = sampled_accuracy(*data, node_rates(data[0], p, 0.3), key=KEY, num_draws=20)
        return jnp.stack(of_classes), expected_squared_error(*numbers, node_rates(numbers[0], p, 0.3)), draws_

    def agree(ours, wanted):
        # Traced in float32, targets of 10,000 are no more exact than 1e-3.
        for one, other, tolerance in zip(ours, wanted, (5e-6, 1e-3, 1e-6), strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance)

    trees = tiny[0], regression[0]
    p = np.array([0.1, 0.6], np.float32)
    eager = [all_scores(trees, each) for each in p]
    with jax.enable_x64(True):
        agree(all_scores(trees, p[0]), eager[0])
    two = jax.tree.map(lambda field: np.stack([field, field]), trees)
    agree(jax.jit(jax.vmap(all_scores))(two, p), jax.tree.map(lambda *x: np.stack(x), *eager))


def test_trees_of_a_like_size_share_programs(cars):
    tree, codes, label = cars
    sampled_accuracy(tree, codes, label, node_rates(tree, 0.1, 0.5), key=KEY, num_draws=8)
    expected_accuracy(tree, codes, label, node_rates(tree, 0.1, 0.5))
    before = scores._score_draws.num_programs(), scores._sum_of_kept.num_programs()
    small = dropouts.stop_at(tree, 5)[1]
    sampled_accuracy(small, codes[:, :100], label[:100], node_rates(small, 0.2, 0.1), key=KEY, num_draws=8)
    expected_accuracy(small, codes[:, :100], label[:100], node_rates(small, 0.2, 0.1))
    assert (scores._score_draws.num_programs(), scores._sum_of_kept.num_programs()) == before


def test_what_is_not_allowed(tiny, regression):
    tree, codes, y = tiny
    with pytest.raises(InvalidInputError, match="laplace"):
        expected_log_loss(tree, codes, y, node_rates(tree, 0.1), laplace=0.0)
    with pytest.raises(InvalidInputError, match="classes from 0 to 2"):
        expected_log_loss(tree, codes, y + 1, node_rates(tree, 0.1))
    with pytest.raises(InvalidInputError, match="one target of numbers"):
        expected_squared_error(tree, codes, y, node_rates(tree, 0.1))
    with pytest.raises(InvalidInputError, match="tree of classes"):
        expected_accuracy(regression[0], regression[1], regression[2].astype(int), node_rates(regression[0], 0.1))
    with pytest.raises(InvalidInputError, match="num_draws"):
        sampled_accuracy(tree, codes, y, node_rates(tree, 0.1), key=KEY, num_draws=0)
