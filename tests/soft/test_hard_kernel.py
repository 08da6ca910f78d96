"""Hard trees by the kernel beside XLA: the same outputs, bit for bit, and gradients that differ by rounding."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree
from jaxtree.kernels.choose import Engine
from jaxtree.soft.forest import apply_forest, forest_log_mixture, init_forest
from jaxtree.soft.form import SoftForm
from jaxtree.soft.sides import SIDES
from tests.growth.native_trees import needs_kernel

pytestmark = needs_kernel

ROWS, COLUMNS = 300, 9
MISSING = ((0,), (1, 2))


def a_forest(mixture="by_leaf", *, missing=(), seed=0, depth=3, **form):
    """A forest of three trees, and rows, of which some lack what indicators say."""
    form = SoftForm(depth, COLUMNS, 2, gate="hard", missing=missing, **form)
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    if missing:
        is_missing = draw.random((ROWS, len(missing))) < 0.3
        x[:, COLUMNS - len(missing) :] = is_missing
        for number, columns in enumerate(missing):
            x[np.ix_(is_missing[:, number], columns)] = 0
    forest = init_forest(form, num_trees=3, mixture=mixture, key=jax.random.key(seed), inputs=x)
    if missing:
        gate = forest.trees.gate
        side = jnp.asarray(draw.normal(size=gate.missing.shape), jnp.float32)
        forest = dataclasses.replace(forest, trees=dataclasses.replace(forest.trees, gate=gate._replace(missing=side)))
    return forest, x


def both(forest, x, *, function=apply_forest, temperature=0.7, counts=slice(None)):
    """Outputs of XLA and of the kernel, and the gradients of a loss by both."""
    label = np.random.default_rng(1).integers(0, 2, len(x))

    def loss(forest, engine):
        shares = jax.nn.log_softmax(function(forest, x, temperature=temperature, engine=engine))
        return -shares[jnp.arange(len(x)), label][counts].mean()

    def of(engine):
        outputs = jax.jit(lambda own: function(own, x, temperature=temperature, engine=engine))(forest)
        return np.asarray(outputs), jax.tree.leaves(jax.jit(jax.grad(lambda own: loss(own, engine)))(forest))

    return of(Engine.XLA), of(Engine.PROGRAM)


def assert_alike(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    for own, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(own, other, atol=2e-6 * float(np.abs(other).max()), rtol=1e-5)


@pytest.mark.parametrize("missing", [(), MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize("side", SIDES)
def test_every_slope_has_the_outputs_and_gradients_of_xla(side, missing):
    forest, x = a_forest(side=side, missing=missing)
    expected, found = both(forest, x)
    assert_alike(found, expected)
    assert all(np.abs(own).max() > 0 for own in expected[1])


@pytest.mark.parametrize("depth", [1, 6])
@pytest.mark.parametrize("mixture", ["by_tree", "by_leaf"])
def test_depths_and_mixtures(mixture, depth):
    assert_alike(*reversed(both(*a_forest(mixture, depth=depth))))


def test_gates_that_levels_share():
    assert_alike(*reversed(both(*a_forest(oblivious=True, missing=MISSING))))


def test_mixtures_of_shares():
    expected, found = both(*a_forest("learned"), function=forest_log_mixture)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    assert_alike((0, found[1]), (0, expected[1]))


def test_rows_without_a_gradient_change_nothing():
    forest, x = a_forest()
    _, found = both(forest, x, counts=slice(0, 100))
    _, alone = both(forest, x[:100])
    for own, other in zip(found[1], alone[1], strict=True):
        np.testing.assert_array_equal(own, other)


def test_trees_side_by_side_have_the_bits_of_each_alone():
    forest, x = a_forest("by_tree")
    gradient = np.random.default_rng(2).normal(size=(3, ROWS, 2)).astype(np.float32)

    def total(trees, gradient, engine=Engine.PROGRAM):
        apply = jax.vmap(lambda tree: jaxtree.soft.apply(tree, x, engine=engine))
        return (apply(trees) * gradient).sum()

    together = jax.jit(jax.grad(total))(forest.trees, gradient)
    for number in range(3):
        one = jax.tree.map(lambda part, at=number: part[at : at + 1], forest.trees)
        alone = jax.jit(jax.grad(total))(one, gradient[number : number + 1])
        for own, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(own[number], other[0])


def test_rows_and_temperature_have_no_gradient_that_could_be_taken_for_one():
    forest, x = a_forest("by_tree")
    slope = jax.grad(lambda x: apply_forest(forest, x, engine=Engine.PROGRAM).sum())(jnp.asarray(x))
    assert np.isnan(slope).all()


@pytest.mark.slow
def test_a_fit_is_that_of_xla_but_for_rounding(monkeypatch):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    options = {"gate": "hard", "mixture": "by_tree", "max_epochs": 3, "noise": None, "random_state": 0}
    model = jaxtree.SoftForestClassifier(8, **options).fit(X, y)
    monkeypatch.setattr(jaxtree.estimators.soft.parameters, "choose", lambda *_, **__: Engine.XLA)
    other = jaxtree.SoftForestClassifier(8, **options).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)
