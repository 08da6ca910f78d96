"""Hard gates: the forward pass is a hard tree, and gradients are those of shares."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import jaxtree
from jaxtree.boosting import squared
from jaxtree.errors import InvalidInputError
from jaxtree.soft import SoftForm, SoftTree, TrainingConfig, apply, fit_inputs, harden, init, make_rows, train
from jaxtree.soft.choices import CHOICES
from jaxtree.soft.gates import HardGate
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.model import Leaf
from jaxtree.soft.sides import SIDES
from jaxtree.soft.walk import hard_leaves
from jaxtree.table import Encoder
from tests.soft.tables import mixed_table

# The power of the entropy that each map is regularised by.
POWERS = {"entmax15": 2, "sparsemax": 1}


@pytest.mark.parametrize("name", CHOICES)
def test_shares_are_of_the_simplex_and_have_their_gradients(name):
    logits = jax.random.normal(jax.random.key(0), (6, 7)) * 2
    shares = CHOICES[name](logits)
    assert (np.asarray(shares) >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(CHOICES[name](logits + 5), shares, atol=1e-6)
    check_grads(CHOICES[name], (logits,), order=1, modes=("fwd", "rev"), atol=0.02, rtol=0.02)


@pytest.mark.parametrize("name", POWERS)
def test_sparse_shares_are_those_of_a_search_for_the_threshold(name):
    logits = np.random.default_rng(1).normal(size=(20, 9)) * 2
    power = POWERS[name]
    scaled = logits / power
    low, high = scaled.max(axis=1) - 1, scaled.max(axis=1)
    for _ in range(60):
        middle = (low + high) / 2
        is_low = (np.maximum(scaled - middle[:, None], 0) ** power).sum(axis=1) >= 1
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    expected = np.maximum(scaled - low[:, None], 0) ** power
    np.testing.assert_allclose(CHOICES[name](jnp.asarray(logits)), expected, atol=1e-5)
    assert (expected == 0).any(axis=1).all()


@pytest.mark.parametrize("name", SIDES)
def test_sides_are_shares_around_a_half(name):
    value = (jnp.arange(15) - 7) / 2.2
    share = SIDES[name](value)
    assert share[7] == 0.5 and (np.diff(share) >= 0).all() and (np.diff(share[4:11]) > 0).all()
    np.testing.assert_allclose(share + share[::-1], 1, atol=1e-6)
    check_grads(SIDES[name], (value,), order=1, modes=("fwd", "rev"), atol=0.02, rtol=0.02)


def test_an_entmoid_is_the_entmax_of_two():
    value = jnp.linspace(-3, 3, 25)
    both = CHOICES["entmax15"](jnp.stack([value, jnp.zeros_like(value)], axis=1))[:, 0]
    np.testing.assert_allclose(SIDES["entmoid"](value), both, atol=1e-6)


def read_mixed(scaling):
    X, _ = mixed_table(240, 0, missing=0.1)
    encoder = Encoder().fit(X)
    values = encoder.values(X)
    return values, fit_inputs(values, encoder.schema_, scaling=scaling, indicators="all")


@pytest.mark.parametrize("oblivious", [False, True])
@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_the_forward_pass_is_the_hardened_tree_after_every_epoch(scaling, oblivious):
    values, inputs = read_mixed(scaling)
    x = inputs.transform(values)
    draw = np.random.default_rng(0)
    y = (x[:, 0] > 0) + (x[:, 1] > x[:, 2]) + draw.normal(size=len(x))
    form = SoftForm(3, inputs.num_features, 1, gate="hard", missing=inputs.missing, oblivious=oblivious)
    state = init(form, key=jax.random.key(0), inputs=x)
    rows, config = make_rows(x, y[:, None]), TrainingConfig(loss=squared(), batch_size=32)
    sample = SoftSample(values, y[:, None], np.ones(len(x)))
    seen = set()
    for epoch in range(5):
        trained = train(state, rows, key=jax.random.key(epoch), num_epochs=1, config=config)
        state = trained.progress
        outputs = np.asarray(jax.jit(apply)(trained.model, x))
        leaves = hard_leaves(trained.model, x)
        np.testing.assert_array_equal(outputs, np.asarray(trained.model.leaf.value)[leaves])
        # Leaves of the hard tree are in another order, and those that no row reaches are not there.
        hard = harden(trained.model, inputs, sample, refit=False)
        assert len(np.unique(leaves)) == hard.tree.n_leaves
        pairs = np.unique(np.stack([leaves, hard.tree.apply(values)]), axis=1)
        assert pairs.shape[1] == hard.tree.n_leaves
        seen.add(tuple(leaves))
    assert len(seen) > 1


def test_gradients_reach_columns_that_are_not_chosen():
    form = SoftForm(1, 2, 1, gate="hard")
    gate = HardGate(jnp.array([[0.3, 0.0]]), jnp.zeros((1, 2)), None)
    tree = SoftTree(gate, Leaf(jnp.array([[-1.0], [1.0]]), None), form)
    x = jnp.array([[0.5, -1.0], [-0.5, 1.0]])
    np.testing.assert_array_equal(apply(tree, x), [[1.0], [-1.0]])
    slope = jax.grad(lambda tree: jnp.sum(apply(tree, x)[:, 0] * jnp.array([-1.0, 1.0])))(tree)
    assert slope.gate.selection[0, 1] > 0 > slope.gate.selection[0, 0]


def test_a_column_and_its_parameters_may_stand_anywhere():
    form = SoftForm(3, 5, 2, gate="hard")
    x = np.random.default_rng(3).normal(size=(50, 5)).astype(np.float32)
    tree, order = init(form, key=jax.random.key(1), inputs=x), np.array([3, 1, 4, 0, 2])
    moved = HardGate(tree.gate.selection[:, order], tree.gate.threshold[:, order], None)
    there = SoftTree(moved, tree.leaf, form)
    np.testing.assert_array_equal(apply(tree, x), apply(there, x[:, order]))


@pytest.mark.parametrize("depth", [1, 2])
def test_restarts_find_the_best_tree_of_few_leaves(depth):
    """The best of all trees, by an exhaustive search."""
    draw = np.random.default_rng(0)
    X = draw.integers(0, 6, (150, 3)).astype(float)
    y = np.where(X[:, 1] > 2, 3.0, 0.0) + np.where(X[:, 2] > 3, 1.0, 0.0) * (X[:, 1] > 2) + 0.1 * draw.normal(size=150)
    best = jaxtree.OptimalTreeRegressor(max_depth=depth).fit(X, y)
    options = {"gate": "hard", "n_restarts": 8, "noise": None, "max_epochs": 400, "averaging": 0.9, "random_state": 0}
    hard = jaxtree.SoftTreeRegressor(depth=depth, **options).fit(X, y).harden()
    assert hard.score(X, y) > best.score(X, y) - 1e-3


@pytest.mark.parametrize("oblivious", [False, True])
def test_training_begins_with_a_grown_tree(oblivious):
    X, score = mixed_table(200, 0, missing=0.1)
    y = score > 4
    grown = jaxtree.DecisionTreeClassifier(max_depth=3, min_samples_leaf=10).fit(X, y)
    still = {"gate_rate": 1e-12, "leaf_rate": 1e-12, "averaging": 0.0, "max_epochs": 1, "random_state": 0}
    soft = jaxtree.SoftTreeClassifier(gate="hard", init=grown, oblivious=oblivious, **still)
    if oblivious:
        with pytest.raises(InvalidInputError, match="init has a gate for every node"):
            soft.fit(X, y)
        return
    new, _ = mixed_table(200, 1, missing=0.1)
    for rows in (X, new):
        np.testing.assert_array_equal(soft.fit(X, y).predict(rows), grown.predict(rows))
    tuned = soft.set_params(gate_rate=0.05, leaf_rate=0.1, max_epochs=40, validation_fraction=0.2).fit(X, y)
    assert isinstance(tuned.harden(), jaxtree.DecisionTreeClassifier)
