"""A tree that balances CartPole: the physics, its gradients, and a short training."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.differentiable.policy import (
    ACTIONS,
    AXIS,
    FORM,
    LIMITS,
    NAMES,
    UNITS,
    WAYS,
    act,
    as_table,
    cost,
    first_tree,
    in_words,
    learn,
    made_hard,
    move,
    run_episodes,
    train,
)
from jaxtree import soft
from jaxtree.soft.gates import HardGate
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.model import Leaf
from jaxtree.table import Encoder


def tree_of(columns, thresholds, moves):
    """A tree of hard gates, its thresholds in units of the states; moves from left to right are 0 or 1."""
    threshold = np.repeat(np.asarray(thresholds)[:, None], 4, axis=1) / UNITS
    gate = HardGate(jnp.eye(4)[jnp.asarray(columns)], jnp.asarray(threshold, jnp.float32), None)
    return soft.SoftTree(gate, Leaf(jnp.eye(2)[jnp.asarray(moves)], None), FORM)


@pytest.fixture(scope="module")
def balancing():
    """Pushes towards the side to which the pole will lean: 500 steps, and two gates that no state needs."""
    return tree_of([2, 3, 3, 0, 0, 0, 0], [0, 0.45, -0.45, 9, 9, 9, 9], [0, 0, 1, 1, 0, 0, 1, 1])


def test_a_step_is_that_of_gymnasium():
    """From rest, and from a state in motion: `gymnasium.make("CartPole-v1").unwrapped` steps so."""
    np.testing.assert_allclose(move(jnp.zeros(4), 10.0), [0, 0.19512196, 0, -0.29268292], atol=1e-7)
    state = jnp.array([0.1, -0.2, 0.15, 0.3])
    np.testing.assert_allclose(move(state, -10.0), [0.096, -0.39690617, 0.156, 0.6359775], atol=1e-6)


def test_episodes_end_where_the_pole_has_fallen(balancing):
    steps, path = run_episodes(balancing, jax.random.key(0), 5)
    assert (steps == 500).all()
    assert (np.abs(np.asarray(path)) <= LIMITS).all()
    falling = tree_of([2] * 7, [0.0] * 7, [1] * 8)
    steps, path = run_episodes(falling, jax.random.key(0), 5)
    assert ((steps >= 8) & (steps <= 11)).all()
    states = np.asarray(path)
    for episode, number in enumerate(np.asarray(steps)):
        assert (np.abs(states[:number, episode]) <= LIMITS).all()
        assert (np.abs(states[number, episode]) > LIMITS).any()


def test_every_part_of_a_tree_has_a_slope():
    tree = soft.init(FORM, key=jax.random.key(0))
    states = jax.random.uniform(jax.random.key(1), (32, 4), minval=-0.5, maxval=0.5) * UNITS
    assert set(np.unique(act(tree, states)).tolist()) <= {-10.0, 10.0}
    for slope in jax.tree.leaves(jax.jit(jax.grad(cost))(tree, states)):
        assert np.isfinite(slope).all() and (np.asarray(slope) != 0).any()


def test_a_table_does_what_the_tree_does_and_has_no_gate_in_vain(balancing):
    table, agreement = as_table(balancing)
    assert agreement == 1
    assert in_words(table) == [
        f"{NAMES[2]} <= 0.000",
        f"|   {NAMES[3]} <= 0.450: push {ACTIONS[0]}",
        f"|   {NAMES[3]} > 0.450: push {ACTIONS[1]}",
        f"{NAMES[2]} > 0.000",
        f"|   {NAMES[3]} <= -0.450: push {ACTIONS[0]}",
        f"|   {NAMES[3]} > -0.450: push {ACTIONS[1]}",
    ]


def test_axis_gates_are_made_hard_as_by_harden():
    tree = soft.init(AXIS, key=jax.random.key(0), inputs=jax.random.normal(jax.random.key(1), (50, 4)))
    values = np.random.default_rng(0).normal(size=(200, 4))
    encoder = Encoder().fit(values)
    rows = SoftSample(values, np.zeros((200, 1), int), np.ones(200))
    inputs = soft.fit_inputs(values, encoder.schema_, scaling="none")
    hardened = soft.harden(tree, inputs, rows, num_classes=(2,), refit=False).tree
    hard = made_hard(tree, 1.0)
    np.testing.assert_allclose(soft.apply(hard, values), hardened.value[hardened.apply(values), 0], atol=1e-6)


def test_training_makes_policies_better():
    """One start and 60 steps a seed, eight seeds as one program."""

    def both(key):
        trees = first_tree(jax.random.split(key)[0], FORM), train(key, WAYS["hard"], 60)
        return [jnp.mean(run_episodes(tree, jax.random.key(3), 20)[0]) for tree in trees]

    before, after = jax.jit(jax.vmap(both))(jax.random.split(jax.random.key(0), 8))
    assert np.mean(after) > 2 * np.mean(before), (before, after)


@pytest.mark.slow
def test_eight_leaves_balance_the_pole():
    program = jax.jit(jax.vmap(functools.partial(learn, way=WAYS["hard"])))
    _, steps = program(jax.random.split(jax.random.key(1), 4))
    assert np.median(steps) == 500
