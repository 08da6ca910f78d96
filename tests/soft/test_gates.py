"""Steps, selectors and planes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from jaxtree.soft.entmax import entmax15
from jaxtree.soft.gates import AxisGate, axis_planes, feature_shares, log_steps, plane_values, smooth_step, step


def slow_entmax(logits):
    """The definition, its threshold found by bisection."""
    half = np.asarray(logits) / 2

    def excess(tau):
        return np.sum(np.maximum(half - tau, 0) ** 2) - 1

    tau = brentq(excess, half.max() - 1, half.max())
    return np.maximum(half - tau, 0) ** 2


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1000.0])
def test_entmax_is_its_definition(scale):
    logits = np.random.default_rng(0).normal(size=(20, 7)) * scale
    with jax.enable_x64(True):
        shares = entmax15(jnp.asarray(logits))
    np.testing.assert_allclose(shares, [slow_entmax(row) for row in logits], atol=1e-10)
    assert scale < 10 or (np.asarray(shares) == 0).any()


def test_entmax_has_the_derivative_of_finite_differences():
    random = np.random.default_rng(1)
    with jax.enable_x64(True):
        logits, direction = (jnp.asarray(random.normal(size=(6, 5))) for _ in range(2))
        slope = jax.jvp(entmax15, (logits,), (direction,))[1]
        difference = (entmax15(logits + 1e-6 * direction) - entmax15(logits - 1e-6 * direction)) / 2e-6
        np.testing.assert_allclose(slope, difference, atol=1e-6)
        through = jax.vjp(entmax15, logits)[1](direction)[0]
        assert float(jnp.sum(through * direction)) == pytest.approx(float(jnp.sum(slope * direction)))


def test_entmax_of_equal_and_of_huge_logits_is_finite():
    logits = jnp.array([[0.0, 0.0, 0.0], [1e6, 0.0, -1e6], [3e38, 3e38, -3e38]])
    np.testing.assert_allclose(entmax15(logits), [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0], [0.5, 0.5, 0]], atol=1e-6)
    assert np.isfinite(jax.grad(lambda logits: entmax15(logits)[:, 0].sum())(logits)).all()


@pytest.mark.parametrize("selector", ["softmax", "entmax", "onehot"])
def test_shares_sum_to_one_and_end_with_one_feature(selector):
    selection = jnp.asarray(np.random.default_rng(2).normal(size=(9, 6)), jnp.float32)
    np.testing.assert_allclose(feature_shares(selection, selector).sum(axis=1), 1, rtol=1e-6)
    cold = feature_shares(selection, selector, 1e-4)
    np.testing.assert_allclose(cold, jax.nn.one_hot(jnp.argmax(selection, axis=1), 6), atol=1e-6)


@pytest.mark.parametrize("selector", ["softmax", "entmax"])
def test_shares_are_numbers_at_a_temperature_known_beforehand(selector):
    """A compiler that knows the temperature may round products in one place and not in another."""
    selection = jnp.asarray(np.random.default_rng(2).normal(size=(9, 6)) + 10, jnp.float32)
    cold = jax.jit(lambda selection: feature_shares(selection, selector, 1e-11))(selection)
    np.testing.assert_allclose(cold, jax.nn.one_hot(jnp.argmax(selection, axis=1), 6), atol=1e-6)


def test_one_feature_has_the_gradient_of_softmax():
    selection = jnp.array([[0.3, -0.2, 0.1]])

    def told(selector):
        return jax.grad(lambda s: feature_shares(s, selector)[0, 1])(selection)

    np.testing.assert_allclose(told("onehot"), told("softmax"), rtol=1e-6)


def test_a_smooth_step_is_exact_outside_its_band_and_smooth_at_its_ends():
    z = jnp.linspace(-1, 1, 41)
    value, slope = smooth_step(z), jax.vmap(jax.grad(smooth_step))(z)
    assert (value[z <= -0.5] == 0).all() and (value[z >= 0.5] == 1).all()
    np.testing.assert_allclose(value + value[::-1], 1, atol=1e-6)
    inside = jnp.abs(z) < 0.5
    np.testing.assert_allclose(value[inside], (-2 * z**3 + 1.5 * z + 0.5)[inside], atol=1e-6)
    assert (slope[~inside] == 0).all() and (slope[inside] > 0).all()


@pytest.mark.parametrize("kind", ["sigmoid", "smooth_step", "hard"])
def test_logarithms_of_steps_are_those_of_the_probabilities(kind):
    z = jnp.array([-1e9, -30.0, -0.6, -0.3, 0.0, 1e-3, 0.4, 0.9, 25.0, 1e9])
    left, right = log_steps(z, kind)
    np.testing.assert_allclose(jnp.exp(right), step(z, kind), atol=1e-6)
    np.testing.assert_allclose(jnp.exp(left), 1 - step(z, kind), atol=1e-6)
    assert (left <= 0).all() and (right <= 0).all()
    slope = jax.vmap(jax.grad(lambda z: sum(log_steps(z, kind))))(z)
    assert np.isfinite(slope).all()


def test_only_what_is_known_is_compared():
    """Of a missing value nothing is left but the gate's value for it, whatever the temperature."""
    missing = ((0,),)
    gate = AxisGate(
        selection=jnp.array([[50.0, 0.0, 0.0], [0.0, 50.0, 0.0]]),
        threshold=jnp.array([3.0, -2.0]),
        log_sharpness=jnp.array([1.0, 0.0]),
        missing=jnp.array([[0.7], [0.9]]),
    )
    x = jnp.array([[5.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    for temperature in (1.0, 1e-6):
        value = plane_values(axis_planes(gate, missing, "softmax", temperature), x)
        np.testing.assert_allclose(value[:, 0], [2 * np.e / temperature, 3 / temperature], rtol=1e-5)
        np.testing.assert_allclose(value[:, 1], [0.7, 3 / temperature], rtol=1e-5)
