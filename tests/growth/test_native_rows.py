"""The kernel's work on the rows of a boosting has the bits of XLA's programs."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting.booster import LEAST_BITS
from jaxtree.growth import Classes, Data, Features, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.inputs import newton as newton_module
from jaxtree.growth.inputs.newton import Newton
from jaxtree.kernels import rows as operations
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import Devices
from jaxtree.tree.walk import apply, apply_in_program
from tests.growth.native_trees import needs_kernel

ENGINES = (Engine.PROGRAM, Engine.XLA)
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
        made, expected = (newton.quantise_used(target, used, Devices(1), engine) for engine in ENGINES)
        np.testing.assert_array_equal(made.value, expected.value)
        assert (made.units.weight, made.units.target) == (expected.units.weight, expected.units.target)


@needs_kernel
@pytest.mark.parametrize("num_curvatures", [1, 2])
@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("number", [1, FEW, MANY])
def test_units_that_follow_from_sums_leave_none_that_overflows(number, spread, num_curvatures, monkeypatch):
    """With few bits a row, for rows alike or very different, all rounded up: sums fit, and the bits are used."""
    bits = number.bit_length() + LEAST_BITS
    monkeypatch.setattr(newton_module, "NARROW_BITS", bits)
    rng = np.random.default_rng(number)
    sizes = np.exp(spread * rng.normal(size=(num_curvatures + 2, number)))
    sizes[num_curvatures] *= np.where(rng.random(number) < 0.5, -1, 1)
    is_used = rng.random(number) < 0.8
    is_used[0] = True
    with jax.enable_x64(True):
        newton = Newton(2, num_curvatures, has_noise=True, fits_sum=True)
        target, used = jnp.asarray(np.concatenate([sizes, np.full((1, number), 1 - 2**-20)])), jnp.asarray(is_used)
        made, expected = (newton.quantise_used(target, used, Devices(1), engine) for engine in ENGINES)
    np.testing.assert_array_equal(made.value, expected.value)
    assert (made.units.weight, made.units.target) == (expected.units.weight, expected.units.target)
    whole, units = np.abs(np.asarray(made.value, np.int64)).sum(axis=1), (made.units.weight, made.units.target)
    sums, sizes = (np.split(own, [num_curvatures]) for own in (whole, np.abs(sizes[:, is_used]).sum(axis=1)))
    terms = num_curvatures * is_used.sum(), is_used.sum()
    assert sums[0].sum() < 2**bits and max(sums[1]) < 2**bits
    for size, unit, number in zip(sizes, units, terms, strict=True):
        # With half the unit they might not.
        assert 2 * size.sum() / float(unit) + 2 * number >= 2**bits - 1


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
        for own in (values, values[:1], symmetric):
            given = own, leaf, used, tree.parent, tree.depth
            by_kernel, by_xla = (
                operations.sum_at_nodes(*given, devices=Devices(1), engine=engine) for engine in ENGINES
            )
            np.testing.assert_array_equal(by_kernel, by_xla)
        whole = [operations.sum_rows(values, used, devices=Devices(1), engine=engine) for engine in ENGINES]
        assert whole[0] == whole[1]


@needs_kernel
def test_steps_are_added_to_scores():
    with jax.enable_x64(True):
        scores, _, rng = rows(MANY, 3, "float32")
        steps, leaf = (
            jnp.asarray(rng.normal(size=(3, 8)), jnp.float32),
            jnp.asarray(rng.integers(0, 8, MANY), jnp.int32),
        )
        moved, expected = (operations.add_steps(scores, steps, leaf, engine=engine) for engine in ENGINES)
        np.testing.assert_array_equal(moved, expected)
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
        end = apply_in_program(jax.tree.map(jnp.asarray, tree), jnp.asarray(codes), engine=Engine.PROGRAM)
    np.testing.assert_array_equal(end, apply(tree, codes))
