"""Probabilities to stop at inner nodes, and their training."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree import dropout
from jaxtree.errors import InvalidInputError
from jaxtree.soft import SoftForm, apply, init, node_probability, with_dropout, with_rates
from jaxtree.soft.stops import DropoutStop, LevelStop, NodeStop, dropout_rates, levels

FORM = SoftForm(depth=3, num_features=2, num_outputs=1, stops=True)


def a_tree(stop=None):
    tree = init(FORM, key=jax.random.key(0))
    return tree if stop is None else dataclasses.replace(tree, stop=stop)


@pytest.mark.parametrize(("p", "q"), [(0.0, 0.0), (0.2, 0.5), (0.5, 1.0), (1.0, 3.0), (0.0, 1e30)])
def test_the_rates_are_those_of_dropout_pruning(p, q):
    depth = np.arange(1, 12)
    np.testing.assert_allclose(dropout_rates(depth, p, q), dropout.collapse_probability(depth, p, q), rtol=1e-5)
    slopes = jax.jacobian(dropout_rates, argnums=(1, 2))(depth, p, q)
    assert all(np.isfinite(slope).all() for slope in slopes)
    if q < 1e3:
        others = jax.jacobian(dropout.collapse_probability, argnums=(1, 2))(depth, p, q)
        for slope, other in zip(slopes, others, strict=True):
            np.testing.assert_allclose(slope, other, rtol=1e-4)


def test_the_root_never_stops_rows_by_dropout():
    assert levels(3).tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert dropout_rates(levels(3), 1.0, 0.0).tolist() == [0, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "stop",
    [
        NodeStop(jnp.linspace(-3.0, 3.0, 7)),
        LevelStop(jnp.array([-1.0, 0.5])),
        DropoutStop(jnp.array(-1.0), jnp.array(0.3)),
    ],
    ids=lambda stop: type(stop).__name__,
)
def test_a_row_ends_somewhere(stop):
    tree, x = a_tree(stop), np.random.default_rng(0).normal(size=(5, 2))
    ends = np.asarray(node_probability(tree, x))
    np.testing.assert_allclose(ends.sum(axis=1), 1, atol=1e-6)
    rate = np.asarray(tree.stop.probability(3))
    np.testing.assert_allclose(ends[:, 0], rate[0], atol=1e-6)
    comes = ends[:, 1] + ends[:, 3] + ends[:, 4] + ends[:, 7:11].sum(axis=1)  # at node 1
    np.testing.assert_allclose(ends[:, 1], comes * rate[1], atol=1e-6)
    slopes = jax.grad(lambda tree: apply(tree, x).sum())(tree).stop
    assert all(np.isfinite(slope).all() and (np.asarray(slope) != 0).any() for slope in slopes)


def test_rates_of_levels_and_of_all_nodes_agree():
    p, q = 0.3, 0.6
    x = np.random.default_rng(1).normal(size=(4, 2))
    by_rates = apply(with_dropout(a_tree(), p, q), x)
    logit = jnp.log(jnp.array([p, p * (1 + q)]) / (1 - jnp.array([p, p * (1 + q)])))
    np.testing.assert_allclose(apply(a_tree(LevelStop(logit)), x), by_rates, rtol=1e-5)
    stop = DropoutStop(jnp.log(p / (1 - p)), jnp.log(q))
    np.testing.assert_allclose(apply(a_tree(stop), x), by_rates, rtol=1e-5)
    np.testing.assert_allclose(apply(with_rates(a_tree(), dropout_rates(levels(3), p, q)), x), by_rates, rtol=1e-6)


@pytest.mark.parametrize("together", [False, True])
def test_p_and_q_are_trained(together):
    """Alone they come back from what a tree with other rates says; with gates and leaves the error falls."""
    x = jnp.asarray(np.random.default_rng(2).normal(size=(64, 2)))
    told = apply(a_tree(DropoutStop(jnp.array(-0.5), jnp.array(-0.5))), x)
    tree = a_tree(DropoutStop(jnp.array(-2.0), jnp.array(-1.5)))
    optimiser = optax.adam(0.05)

    def error(trained, tree):
        return jnp.mean(jnp.square(apply(trained if together else dataclasses.replace(tree, stop=trained), x) - told))

    @jax.jit
    def step(trained, state):
        loss, slope = jax.value_and_grad(error)(trained, tree)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(trained, change), state, loss

    trained = tree if together else tree.stop
    state, losses = optimiser.init(trained), []
    for _ in range(300):
        trained, state, loss = step(trained, state)
        losses.append(float(loss))
    assert losses[-1] < 0.01 * losses[0]
    if together:
        assert float(trained.stop.p_logit) != -2 and (trained.gate.bias != tree.gate.bias).any()
    else:
        np.testing.assert_allclose([trained.p_logit, trained.q_log], -0.5, atol=0.05)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InvalidInputError, match="one an inner node"):
        with_rates(a_tree(), jnp.zeros(3))
    with pytest.raises(InvalidInputError, match=r"form.stops"):
        with_dropout(init(dataclasses.replace(FORM, stops=False), key=jax.random.key(0)), 0.1)
