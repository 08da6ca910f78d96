"""Probabilities of ends, gradients, and what a soft tree of each form says."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.soft import SoftForm, apply, init, node_log_probability, node_probability
from jaxtree.soft.model import gate_probability

FORMS = [
    SoftForm(depth=3, num_features=4, num_outputs=2),
    SoftForm(depth=3, num_features=4, num_outputs=2, step="smooth_step", leaf="linear"),
    SoftForm(depth=3, num_features=4, num_outputs=2, missing=((0,), (1,)), stops=True),
    SoftForm(depth=3, num_features=4, num_outputs=2, gate="axis", stops=True, leaf="linear"),
    SoftForm(depth=3, num_features=4, num_outputs=2, gate="axis", selector="entmax", missing=((0,), (1,))),
    SoftForm(depth=3, num_features=4, num_outputs=2, gate="axis", selector="entmax", step="smooth_step"),
]
KINDS = [
    *(dict(gate="oblique", step=step) for step in ("sigmoid", "smooth_step", "hard")),
    *(
        dict(gate="axis", step=step, selector=selector)
        for step, selector in itertools.product(("sigmoid", "smooth_step", "hard"), ("softmax", "entmax", "onehot"))
    ),
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


def tree_of(form, seed=0):
    """A tree whose arrays are all at random."""
    tree = init(form, key=jax.random.key(seed))
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    noise = [0.3 * jax.random.normal(key, leaf.shape, leaf.dtype) for key, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, [leaf + more for leaf, more in zip(leaves, noise, strict=True)])


def slow_prediction(tree, row, temperature):
    """One row, in float64, node by node; `missing` and shares of features are those of the definition."""
    form = tree.form
    gate, leaf = jax.tree.map(lambda array: np.asarray(array, np.float64), (tree.gate, tree.leaf))
    stop = None if tree.stop is None else np.asarray(tree.stop.probability(form.depth), np.float64)
    indicators = row[form.num_features - len(form.missing) :]

    def to_the_right(node):
        z = gate.weight[node] @ row + gate.bias[node]
        z = z / temperature + (gate.missing[node] @ indicators if form.missing else 0.0)
        if form.step == "sigmoid":
            return 1 / (1 + np.exp(-z))
        return 0.0 if z <= -0.5 else 1.0 if z >= 0.5 else -2 * z**3 + 1.5 * z + 0.5

    def says(end):
        linear = 0.0 if leaf.weight is None else row @ leaf.weight[end]
        return leaf.value[end] + linear

    def walk(node):
        if node >= form.num_inner:
            return says(node if form.stops else node - form.num_inner)
        right = to_the_right(node)
        below = (1 - right) * walk(2 * node + 1) + right * walk(2 * node + 2)
        return below if stop is None else stop[node] * says(node) + (1 - stop[node]) * below

    return walk(0)


@pytest.mark.parametrize("form", [form for form in FORMS if form.gate == "oblique"], ids=str)
def test_apply_is_what_the_definition_says(form):
    tree, x = tree_of(form), some_rows(form)
    slow = [slow_prediction(tree, row, 0.7) for row in x]
    np.testing.assert_allclose(apply(tree, x, temperature=0.7), slow, atol=2e-6)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_probabilities_sum_to_one_and_are_those_of_the_logarithms(form):
    tree, x = tree_of(form), some_rows(form)
    probability = node_probability(tree, x, temperature=0.5)
    assert probability.shape == (len(x), form.num_ends)
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(jnp.exp(node_log_probability(tree, x, temperature=0.5)), probability, atol=1e-6)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_gradients_are_those_of_finite_differences(form):
    with jax.enable_x64(True):
        tree, x = tree_of(form), jnp.asarray(some_rows(form))
        flat, unravel = jax.flatten_util.ravel_pytree(tree)

        @jax.jit
        def loss(flat, x):
            return jnp.sum(jnp.sin(apply(unravel(flat), x, temperature=0.8)))

        slope, slope_of_x = jax.grad(loss, argnums=(0, 1))(flat, x)
        for direction in np.random.default_rng(2).normal(size=(5, flat.size)):
            step = 1e-5 * jnp.asarray(direction)
            difference = (loss(flat + step, x) - loss(flat - step, x)) / 2e-5
            np.testing.assert_allclose(slope @ direction, difference, rtol=1e-5, atol=1e-6)
        step = 1e-5 * jnp.asarray(np.random.default_rng(3).normal(size=x.shape))
        difference = (loss(flat, x + step) - loss(flat, x - step)) / 2e-5
        np.testing.assert_allclose(jnp.sum(slope_of_x * step) / 1e-5, difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", FORMS[:3], ids=str)
def test_logarithms_have_the_gradients_of_finite_differences(form):
    with jax.enable_x64(True):
        tree, x = tree_of(form), jnp.asarray(some_rows(form, 2))
        flat, unravel = jax.flatten_util.ravel_pytree(tree)

        @jax.jit
        def loss(flat):
            log_probability = node_log_probability(unravel(flat), x)
            return jnp.sum(jnp.where(log_probability > -20, log_probability, 0))

        slope = jax.grad(loss)(flat)
        direction = jnp.asarray(np.random.default_rng(2).normal(size=flat.size))
        difference = (loss(flat + 1e-6 * direction) - loss(flat - 1e-6 * direction)) / 2e-6
        np.testing.assert_allclose(slope @ direction, difference, rtol=1e-4)


def test_a_hard_step_decides_and_has_the_gradient_of_the_sigmoid_one():
    form = SoftForm(depth=1, num_features=2, num_outputs=1, step="hard")
    tree = tree_of(form)
    x = some_rows(form)
    probability = node_probability(tree, x)
    assert set(np.unique(probability).tolist()) == {0.0, 1.0}

    def total(tree, step):
        return apply(dataclasses.replace(tree, form=dataclasses.replace(form, step=step)), x).sum()

    hard, soft = jax.grad(total)(tree, "hard"), jax.grad(total)(tree, "sigmoid")
    np.testing.assert_allclose(hard.gate.weight, soft.gate.weight, rtol=1e-5)


@pytest.mark.parametrize(
    "kind", [KINDS[0], KINDS[7], *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS)], ids=str
)
def test_nothing_is_nan_in_deep_cold_trees_of_large_inputs(kind):
    form = SoftForm(depth=12, num_features=3, num_outputs=2, missing=((0,),), stops=True, **kind)
    tree = tree_of(form)
    x = np.array([[1e6, -1e6, 0.0], [-1e6, 1e6, 0.0], [0.0, 1e6, 1.0], [0.0, 0.0, 0.0], [1e-6, 1e6, 0.0]], np.float32)

    def loss(tree, x):
        told = apply(tree, x, temperature=1e-3)
        return jnp.sum(jnp.square(told)), told

    (value, told), slopes = jax.jit(jax.value_and_grad(loss, argnums=(0, 1), has_aux=True))(tree, x)
    assert np.isfinite(value) and np.isfinite(told).all()
    assert all(np.isfinite(slope).all() for slope in jax.tree.leaves(slopes))

    def log_loss(tree, x):
        log_probability = node_log_probability(tree, x, temperature=1e-3)
        return jnp.sum(jnp.exp(log_probability) * jnp.maximum(log_probability, -1e30)), log_probability

    (value, log_probability), slopes = jax.jit(jax.value_and_grad(log_loss, argnums=(0, 1), has_aux=True))(tree, x)
    assert np.isfinite(value) and not np.isnan(log_probability).any()
    assert all(np.isfinite(slope).all() for slope in jax.tree.leaves(slopes))
    np.testing.assert_allclose(jnp.exp(log_probability).sum(axis=1), 1, atol=1e-5)


def test_logarithms_do_not_underflow():
    form = SoftForm(depth=12, num_features=1, num_outputs=1)
    tree = init(form, key=jax.random.key(0))
    gate = tree.gate._replace(weight=jnp.ones_like(tree.gate.weight), bias=jnp.zeros_like(tree.gate.bias))
    log_probability = node_log_probability(dataclasses.replace(tree, gate=gate), jnp.array([[30.0]]))
    np.testing.assert_allclose(log_probability[0, 0], -360.0, rtol=1e-6)
    assert node_probability(dataclasses.replace(tree, gate=gate), jnp.array([[30.0]]))[0, -1] == 1


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
    share = np.asarray(gate_probability(tree, rows) > 0.5).mean(axis=0)
    assert ((share > 0) & (share < 1)).mean() > 0.9
    assert not (np.asarray(gate_probability(init(form, key=jax.random.key(0)), rows) > 0.5).mean(axis=0) % 1).any()


def test_a_tree_has_the_type_of_its_parameters():
    form = FORMS[0]
    assert apply(init(form, key=jax.random.key(0)), some_rows(form)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert apply(init(form, key=jax.random.key(0)), some_rows(form)).dtype == jnp.float64


@pytest.mark.parametrize(
    "wrong", [dict(depth=-1), dict(gate="plane"), dict(step="relu"), dict(num_outputs=0), dict(missing=((0,),) * 4)]
)
def test_a_form_that_is_not_allowed_is_refused(wrong):
    with pytest.raises(InvalidInputError):
        SoftForm(**{**dict(depth=2, num_features=4, num_outputs=1), **wrong})


def test_a_tree_of_one_leaf_is_a_model_of_its_own():
    form = SoftForm(depth=0, num_features=2, num_outputs=1, leaf="linear")
    tree, x = tree_of(form), some_rows(form)
    expected = x @ np.asarray(tree.leaf.weight[0]) + np.asarray(tree.leaf.value[0])
    np.testing.assert_allclose(apply(tree, x), expected, atol=1e-5)
