"""Outputs of soft models in NumPy are those of JAX."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxtree.soft.forest import apply_forest, forest_log_mixture, init_forest
from jaxtree.soft.form import SoftForm
from jaxtree.soft.model import apply, init, log_mixture, with_dropout
from jaxtree.soft.on_host import NUMBERS_OF_BLOCK, outputs_on_host

FORMS = [
    SoftForm(3, 6, 2, gate, missing=missing) for gate in ("oblique", "axis") for missing in ((), ((0,), (1, 2)))
] + [SoftForm(0, 6, 2)]


def rows(number, form):
    x = np.random.default_rng(0).normal(size=(number, form.num_features)).astype(np.float32)
    if form.missing:
        x[:, -len(form.missing) :] = np.arange(number * len(form.missing)).reshape(number, -1) % 3 == 0
    return x


def with_gates_for_missing_values(tree):
    """Gates that have learned where missing values go."""
    if tree.gate.missing is None:
        return tree
    missing = np.linspace(-2, 2, np.size(tree.gate.missing), dtype=np.float32).reshape(np.shape(tree.gate.missing))
    return dataclasses.replace(tree, gate=tree.gate._replace(missing=missing))


@pytest.mark.parametrize("temperature", [1.0, 0.05])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.depth}-{form.gate}-{len(form.missing)}")
def test_a_tree_has_the_outputs_of_jax(form, temperature):
    tree, x = with_gates_for_missing_values(init(form, key=jax.random.key(1), inputs=rows(9, form))), rows(50, form)
    for in_jax, of_classes in ((apply, False), (log_mixture, True)):
        wanted = in_jax(tree, x, temperature=temperature)
        found = outputs_on_host(jax.tree.map(np.asarray, tree), x, temperature, of_classes=of_classes)
        np.testing.assert_allclose(np.exp(found), np.exp(wanted), rtol=1e-4, atol=1e-5)


def test_rows_may_stop_at_inner_nodes():
    tree = with_dropout(init(SoftForm(3, 4, 2, stops=True), key=jax.random.key(0)), 0.2, 0.5)
    x = rows(20, tree.form)
    found = outputs_on_host(jax.tree.map(np.asarray, tree), x, 1.0, of_classes=False)
    np.testing.assert_allclose(found, apply(tree, x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mixture", ["mean", "learned", "by_tree", "by_leaf"])
def test_a_forest_has_the_outputs_of_jax(mixture):
    forest = init_forest(SoftForm(2, 4, 3), num_trees=5, mixture=mixture, key=jax.random.key(0))
    if mixture == "learned":
        mixing = forest.mixing._replace(weight=np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5))
        forest = dataclasses.replace(forest, mixing=mixing)
    x = rows(20, forest.trees.form)
    shares = (lambda *rows: jax.nn.log_softmax(apply_forest(*rows))) if forest.adds_logits else forest_log_mixture
    for in_jax, of_classes in ((apply_forest, False), (shares, True)):
        found = outputs_on_host(jax.tree.map(np.asarray, forest), x, 1.0, of_classes=of_classes)
        np.testing.assert_allclose(np.exp(found), np.exp(in_jax(forest, x)), rtol=1e-4, atol=1e-5)


def test_an_output_does_not_depend_on_other_rows():
    form = SoftForm(4, 5, 2)
    tree, x = jax.tree.map(np.asarray, init(form, key=jax.random.key(0))), rows(NUMBERS_OF_BLOCK // 16 + 50, form)
    whole = outputs_on_host(tree, x, 0.1, of_classes=True)
    for part in (slice(0, 1), slice(7, 300), slice(-40, None)):
        np.testing.assert_array_equal(outputs_on_host(tree, x[part], 0.1, of_classes=True), whole[part])
    assert outputs_on_host(tree, x[:0], 0.1, of_classes=True).shape == (0, 2)
