"""Dropout pruning: draws, their exact mean, and the vote of all draws."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree
from jaxtree import Dropout, ID3Classifier, apply, majority_class
from jaxtree.errors import InvalidInputError
from jaxtree.pruning.dropout import collapse_probability, survival

P, Q = np.array([0.0, 0.05, 0.1, 0.25])[:, None], np.array([0.0, 0.5, 1.0])
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def cars():
    """The paper's tree, and codes and labels of the test rows."""
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, binary=True)
    estimator = ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
    label = np.searchsorted(estimator.classes_.astype(str), y[1296:].astype(str)).astype(np.int32)
    return estimator.tree_, estimator.encode(X[1296:]), label


def accuracy_by_routing(tree, codes, label, collapsed):
    node = np.asarray(apply(tree, codes, collapsed))
    return (np.asarray(majority_class(tree))[node] == label).mean()


def test_the_schedule():
    """p = .1, q = .5 gives .1 .15 .225 .3375 .50625 .759375, then 1 (the paper, section 3)."""
    probability = collapse_probability(np.arange(1, 9), 0.1, 0.5)
    np.testing.assert_allclose(probability, [0.1, 0.15, 0.225, 0.3375, 0.50625, 0.759375, 1, 1], rtol=1e-6)


def test_p_zero_keeps_everything_at_any_depth():
    np.testing.assert_array_equal(collapse_probability(np.array([1, 500, 100_000]), 0.0, 1.0), 0)
    np.testing.assert_array_equal(survival(500, 0.0, 1.0), 1)


def test_expected_accuracy_is_the_paper_s_table(cars):
    """Exact means over all draws at p = 0.10, q = 0 to 1, computed by an independent program."""
    expected = [0.8440, 0.8448, 0.8455, 0.8461, 0.8466, 0.8470, 0.8472, 0.8477, 0.8483, 0.8490, 0.8498]
    ours = jaxtree.dropout.expected_accuracy(*cars, 0.1, np.arange(11) / 10)
    np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_mean_of_draws_is_within_four_standard_errors_of_the_expectation(cars):
    draws = np.asarray(jaxtree.dropout.sampled_accuracy(*cars, P, Q, key=KEY, num_draws=10_000), np.float64)
    error = draws.std(axis=-1) / np.sqrt(10_000) + 1e-6
    assert np.all(np.abs(draws.mean(axis=-1) - jaxtree.dropout.expected_accuracy(*cars, P, Q)) < 4 * error)
    assert draws.max() == pytest.approx(0.958333, abs=1e-6)


def test_a_draw_is_the_accuracy_of_its_mask(cars):
    """Draw d of `sampled_accuracy` is `prune.dropout` with the key folded by d, sent down row by row."""
    draws = jaxtree.dropout.sampled_accuracy(*cars, 0.1, 0.5, key=KEY, num_draws=8)
    for d in range(8):
        mask = np.asarray(jaxtree.prune.dropout(cars[0], 0.1, 0.5, key=jax.random.fold_in(KEY, d)))
        assert draws[d] == pytest.approx(accuracy_by_routing(*cars, mask), abs=1e-6)


def test_fewer_draws_are_the_first_of_more_and_settings_do_not_change_them(cars):
    many = jaxtree.dropout.sampled_accuracy(*cars, P, Q, key=KEY, num_draws=64)
    few = jaxtree.dropout.sampled_accuracy(*cars, 0.1, 0.5, key=KEY, num_draws=10)
    np.testing.assert_array_equal(few, many[2, 1, :10])


def test_the_expectation_is_the_sum_over_all_masks():
    """A tree with three inner nodes below the root: every mask weighed by its probability."""
    X = np.array(list(itertools.product([0, 1], repeat=3)), float)
    y = (X.sum(axis=1) % 2).astype(int)
    estimator = ID3Classifier(max_depth=2).fit(X[:, :3], y)
    tree, codes = estimator.tree_, estimator.encode(X)
    label = np.random.default_rng(0).integers(0, 2, 8).astype(np.int32)
    p, q = 0.3, 0.4
    probability = np.asarray(collapse_probability(tree.depth, p, q), np.float64)
    total = 0.0
    for bits in itertools.product([False, True], repeat=tree.node_count - 1):
        mask = np.array([False, *bits])
        weight = np.prod(np.where(mask, probability, 1 - probability)[1:])
        total += weight * accuracy_by_routing(tree, codes, label, mask)
    assert jaxtree.dropout.expected_accuracy(tree, codes, label, p, q) == pytest.approx(total, abs=1e-6)


def test_gradient_is_the_finite_difference(cars):
    with jax.enable_x64(True):
        f = lambda rates: jaxtree.dropout.expected_accuracy(*cars, rates[0], rates[1])  # noqa: E731
        rates, step = jnp.array([0.07, 0.3]), 1e-6
        numeric = [(f(rates + step * e) - f(rates - step * e)) / (2 * step) for e in jnp.eye(2)]
        np.testing.assert_allclose(jax.grad(f)(rates), numeric, rtol=1e-5)
        assert np.all(np.isfinite(jax.grad(f)(jnp.zeros(2))))


def test_vote_shares_are_the_shares_of_many_draws(cars):
    tree, codes, _ = cars
    share = np.asarray(jaxtree.dropout.vote_share(tree, codes, 0.1, 0.5))
    np.testing.assert_allclose(share.sum(axis=-1), 1, atol=1e-5)
    keys = jax.random.split(KEY, 2000)
    masks = jax.vmap(lambda key: jaxtree.prune.dropout(tree, 0.1, 0.5, key=key))(keys)
    votes = np.asarray(majority_class(tree))[np.asarray(jax.vmap(lambda mask: apply(tree, codes, mask))(masks))]
    np.testing.assert_allclose((votes == 1).mean(axis=0), share[:, 1], atol=4 * 0.5 / np.sqrt(2000))


def test_masks_nest_as_p_grows_and_the_root_stays(cars):
    masks = np.asarray(jaxtree.prune.dropout(cars[0], np.array([0.1, 0.3, 0.6, 1.0]), 0.0, key=KEY))
    assert masks.shape == (4, 83)
    assert np.all(masks[:-1] <= masks[1:])
    assert not masks[:, 0].any() and masks[3, 1:].all()


def test_a_node_s_number_depends_on_its_path_alone(cars):
    """The same node in a smaller tree, where it has another number, draws the same."""
    tree = cars[0]
    collapsed = np.zeros(tree.node_count, bool)
    collapsed[np.flatnonzero(tree.depth == 1)[0]] = True
    small = jaxtree.take_tree(tree, collapsed=collapsed)

    def paths(tree):
        path = {0: ()}
        for node in range(1, tree.node_count):
            parent = int(tree.parent[node])
            path[node] = (*path[parent], node - int(tree.first_child[parent]))
        return path

    large_mask = {
        p: bool(m)
        for (n, p), m in zip(paths(tree).items(), jaxtree.prune.dropout(tree, 0.4, 0.1, key=KEY), strict=True)
    }
    small_mask = {
        p: bool(m)
        for (n, p), m in zip(paths(small).items(), jaxtree.prune.dropout(small, 0.4, 0.1, key=KEY), strict=True)
    }
    assert len(small_mask) < len(large_mask)
    assert all(large_mask[path] == mask for path, mask in small_mask.items())


def test_nodes_are_collapsed_independently(cars):
    """Over many draws no two nodes agree more or less often than chance has it, siblings included."""
    keys = jax.random.split(KEY, 4000)
    masks = np.asarray(jax.vmap(lambda key: jaxtree.prune.dropout(cars[0], 0.5, 0.0, key=key))(keys))[:, 1:]
    correlation = np.corrcoef(masks.T) - np.eye(82)
    assert np.abs(correlation).max() < 5.5 / np.sqrt(4000)


def test_trees_of_a_like_size_share_programs(cars):
    from jaxtree.pruning import dropout as module

    tree, codes, label = cars
    jaxtree.dropout.sampled_accuracy(tree, codes, label, 0.1, 0.5, key=KEY, num_draws=8)
    before = module._sampled_right._cache_size()
    mask = np.zeros(tree.node_count, bool)
    mask[5] = True
    small = jaxtree.take_tree(tree, collapsed=mask)
    jaxtree.dropout.sampled_accuracy(small, codes[:, :100], label[:100], 0.2, 0.1, key=KEY, num_draws=8)
    assert module._sampled_right._cache_size() == before


def test_the_estimator_s_pruning_is_one_draw(cars):
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, binary=True)
    pruned = ID3Classifier(encoding="onehot", pruning=Dropout(0.1, 0.5), random_state=3).fit(X[:1296], y[:1296])
    mask = np.asarray(jaxtree.prune.dropout(cars[0], 0.1, 0.5, key=jax.random.key(3)))
    assert pruned.score(X[1296:], y[1296:]) == pytest.approx(accuracy_by_routing(*cars, mask))
    assert pruned.tree_.node_count == jaxtree.take_tree(cars[0], collapsed=mask).node_count


@pytest.mark.parametrize(("p", "q"), [(-0.1, 0), (1.1, 0), (0.1, -1), (np.nan, 0)])
def test_rates_out_of_range(p, q):
    with pytest.raises(InvalidInputError, match=r"dropout [pq] must be a number"):
        Dropout(p, q)
