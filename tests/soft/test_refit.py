"""Ends in closed form beside counts, means and least squares made by hand."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.soft import SoftForm, apply, init, node_probability
from jaxtree.soft import refit as refit_module
from jaxtree.soft.courses import make_rows
from jaxtree.soft.refit import made_hard, refit_least_squares, refit_means, refit_shares

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(300, 3)).astype(np.float32)
WEIGHT = DRAW.random(300).astype(np.float32)
LABEL = DRAW.integers(0, 4, 300)
NUMBER = DRAW.normal(size=(300, 2)).astype(np.float32)
FORM = SoftForm(depth=3, num_features=3, num_outputs=4)


def a_tree(**changes):
    return init(dataclasses.replace(FORM, **changes), key=jax.random.key(1))


def leaf_of_rows(tree):
    """Walks of all rows with the gates' planes."""
    value = X @ np.asarray(tree.gate.weight).T + np.asarray(tree.gate.bias)
    node = np.zeros(300, int)
    for _ in range(3):
        node = 2 * node + 1 + (value[np.arange(300), node] > 0)
    return node - 7


def test_shares_of_hard_decisions_are_smoothed_counts():
    tree = a_tree()
    leaf, before = leaf_of_rows(tree), jax.nn.softmax(tree.leaf.value)
    count = np.zeros((8, 4))
    np.add.at(count, (leaf, LABEL), WEIGHT)
    expected = (count + 2 * np.asarray(before)) / (count.sum(axis=1, keepdims=True) + 2)
    found = refit_shares(made_hard(tree), make_rows(X, LABEL, WEIGHT), smoothing=2.0)
    np.testing.assert_allclose(jnp.exp(found.leaf.value), expected, rtol=1e-4)


def test_shares_of_soft_decisions_are_weighted_by_the_path():
    tree = a_tree()
    reach = np.asarray(node_probability(tree, X, temperature=0.5)) * WEIGHT[:, None]
    count = reach.T @ np.eye(4)[LABEL]
    found = refit_shares(tree, make_rows(X, LABEL, WEIGHT), temperature=0.5, smoothing=1e-6)
    np.testing.assert_allclose(jnp.exp(found.leaf.value), count / count.sum(axis=1, keepdims=True), rtol=1e-4)


def test_means_of_hard_decisions_and_of_empty_leaves():
    tree = a_tree(num_outputs=2)
    tree = dataclasses.replace(tree, gate=tree.gate._replace(bias=tree.gate.bias.at[2].set(100.0)))
    leaf = leaf_of_rows(tree)
    found = refit_means(made_hard(tree), make_rows(X, NUMBER, WEIGHT)).leaf.value
    for number in range(8):
        here = leaf == number
        expected = np.average(NUMBER[here], axis=0, weights=WEIGHT[here]) if here.any() else tree.leaf.value[number]
        np.testing.assert_allclose(found[number], expected, rtol=1e-3, atol=1e-5)
    assert not (leaf == 4).any(), "the case of an empty leaf is there"


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("is_hard", [False, True])
def test_least_squares_cannot_be_bettered(leaf, is_hard):
    tree = a_tree(num_outputs=2, leaf=leaf)
    tree = made_hard(tree) if is_hard else tree
    found = refit_least_squares(tree, make_rows(X, NUMBER, WEIGHT), temperature=0.7, ridge=1e-2)

    def loss(leaf):
        error = apply(dataclasses.replace(found, leaf=leaf), X, temperature=0.7) - NUMBER
        return jnp.sum(WEIGHT[:, None] * error**2) + 1e-2 * sum(jnp.sum(part**2) for part in jax.tree.leaves(leaf))

    slope = jax.grad(loss)(found.leaf)
    assert max(float(jnp.abs(part).max()) for part in jax.tree.leaves(slope)) < 2e-3 * float(loss(found.leaf))
    assert float(loss(found.leaf)) < float(loss(tree.leaf))


def test_linear_leaves_of_hard_decisions_find_planted_models():
    tree = made_hard(a_tree(num_outputs=1, leaf="linear", depth=1))
    side = np.asarray(X @ np.asarray(tree.gate.weight[0]) + np.asarray(tree.gate.bias[0]) > 0)
    planted = np.where(side, X @ [1.0, 2.0, 0.0] + 1, X @ [0.0, -1.0, 3.0])[:, None]
    found = refit_least_squares(tree, make_rows(X, planted), ridge=1e-6)
    np.testing.assert_allclose(found.leaf.weight[1, :, 0], [1, 2, 0], atol=1e-2)
    np.testing.assert_allclose(found.leaf.value[:, 0], [0, 1], atol=1e-2)


def test_wrong_leaves_and_sizes_are_named(monkeypatch):
    linear = a_tree(leaf="linear")
    with pytest.raises(InvalidInputError, match="refit_least_squares"):
        refit_shares(linear, make_rows(X, LABEL))
    monkeypatch.setattr(refit_module, "MOST_COLUMNS", 10)
    with pytest.raises(InvalidInputError, match="up to 10 parameters an output, got 32"):
        refit_least_squares(linear, make_rows(X, NUMBER))
