"""Distributions against SciPy's: densities, distribution functions, quantiles, means; Fisher information and scores
by integrals."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

from jaxtree.errors import InvalidInputError
from jaxtree.losses import distributions
from jaxtree.losses.distribution import Distribution, trigamma_excess
from tests.losses.derivatives import check_derivatives, derive, evaluate
from tests.marks import are_slow

ROWS = np.random.default_rng(5)
FIRST = np.array([-0.7, 0.2, 1.1, 0.0])
SECOND = np.array([0.3, -0.6, 0.9, 1.4])
SCORES = np.stack([FIRST, SECOND])
SCALE = np.exp(SECOND)
MEAN = np.exp(FIRST)
MEAN_OF_SHARES = scipy.special.expit(FIRST)
CASES = {
    "normal": (distributions.normal(), scipy.stats.norm(FIRST, SCALE)),
    "laplace": (distributions.laplace(), scipy.stats.laplace(FIRST, SCALE)),
    "logistic": (distributions.logistic(), scipy.stats.logistic(FIRST, SCALE)),
    "student_t": (distributions.student_t(3.0), scipy.stats.t(3.0, FIRST, SCALE)),
    "lognormal": (distributions.lognormal(), scipy.stats.lognorm(SCALE, scale=np.exp(FIRST))),
    "gamma": (distributions.gamma(), scipy.stats.gamma(SCALE, scale=np.exp(FIRST) / SCALE)),
    "weibull": (distributions.weibull(), scipy.stats.weibull_min(SCALE, scale=np.exp(FIRST))),
    "negative_binomial": (distributions.negative_binomial(), scipy.stats.nbinom(SCALE, SCALE / (SCALE + MEAN))),
    "beta": (distributions.beta(), scipy.stats.beta(MEAN_OF_SHARES * SCALE, (1 - MEAN_OF_SHARES) * SCALE)),
}
OF_DENSITIES = [name for name in CASES if name != "negative_binomial"]
LEVELS = [0.01, 0.3, 0.5, 0.99]


def draw(name, seed=0):
    """Targets for the scores, one a row."""
    return np.asarray(CASES[name][1].rvs(random_state=seed, size=4))


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_minus_the_log_density(name):
    loss, other = CASES[name]
    y = draw(name)
    with jax.enable_x64(True):
        values = evaluate(loss, SCORES, y, {})
    expected = -(other.logpmf(y) if name == "negative_binomial" else other.logpdf(y))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_loss_and_hessians_positive(name):
    loss, _ = CASES[name]
    derivatives = check_derivatives(loss, SCORES, draw(name), hessian=False)
    assert np.linalg.eigvalsh(np.moveaxis(np.asarray(derivatives.hessian), -1, 0)).min() > 0


@pytest.mark.parametrize("name", are_slow(OF_DENSITIES, "beta", "gamma"))
def test_the_fisher_information_is_the_mean_square_of_gradients(name):
    """By an integral over probabilities, the midpoints of a fine grid."""
    loss, other = CASES[name]
    at = (np.arange(200_000) + 0.5) / 200_000
    for row in (0, 2):
        y = other.ppf(at[:, None])[:, row]
        scores = np.broadcast_to(SCORES[:, row, None], (2, len(at)))
        with jax.enable_x64(True):
            derivatives = derive(loss, scores, y, np.ones_like(at), {})
        gradient = np.asarray(derivatives.gradient)
        np.testing.assert_allclose(np.asarray(derivatives.hessian)[..., 0], gradient @ gradient.T / len(at), atol=2e-3)


@pytest.mark.parametrize("name", CASES)
def test_means_quantiles_and_distribution_functions(name):
    loss, other = CASES[name]
    y = draw(name, seed=1)
    with jax.enable_x64(True):
        np.testing.assert_allclose(loss.predict(jnp.asarray(SCORES))[0], other.mean(), rtol=1e-9)
        np.testing.assert_allclose(loss.cdf(SCORES, y), other.cdf(y), rtol=1e-8, atol=1e-12)
        for level in LEVELS:
            np.testing.assert_allclose(loss.quantile(SCORES, level), other.ppf(level), rtol=1e-8, atol=1e-12)
    for level in LEVELS:
        np.testing.assert_allclose(
            loss.quantile(SCORES.astype(np.float32), level), other.ppf(level), rtol=2e-4, atol=1e-6
        )


@pytest.mark.parametrize("name", OF_DENSITIES)
def test_ranked_scores_are_integrals(name):
    loss, other = CASES[name]
    y = draw(name, seed=2)
    with jax.enable_x64(True):
        scores = np.asarray(loss.crps(SCORES, y))
    ends = np.arcsinh([other.ppf(1e-13), y, other.ppf(1 - 1e-11)])
    for row in range(4):

        def area(at, is_above, row=row):
            """On a scale that is logarithmic for far numbers."""
            below = other.cdf(np.full(4, np.sinh(at)))[row]
            return (is_above - below) ** 2 * np.cosh(at)

        halves = [scipy.integrate.quad(area, *ends[k : k + 2, row], args=(k,), limit=400)[0] for k in (0, 1)]
        np.testing.assert_allclose(scores[row], sum(halves), rtol=1e-5)


@pytest.mark.parametrize("name", are_slow(CASES, "negative_binomial", "beta"))
def test_the_start_is_where_the_likelihood_of_all_is_greatest(name):
    loss, other = CASES[name]
    target = np.asarray(other.rvs(random_state=3, size=(100, 4)))[:, 2]
    weight = ROWS.uniform(0.1, 2, size=100)
    start = loss.start(target, weight, {})
    mean = jax.jit(lambda scores: loss.mean(jnp.repeat(scores[:, None], 100, axis=1), target, weight, {}))

    def cost(scores):
        with jax.enable_x64(True):
            return float(mean(np.asarray(scores)))

    found = scipy.optimize.minimize(cost, start + 0.1, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-11})
    assert cost(start) <= found.fun + 1e-9
    np.testing.assert_allclose(start, found.x, atol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_extreme_scores_give_numbers(name):
    loss, _ = CASES[name]
    y = np.concatenate([draw(name), draw(name, seed=1)])
    for size in (30.0, 1e2, 1e4):
        scores = jnp.asarray(size * np.array([[1, 1, -1, -1, 1, -1, 0, 0], [1, -1, 1, -1, 0, 0, 1, -1]]), jnp.float32)
        derivatives = derive(loss, scores, jnp.asarray(y, jnp.float32), np.ones(8, np.float32), {})
        assert np.isfinite(derivatives.gradient).all() and np.isfinite(derivatives.hessian).all()
        assert not np.isnan(evaluate(loss, scores, y, {})).any()
        assert not np.isnan(loss.predict(scores)).any()


def test_trigamma_without_its_largest_part_keeps_its_digits():
    k = np.exp(np.linspace(-10, 4, 50))
    with jax.enable_x64(True):
        wide = trigamma_excess(jnp.asarray(k))
    np.testing.assert_allclose(wide, k**2 * scipy.special.polygamma(1, k) - k, rtol=1e-8)
    np.testing.assert_allclose(trigamma_excess(jnp.asarray(k, jnp.float32)), wide, rtol=1e-5)
    assert abs(float(trigamma_excess(jnp.float32(1e6))) - 0.5) < 1e-5


def test_an_offset_of_one_number_a_row_moves_the_first_score():
    loss, target = distributions.negative_binomial(), draw("negative_binomial")
    moved = derive(loss, SCORES, target, np.ones(4), {"offset": np.log([1.0, 2.0, 3.0, 4.0])})
    scores = np.stack([FIRST + np.log([1.0, 2.0, 3.0, 4.0]), SECOND])
    np.testing.assert_allclose(moved.gradient, derive(loss, scores, target, np.ones(4), {}).gradient, rtol=1e-5)


@pytest.mark.parametrize(
    "name, wrong, message",
    [
        ("lognormal", 0.0, r"lognormal\(\): a target must be above 0, got 0.0"),
        ("gamma", -1.0, r"gamma\(\): a target must be above 0, got -1.0"),
        ("weibull", 0.0, r"weibull\(\): a target must be above 0, got 0.0"),
        ("negative_binomial", 1.5, r"negative_binomial\(\): a target must be a whole number 0 or more, got 1.5"),
        ("beta", 1.0, r"beta\(\): a target must be between 0 and 1, without these, got 1.0"),
        ("student_t", np.nan, r"student_t\(degrees=3.0\): a target must be a finite number, got nan"),
    ],
)
def test_a_target_that_is_not_allowed_is_named(name, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        CASES[name][0].check(np.array([0.5, wrong]) if name != "negative_binomial" else np.array([1, wrong]), {})


def test_what_a_distribution_does_not_know_is_named():
    with pytest.raises(InvalidInputError, match="degrees of student_t must be a number above 0, got -1"):
        distributions.student_t(-1)
    with pytest.raises(InvalidInputError, match=r"a level must be between 0 and 1, without these, got 1.5"):
        distributions.normal().quantile(SCORES, 1.5)
    for loss in (distributions.student_t(1.0), distributions.negative_binomial()):
        with pytest.raises(InvalidInputError, match="has no ranked_score in closed form"):
            loss.crps(SCORES, np.ones(4))


@pytest.mark.parametrize("name", CASES)
def test_equal_distributions_are_equal(name):
    make = getattr(distributions, name)
    again = make(3.0) if name == "student_t" else make()
    assert again == CASES[name][0] and hash(again) == hash(CASES[name][0])
    assert isinstance(dataclasses.replace(again, name="other"), Distribution)
    assert distributions.student_t(4.0) != distributions.student_t(3.0)
