"""A soft tree made of a hard one predicts what that predicts as the temperature goes to 0."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.tree

from jaxtree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier, dropout
from jaxtree.datasets import load_play_tennis
from jaxtree.errors import InvalidInputError
from jaxtree.export.node_tables import read_sklearn_tree
from jaxtree.soft import apply, class_votes, fit_inputs, from_tree, log_shares, with_dropout
from jaxtree.table import Encoder
from jaxtree.tree import ALL_BRANCHES, take_tree
from tests.soft.tables import classes, mixed_table

COLD = 1e-11
MORE_KINDS = ("regression", "id3", "onehot")
GATES = ("axis", "oblique")


@functools.cache
def fitted_tree(kind, missing):
    """A tree of mixed columns."""
    X, score = mixed_table(300, 0, missing=missing)
    if kind == "regression":
        return DecisionTreeRegressor(max_depth=4).fit(X, np.stack([score, -score], axis=1)), X
    if kind == "id3":
        return ID3Classifier(max_depth=2).fit(X, classes(score)), X
    if kind == "c45":
        return C45Classifier(max_depth=3).fit(X, classes(score)), X
    if kind == "onehot":
        return ID3Classifier(max_depth=4, encoding="onehot").fit(X, classes(score)), X
    return DecisionTreeClassifier(max_depth=4).fit(X, classes(score)), X


def soft_inputs(estimator, X, **options):
    return fit_inputs(estimator.encoder_.values(X), estimator.schema_, **{"indicators": "all", **options})


def cold(soft, estimator, inputs, table):
    return np.asarray(jax.jit(apply)(soft, inputs.transform(estimator.encoder_.values(table)), temperature=COLD))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("missing", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
@pytest.mark.parametrize("kind", ["cart", "c45", *(pytest.param(k, marks=pytest.mark.slow) for k in MORE_KINDS)])
def test_predictions_are_those_of_the_hard_tree(kind, missing, gate):
    if kind == "id3" and gate == "axis":
        pytest.skip("one question after another would need more levels than there may be")
    estimator, X = fitted_tree(kind, missing)
    inputs = soft_inputs(estimator, X)
    soft = from_tree(estimator.tree_, inputs, gate=gate)
    test, _ = mixed_table(300, 1, missing=0.2)  # values are missing here that training may have had
    hard = estimator.predict(test) if kind == "regression" else estimator.predict_proba(test)
    np.testing.assert_allclose(cold(soft, estimator, inputs, test), hard, atol=1e-6)


@pytest.mark.slow
def test_the_tables_have_what_they_are_to_test():
    cart, id3, c45 = (fitted_tree(kind, 0.2)[0].tree_ for kind in ("cart", "id3", "c45"))
    assert {0, 3} <= set(cart.split_kind[~cart.is_leaf].tolist())
    assert id3.num_children.max() > 2
    assert (c45.missing_branch[~c45.is_leaf] == ALL_BRANCHES).all() and c45.num_children.max() > 2


def lowest_height(tree, node=0):
    """Kraft: branches of heights h fit below a node of height H if their 2**h sum up to 2**H or less."""
    first, size = tree.first_child[node], tree.num_children[node]
    return math.ceil(math.log2(sum(2 ** lowest_height(tree, child) for child in range(first, first + size)) or 1))


def test_no_order_of_branches_makes_a_lower_tree():
    X, score = mixed_table(200, 7)
    estimator = C45Classifier(max_depth=5).fit(X, classes(score))
    soft = from_tree(estimator.tree_, soft_inputs(estimator, X), gate="oblique")
    assert estimator.tree_.num_children.max() > 2
    assert soft.form.depth == lowest_height(estimator.tree_) == 6


@pytest.mark.parametrize("gate", GATES)
def test_a_row_without_a_branch_says_what_its_node_says(gate):
    table = load_play_tennis(as_frame=True)
    estimator = ID3Classifier().fit(table.data, table.target)
    inputs = soft_inputs(estimator, table.data)
    soft = from_tree(estimator.tree_, inputs, gate=gate)
    test = table.data.copy().astype(object)
    test.iloc[::2, 0] = None
    test.iloc[1::3, 3] = "hail"
    np.testing.assert_allclose(cold(soft, estimator, inputs, test), estimator.predict_proba(test), atol=1e-6)


@pytest.mark.parametrize("scaling", ["quantile", "none"])
def test_scalings_change_nothing(scaling):
    estimator, X = fitted_tree("cart", 0.2)
    inputs = soft_inputs(estimator, X, scaling=scaling)
    soft = from_tree(estimator.tree_, inputs)
    np.testing.assert_allclose(cold(soft, estimator, inputs, X), estimator.predict_proba(X), atol=1e-6)


def test_values_at_a_threshold_go_left():
    """The thresholds of C4.5 are values of the table."""
    X = np.array([[1.0], [2.0], [3.0], [4.0]] * 5)
    estimator = C45Classifier(min_samples_leaf=1, confidence=None).fit(X, (X[:, 0] > 2).astype(int))
    assert estimator.tree_.threshold[0] == 2
    inputs = soft_inputs(estimator, X)
    for gate in GATES:
        soft = from_tree(estimator.tree_, inputs, gate=gate)
        np.testing.assert_allclose(cold(soft, estimator, inputs, X), estimator.predict_proba(X), atol=1e-6)


def test_a_step_is_as_wide_as_its_temperature():
    X = np.array([[0.0], [1.0]])
    tree = read_sklearn_tree(sklearn.tree.DecisionTreeRegressor().fit(X, [0.0, 1.0]))
    inputs = fit_inputs(X, Encoder().fit(X).schema_, scaling="none")
    for gate in GATES:
        soft = from_tree(tree, inputs, temperature=0.2, gate=gate)
        told = apply(soft, inputs.transform(np.array([[0.5], [0.7], [0.3]])))
        np.testing.assert_allclose(told[:, 0], jax.nn.sigmoid(jnp.array([0.0, 1.0, -1.0])), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("gate", GATES)
def test_training_moves_it(gate):
    estimator, X = fitted_tree("cart", 0.2)
    inputs = soft_inputs(estimator, X)
    soft = from_tree(estimator.tree_, inputs, gate=gate, temperature=1.0)
    slopes = jax.grad(lambda soft: jnp.sum(jnp.square(apply(soft, inputs.transform(estimator.encoder_.values(X))))))(
        soft
    )
    for slope in jax.tree.leaves(slopes):
        assert np.isfinite(slope).all() and (np.asarray(slope) != 0).any()


@pytest.mark.slow
def test_deeper_trees_say_the_same_and_can_divide_leaves_further():
    estimator, X = fitted_tree("cart", 0.2)
    inputs = soft_inputs(estimator, X)
    rows = inputs.transform(estimator.encoder_.values(X))
    need = from_tree(estimator.tree_, inputs).form.depth
    for key in (None, jax.random.key(0)):
        soft = from_tree(estimator.tree_, inputs, depth=need + 1, key=key)
        np.testing.assert_allclose(cold(soft, estimator, inputs, X), estimator.predict_proba(X), atol=1e-6)
        slope = jax.grad(lambda soft: jnp.sum(apply(soft, rows)[::3, 0]))(soft).leaf.value
        halves = np.asarray(slope).reshape(-1, 2, slope.shape[1])
        assert np.allclose(halves[:, 0], halves[:, 1]) == (key is None)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("kind", [pytest.param("cart", marks=pytest.mark.slow), "id3"])
def test_the_infinite_vote_is_the_soft_tree_with_the_rates_of_dropout(kind, gate):
    if kind == "cart":
        estimator, X = fitted_tree("cart", 0.2)
    else:
        table = load_play_tennis(as_frame=True)
        estimator, X = ID3Classifier().fit(table.data, table.target), table.data
    inputs = soft_inputs(estimator, X)
    rows, codes = inputs.transform(estimator.encoder_.values(X)), estimator.encode(X)
    tree = estimator.tree_
    levels = np.array([0.1, 0.5, 0.0, 0.9])
    each = np.random.default_rng(0).random(tree.node_count) * 0.7
    for rates in (dropout.node_rates(tree, 0.2, 0.4), dropout.level_rates(tree, levels), each):
        soft = from_tree(tree, inputs, gate=gate, rates=jnp.asarray(rates), node_value=class_votes(tree))
        told = jax.jit(apply)(soft, rows, temperature=COLD)
        np.testing.assert_allclose(told, dropout.vote_share(tree, codes, np.asarray(rates)), atol=1e-6)


@pytest.mark.slow
def test_rates_have_the_gradient_of_the_vote():
    estimator, X = fitted_tree("cart", 0.2)
    inputs = soft_inputs(estimator, X)
    rows, codes, tree = inputs.transform(estimator.encoder_.values(X)), estimator.encode(X), estimator.tree_
    plain = from_tree(tree, inputs, gate="oblique", rates=0.0, node_value=class_votes(tree))  # one question a split

    def of_soft(p, q):
        return apply(with_dropout(plain, p, q), rows, temperature=COLD)[::7, 1].sum()

    def of_vote(p, q):
        return dropout.vote_share(tree, codes, dropout.node_rates(tree, p, q))[::7, 1].sum()

    for p, q in ((0.3, 0.2), (0.0, 0.0), (0.5, 1.0)):
        np.testing.assert_allclose(of_soft(p, q), of_vote(p, q), rtol=1e-5)
        slopes = jax.grad(of_soft, argnums=(0, 1))(p, q), jax.grad(of_vote, argnums=(0, 1))(p, q)
        np.testing.assert_allclose(*slopes, rtol=1e-4, atol=1e-4)


def test_a_pruned_tree_is_taken_first():
    estimator, X = fitted_tree("cart", 0.2)
    collapsed = np.arange(estimator.tree_.node_count) == 1
    small = take_tree(estimator.tree_, collapsed=collapsed)
    inputs = soft_inputs(estimator, X)
    told = cold(from_tree(small, inputs), estimator, inputs, X)
    np.testing.assert_allclose(told, small.value[small.apply(estimator.encoder_.values(X)), 0], atol=1e-6)


def test_smoothed_shares_are_logits_of_shares():
    estimator, _ = fitted_tree("cart", 0.2)
    tree = estimator.tree_
    shares = jax.nn.softmax(log_shares(tree, smoothing=1e-9))
    np.testing.assert_allclose(shares, tree.value[:, 0], atol=1e-6)


def test_a_tree_of_too_many_levels_is_refused():
    X = np.arange(40.0)[:, None]
    chain = read_sklearn_tree(sklearn.tree.DecisionTreeRegressor().fit(X, np.exp(X[:, 0])))
    with pytest.raises(InvalidInputError, match="prune the tree first"):
        from_tree(chain, fit_inputs(X, Encoder().fit(X).schema_))
    small, X = fitted_tree("cart", 0.2)
    with pytest.raises(InvalidInputError, match="depth must be"):
        from_tree(small.tree_, soft_inputs(small, X), depth=1)
    with pytest.raises(InvalidInputError, match="inner nodes"):
        with_dropout(from_tree(small.tree_, soft_inputs(small, X)), 0.1)
