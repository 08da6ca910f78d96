"""Models next to other libraries of JAX: in modules of equinox and flax, and in checkpoints."""

import dataclasses

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import optax
import pytest
from safetensors.numpy import load, save

from jaxtree import ExplainableBoostingRegressor
from jaxtree.functional import Boosting, Hyper, bins, fit, tree
from jaxtree.growth import Limits, Numbers
from tests.functional.tables import BINS, FORM, ROUNDS, squares, table


@pytest.fixture(autouse=True)
def unchecked_shapes():
    """Other libraries make pytrees of booleans and descriptions, which have no shapes to be checked."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


def fitted():
    _, codes, y = table()
    return fit(squares, ROUNDS, FORM)(codes, y), codes


def test_checkpoints_of_safetensors():
    model, codes = fitted()
    leaves, structure = jax.tree.flatten(model)
    kept = load(save({str(place): np.asarray(leaf) for place, leaf in enumerate(leaves)}))
    again = jax.tree.unflatten(structure, [kept[str(place)] for place in range(len(leaves))])
    np.testing.assert_array_equal(again(codes), model(codes))


def test_checkpoints_of_orbax(tmp_path):
    """A state goes on where it was kept; orbax keeps no arrays without elements."""
    checkpoints, eqx = pytest.importorskip("orbax.checkpoint"), pytest.importorskip("equinox")
    _, codes, y = table()
    step = lambda state: FORM.update(state, state.scores - y, None)  # noqa: E731
    state = step(FORM.init(codes, 2))
    kept, empty = eqx.partition(state, lambda own: own.size > 0)
    with checkpoints.StandardCheckpointer() as keeper:
        keeper.save(tmp_path / "state", kept)
        keeper.wait_until_finished()
        again = eqx.combine(keeper.restore(tmp_path / "state", jax.tree.map(jnp.zeros_like, kept)), empty)
    assert repr(again) == repr(state)
    np.testing.assert_array_equal(step(again).scores, step(state).scores)


@pytest.mark.parametrize("compiled", [False, True])
def test_modules_of_equinox_take_models(compiled):
    eqx = pytest.importorskip("equinox")
    model, codes = fitted()
    _, _, y = table()

    class Sum(eqx.Module):
        stack: object
        inner: eqx.nn.Linear

        def __call__(self, codes):
            return self.stack(codes) + jax.vmap(self.inner)(codes.T / BINS)[:, 0]

    whole = Sum(model.stack, eqx.nn.Linear(len(codes), 1, key=jax.random.key(0)))
    loss = lambda whole: jnp.mean((whole(codes) - y) ** 2)  # noqa: E731
    slope = (eqx.filter_jit if compiled else lambda own: own)(eqx.filter_grad(loss))(whole)
    assert jnp.any(slope.inner.weight) and jnp.any(slope.stack.value)
    assert jax.tree.structure(eqx.filter(whole, eqx.is_inexact_array)) == jax.tree.structure(slope)
    optimiser = optax.sgd(0.01)
    changes, _ = optimiser.update(slope, optimiser.init(eqx.filter(whole, eqx.is_inexact_array)))
    assert loss(eqx.apply_updates(whole, changes)) < loss(whole)


def test_modules_of_flax_take_models():
    nn = pytest.importorskip("flax.linen")
    model, codes = fitted()

    class Sum(nn.Module):
        @nn.compact
        def __call__(self, codes):
            value = self.param("value", lambda _: model.stack.value)
            return dataclasses.replace(model.stack, value=value)(codes) + nn.Dense(1)(codes.T / BINS)[:, 0]

    parameters = Sum().init(jax.random.key(0), codes)
    slope = jax.grad(lambda own: Sum().apply(own, codes).sum())(parameters)["params"]["value"]
    # Each of all rows ends in a leaf of each tree.
    assert slope.sum() == pytest.approx(ROUNDS * codes.shape[1])


def test_additive_curves_are_a_layer():
    """Batches train the curves of an additive model further, as part of another model."""
    X, _, y = table()
    model = ExplainableBoostingRegressor(interactions=0, max_bins=8, max_rounds=20).fit(X[::2], y[::2])
    curves, apply = model.functional()
    np.testing.assert_allclose(apply(curves, X), model.predict(X), rtol=1e-4, atol=1e-5)

    def loss(value, batch):
        scores = apply(dataclasses.replace(curves, value=value), X[batch::4])
        return jnp.mean((scores - y[batch::4]) ** 2)

    value, optimiser = curves.value, optax.adam(0.01)
    moments, slope = optimiser.init(value), jax.jit(jax.grad(loss), static_argnums=1)
    before = np.mean([loss(value, batch) for batch in range(4)])
    for number in range(20):
        changes, moments = optimiser.update(slope(value, number % 4), moments)
        value = optax.apply_updates(value, changes)
    assert np.mean([loss(value, batch) for batch in range(4)]) < before


def test_models_are_functions_of_programs():
    X, codes, y = table()
    model, edges = fitted()[0], bins(X, BINS)
    grown = tree(codes, y, Numbers(), Limits(max_depth=2))
    for function, rows in ((edges, X), (model, codes), (model.stack, codes), (grown, codes)):
        np.testing.assert_allclose(jax.jit(function)(rows), function(rows), rtol=1e-6, atol=1e-6)
    assert model != fitted()[0] and len({model, model.stack, edges}) == 3


def test_trees_go_on_with_other_batches():
    """Rounds on one batch after another lower the loss of all rows."""
    _, codes, y = table()
    form = Boosting(num_bins=BINS, num_leaves=4)
    state = form.init(codes[:, ::4], 12)

    @jax.jit
    def step(state, codes, target):
        state = form.on(state, codes)
        return form.update(state, state.scores - target, None, Hyper(0.3))

    losses = []
    for number in range(12):
        # The batches have one shape: all but the last two rows.
        batch = slice(number % 4, 440, 4)
        state = step(state, codes[:, batch], y[batch])
        losses.append(float(jnp.mean((form.apply(state, codes) - y) ** 2)))
    assert step._cache_size() <= 2 and losses[-1] < losses[3] < losses[0] < np.mean(y**2)
