"""The law of boosting: the same rows, the same seed, the same model, on any number of devices and by either engine.

Programs for other numbers of rows, and those compiled with other options, compute derivatives whose last bits differ.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree.boosting import booster, logistic, poisson, softmax
from jaxtree.boosting.booster import newton_of
from jaxtree.boosting.data import Shrinkage
from jaxtree.boosting.round_tree import row_derivatives
from jaxtree.compilation import quick_options
from jaxtree.growth.inputs import newton
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.plan import plan
from jaxtree.kernels import choose
from jaxtree.losses.loss import Loss
from tests.boosting.test_boost import boosted, classes, numbers
from tests.marks import are_exhaustive, rest_is_slow

SEEDS = 8


def rates(**options):
    rows = numbers(**options)
    return rows._replace(target=np.floor(np.exp(rows.target)))


CASES = {
    "logistic": (logistic(), classes),
    "poisson": (poisson(), rates),
    "softmax of 12": (softmax(12), lambda **options: classes(12, **options)),
    "softmax of 5, full": (softmax(5, "full"), lambda **options: classes(5, **options)),
}


def models(name, **options):
    loss, make = CASES[name]
    return [boosted(make(num_rows=1003, seed=seed), loss, seed=seed, **options) for seed in range(SEEDS)]


def assert_same(one, other, *fields):
    for a, b in zip(one, other, strict=True):
        for field in fields or [own.name for own in dataclasses.fields(a.forest.nodes)]:
            own, others = (getattr(model.forest.nodes, field) for model in (a, b))
            np.testing.assert_array_equal(own, others, err_msg=field)


@pytest.mark.slow
@pytest.mark.parametrize("name", are_exhaustive(CASES, "poisson"))
def test_devices_and_kernel_change_no_bit(name, monkeypatch):
    alone = models(name)
    for num_devices in (2, 4):
        mesh = Mesh(np.array(jax.devices()[:num_devices]), ("rows",))
        assert_same(alone, models(name, mesh=mesh))
    if not choose.is_there():
        pytest.skip("the kernel is not installed")
    monkeypatch.setattr(choose, "is_there", lambda: False)
    assert_same(alone, models(name), "feature", "code", "first_child", "num_rows", "weight", "target_sum")


@pytest.mark.parametrize("name", rest_is_slow(CASES, 3))
def test_derivatives_have_the_same_bits_in_every_program(name):
    """All at once and optimised, and in parts by a program that is not."""
    loss, make = CASES[name]
    rows = make(num_rows=40_000)
    rows = rows._replace(codes=rows.codes[:0])
    with jax.enable_x64(True):
        scores = np.random.default_rng(0).normal(size=(loss.num_scores, 40_000))

        def derive(scores, rows):
            return row_derivatives(loss, scores, rows)

        whole = jax.jit(derive)(scores, rows)
        for options, size in ((quick_options(0), 40_000), (quick_options(1), 5_003), ({}, 10_007)):
            part = jax.jit(derive, compiler_options=options)(
                scores[:, :size],
                rows._replace(target=rows.target[:size], weight=rows.weight[:size], codes=rows.codes[:, :size]),
            )
            for own, other in zip(whole, part, strict=True):
                np.testing.assert_array_equal(own[..., :size], other)
                assert np.any(own != 0) and np.array_equal(own, np.float32(own))


@pytest.mark.slow
def test_derivatives_keep_the_bits_of_scores_and_their_range():
    rows = classes()
    with jax.enable_x64(True):
        few, many = jnp.ones((1, 400)), jnp.ones((1, 400), jnp.float32)
        assert row_derivatives(logistic(), many, rows).gradient.dtype == np.float32
        far = Loss(lambda scores, target, extras: 1e80 * scores[0] ** 2)
        gradient = row_derivatives(far, few, rows).gradient
        np.testing.assert_allclose(gradient, 2e80, rtol=2.0**-24)


def test_many_rows_are_summed_in_32_bits():
    """The kernel grows trees leaf by leaf of such sums."""
    usual, fitting = Newton(has_noise=True), Newton(has_noise=True, fits_sum=True)
    assert newton_of(1, 1, 2**23 - 1) == usual
    assert newton_of(1, 1, 2**23) == newton_of(1, 1, 2**26 - 1) == fitting
    assert newton_of(1, 1, 2**26) == Newton(has_noise=True, needs_wide_sums=True)
    assert newton_of(3, 3, 2**23) == Newton(3, 3, has_noise=True, needs_wide_sums=True)


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [1999, 50_000])
def test_devices_threads_and_kernel_change_no_bit_of_many_rows(num_rows, monkeypatch):
    """As if 32-bit sums left few bits for each of these rows, which have very different weights.

    The kernel has the codes of a row side by side, too.
    """
    bits = num_rows.bit_length() + booster.LEAST_BITS
    for module in (booster, newton):
        monkeypatch.setattr(module, "NARROW_BITS", bits)
    monkeypatch.setattr(plan, "LEAST_ROWS_SIDE_BY_SIDE", num_rows)
    assert newton_of(1, 1, num_rows).fits_sum
    rows = classes(num_rows=num_rows)
    rows = rows._replace(weight=np.exp(2 * np.random.default_rng(0).normal(size=num_rows)))
    shrinkage = Shrinkage(max_leaf_nodes=7)
    fit = lambda **options: boosted(rows, logistic(), shrinkage, **options)  # noqa: E731
    alone = fit()
    assert len(np.unique(alone.forest.nodes.feature)) > 2
    assert_same([alone], [fit(mesh=Mesh(np.array(jax.devices()[:2]), ("rows",)))])
    if not choose.is_there():
        pytest.skip("the kernel is not installed")
    monkeypatch.setattr(choose, "is_there", lambda: False)
    assert_same([alone], [fit()], "feature", "code", "first_child", "num_rows", "weight", "target_sum")
