"""Draws of dropout pruning, and rates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.prune import draws as drawing
from jaxtree.prune.draws import collapse_probability, draws, dropout, level_rates, node_rates
from tests.prune import dropouts

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def cars():
    return dropouts.cars()


def by_path(tree, mask):
    """Whether the inner nodes below the root are collapsed."""
    return {dropouts.branches(tree, node): bool(mask[node]) for node in np.flatnonzero(~tree.is_leaf) if node}


def test_the_schedule():
    """p = .1, q = .5 gives .1 .15 .225 .3375 .50625 .759375, then 1 (the paper, section 3)."""
    probability = collapse_probability(np.arange(1, 9), 0.1, 0.5)
    np.testing.assert_allclose(probability, [0.1, 0.15, 0.225, 0.3375, 0.50625, 0.759375, 1, 1], rtol=1e-6)


def test_p_zero_keeps_everything_at_any_depth():
    np.testing.assert_array_equal(collapse_probability(np.array([1, 500, 100_000]), 0.0, 1.0), 0)


def test_rates_of_nodes_and_of_levels(cars):
    tree = cars[0]
    p, q = np.array([[0.1], [0.3]]), np.array([0.0, 0.5, 1.0])
    rates = np.asarray(node_rates(tree, p, q))
    assert rates.shape == (2, 3, 83)
    assert not rates[..., 0].any()
    wanted = np.minimum(1, p[..., None] * (1 + q[:, None]) ** (tree.depth - 1.0))
    np.testing.assert_allclose(rates[..., 1:], wanted[..., 1:], rtol=2e-6)
    by_level = 0.3 * 1.5 ** np.arange(3)
    np.testing.assert_allclose(level_rates(tree, by_level)[1:], by_level[np.minimum(tree.depth[1:] - 1, 2)], rtol=1e-6)


def test_draws_by_p_and_q_are_those_by_rates(cars):
    tree, p, q = cars[0], np.array([0.0, 0.1, 0.4, 1.0]), 0.3
    rates = np.asarray(node_rates(tree, p, q))
    np.testing.assert_array_equal(dropout(tree, node_rates(tree, p, q), key=KEY), dropout(tree, rates, key=KEY))
    always = np.where(np.arange(83) % 2, 1.0, 0.0)
    np.testing.assert_array_equal(dropout(tree, always, key=KEY), (always == 1) & ~tree.is_leaf)


def test_masks_nest_as_p_grows_and_the_root_and_leaves_stay(cars):
    collapsed = dropout(cars[0], node_rates(cars[0], np.array([0.1, 0.3, 0.6, 1.0])), key=KEY)
    assert collapsed.shape == (4, 83)
    assert np.all(collapsed[:-1] <= collapsed[1:])
    inner = ~cars[0].is_leaf & (np.arange(83) > 0)
    np.testing.assert_array_equal(collapsed[3], inner)
    assert not dropout(cars[0], node_rates(cars[0], 0.0, 1.0), key=KEY).any()


def test_a_node_s_number_depends_on_its_path_alone(cars):
    """The same node in a smaller tree, where it has another number, draws the same."""
    tree = cars[0]
    stopped, small = dropouts.stop_at(tree, np.flatnonzero((tree.depth == 4) & ~tree.is_leaf)[0])
    large_mask = by_path(tree, dropout(tree, node_rates(tree, 0.4, 0.1), key=KEY))
    small_mask = by_path(small, dropout(small, node_rates(small, 0.4, 0.1), key=KEY))
    assert 0 < len(small_mask) < len(large_mask)
    assert small_mask.items() <= large_mask.items()
    stopped_mask = by_path(stopped, dropout(stopped, node_rates(stopped, 0.4, 0.1), key=KEY))
    assert small_mask.items() <= stopped_mask.items()


def test_nodes_are_collapsed_independently_at_their_rates(cars):
    """Over many draws no two nodes agree more or less often than chance has it, siblings included."""
    tree = cars[0]
    inner = np.flatnonzero(~tree.is_leaf)[1:]
    collapsed = draws(tree, node_rates(tree, 0.3, 0.05), key=KEY, num_draws=20_000)[:, inner]
    rates = np.asarray(node_rates(tree, 0.3, 0.05))[inner]
    error = np.sqrt(rates * (1 - rates) / 20_000)
    assert np.all(np.abs(collapsed.mean(axis=0) - rates) < 4 * error)
    correlation = np.corrcoef(collapsed.T) - np.eye(inner.size)
    assert np.abs(correlation).max() < 5 / np.sqrt(20_000)
    own = collapsed - collapsed.mean(axis=0)
    of_next_draw = np.mean(own[1:] * own[:-1]) / np.mean(own**2)
    assert abs(of_next_draw) < 4 / np.sqrt(own.size)


def test_draw_d_is_the_mask_of_the_key_folded_by_d(cars):
    p, q = np.array([[0.1], [0.4]]), np.array([0.0, 0.5, 1.0])
    rates = node_rates(cars[0], p, q)
    many = draws(cars[0], rates, key=KEY, num_draws=70)
    assert many.shape == (2, 3, 70, 83)
    for d in (0, 1, 64, 69):
        np.testing.assert_array_equal(many[..., d, :], dropout(cars[0], rates, key=jax.random.fold_in(KEY, d)))
    np.testing.assert_array_equal(draws(cars[0], node_rates(cars[0], 0.4, 0.5), key=KEY, num_draws=11), many[1, 1, :11])


def test_blocks_do_not_change_draws(cars, monkeypatch):
    whole = draws(cars[0], node_rates(cars[0], 0.2, 0.1), key=KEY, num_draws=100)
    monkeypatch.setattr(drawing, "BLOCK_SIZE", 1000)
    jax.clear_caches()
    np.testing.assert_array_equal(draws(cars[0], node_rates(cars[0], 0.2, 0.1), key=KEY, num_draws=100), whole)


def test_draws_are_the_same_under_every_transformation(cars):
    tree = cars[0]
    p = np.array([0.1, 0.2, 0.7])
    own = node_rates(tree, 0.2, 0.3)

    def collapsed(tree, p):
        return dropout(tree, node_rates(tree, p, 0.3), key=KEY)

    eager = collapsed(tree, p)
    np.testing.assert_array_equal(jax.jit(collapsed)(jax.tree.map(jnp.asarray, tree), p), eager)
    np.testing.assert_array_equal(jax.vmap(lambda p: collapsed(tree, p))(jnp.asarray(p)), eager)
    keys = jax.vmap(lambda d: jax.random.fold_in(KEY, d))(jnp.arange(5))
    by_key = jax.vmap(lambda key: dropout(tree, own, key=key))(keys)
    np.testing.assert_array_equal(by_key, draws(tree, own, key=KEY, num_draws=5))
    with jax.enable_x64(True):
        np.testing.assert_array_equal(collapsed(tree, p), eager)
        np.testing.assert_array_equal(jax.jit(lambda p: collapsed(tree, p))(p), eager)


def test_draws_stay_what_they_are(cars):
    """The collapsed nodes of one key: whoever repeats an experiment gets them."""
    collapsed = dropout(cars[0], node_rates(cars[0], 0.3, 0.1), key=jax.random.key(42))
    assert np.flatnonzero(collapsed).tolist() == COLLAPSED_WITH_KEY_42


COLLAPSED_WITH_KEY_42 = [8, 11, 14, 15, 17, 24, 33, 39, 42, 43, 44, 48, 52, 53, 58, 59, 68, 74, 77]


@pytest.mark.parametrize(("p", "q"), [(-0.1, 0), (1.1, 0), (0.1, -1), (np.nan, 0)])
def test_p_and_q_out_of_range(cars, p, q):
    with pytest.raises(InvalidInputError, match=r"dropout [pq] must be a number"):
        node_rates(cars[0], p, q)


def test_what_is_no_rate_or_number_of_draws(cars):
    tree = cars[0]
    with pytest.raises(InvalidInputError, match="from 0 to 1"):
        dropout(tree, np.full(83, 1.5), key=KEY)
    with pytest.raises(InvalidInputError, match="83 nodes"):
        dropout(tree, np.full(82, 0.5), key=KEY)
    with pytest.raises(InvalidInputError, match="one level at least"):
        level_rates(tree, np.zeros(0))
    with pytest.raises(InvalidInputError, match="from 0 to 1"):
        level_rates(tree, np.array([0.1, -0.1]))
    with pytest.raises(InvalidInputError, match="num_draws"):
        draws(tree, node_rates(tree, 0.1), key=KEY, num_draws=0)
