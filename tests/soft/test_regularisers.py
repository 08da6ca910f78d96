"""Penalties: worked shares, running sums, and gradients of the right size."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.soft import SoftForm, init
from jaxtree.soft.model import gate_probability
from jaxtree.soft.regularisers import (
    Penalties,
    Shares,
    balance_penalty,
    feature_entropy,
    feature_l1,
    leaf_decay,
    no_shares,
    penalty,
    weights_beside,
)

FORM = SoftForm(depth=3, num_features=4, num_outputs=2)


def rows(seed=0, number=40):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(number, 4)), jnp.float32)


def even(number=40):
    return jnp.full(number, 1 / number)


def slow_shares(tree, x, share):
    """Weights that come to, and go right at, every inner node: row by row, node by node."""
    right = np.asarray(gate_probability(tree, x))
    stop = np.zeros(7) if tree.stop is None else np.asarray(tree.stop.probability(3))
    come = np.zeros((len(x), 15))
    come[:, 0] = 1
    for node in range(7):
        goes_on = come[:, node] * (1 - stop[node])
        come[:, 2 * node + 1], come[:, 2 * node + 2] = goes_on * (1 - right[:, node]), goes_on * right[:, node]
    mass = np.asarray(share) @ come
    return mass[1::2], mass[2::2]


@pytest.mark.parametrize("stops", [False, True])
def test_weights_beside_are_those_of_a_walk_of_every_row(stops):
    tree = init(dataclasses.replace(FORM, stops=stops), key=jax.random.key(0))
    share = jnp.asarray(np.random.default_rng(1).random(40), jnp.float32)
    for found, expected in zip(weights_beside(tree, rows(), share, 1.0), slow_shares(tree, rows(), share), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_balance_of_one_step_is_the_formula():
    tree = init(FORM, key=jax.random.key(0))
    left, right = slow_shares(tree, rows(), even())
    alpha, depth = right / (left + right), np.array([0, 1, 1, 2, 2, 2, 2])
    expected = np.sum(2.0**-depth * (-0.5 * np.log(alpha) - 0.5 * np.log(1 - alpha) - np.log(2)))
    found, _ = balance_penalty(tree, rows(), even(), 1.0, 8.0, no_shares(tree))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_balance_is_nothing_where_all_gates_are_even():
    tree = init(FORM, key=jax.random.key(0))
    flat = dataclasses.replace(tree, gate=jax.tree.map(jnp.zeros_like, tree.gate))
    assert abs(float(balance_penalty(flat, rows(), even(), 1.0, 8.0, no_shares(flat))[0])) < 1e-6


def test_running_shares_forget_the_root_sooner_than_deep_nodes():
    tree = init(FORM, key=jax.random.key(0))
    first, second = slow_shares(tree, rows(0), even()), slow_shares(tree, rows(1), even())
    shares = no_shares(tree)
    for seed in (0, 1):
        _, shares = balance_penalty(tree, rows(seed), even(), 1.0, 4.0, shares)
    kept = 1 - 1 / (4.0 * 2.0 ** np.array([0, 1, 1, 2, 2, 2, 2]))
    np.testing.assert_allclose(shares.left, kept * first[0] + second[0], rtol=1e-4)
    np.testing.assert_allclose(shares.right, kept * first[1] + second[1], rtol=1e-4)


def test_the_gradient_is_that_of_a_window_full_of_the_same_rows():
    """After many steps with the same rows the running penalty is the penalty of these rows, gradient and all."""
    tree = init(FORM, key=jax.random.key(0))

    def of_step(gate, shares):
        return balance_penalty(dataclasses.replace(tree, gate=gate), rows(), even(), 1.0, 5.0, shares)

    shares = no_shares(tree)
    for _ in range(60):
        shares = of_step(tree.gate, shares)[1]
    running = jax.grad(lambda gate: of_step(gate, shares)[0])(tree.gate)
    alone = jax.grad(lambda gate: of_step(gate, no_shares(tree))[0])(tree.gate)
    np.testing.assert_allclose(running.weight, alone.weight, rtol=1e-3, atol=1e-6)


def test_balance_makes_shares_even():
    tree = init(FORM, key=jax.random.key(3), inputs=rows() + 1)
    loss = jax.jit(
        jax.value_and_grad(
            lambda gate, shares: balance_penalty(
                dataclasses.replace(tree, gate=gate), rows(), even(), 1.0, 1.0, shares
            )[0]
        )
    )
    gate = tree.gate
    before = float(loss(gate, no_shares(tree))[0])
    for _ in range(200):
        gate = jax.tree.map(lambda old, slope: old - 0.3 * slope, gate, loss(gate, no_shares(tree))[1])
    assert float(loss(gate, no_shares(tree))[0]) < before / 20


def test_a_node_without_rows_makes_no_nan():
    tree = init(dataclasses.replace(FORM, step="smooth_step"), key=jax.random.key(0))
    one_way = dataclasses.replace(tree, gate=tree.gate._replace(bias=jnp.full(7, 100.0)))
    slope = jax.grad(
        lambda gate: balance_penalty(
            dataclasses.replace(one_way, gate=gate), rows(), even(), 1.0, 8.0, no_shares(tree)
        )[0]
    )(one_way.gate)
    assert all(np.isfinite(part).all() for part in jax.tree.leaves(slope))


def test_feature_penalties_of_worked_weights():
    tree = init(SoftForm(depth=1, num_features=4, num_outputs=2), key=jax.random.key(0))

    def of(*weight):
        return dataclasses.replace(tree, gate=tree.gate._replace(weight=jnp.array([weight])))

    assert float(feature_l1(of(1.0, -2.0, 0.0, 0.5))) == pytest.approx(3.5)
    assert float(feature_entropy(of(3.0, 0.0, 0.0, 0.0))) == pytest.approx(0, abs=1e-6)
    assert float(feature_entropy(of(1.0, -1.0, 1.0, 1.0))) == pytest.approx(np.log(4), rel=1e-5)


def test_entropy_of_axis_gates_is_that_of_their_selectors():
    form = SoftForm(depth=1, num_features=4, num_outputs=2, gate="axis")
    tree = init(form, key=jax.random.key(0))
    share = np.asarray(jax.nn.softmax(tree.gate.selection[0]))
    assert float(feature_entropy(tree)) == pytest.approx(-np.sum(share * np.log(share)), rel=1e-4)
    with pytest.raises(InvalidInputError, match="feature_entropy"):
        feature_l1(tree)


def test_leaf_decay_counts_values_and_linear_weights():
    tree = init(dataclasses.replace(FORM, leaf="linear"), key=jax.random.key(0))
    leaf = jax.tree.map(lambda part: jnp.full_like(part, 2.0), tree.leaf)
    assert float(leaf_decay(dataclasses.replace(tree, leaf=leaf))) == pytest.approx(4 * (2 + 8) / 2)


def test_penalties_add_up_and_no_penalty_needs_no_tree():
    tree = init(FORM, key=jax.random.key(0))
    both, _ = penalty(tree, rows(), even(), 1.0, Penalties(feature_l1=0.5, leaf_decay=2.0), None)
    assert float(both) == pytest.approx(0.5 * float(feature_l1(tree)) + 2 * float(leaf_decay(tree)), rel=1e-5)
    assert float(penalty({"any": 1.0}, rows(), even(), 1.0, Penalties(), None)[0]) == 0
    with pytest.raises(InvalidInputError, match="dict"):
        penalty({"any": 1.0}, rows(), even(), 1.0, Penalties(leaf_decay=1.0), None)


def test_shares_of_stacked_trees_have_an_axis_of_trees():
    trees = jax.vmap(lambda key: init(FORM, key=key))(jax.random.split(jax.random.key(0), 3))
    assert no_shares(trees).left.shape == (3, 7)
    total, shares = penalty(trees, rows(), even(), 1.0, Penalties(balance=1.0), no_shares(trees))
    first = jax.tree.map(lambda part: part[0], trees)
    assert isinstance(shares, Shares) and total.shape == ()
    alone = balance_penalty(first, rows(), even(), 1.0, 8.0, no_shares(first))[1]
    np.testing.assert_allclose(shares.left[0], alone.left, rtol=1e-5)
