"""Distributions that a boosted estimator predicts."""

import numpy as np
import pytest
import scipy.stats

import jaxtree
from jaxtree import GradientBoostingDistribution
from jaxtree.boosting import accelerated_failure_time
from jaxtree.errors import InvalidInputError
from jaxtree.losses import distributions
from jaxtree.losses.names import DISTRIBUTIONS

FEW = {"n_estimators": 15, "max_depth": 2}


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (300, 3))
    return X, rng.gamma(3, np.exp(X[:, 0])), rng


def targets(name):
    X, y, _ = rows()
    return X, {"beta": y / (1 + y), "negative_binomial": np.floor(y)}.get(name, y)


IN_SCIPY = {
    "normal": lambda p: scipy.stats.norm(p["mean"], p["scale"]),
    "laplace": lambda p: scipy.stats.laplace(p["median"], p["scale"]),
    "logistic": lambda p: scipy.stats.logistic(p["mean"], p["scale"]),
    "student_t": lambda p: scipy.stats.t(5, p["location"], p["scale"]),
    "lognormal": lambda p: scipy.stats.lognorm(p["scale"], scale=np.exp(p["location"])),
    "gamma": lambda p: scipy.stats.gamma(p["shape"], scale=p["mean"] / p["shape"]),
    "weibull": lambda p: scipy.stats.weibull_min(p["shape"], scale=p["scale"]),
    "negative_binomial": lambda p: scipy.stats.nbinom(p["size"], p["size"] / (p["size"] + p["mean"])),
    "beta": lambda p: scipy.stats.beta(p["mean"] * p["precision"], (1 - p["mean"]) * p["precision"]),
}


FAST = ("lognormal", "student_t")
"""With a constant, and with another mean than location; the room of boosting tests every formula."""


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in sorted(DISTRIBUTIONS)]
)
def test_what_is_predicted_is_scipy_s_distribution_of_these_parameters(name):
    X, y = targets(name)
    model = GradientBoostingDistribution(**FEW, distribution=name).fit(X, y)
    predicted = model.predict_dist(X)
    other = IN_SCIPY[name](predicted.parameters)
    np.testing.assert_allclose(model.predict(X), predicted.mean)
    np.testing.assert_allclose(predicted.mean, other.mean(), rtol=1e-6)
    np.testing.assert_allclose(predicted.cdf(y), other.cdf(y), rtol=1e-6, atol=1e-9)
    log_prob = other.logpmf(y) if name == "negative_binomial" else other.logpdf(y)
    np.testing.assert_allclose(predicted.log_prob(y), log_prob, rtol=1e-6, atol=1e-8)
    assert model.score(X, y) == pytest.approx(np.mean(log_prob), rel=1e-6)
    levels = model.predict_quantile(X, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(levels, np.stack([other.ppf(level) for level in (0.1, 0.5, 0.9)], axis=1), rtol=1e-5)
    np.testing.assert_allclose(predicted.interval(0.8), levels[:, [0, 2]], rtol=1e-9)
    np.testing.assert_array_equal(predicted.quantile(0.5), levels[:, 1])
    assert model.score(X, y) > model.truncated(1).score(X, y)


def test_a_distribution_may_be_given_and_kept(tmp_path):
    X, y, _ = rows()
    model = GradientBoostingDistribution(**FEW, distribution=distributions.student_t(3.0)).fit(X, y, eval_set=[(X, y)])
    model.save(tmp_path / "model")
    again = jaxtree.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_quantile(X, 0.9), model.predict_quantile(X, 0.9))
    assert -model.evals_result_["validation_0"]["student_t(degrees=3.0)"][-1] == pytest.approx(model.score(X, y))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1].round(9), model.predict(X).round(9))


@pytest.mark.slow
def test_failure_times_have_distributions():
    X, y, rng = rows()
    end = rng.exponential(2 * y.mean(), len(y))
    seen, upper = np.minimum(y, end), np.where(y <= end, y, np.inf)
    model = GradientBoostingDistribution(**FEW, distribution=accelerated_failure_time("normal", None)).fit(
        X, seen, upper=upper
    )
    predicted = model.predict_dist(X)
    assert model.score(X, seen, upper=upper) == pytest.approx(predicted.log_prob(seen, upper=upper).mean())
    np.testing.assert_allclose(np.log(predicted.quantile(0.5)), predicted.parameters["location"], rtol=1e-9, atol=1e-9)
    assert abs(np.mean(y <= predicted.quantile(0.8)) - 0.8) < 0.1


def test_an_offset_moves_the_location():
    X, y, _ = rows()
    offset = np.linspace(-5, 5, len(y))
    model = GradientBoostingDistribution(**FEW).fit(X, y + offset, offset=offset)
    plain = GradientBoostingDistribution(**FEW).fit(X, y)
    np.testing.assert_allclose(model.predict(X, offset=offset), plain.predict(X) + offset, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        model.predict_dist(X, offset=offset).parameters["scale"], plain.predict_dist(X).parameters["scale"], rtol=1e-6
    )


def test_bad_input_is_named():
    X, y, _ = rows()
    model = GradientBoostingDistribution(**FEW).fit(X, y)
    with pytest.raises(InvalidInputError, match="a level must be between 0 and 1"):
        model.predict_quantile(X, 1.5)
    with pytest.raises(InvalidInputError, match="one for each of 300 rows"):
        model.predict_dist(X).cdf(np.zeros(7))
    with pytest.raises(InvalidInputError, match=r"gamma\(\): a target must be above 0"):
        GradientBoostingDistribution(distribution="gamma").fit(X, -y)
    with pytest.raises(InvalidInputError, match="one target, got 2 columns"):
        GradientBoostingDistribution().fit(X, np.stack([y, y], axis=1))
