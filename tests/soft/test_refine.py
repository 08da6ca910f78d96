"""Hardened trees with planes chosen again."""

import pickle

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import NotFittedError

from jaxtree import HardTreeClassifier, SoftTreeClassifier, SoftTreeRegressor, refine
from jaxtree.errors import InvalidInputError
from jaxtree.optimal.costs import cost_of_classes, cost_of_numbers
from jaxtree.soft.inputs import fit_inputs
from jaxtree.soft.oblique_tree import ObliqueTree
from jaxtree.soft.refine import Target, refined_planes
from jaxtree.table.encoder import Encoder
from jaxtree.tree.paths import binary_links

ROWS = 60
BRIEF = {"max_epochs": 30, "noise": None, "random_state": 0}


def drawn_tree(rng, is_leaf, values, num_outputs):
    inputs = fit_inputs(values, Encoder().fit(values).schema_)
    inner = ~is_leaf
    normal = rng.normal(size=(is_leaf.size, 3)) * inner[:, None]
    offset = rng.normal(size=is_leaf.size) * inner
    rows = np.zeros(is_leaf.size, np.int64)
    own = {"num_rows": rows, "weight": 1.0 * rows, "value": rng.random((is_leaf.size, num_outputs))}
    return ObliqueTree(normal, offset, **binary_links(is_leaf)._asdict(), **own, inputs=inputs, num_classes=())


def objective(tree, x, target, of_classes):
    predicted = tree.value[tree.ends(x)]
    if of_classes:
        return target.weight[predicted.argmax(axis=1) != target.columns.argmax(axis=1)].sum()
    return (target.weight * np.square(predicted - target.columns).sum(axis=1)).sum()


SHAPES = ([False, True, True], [False, False, True, True, True], [False, False, False, True, True, True, True])


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 999), st.sampled_from(SHAPES), st.booleans(), st.booleans(), st.integers(0, 2))
def test_no_objective_rises_and_no_tree_grows(seed, is_leaf, of_classes, is_weighted, restarts):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(ROWS, 3))
    weight = rng.choice([0.5, 1.0, 3.0], ROWS) if is_weighted else np.ones(ROWS)
    if of_classes:
        label = rng.integers(0, 3, ROWS)
        target = Target(cost_of_classes(label, 3, weight), np.eye(3)[label], weight)
    else:
        number = rng.normal(size=(2, ROWS))
        target = Target(cost_of_numbers(number, weight), number.T, weight)
    tree = drawn_tree(rng, np.array(is_leaf), values, target.columns.shape[1])
    x = tree.inputs.transform(values)
    better = refined_planes(tree, x, target, restarts=restarts, key=jax.random.key(seed))
    assert objective(better, x, target, of_classes) <= objective(tree, x, target, of_classes) * (1 + 1e-12)
    assert better.n_leaves <= tree.n_leaves and better.max_depth <= tree.max_depth
    assert better.num_rows[0] == ROWS and (better.num_rows > 0).all()
    assert better.num_rows[better.is_leaf].sum() == ROWS
    again = refined_planes(better, x, target)
    assert objective(again, x, target, of_classes) <= objective(better, x, target, of_classes) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "estimator", "gain"),
    [
        (load_breast_cancer, SoftTreeClassifier, 0.004),
        pytest.param(load_diabetes, SoftTreeRegressor, 0.03, marks=pytest.mark.slow),
    ],
)
def test_a_hardened_tree_of_a_real_table_predicts_better(load, estimator, gain):
    X, y = load(return_X_y=True)
    hard = estimator(depth=3, **BRIEF).fit(X, y).harden()
    better = refine(hard, X, y)
    assert better.score(X, y) > hard.score(X, y) + gain
    assert better.get_n_leaves() <= hard.get_n_leaves() and better.get_depth() <= hard.get_depth()
    # How far both agree follows from what a brief training has drawn.
    assert 0.4 < better.agreement_ < 1 and hard.agreement_ != better.agreement_
    scores = [refine(hard, X, y, n_restarts=restarts).score(X, y) for restarts in (1, 3)]
    assert better.score(X, y) <= scores[0] <= scores[1]


def test_words_missing_values_and_weights():
    rng = np.random.default_rng(3)
    size, colour = rng.normal(size=300), rng.choice(["red", "green", "blue"], 300)
    label = np.where((size > 0.2) == (colour == "red"), "yes", "no")
    table = pd.DataFrame({"size": np.where(rng.random(300) < 0.1, np.nan, size), "colour": colour})
    hard = SoftTreeClassifier(depth=2, **BRIEF | {"max_epochs": 5}).fit(table, label).harden()
    better = refine(hard, table, label)
    assert better.score(table, label) > hard.score(table, label) + 0.02
    assert isinstance(better, HardTreeClassifier) and better.classes_.tolist() == ["no", "yes"]
    weight = rng.integers(0, 3, 300)
    weighted, doubled = refine(hard, table, label, weight), np.repeat(np.arange(300), weight)
    assert weighted.score(table, label, weight) >= hard.score(table, label, weight)
    assert weighted.tree_.weight[0] == doubled.size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(better)).predict(table), better.predict(table))
    np.testing.assert_allclose(better.predict_proba(table).sum(axis=1), 1)


@pytest.mark.slow
def test_a_tree_of_axis_gates_is_refined_as_a_table_of_nodes():
    X, y = load_breast_cancer(return_X_y=True)
    hard = SoftTreeClassifier(depth=3, gate="axis", **BRIEF | {"max_epochs": 10}).fit(X, y).harden()
    assert refine(hard, X, y).score(X, y) >= hard.score(X, y)


@pytest.mark.slow
def test_what_cannot_be_refined_is_named():
    X, y = load_breast_cancer(return_X_y=True)
    hard = SoftTreeClassifier(depth=2, **BRIEF | {"max_epochs": 2}).fit(X, y).harden()
    with pytest.raises(NotFittedError, match="holds no tree"):
        refine(HardTreeClassifier(), X, y)
    with pytest.raises(InvalidInputError, match="n_restarts must be an integer >= 0, got True"):
        refine(hard, X, y, n_restarts=True)
    with pytest.raises(InvalidInputError, match="569, 568"):
        refine(hard, X, y[1:])
    with pytest.raises(InvalidInputError, match="a class that the tree knows, got none"):
        refine(hard, X, y + 7)
