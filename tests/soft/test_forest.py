"""Forests: means and mixtures of trees, beside the trees one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting import squared
from jaxtree.errors import InvalidInputError
from jaxtree.soft import apply
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, make_rows
from jaxtree.soft.forest import (
    LeafWeights,
    Mixing,
    SoftForest,
    TreeWeights,
    apply_forest,
    forest_log_mixture,
    hide_columns,
    init_forest,
    log_tree_weights,
    mix,
)
from jaxtree.soft.form import SoftForm
from jaxtree.soft.model import log_mixture, node_probability
from jaxtree.soft.on_host import outputs_on_host
from jaxtree.soft.rates import LearningRates
from jaxtree.soft.training import train

FORM = SoftForm(depth=2, num_features=3, num_outputs=4)


def a_forest(mixture):
    forest = init_forest(FORM, num_trees=3, mixture=mixture, key=jax.random.key(0))
    if mixture == "mean":
        return forest
    draw = np.random.default_rng(1)
    if mixture == "by_tree":
        return SoftForest(forest.trees, TreeWeights(jnp.asarray(draw.normal(size=3))))
    return SoftForest(forest.trees, Mixing(jnp.asarray(draw.normal(size=(3, 3))), jnp.asarray(draw.normal(size=3))))


def each_tree(forest):
    return [jax.tree.map(lambda part, number=number: part[number], forest.trees) for number in range(3)]


def slow_weights(forest, x):
    if forest.mixing is None:
        return np.full((len(x), 3), 1 / 3)
    if isinstance(forest.mixing, TreeWeights):
        weight = np.exp(np.tile(forest.mixing.logit, (len(x), 1)))
        return weight / weight.sum(axis=1, keepdims=True)
    weight = np.exp(x @ np.asarray(forest.mixing.weight) + np.asarray(forest.mixing.bias))
    return weight / weight.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("mixture", ["mean", "learned", "by_tree"])
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
@pytest.mark.parametrize("gate", ["oblique", "hard"])
def test_weights_are_those_of_the_leaves_that_a_row_reaches(gate):
    form, draw = SoftForm(2, 3, 4, gate=gate), np.random.default_rng(2)
    x = draw.normal(size=(20, 3)).astype(np.float32)
    plain = init_forest(form, num_trees=3, mixture="by_leaf", key=jax.random.key(0), inputs=x)
    logit = draw.normal(size=(3, 4)).astype(np.float32)
    forest = SoftForest(plain.trees, LeafWeights(jnp.asarray(logit)))
    reach = [np.asarray(node_probability(tree, x)) for tree in each_tree(forest)]
    weight = np.exp([share @ own for share, own in zip(reach, logit, strict=True)])
    said = [share @ np.asarray(tree.leaf.value) for share, tree in zip(reach, each_tree(forest), strict=True)]
    expected = np.einsum("tr,tro->ro", weight / weight.sum(axis=0), said)
    np.testing.assert_allclose(apply_forest(forest, x), expected, rtol=1e-4, atol=1e-5)
    shuffled = jax.tree.map(lambda part: part[jnp.array([2, 0, 1])], forest)
    np.testing.assert_allclose(apply_forest(shuffled, x), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        outputs_on_host(jax.tree.map(np.asarray, forest), x, 1.0, of_classes=False), expected, rtol=1e-4, atol=1e-5
    )


def test_trees_see_some_columns_alone():
    form = SoftForm(2, 10, 1, gate="hard")
    trees = hide_columns(init_forest(form, num_trees=8, key=jax.random.key(0)).trees, 0.3, key=jax.random.key(1))
    is_seen = np.asarray(trees.gate.selection) > -100
    assert (is_seen.sum(axis=2) == 3).all() and (is_seen == is_seen[:, :1]).all()
    assert len(np.unique(is_seen[:, 0], axis=0)) > 1
    draw = np.random.default_rng(0)
    x = draw.normal(size=(200, 10)).astype(np.float32)
    forest = mix(trees, "by_leaf")
    trained = train(
        forest,
        make_rows(x, x[:, :1]),
        key=jax.random.key(2),
        num_epochs=5,
        config=TrainingConfig(loss=squared(), predict=apply_forest),
    )
    chosen = np.asarray(trained.model.trees.gate.selection).argmax(axis=2)
    assert np.take_along_axis(is_seen, chosen[..., None], axis=2).all()
    with pytest.raises(InvalidInputError, match="oblique gates look at all columns"):
        hide_columns(init_forest(FORM, num_trees=2, key=jax.random.key(0)).trees, 0.5, key=jax.random.key(1))


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
    with pytest.raises(InvalidInputError, match="'learned', 'by_tree', 'by_leaf', got 'best'"):
        init_forest(FORM, num_trees=2, mixture="best", key=jax.random.key(0))
    with pytest.raises(InvalidInputError, match="at least 1, got 0"):
        init_forest(FORM, num_trees=0, key=jax.random.key(0))


def test_trees_that_do_not_count_share_out_their_weights():
    forest = mix(init_forest(FORM, num_trees=3, key=jax.random.key(0)).trees, "by_leaf")
    x = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    kept = jnp.asarray(np.tile([True, False, True], (6, 1)))
    two = jax.tree.map(lambda part: part[np.array([0, 2])], forest)
    np.testing.assert_allclose(apply_forest(forest, x, kept=kept), apply_forest(two, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["drop_rate", "subsample"])
def test_trees_are_left_out_in_training(name):
    x = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    forest = init_forest(SoftForm(2, 3, 1), num_trees=4, mixture="by_leaf", key=jax.random.key(0))
    config = TrainingConfig(loss=squared(), predict=apply_forest, batch_size=32)
    rows, trained = make_rows(x, x[:, :1]), {}
    for share in (0.0 if name == "drop_rate" else 1.0, 0.5, 0.5):
        numbers = Hyperparameters(**{name: share})
        made = train(forest, rows, key=jax.random.key(1), num_epochs=3, config=config, hyperparameters=numbers)
        trained.setdefault(share, []).append(np.asarray(made.model.trees.leaf.value))
    np.testing.assert_array_equal(*trained[0.5])
    plain = train(forest, rows, key=jax.random.key(1), num_epochs=3, config=config).model.trees.leaf.value
    whole = next(values[0] for share, values in trained.items() if share != 0.5)
    np.testing.assert_allclose(whole, plain, rtol=1e-4, atol=1e-5)
    assert np.abs(trained[0.5][0] - plain).max() > 1e-3
