"""What the kernel in C++ does with the rows of a boosting has the bits of XLA's programs."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting.leaves import Leaves, exact_sum, sums_at_nodes
from jaxtree.growth import Classes, Data, Features, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.inputs.mesh import Devices
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import EntryWeights
from jaxtree.growth.native import rows as native_rows
from jaxtree.tree.walk import apply
from tests.growth.native_trees import needs_kernel

FEW, MANY = 300, 70_000  # rows of one thread, and of several


def rows(number, num_values, dtype, scale=1.0):
    rng = np.random.default_rng(number)
    values = jnp.asarray(scale * rng.normal(size=(num_values, number)), dtype)
    return values, jnp.asarray(rng.random(number) < 0.8), rng


@needs_kernel
@pytest.mark.parametrize("scale", [1.0, 1e-30, 0.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [1, FEW, MANY])
@pytest.mark.parametrize("is_wide", [False, True])
def test_derivatives_are_rounded_alike(number, dtype, scale, is_wide):
    with jax.enable_x64(True):
        newton = Newton(2, 2, has_noise=True, needs_wide_sums=is_wide)
        values, used, rng = rows(number, 4, dtype, scale)
        values = values.at[:2].set(jnp.abs(values[:2]))
        target = jnp.concatenate([values, jnp.asarray(rng.random((1, number)), dtype)])
        whole = used.astype(jnp.int32)
        weights = EntryWeights(used.astype(jnp.float64), whole, jnp.float64(1), jnp.sum(whole), False)
        expected = newton.quantise(target, weights, Devices(1))
        entries, units = native_rows.quantise_rows(target, used, newton)
        np.testing.assert_array_equal(entries.value, expected.value)
        assert (units.weight, units.target) == (expected.units.weight, expected.units.target)


@needs_kernel
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [1, FEW, MANY])
def test_sums_are_alike(number, dtype):
    with jax.enable_x64(True):
        values, used, rng = rows(number, 9, dtype)
        # Two leaves at depth 2, and one at depth 1.
        parent, depth = jnp.array([0, 0, 0, 1, 1, 0, 0, 0], jnp.int32), jnp.array([0, 1, 1, 2, 2, 0, 0, 0], jnp.int32)
        data = Data(np.array([[0, 1]], np.uint8), np.array([0, 1]))
        grown = grow(data, None, Limits(), Rules(Classes(2)), Sizes(num_bins=2, capacity=8)).tree
        tree = dataclasses.replace(grown, parent=parent, depth=depth)
        leaf = jnp.asarray(rng.integers(2, 5, number), jnp.int32)
        symmetric = values.reshape(3, 3, number) + values.reshape(3, 3, number).swapaxes(0, 1)
        by_kernel, by_xla = (Leaves(tree, leaf, used, Devices(1), is_native) for is_native in (True, False))
        for own in (values, values[:1], symmetric):
            np.testing.assert_array_equal(sums_at_nodes(by_kernel, own), sums_at_nodes(by_xla, own))
        whole = [exact_sum(values, used, Devices(1), is_native=is_native) for is_native in (True, False)]
        assert whole[0] == whole[1]


@needs_kernel
def test_steps_are_added_to_scores():
    with jax.enable_x64(True):
        scores, _, rng = rows(MANY, 3, "float32")
        steps, leaf = (
            jnp.asarray(rng.normal(size=(3, 8)), jnp.float32),
            jnp.asarray(rng.integers(0, 8, MANY), jnp.int32),
        )
        moved = native_rows.add_steps(scores, steps, leaf)
        np.testing.assert_array_equal(moved, scores + steps[:, leaf])


@needs_kernel
@pytest.mark.parametrize("kinds", [[0, 0, 0, 0], [0, 1, 2, 3]])
@pytest.mark.parametrize("number", [301, 1])
def test_walks_end_where_those_of_xla_do(number, kinds):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, (4, 301)).astype(np.uint8)
    features = Features(np.array(kinds), np.full(4, 9), np.array([8, 8, 9, 8]))
    target = np.sin(codes[0]) + (codes[1] == 3) + codes[2] % 3 + 0.2 * codes[3] + rng.normal(0, 0.1, 301)
    tree = grow(Data(codes[:, ::2], target[::2]), features, Limits(max_depth=5), Rules(Numbers()), Sizes(9, 512)).tree
    assert set(np.asarray(tree.split_kind[tree.num_children > 0]).tolist()) == set(kinds)
    codes = codes[:, :number]
    with jax.enable_x64(True):
        end = native_rows.walk(jax.tree.map(jnp.asarray, tree), jnp.asarray(codes))
    np.testing.assert_array_equal(end, apply(tree, codes))
