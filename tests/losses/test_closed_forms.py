"""Closed forms of distributions, over twelve orders of magnitude of what they are given.

`tests/reference/distributions.json` has minus the log density, the distribution function and the ranked score of every
distribution, computed with 60 digits by the formulas of the docstrings in `jaxtree.boosting.distributions`: with
Gamma and beta functions and their incomplete integrals as mpmath 1.3 has them. A row is the two scores, the number, and
these three; null where there is no closed form.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from jaxtree.boosting import accelerated_failure_time
from jaxtree.losses import distributions
from jaxtree.losses.predicted import PredictedDistribution
from tests.marks import rest_is_slow

REFERENCE = json.loads((pathlib.Path(__file__).parents[1] / "reference" / "distributions.json").read_text())
NUMBER = 42
"""Rows of every table, some of them twice: so programs are compiled once."""

OF_LOGARITHMS = ("lognormal", "weibull", "gamma")


def make(name):
    kind, _, degrees = name.rstrip(")").partition("(")
    return getattr(distributions, kind)(*([float(degrees)] if degrees else []))


def predicted(name):
    table = np.array(REFERENCE[name], float)
    table = table[np.resize(np.arange(len(table)), NUMBER)]
    return PredictedDistribution(make(name), table[:, :2]), table[:, 2], table[:, 3:].T


def digits_lost(name, scores, y):
    """By how much rounding of the scores and the number, by a share of 1e-16, may change them in units of the scale.

    A number is subtracted from the location and divided by the scale; of positive ones their logarithms are.
    """
    is_log = name in OF_LOGARITHMS
    of_y = np.abs(np.log(y)) if is_log else np.abs(y)
    width = np.exp({"gamma": -0.5, "weibull": -1.0}.get(name, 1.0) * scores[:, 1])
    return 1 + (np.abs(scores[:, 0]) + of_y) / (1 if name in ("beta", "negative_binomial") else width)


@pytest.mark.parametrize("name", REFERENCE)
def test_closed_forms_keep_their_digits(name):
    model, y, (loss, below, ranked) = predicted(name)
    lost = 1e-14 * digits_lost(name, model.scores, y) + 1e-10
    assert (np.abs(-model.log_prob(y) - loss) <= lost * np.maximum(1, np.abs(loss))).all()
    known = ~np.isnan(below)
    apart, below = np.abs(model.cdf(y) - below)[known], below[known]
    # A share of a far tail changes by more than the number does.
    assert (apart <= 50 * lost[known] * (below - scipy.special.xlogy(below, below))).all()
    if name != "negative_binomial":
        assert (np.abs(model.crps(y) - ranked) <= 3 * lost * ranked).all()


@pytest.mark.parametrize(
    ("log_mean", "sigma", "y", "score"),
    [
        (2.452, 12.0, 11.772, 4.64440111045e15),
        (2.452, 12.197531, 11.772, 1.50999978075e16),
        (0.0, 12.0, 1.0, 3.99981265935e14),
        (-3.0, 12.0, 1e-3, 1.9913894633e13),
        (0.0, 15.0, 1e-8, 2.00285845416e23),
        (2.452, 9.0, 1e20, 9.99997268071e19),
        (2.452, 12.0, 1e60, 1e60),
        (2.452, 5.0, 11.772, 1266.199407),
    ],
)
def test_ranked_scores_of_wide_lognormals_are_their_integrals(log_mean, sigma, y, score):
    """Integrals of (F - 1[y <= x])**2 by quadrature in 60 digits, over the logarithm of x."""
    model = PredictedDistribution(make("lognormal"), np.array([[log_mean, np.log(sigma)]]))
    np.testing.assert_allclose(model.crps(y), score, rtol=3e-11)


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e-9, 0.99])
@pytest.mark.parametrize("name", REFERENCE)
def test_quantiles_are_where_the_distribution_function_has_its_level(name, level):
    model, _, _ = predicted(name)
    at = model.quantile(level)
    is_number = np.isfinite(at) & (np.abs(at) > 1e-300)
    at, step = np.where(is_number, at, 0.5), 1e-12 * np.abs(at)
    if name == "negative_binomial":
        low, high = model.cdf(at - 1), model.cdf(at)
    else:
        low, high = model.cdf(at - step), model.cdf(at + step)
    assert (low <= level * (1 + 1e-9))[is_number].all() and (high >= level * (1 - 1e-9))[is_number].all()


@pytest.mark.parametrize("name", rest_is_slow(["lognormal", "gamma", "weibull", "beta", "negative_binomial"], 3))
def test_what_cannot_be_has_no_probability_and_is_farther_than_all_that_can(name):
    model = PredictedDistribution(make(name), np.zeros((2, 2)))
    outside = np.array([-1.0, -3.0])
    assert model.cdf(outside).tolist() == [0, 0]
    assert model.log_prob(outside).tolist() == [-np.inf, -np.inf]
    if name != "negative_binomial":
        first, second = model.crps(outside)
        # For a distribution above 0 the score of a number below is that of 0, and its distance from 0.
        at_0 = model.crps(np.zeros(2))[0]
        np.testing.assert_allclose([first, second], [at_0 + 1, at_0 + 3], rtol=1e-14)
    if name == "beta":
        assert model.cdf(2.0).tolist() == [1, 1] and model.log_prob(2.0).tolist() == [-np.inf, -np.inf]


def test_failure_times_before_0_have_no_probability():
    model = PredictedDistribution(accelerated_failure_time(), np.zeros((1, 1)))
    assert model.cdf(-1.0).tolist() == [0] and model.cdf(0.0).tolist() == [0]


def test_means_have_no_limit():
    """Means of numbers around e^80 were cut at e^50."""
    with jax.enable_x64(True):
        for name in ("gamma", "lognormal", "weibull", "negative_binomial"):
            near, far = (make(name).predict(jnp.array([[score], [0.5]]))[0, 0] for score in (1.0, 81.0))
            np.testing.assert_allclose(far / near, np.exp(80.0), rtol=1e-12)
