"""A loss is one function of a row: autodiff, absolute Hessians, offsets, starts and equality."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from jaxtree.boosting import Loss
from jaxtree.errors import InvalidInputError
from jaxtree.losses.classes import logistic, softmax
from jaxtree.losses.domain import Domain
from jaxtree.losses.loss import absolute, given
from jaxtree.losses.names import loss_of
from jaxtree.losses.numbers import squared
from jaxtree.losses.robust import huber
from tests.losses.derivatives import check_derivatives


def lopsided(scores, target, extras):
    """Errors above cost five times as much."""
    error = scores[0] - target
    return jnp.where(error > 0, 5.0, 1.0) * error**2


def saddle(scores, target, extras):
    """Convex in neither score."""
    return jnp.sin(scores[0] * scores[1]) + jnp.cos(scores[1] - target) * extras["size"]


ROWS = np.random.default_rng(0)
TARGET = ROWS.normal(size=40)
WEIGHT = ROWS.uniform(0.1, 2, size=40)


def test_a_loss_of_ones_own_needs_no_derivatives_of_ones_own():
    scores = ROWS.normal(size=(1, 40))
    derivatives = check_derivatives(Loss(lopsided), scores, TARGET)
    above = np.where(scores[0] > TARGET, 5, 1)
    assert np.unique(above).size == 2
    weight = np.linspace(0.5, 2, 40)
    np.testing.assert_allclose(derivatives.gradient[0], 2 * weight * above * (scores[0] - TARGET))
    np.testing.assert_allclose(derivatives.hessian[0], 2 * weight * above)


def test_an_offset_is_a_part_of_the_scores():
    loss, offset = Loss(lopsided), ROWS.normal(size=40)
    scores = ROWS.normal(size=(1, 40))
    with jax.enable_x64(True):
        beside = loss.derivatives(scores, TARGET, WEIGHT, {"offset": offset})
        within = loss.derivatives(scores + offset, TARGET, WEIGHT, {})
    for one, other in zip(beside, within, strict=True):
        np.testing.assert_array_equal(one, other)
    start = loss.start(TARGET, WEIGHT, {"offset": offset})

    def cost(constant):
        error = constant + offset - TARGET
        return np.sum(WEIGHT * np.where(error > 0, 5, 1) * error**2)

    np.testing.assert_allclose(start, scipy.optimize.minimize_scalar(cost).x, rtol=1e-6)


def test_a_function_may_return_a_number_a_score_and_needs_not_sum_them():
    def both(scores, target, extras):
        return (scores - target) ** 2

    derivatives = check_derivatives(Loss(both, num_scores=2), ROWS.normal(size=(2, 40)), TARGET)
    np.testing.assert_allclose(derivatives.hessian[0, 1], 0)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_absolute_value_of_a_matrix_has_those_of_its_eigenvalues(size):
    matrix = ROWS.normal(size=(20, size, size))
    matrix += matrix.transpose(0, 2, 1)
    value, vector = np.linalg.eigh(matrix)
    expected = np.einsum("nij,nj,nkj->nik", vector, np.abs(value), vector)
    if size > 1:
        np.testing.assert_allclose(jax.vmap(absolute)(jnp.asarray(matrix)), expected, rtol=1e-4, atol=1e-5)
    assert (value < 0).any()


def test_the_absolute_value_of_extreme_matrices_is_finite():
    for matrix in (np.zeros((2, 2)), np.full((2, 2), 1e30), np.diag([1e-3, -1e30]), np.diag([0.0, -3.0])):
        expected = matrix if matrix[0, 1] else np.abs(matrix)
        np.testing.assert_allclose(absolute(jnp.asarray(matrix, jnp.float32)), expected, rtol=1e-5, atol=1e-2)


@pytest.mark.slow
def test_hessians_of_a_loss_that_is_not_convex_are_positive():
    loss = Loss(saddle, num_scores=2)
    scores, extras = ROWS.normal(size=(2, 40)), {"size": np.ones(40)}
    with jax.enable_x64(True):
        hessian = np.asarray(loss.derivatives(scores, TARGET, np.ones(40), extras).hessian)
        plain = np.asarray(
            dataclasses.replace(loss, is_convex=True).derivatives(scores, TARGET, np.ones(40), extras).hessian
        )
    assert np.linalg.eigvalsh(plain.transpose(2, 0, 1)).min() < -0.1
    assert np.linalg.eigvalsh(hessian.transpose(2, 0, 1)).min() > -1e-12
    np.testing.assert_allclose(
        np.linalg.eigvalsh(hessian.transpose(2, 0, 1)).max(1),
        np.abs(np.linalg.eigvalsh(plain.transpose(2, 0, 1))).max(1),
    )
    check_derivatives(dataclasses.replace(loss, is_convex=True), scores, TARGET, extras)


def test_the_hessian_of_one_score_is_its_absolute_value():
    def heavy_tailed(scores, target, extras):
        return jnp.log1p((scores - target) ** 2)

    scores = 2 * ROWS.normal(size=(1, 40))
    plain = dataclasses.replace(Loss(heavy_tailed), is_convex=True)
    assert (check_derivatives(Loss(heavy_tailed), scores, TARGET).hessian >= 0).all()
    with jax.enable_x64(True):
        assert (plain.derivatives(scores, TARGET, WEIGHT, {}).hessian < 0).any()


def test_rows_of_weight_zero_have_no_derivatives_whatever_they_contain():
    target = jnp.array([1.0, jnp.nan, jnp.inf])
    for hessian in ("full", "one"):
        loss = dataclasses.replace(squared(), hessian=hessian)
        derivatives = loss.derivatives(jnp.zeros((1, 3)), target, jnp.array([1.0, 0.0, 0.0]), {})
        np.testing.assert_array_equal(derivatives.gradient, [[-1, 0, 0]])
        np.testing.assert_array_equal(derivatives.hessian, [[1, 0, 0]])
    assert squared().mean(jnp.zeros((1, 3)), target, jnp.array([2.0, 0.0, 0.0]), {}) == 0.5


@pytest.mark.parametrize("make", [squared, logistic, lambda: softmax(3, "full"), lambda: Loss(lopsided)])
def test_equal_losses_share_a_program(make):
    traced = []

    @jax.jit
    def count(scores):
        traced.append(0)
        return scores

    derive = jax.jit(
        lambda scores, loss: loss.derivatives(count(scores), jnp.zeros(3), jnp.ones(3), {}), static_argnums=1
    )
    one, other = make(), make()
    assert one == other and hash(one) == hash(other) and one is not other
    for loss in (one, other, dataclasses.replace(one)):
        derive(jnp.zeros((one.num_scores, 3)), loss)
    assert len(traced) == 1
    assert softmax(3) != softmax(4) and Loss(lopsided) != Loss(saddle)
    assert given(lopsided, size=1) != given(lopsided, size=2)


@pytest.mark.parametrize("wide", [True, False])
def test_derivatives_are_as_precise_as_the_scores(wide):
    with jax.enable_x64(True):
        scores = jnp.zeros((1, 40), jnp.float64 if wide else jnp.float32)
        derivatives = squared().derivatives(scores, TARGET, WEIGHT, {})
        assert {part.dtype for part in derivatives} == {scores.dtype}
        assert squared().mean(scores, TARGET, WEIGHT, {}).dtype == scores.dtype


def test_the_start_of_a_loss_that_is_hard_to_start():
    """Far targets, where the function is flat at 0; and one that is least at infinity."""

    def robust(scores, target, extras):
        return jnp.sqrt(1 + (scores[0] - target) ** 2)

    far = TARGET + 1e4
    start = Loss(robust, is_convex=True).start(far, WEIGHT, {})
    expected = scipy.optimize.minimize_scalar(
        lambda constant: np.sum(WEIGHT * np.sqrt(1 + (constant - TARGET) ** 2)), bracket=(-1, 1)
    ).x
    np.testing.assert_allclose(start - 1e4, expected, atol=1e-5)
    only = dataclasses.replace(logistic(), constant=None).start(np.ones(5), np.ones(5), {})
    assert 15 < only[0] < 60


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"hessian": "half"}, "hessian must be one of full, diagonal, fisher, one, got 'half'"),
        ({"hessian": "fisher"}, "hessian='fisher' needs information, got None"),
        ({"num_scores": 0}, "num_scores must be 1 or more, got 0"),
    ],
)
def test_a_wrong_attribute_is_named(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        Loss(lopsided, **wrong)


@pytest.mark.parametrize(
    "domain, wrong, message",
    [
        (Domain(), np.nan, "a finite number, got nan"),
        (Domain(0), -1.0, "0 or more, got -1.0"),
        (Domain(0, is_open=True), 0.0, "above 0, got 0.0"),
        (Domain(0, 1, is_open=True), 1.0, "between 0 and 1, without these, got 1.0"),
        (Domain(0, is_whole=True), 0.5, "a whole number 0 or more, got 0.5"),
        (Domain(0, has_positive=True), 0.0, "some row must be above 0, got 0 in all 1 rows"),
        (Domain(), "word", "a finite number, got an array of <U4"),
    ],
)
def test_a_wrong_target_is_named_with_what_is_allowed(domain, wrong, message):
    loss = Loss(lopsided, domain=domain, name="of_mine")
    with pytest.raises(InvalidInputError, match=r"of_mine\(\): a target") as caught:
        loss.check_fit(np.array([wrong]), {})
    assert message in str(caught.value)


def test_an_extra_that_is_missing_or_wrong_is_named():
    loss = Loss(saddle, num_scores=2, needs=("size",))
    with pytest.raises(InvalidInputError, match=r"saddle\(\) needs the extra 'size' of every row, got \['offset'\]"):
        loss.check(TARGET, {"offset": TARGET})
    with pytest.raises(InvalidInputError, match="the extra 'offset' must be a finite number, got inf"):
        loss.check(TARGET, {"size": TARGET, "offset": np.full(40, np.inf)})
    message = r"the extra 'offset' must be an array of shape \(40,\) or \(40, 2\), got \(3,\)"
    with pytest.raises(InvalidInputError, match=message):
        loss.check(TARGET, {"size": TARGET, "offset": np.ones(3)})


@pytest.mark.parametrize(
    "function, message",
    [
        (
            lambda scores, target, extras: scores[0] if target > 0 else -scores[0],
            r"<lambda> must be a function in JAX of",
        ),
        (
            lambda scores, target, extras: scores[0] * extras["cost"],
            r"reads extras\['cost'\], and needs=\(\): make it by",
        ),
        (lambda scores, target: jnp.mean(scores), r"<lambda>, a loss of outputs and .* got the shape \(\) for 1 row"),
    ],
)
def test_functions_that_are_no_loss_are_named(function, message):
    with pytest.raises(InvalidInputError, match=message):
        loss_of(function).check(TARGET, {})


def test_what_makes_a_loss_is_no_loss():
    with pytest.raises(InvalidInputError, match=r"got huber of 0 arguments: give what it returns, loss=huber\(\)"):
        loss_of(huber)
