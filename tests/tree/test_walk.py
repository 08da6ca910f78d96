"""Walks of one tree, of values and of codes, beside the obvious walk of every row."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.growth import SplitKind
from jaxtree.kernels.walk import next_node
from jaxtree.tree import ALL_BRANCHES, apply, predict_proba
from jaxtree.tree.nodes import class_shares
from jaxtree.tree.walk import apply_to_values, steps_over_values, walk_values
from tests.reference.walks import made_up_codes, made_up_tree, made_up_values, walk_code_row, walk_value_row

KINDS = {
    "thresholds": dict(kinds=(SplitKind.THRESHOLD,)),
    "all kinds": dict(),
    "shared out": dict(missing=(0, 1, ALL_BRANCHES)),
}


@pytest.fixture(params=KINDS)
def tree(request):
    return made_up_tree(3, **KINDS[request.param])


@pytest.mark.parametrize("share_missing", [0.0, 0.1])
def test_values_end_where_the_obvious_walk_ends(tree, share_missing):
    values = made_up_values(tree, 300, seed=1, share_missing=share_missing)
    expected = [walk_value_row(tree, row) for row in values]
    assert len(set(expected)) > 10
    np.testing.assert_array_equal(apply_to_values(tree, values), expected)
    np.testing.assert_array_equal(tree.apply(values), expected)


def test_a_step_of_numpy_is_a_step_of_jax(tree):
    values = made_up_values(tree, 300, seed=2)
    node = np.random.default_rng(0).integers(0, tree.node_count, 300)
    steps, row = steps_over_values(tree, tree.threshold), np.arange(300)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, (steps, node, values))
        theirs = next_node(*on_device[:2], lambda feature: on_device[2][row, feature])
    np.testing.assert_array_equal(next_node(steps, node, lambda feature: values[row, feature]), theirs)


def test_walks_from_given_nodes(tree):
    values = made_up_values(tree, 300, seed=3)
    start = np.random.default_rng(1).integers(0, tree.node_count, 300).astype(np.int32)
    expected = [walk_value_row(tree, row, node) for row, node in zip(values, start, strict=True)]
    with jax.enable_x64(True):
        steps = steps_over_values(tree, tree.threshold)
        np.testing.assert_array_equal(walk_values(steps, tree.max_depth, values, start), expected)


@pytest.mark.parametrize("share_collapsed", [0.0, 0.2])
def test_codes_end_where_the_obvious_walk_ends(tree, share_collapsed):
    codes = made_up_codes(300, seed=4)
    collapsed = np.random.default_rng(2).random(tree.node_count) < share_collapsed
    expected = [walk_code_row(tree, row, collapsed) for row in codes.T]
    np.testing.assert_array_equal(apply(tree, codes, collapsed), expected)
    if not share_collapsed:
        np.testing.assert_array_equal(apply(tree, codes), expected)


def test_shares_of_classes_of_rows_of_codes(tree):
    codes = made_up_codes(300, seed=5)
    collapsed = np.random.default_rng(3).random(tree.node_count) < 0.1
    expected = class_shares(tree)[[walk_code_row(tree, row, collapsed) for row in codes.T]]
    np.testing.assert_array_equal(predict_proba(tree, codes, collapsed), expected)
    on_device = jax.tree.map(jnp.asarray, tree)
    np.testing.assert_allclose(jax.jit(predict_proba)(on_device, codes, collapsed), expected, rtol=1e-6)


def test_shares_of_an_output_that_does_not_exist():
    with pytest.raises(InvalidInputError, match="output must be one of 1 outputs of classes, got 1"):
        predict_proba(made_up_tree(0), made_up_codes(10, seed=0), output=1)
