"""Forests: means and mixtures of trees, beside the trees one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting import squared
from jaxtree.errors import InvalidInputError
from jaxtree.soft import apply
from jaxtree.soft.epochs import Hyperparameters, LearningRates, TrainingConfig, make_rows
from jaxtree.soft.forest import Mixing, SoftForest, apply_forest, forest_log_mixture, init_forest, log_tree_weights
from jaxtree.soft.model import SoftForm, log_mixture
from jaxtree.soft.training import train

FORM = SoftForm(depth=2, num_features=3, num_outputs=4)


def a_forest(mixture):
    forest = init_forest(FORM, num_trees=3, mixture=mixture, key=jax.random.key(0))
    if mixture == "mean":
        return forest
    draw = np.random.default_rng(1)
    return SoftForest(forest.trees, Mixing(jnp.asarray(draw.normal(size=(3, 3))), jnp.asarray(draw.normal(size=3))))


def each_tree(forest):
    return [jax.tree.map(lambda part, number=number: part[number], forest.trees) for number in range(3)]


def slow_weights(forest, x):
    if forest.mixing is None:
        return np.full((len(x), 3), 1 / 3)
    weight = np.exp(x @ np.asarray(forest.mixing.weight) + np.asarray(forest.mixing.bias))
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("mixture", ["mean", "learned"])
def test_a_forest_says_the_weighted_mean_of_its_trees(mixture):
    forest, x = a_forest(mixture), np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    weight = slow_weights(forest, x)
    trees = each_tree(forest)
    values = sum(weight[:, [t]] * np.asarray(apply(tree, x, temperature=0.5)) for t, tree in enumerate(trees))
    shares = sum(weight[:, [t]] * np.exp(log_mixture(tree, x, temperature=0.5)) for t, tree in enumerate(trees))
    np.testing.assert_allclose(apply_forest(forest, x, temperature=0.5), values, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jnp.exp(forest_log_mixture(forest, x, temperature=0.5)), shares, rtol=1e-4)
    np.testing.assert_allclose(jnp.exp(log_tree_weights(forest, x)), weight, rtol=1e-4)


@pytest.mark.slow
def test_a_learned_mixture_finds_where_each_tree_is_right():
    """Two trees that only say a constant: their mixture follows the row, their mean cannot."""
    form = SoftForm(depth=0, num_features=1, num_outputs=1)
    x = np.random.default_rng(0).uniform(-1, 1, size=(400, 1)).astype(np.float32)
    rows = make_rows(x, np.where(x > 0, 3.0, -3.0))
    config = TrainingConfig(loss=squared(), predict=apply_forest, batch_size=64)
    numbers = Hyperparameters(LearningRates(other=0.2))
    last = {}
    for mixture in ("mean", "learned"):
        forest = init_forest(form, num_trees=2, mixture=mixture, key=jax.random.key(3))
        trained = train(forest, rows, key=jax.random.key(0), num_epochs=40, config=config, hyperparameters=numbers)
        last[mixture] = trained.loss[-1]
    assert last["mean"] > 4 and last["learned"] < 0.4


def test_wrong_parameters_are_named():
    with pytest.raises(InvalidInputError, match="'mean', 'learned', got 'best'"):
        init_forest(FORM, num_trees=2, mixture="best", key=jax.random.key(0))
    with pytest.raises(InvalidInputError, match="at least 1, got 0"):
        init_forest(FORM, num_trees=0, key=jax.random.key(0))
