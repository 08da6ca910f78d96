"""Soft trees made hard: round trips, refitted leaves, dead branches, and the same table as everywhere."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.tree

from jaxtree import DecisionTreeClassifier, prune
from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import branch_in_words
from jaxtree.export.node_tables import read_sklearn_tree
from jaxtree.soft import apply, fit_inputs, from_tree, harden, init
from jaxtree.soft.form import SoftForm
from jaxtree.soft.gates import plane_values, planes_of
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.model import Leaf
from jaxtree.table import Encoder
from jaxtree.tree import apply as apply_to_codes
from jaxtree.tree import take_tree
from jaxtree.tree.nodes import class_shares
from jaxtree.tree.walk import apply_to_values
from tests.soft.tables import classes, mixed_table

SCALINGS = ("standard", "quantile")


def number_rows(num_rows=200, seed=0):
    random = np.random.default_rng(seed)
    values = random.normal([0.0, 5.0, -2.0], [1.0, 3.0, 0.1], (num_rows, 3))
    return values, (values[:, 0] > 0.2).astype(int) + 2 * (values[:, 1] > values[:, 0] * 2 + 5)


def sample(values, target, weight=None):
    target = target[:, None] if target.ndim == 1 else target
    return SoftSample(values, target, np.ones(len(values)) if weight is None else weight)


def number_inputs(values, **options):
    return fit_inputs(values, Encoder().fit(values).schema_, **options)


@pytest.mark.parametrize("scaling", ["standard", pytest.param("quantile", marks=pytest.mark.slow)])
def test_a_hard_tree_made_soft_and_hard_again_is_the_same_tree(scaling):
    X, score = mixed_table(300, 0, missing=0.1)
    y = classes(score)
    fitted = DecisionTreeClassifier(max_depth=4, categorical_features=[]).fit(X[:, [0, 1, 4]].astype(float), y)
    values = X[:, [0, 1, 4]].astype(float)
    inputs = fit_inputs(values, fitted.schema_, scaling=scaling)
    soft = from_tree(fitted.tree_, inputs, depth=6)
    hard, _, share = harden(soft, inputs, sample(values, y), num_classes=(4,), temperature=1e-11)
    assert share == 1
    split = ~np.asarray(fitted.tree_.is_leaf)
    for name in ("num_children", "first_child", "parent", "depth", "num_rows", "count", "weight", "feature"):
        np.testing.assert_array_equal(getattr(hard, name), getattr(fitted.tree_, name), err_msg=name)
    np.testing.assert_array_equal(hard.missing_branch[split], fitted.tree_.missing_branch[split])
    np.testing.assert_allclose(hard.threshold[split], fitted.tree_.threshold[split], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hard.impurity, fitted.tree_.impurity, atol=1e-9)
    np.testing.assert_allclose(hard.gain, fitted.tree_.gain, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["axis", "oblique"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_categories_come_back(gate, missing):
    X, score = mixed_table(300, 1, missing=missing)
    y = classes(score)
    fitted = DecisionTreeClassifier(max_depth=3).fit(X, y)
    values = fitted.encoder_.values(X)
    inputs = fit_inputs(values, fitted.schema_)
    soft = from_tree(fitted.tree_, inputs, gate=gate)
    options = dict(num_classes=(4,), temperature=1e-11, refit=False)  # copies of a leaf have rows of their own
    hard, _, share = harden(soft, inputs, sample(values, y), **options)
    assert share == 1
    told = class_shares(hard)[hard.apply(values)] if gate == "axis" else hard.predict(values)
    np.testing.assert_allclose(told, fitted.predict_proba(X), atol=1e-6)


def trained(form, x, seed=0):
    """Any tree whose gates pass near the rows, and through none."""
    return init(form, key=jax.random.key(seed), inputs=x + 0.01)


@pytest.mark.parametrize("unreached_by", ["rows", "box"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_an_axis_tree_walks_as_its_gates_decide(unreached_by, scaling):
    values, y = number_rows()
    values[::7, 1] = np.nan
    inputs = number_inputs(values, scaling=scaling)
    x = inputs.transform(values)
    form = SoftForm(5, inputs.num_features, 4, gate="axis", missing=inputs.missing)
    soft = trained(form, x)
    gate = soft.gate._replace(missing=20 * (-1.0) ** jnp.arange(31)[:, None])
    soft = dataclasses.replace(soft, gate=gate, leaf=Leaf(jax.nn.softmax(soft.leaf.value), None))
    options = dict(num_classes=(4,), refit=False, drop_unreached_by=unreached_by, temperature=1e-7)
    hard, schema, share = harden(soft, inputs, sample(values, y), **options)
    assert share == 1
    cold = apply(soft, x, temperature=1e-7)
    np.testing.assert_allclose(class_shares(hard)[apply_to_values(hard, values)], cold, atol=1e-5)
    assert (hard.num_rows > 0).all() or unreached_by == "box"
    encoder = Encoder()
    encoder.schema_ = schema
    np.testing.assert_array_equal(apply_to_codes(hard, encoder.transform(values)), apply_to_values(hard, values))
    split = np.flatnonzero(~hard.is_leaf & np.isfinite(hard.threshold))
    fitted = schema.thresholds(hard.feature[split], hard.code[split], hard.next_code[split])
    np.testing.assert_array_equal(fitted, hard.threshold[split])


def test_leaves_are_refitted():
    values, y = number_rows()
    weight = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
    inputs = number_inputs(values)
    soft = trained(SoftForm(3, 3, 4, gate="axis"), inputs.transform(values))
    hard, _, _ = harden(soft, inputs, sample(values, y, weight), num_classes=(4,))
    end = apply_to_values(hard, values)
    for leaf in np.flatnonzero(hard.is_leaf):
        np.testing.assert_allclose(hard.count[leaf], np.bincount(y[end == leaf], weight[end == leaf], minlength=4))
        assert hard.num_rows[leaf] == np.sum((end == leaf) & (weight > 0)) > 0
    inner = np.flatnonzero(~hard.is_leaf)
    below = hard.count[hard.first_child[inner]] + hard.count[hard.first_child[inner] + 1]
    np.testing.assert_allclose(hard.count[inner], below)


def test_numbers_are_refitted_and_compared():
    values, y = number_rows()
    target = np.stack([y + values[:, 0], values[:, 2]], axis=1)
    inputs = number_inputs(values)
    fitted = sklearn.tree.DecisionTreeRegressor(max_depth=3).fit(values, target)
    tree = read_sklearn_tree(fitted)
    soft = from_tree(tree, inputs)
    hard, _, share = harden(soft, inputs, sample(values, target), temperature=1e-11)
    assert share == pytest.approx(1)
    np.testing.assert_allclose(hard.predict(values)[..., 0], fitted.predict(values), atol=1e-9)
    np.testing.assert_allclose(hard.impurity, tree.impurity, atol=1e-9)
    assert harden(soft, inputs, sample(values, target), temperature=1.0).agreement < 0.99


def test_every_pruning_and_the_words_take_it():
    values, y = number_rows()
    inputs = number_inputs(values)
    soft = trained(SoftForm(4, 3, 4, gate="axis"), inputs.transform(values))
    hard, schema, _ = harden(soft, inputs, sample(values, y), num_classes=(4,))
    collapsed = prune.cost_complexity(hard, 0.005)
    smaller = take_tree(hard, collapsed=np.asarray(collapsed))
    assert 1 < smaller.node_count < hard.node_count
    words = [branch_in_words(hard, schema, node) for node in range(1, hard.node_count)]
    assert all("<=" in word or ">" in word for word in words)
    encoder = Encoder()
    encoder.schema_ = schema
    held = prune.hold_out_codes(hard, encoder.transform(values), y)
    assert not prune.reduced_error(hard, held).all()


def slow_walk(soft, row, temperature):
    values = np.asarray(plane_values(planes_of(soft.gate, soft.form, temperature), row[None]))[:, 0]
    node = 0
    while node < soft.form.num_inner:
        node = 2 * node + 1 + int(values[node] > 0)
    return node - soft.form.num_inner


@pytest.mark.parametrize("unreached_by", ["rows", "box"])
def test_an_oblique_tree_walks_as_its_gates_decide(unreached_by):
    values, y = number_rows()
    values[::9, 0] = np.nan
    inputs = number_inputs(values)
    x = inputs.transform(values)
    form = SoftForm(5, inputs.num_features, 4, missing=inputs.missing)
    soft = trained(form, x)
    soft = dataclasses.replace(soft, gate=soft.gate._replace(missing=soft.gate.missing - 1.0))
    options = dict(num_classes=(4,), refit=False, drop_unreached_by=unreached_by, temperature=0.5)
    hard, _, share = harden(soft, inputs, sample(values, y), **options)
    leaf = [slow_walk(soft, jnp.asarray(row), 0.5) for row in x]
    np.testing.assert_allclose(hard.predict(values), np.asarray(soft.leaf.value)[leaf], atol=1e-6)
    assert hard.node_count < 63 and 0 < share <= 1
    assert (hard.num_rows > 0).all() or unreached_by == "box"
    assert hard.num_rows[hard.is_leaf].sum() == len(values)
    text = hard.export_text().splitlines()
    assert len(text) == hard.node_count and text[0].startswith("root: ")


def test_an_oblique_tree_says_its_planes_in_units_of_the_table():
    values = np.array([[0.0, 10.0], [2.0, 10.0], [0.0, 30.0], [2.0, 30.0]])
    inputs = number_inputs(values)
    soft = init(SoftForm(1, 2, 1), key=jax.random.key(0))
    gate = soft.gate._replace(weight=jnp.array([[1.0, -1.0]]), bias=jnp.array([0.5]))  # x0 - 1 - (x1 - 20) / 10 + 0.5
    target = np.array([[0.0], [1.0], [0.0], [0.0]])
    hard, _, _ = harden(dataclasses.replace(soft, gate=gate), inputs, sample(values, target))
    assert hard.export_text().splitlines() == [
        "root: 0.25 (rows 4)",
        "|-- x0 - 0.1 x1 <= -1.5: 0 (rows 1)",
        "|-- x0 - 0.1 x1 > -1.5: 0.333333 (rows 3)",
    ]


def test_branches_that_no_point_of_the_box_reaches_go():
    values = np.random.default_rng(0).random((50, 1))
    inputs = number_inputs(values, scaling="none")
    soft = init(SoftForm(2, 1, 1), key=jax.random.key(0))
    # x > 0.5; then on the left x > 0.7, which nothing there is, and on the right x > 0.9995, which no row is.
    gate = soft.gate._replace(weight=jnp.ones((3, 1)), bias=-jnp.array([0.5, 0.7, 0.9995]))
    soft = dataclasses.replace(soft, gate=gate)
    assert values.max() < 0.9995
    with_top = np.append(values, [[1.0]], axis=0)
    assert harden(soft, inputs, sample(values, values), drop_unreached_by="rows").tree.n_leaves == 2
    assert harden(soft, inputs, sample(values, values), drop_unreached_by="box").tree.n_leaves == 2
    assert harden(soft, inputs, sample(with_top, with_top), drop_unreached_by="box").tree.n_leaves == 3


def test_points_between_rows_count_for_the_box():
    values = np.array([[0.0, 0.0], [1.0, 1.0]])
    inputs = number_inputs(values, scaling="none")
    soft = init(SoftForm(2, 2, 1), key=jax.random.key(0))
    gate = soft.gate._replace(weight=jnp.eye(2)[jnp.array([0, 1, 1])], bias=jnp.full(3, -0.5))
    soft = dataclasses.replace(soft, gate=gate)
    assert harden(soft, inputs, sample(values, values[:, :1]), drop_unreached_by="rows").tree.n_leaves == 2
    assert harden(soft, inputs, sample(values, values[:, :1]), drop_unreached_by="box").tree.n_leaves == 4


def test_where_no_row_is_an_axis_tree_predicts_the_value_above():
    """The box of two rows has two corners without rows, each divided by two gates."""
    values, target = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[5.0], [7.0]])
    inputs = number_inputs(values, scaling="none")
    soft = init(SoftForm(3, 2, 1, gate="axis"), key=jax.random.key(0))
    selection = 100 * jnp.eye(2)[jnp.array([0, 1, 1, 1, 1, 1, 1])]
    gate = soft.gate._replace(selection=selection, threshold=jnp.array([0.5, 0.5, 0.5, 0.2, 0.8, 0.2, 0.8]))
    hard = harden(dataclasses.replace(soft, gate=gate), inputs, sample(values, target), drop_unreached_by="box").tree
    corners = np.array([[0.0, 0.6], [0.0, 0.9], [0.9, 0.3], [1.0, 0.1], [0.1, 0.1], [0.9, 0.9]])
    assert hard.predict(corners)[:, 0].tolist() == [5, 5, 7, 7, 5, 7]


def test_nodes_that_rather_stop_become_leaves():
    values, y = number_rows()
    inputs = number_inputs(values)
    soft = trained(SoftForm(3, 3, 4, stops=True), inputs.transform(values))
    soft = dataclasses.replace(soft, leaf=soft.leaf._replace(stop=jnp.zeros(7).at[1].set(0.7)))
    hard, _, _ = harden(soft, inputs, sample(values, y), num_classes=(4,), refit=False)
    first = int(hard.first_child[0])
    assert hard.is_leaf[first] and not hard.is_leaf[first + 1]
    np.testing.assert_allclose(hard.value[first], soft.leaf.value[1], rtol=1e-6)


@pytest.mark.parametrize("gate", ["axis", "oblique"])
def test_a_tree_of_one_leaf_is_one_node(gate):
    values, y = number_rows(20)
    inputs = number_inputs(values)
    soft = init(SoftForm(0, 3, 4, gate=gate), key=jax.random.key(0))
    hard, _, _ = harden(soft, inputs, sample(values, y), num_classes=(4,))
    assert hard.node_count == 1 and hard.num_rows.tolist() == [20]


def test_what_is_not_allowed_is_refused():
    values, y = number_rows(20)
    inputs = number_inputs(values)
    soft = init(SoftForm(2, 3, 4), key=jax.random.key(0))
    for options in (dict(drop_unreached_by="all"), dict(num_classes=(3,))):
        with pytest.raises(InvalidInputError):
            harden(soft, inputs, sample(values, y), **{**dict(num_classes=(4,)), **options})
