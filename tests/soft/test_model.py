"""Probabilities of ends, gradients, and what a soft tree of each form says."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import collapse_probability
from jaxtree.soft import apply, init, with_dropout
from jaxtree.soft.form import SoftForm
from jaxtree.soft.gates import AxisGate, feature_shares, plane_values, planes_of
from jaxtree.soft.model import node_probability
from tests.marks import rest_is_slow, rows_are_slow

FORMS = [
    SoftForm(depth=3, num_features=4, num_outputs=2),
    SoftForm(depth=3, num_features=4, num_outputs=2, missing=((0,), (1,)), stops=True),
    SoftForm(depth=3, num_features=4, num_outputs=2, gate="axis", stops=True),
    SoftForm(depth=3, num_features=4, num_outputs=2, gate="axis", missing=((0,), (1,))),
]


def some_rows(form, num_rows=6, seed=1):
    """Rows, of which some lack a value."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(num_rows, form.num_features))
    first = form.num_features - len(form.missing)
    for indicator, features in enumerate(form.missing):
        is_missing = random.random(num_rows) < 0.4
        x[:, first + indicator] = is_missing
        for feature in features:
            x[is_missing, feature] = 0
    return x


# Each as one program, where operation by operation every one would be compiled.
told_by = jax.jit(apply)
ends_of = jax.jit(node_probability)
values_of = jax.jit(lambda tree, x, temperature: plane_values(planes_of(tree.gate, tree.form, temperature), x))


@functools.partial(jax.jit, static_argnums=0)
def new_tree(form, seed=0):
    return init(form, key=jax.random.key(seed))


@functools.partial(jax.jit, static_argnums=0)
def tree_of(form, seed=0):
    """A tree whose arrays are all at random."""
    tree = init(form, key=jax.random.key(seed))
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    noise = [0.3 * jax.random.normal(key, leaf.shape, leaf.dtype) for key, leaf in zip(keys, leaves, strict=True)]
    tree = jax.tree.unflatten(structure, [leaf + more for leaf, more in zip(leaves, noise, strict=True)])
    return with_stops(tree, jnp.abs(tree.leaf.stop).clip(max=1)) if form.stops else tree


def with_stops(tree, stop):
    return dataclasses.replace(tree, leaf=tree.leaf._replace(stop=stop))


def slow_prediction(tree, row, temperature):
    """One row, in float64, node by node; `missing` and shares of features are those of the definition."""
    form = tree.form
    gate, leaf = jax.tree.map(lambda array: np.asarray(array, np.float64), (tree.gate, tree.leaf.value))
    stop = np.asarray(tree.leaf.stop, np.float64) if form.stops else None
    indicators = row[form.num_features - len(form.missing) :]

    def to_the_right(node):
        z = gate.weight[node] @ row + gate.bias[node]
        z = z / temperature + (gate.missing[node] @ indicators if form.missing else 0.0)
        return 1 / (1 + np.exp(-z))

    def walk(node):
        if node >= form.num_inner:
            return leaf[node if form.stops else node - form.num_inner]
        right = to_the_right(node)
        below = (1 - right) * walk(2 * node + 1) + right * walk(2 * node + 2)
        return below if stop is None else stop[node] * leaf[node] + (1 - stop[node]) * below

    return walk(0)


@pytest.mark.parametrize("form", rest_is_slow([form for form in FORMS if form.gate == "oblique"]), ids=str)
def test_apply_is_what_the_definition_says(form):
    tree, x = tree_of(form), some_rows(form)
    slow = [slow_prediction(tree, row, 0.7) for row in x]
    np.testing.assert_allclose(told_by(tree, x, temperature=0.7), slow, atol=2e-6)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_probabilities_of_the_ends_sum_to_one(form):
    tree, x = tree_of(form), some_rows(form)
    probability = ends_of(tree, x, temperature=0.5)
    assert probability.shape == (len(x), form.num_ends)
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("form", rest_is_slow(FORMS, 2), ids=str)
def test_gradients_are_those_of_finite_differences(form):
    with jax.enable_x64(True):
        tree, x = tree_of(form), some_rows(form)
        flat, unravel = jax.flatten_util.ravel_pytree(tree)

        @jax.jit
        def loss(flat, x):
            return jnp.sum(jnp.sin(apply(unravel(flat), x, temperature=0.8)))

        slope, slope_of_x = map(np.asarray, jax.jit(jax.grad(loss, argnums=(0, 1)))(flat, x))
        flat = np.asarray(flat)
        for direction in np.random.default_rng(2).normal(size=(5, flat.size)):
            step = 1e-5 * direction
            difference = (loss(flat + step, x) - loss(flat - step, x)) / 2e-5
            np.testing.assert_allclose(slope @ direction, difference, rtol=1e-5, atol=1e-6)
        step = 1e-5 * np.random.default_rng(3).normal(size=x.shape)
        difference = (loss(flat, x + step) - loss(flat, x - step)) / 2e-5
        np.testing.assert_allclose(np.sum(slope_of_x * step) / 1e-5, difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("gate", rest_is_slow(["oblique", "axis"]))
def test_nothing_is_nan_in_deep_cold_trees_of_large_inputs(gate):
    form = SoftForm(depth=12, num_features=3, num_outputs=2, gate=gate, missing=((0,),), stops=True)
    tree = tree_of(form)
    x = np.array([[1e6, -1e6, 0.0], [-1e6, 1e6, 0.0], [0.0, 1e6, 1.0], [0.0, 0.0, 0.0], [1e-6, 1e6, 0.0]], np.float32)

    def loss(tree, x):
        told = apply(tree, x, temperature=1e-3)
        return jnp.sum(jnp.square(told)), told

    (value, told), slopes = jax.jit(jax.value_and_grad(loss, argnums=(0, 1), has_aux=True))(tree, x)
    assert np.isfinite(value) and np.isfinite(told).all()
    assert all(np.isfinite(slope).all() for slope in jax.tree.leaves(slopes))


def test_many_trees_are_one_call_and_say_what_each_says():
    form = FORMS[0]
    trees = jax.vmap(lambda key: init(form, key=key))(jax.random.split(jax.random.key(0), 3))
    x = some_rows(form)
    told = jax.jit(jax.vmap(apply, in_axes=(0, None)))(trees, x)
    for number in range(3):
        one = jax.tree.map(lambda array, number=number: array[number], trees)
        np.testing.assert_allclose(told[number], apply(one, x), atol=1e-6)
    products = str(jax.make_jaxpr(jax.vmap(apply, in_axes=(0, None)))(trees, x)).count("dot_general")
    assert products == 2  # the gates of all trees, and their leaves


def test_new_gates_pass_through_the_rows_given():
    form = SoftForm(depth=5, num_features=3, num_outputs=1)
    rows = np.random.default_rng(0).normal(1000.0, 1.0, (200, 3))
    tree = init(form, key=jax.random.key(0), inputs=rows)
    share = (np.asarray(plane_values(planes_of(tree.gate, form), jnp.asarray(rows, float))) > 0).mean(axis=1)
    assert ((share > 0) & (share < 1)).mean() > 0.9
    centre = init(form, key=jax.random.key(0))
    centred = plane_values(planes_of(centre.gate, form), jnp.asarray(rows, float))
    assert not ((np.asarray(centred) > 0).mean(axis=1) % 1).any()


def test_a_tree_has_the_type_of_its_parameters():
    form = FORMS[0]
    assert told_by(new_tree(form), some_rows(form)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert told_by(new_tree(form), some_rows(form)).dtype == jnp.float64


@pytest.mark.parametrize("wrong", [dict(depth=-1), dict(gate="plane"), dict(num_outputs=0), dict(missing=((0,),) * 4)])
def test_a_form_that_is_not_allowed_is_refused(wrong):
    with pytest.raises(InvalidInputError):
        SoftForm(**{**dict(depth=2, num_features=4, num_outputs=1), **wrong})


def test_shares_sum_to_one_and_end_with_one_feature():
    selection = jnp.asarray(np.random.default_rng(2).normal(size=(9, 6)), jnp.float32)
    np.testing.assert_allclose(feature_shares(selection).sum(axis=1), 1, rtol=1e-6)
    cold = feature_shares(selection, 1e-4)
    np.testing.assert_allclose(cold, jax.nn.one_hot(jnp.argmax(selection, axis=1), 6), atol=1e-6)


def test_shares_are_numbers_at_a_temperature_known_beforehand():
    """A compiler that knows the temperature may round products in one place and not in another."""
    selection = jnp.asarray(np.random.default_rng(2).normal(size=(9, 6)) + 10, jnp.float32)
    cold = jax.jit(lambda selection: feature_shares(selection, 1e-11))(selection)
    np.testing.assert_allclose(cold, jax.nn.one_hot(jnp.argmax(selection, axis=1), 6), atol=1e-6)


def test_only_what_is_known_is_compared():
    """A missing value leaves nothing but the gate's value for it, whatever the temperature."""
    form = SoftForm(depth=2, num_features=3, num_outputs=1, gate="axis", missing=((0,),))
    gate = AxisGate(
        selection=jnp.array([[50.0, 0.0, 0.0], [0.0, 50.0, 0.0], [0.0, 0.0, 50.0]]),
        threshold=jnp.array([3.0, -2.0, 0.0]),
        log_sharpness=jnp.array([1.0, 0.0, 0.0]),
        missing=jnp.array([[0.7], [0.9], [0.0]]),
    )
    tree = dataclasses.replace(new_tree(form), gate=gate)
    x = jnp.array([[5.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    for temperature in (1.0, 1e-6):
        value = np.asarray(values_of(tree, x, temperature))[:2]
        np.testing.assert_allclose(value[:, 0], [2 * np.e / temperature, 3 / temperature], rtol=1e-5)
        np.testing.assert_allclose(value[:, 1], [0.7, 3 / temperature], rtol=1e-5)


STOPPING = SoftForm(depth=3, num_features=2, num_outputs=1, stops=True)


@jax.jit
def stops(p, q):
    return with_dropout(new_tree(STOPPING), p, q).leaf.stop


@pytest.mark.parametrize(("p", "q"), rows_are_slow([(0.0, 0.0), (0.2, 0.5), (0.5, 1.0), (1.0, 3.0), (0.0, 1e30)], 3))
def test_the_stops_are_the_rates_of_dropout_pruning(p, q):
    stop = stops(p, q)
    assert stop[0] == 0, "the root never stops rows"
    np.testing.assert_allclose(stop[1:], collapse_probability(np.array([1, 1, 2, 2, 2, 2]), p, q), rtol=1e-6)
    assert all(np.isfinite(slope).all() for slope in jax.jit(jax.jacobian(stops, argnums=(0, 1)))(p, q))


def test_a_row_ends_somewhere():
    tree = with_stops(new_tree(STOPPING), np.linspace(0.05, 0.95, 7, dtype=np.float32))
    x = np.random.default_rng(0).normal(size=(5, 2))
    ends = np.asarray(ends_of(tree, x))
    np.testing.assert_allclose(ends.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(ends[:, 0], tree.leaf.stop[0], atol=1e-6)
    comes = ends[:, 1] + ends[:, 3] + ends[:, 4] + ends[:, 7:11].sum(axis=1)  # at node 1
    np.testing.assert_allclose(ends[:, 1], comes * tree.leaf.stop[1], atol=1e-6)
    slope = jax.jit(jax.grad(lambda tree: apply(tree, x).sum()))(tree).leaf.stop
    assert np.isfinite(slope).all() and (np.asarray(slope) != 0).any()


def test_p_and_q_come_back_from_the_output_of_a_tree_with_other_rates():
    x = jnp.asarray(np.random.default_rng(2).normal(size=(64, 2)))
    tree = new_tree(STOPPING)

    def output(parameters):
        return apply(with_dropout(tree, jax.nn.sigmoid(parameters[0]), jnp.exp(parameters[1])), x)

    wanted, optimiser = jax.jit(output)(jnp.array([-0.5, -0.5])), optax.adam(0.05)

    @jax.jit
    def step(parameters, state):
        slope = jax.grad(lambda parameters: jnp.mean(jnp.square(output(parameters) - wanted)))(parameters)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(parameters, change), state

    parameters = jnp.array([-2.0, -1.5])
    state = optimiser.init(parameters)
    for _ in range(300):
        parameters, state = step(parameters, state)
    np.testing.assert_allclose(parameters, -0.5, atol=0.05)


def test_a_tree_without_values_at_inner_nodes_has_no_dropout():
    with pytest.raises(InvalidInputError, match=r"form.stops"):
        with_dropout(new_tree(FORMS[0]), 0.1)
