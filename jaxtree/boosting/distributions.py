"""Distributions of targets: a model that predicts all of it, and not the mean alone.

Each function makes a `Distribution`, whose scores are unbounded; `predict` returns means, and `quantile`, `cdf` and
`crps` what else is asked of a distribution. Minus the log density is in nats.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Real

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.boosting.distribution import (
    Distribution,
    Numbers,
    Scores,
    StandardForm,
    location_scale,
    location_scale_information,
    moments,
    root,
    scale_of,
    standardised,
)
from jaxtree.boosting.domain import Domain
from jaxtree.boosting.loss import given
from jaxtree.boosting.losses import require
from jaxtree.boosting.shaped_distributions import beta as beta
from jaxtree.boosting.shaped_distributions import gamma as gamma
from jaxtree.boosting.shaped_distributions import negative_binomial as negative_binomial
from jaxtree.boosting.shaped_distributions import weibull as weibull
from jaxtree.boosting.start import weighted_quantile

__all__ = [
    "beta",
    "gamma",
    "laplace",
    "logistic",
    "lognormal",
    "negative_binomial",
    "normal",
    "student_t",
    "weibull",
]


def _normal_density(z: Numbers) -> Numbers:
    return z**2 / 2 + math.log(2 * math.pi) / 2


def _normal_crps(z: Numbers) -> Numbers:
    density = jnp.exp(-_normal_density(z))
    return z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi)


def _normal_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, variance = moments(target, weight)
    return np.array([mean, np.log(variance) / 2])


_NORMAL = StandardForm(_normal_density, either.ndtr, either.ndtri, _normal_crps, (1.0, 2.0))


def normal() -> Distribution:
    r"""The normal distribution: scores are its mean $\mu$ and $\log \sigma$.

    The loss is $\frac{1}{2} z^2 + \log \sigma + \frac{1}{2} \log 2\pi$, $z = (y - \mu) / \sigma$; the Fisher
    information is diagonal, $1 / \sigma^2$ and 2; the ranked score is $\sigma (z (2 \Phi(z) - 1) + 2 \varphi(z) -
    1 / \sqrt\pi)$ (Gneiting and Raftery, 2007).

    Example:
        >>> round(float(normal().crps(jnp.zeros((2, 1)), jnp.zeros(1))[0]), 4)
        0.2337
    """
    return location_scale(_NORMAL, constant=_normal_start, name="normal")


def _laplace_density(z: Numbers) -> Numbers:
    return jnp.abs(z) + math.log(2)


def _laplace_cdf(z: Numbers) -> Numbers:
    tail = either.exp(-abs(z)) / 2
    return either.where(z > 0, 1 - tail, tail)


def _laplace_quantile(level: Numbers) -> Numbers:
    return either.where(level > 0.5, -either.log(2 * (1 - level)), either.log(2 * level))


def _laplace_crps(z: Numbers) -> Numbers:
    return jnp.abs(z) + jnp.exp(-jnp.abs(z)) - 3 / 4


def _laplace_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    median = weighted_quantile(target, weight, 0.5)
    spread = np.average(np.abs(target - median), weights=weight)
    return np.array([median, np.log(max(spread, 1e-10))])


_LAPLACE = StandardForm(_laplace_density, _laplace_cdf, _laplace_quantile, _laplace_crps, (1.0, 1.0))


def laplace() -> Distribution:
    r"""The Laplace distribution: scores are its median $\mu$ and $\log b$, $b$ being the mean of $|y - \mu|$.

    The loss is $|z| + \log 2b$, $z = (y - \mu) / b$; the Fisher information is diagonal, $1 / b^2$ and 1; the ranked
    score is $b (|z| + e^{-|z|} - 3/4)$ (Jordan, Krüger and Lerch, 2019).

    Example:
        >>> laplace().start(np.array([0.0, 1.0, 5.0]), np.ones(3), {}).round(4).tolist()
        [1.0, 0.5108]
    """
    return location_scale(_LAPLACE, constant=_laplace_start, name="laplace")


def _logistic_density(z: Numbers) -> Numbers:
    return jax.nn.softplus(z) + jax.nn.softplus(-z)


def _logistic_quantile(level: Numbers) -> Numbers:
    return either.log(level) - either.log1p(-level)


def _logistic_crps(z: Numbers) -> Numbers:
    return _logistic_density(z) - 1


def _logistic_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, variance = moments(target, weight)
    return np.array([mean, np.log(3 * variance / math.pi**2) / 2])


_LOGISTIC = StandardForm(
    _logistic_density, either.sigmoid, _logistic_quantile, _logistic_crps, (1 / 3, (3 + math.pi**2) / 9)
)


def logistic() -> Distribution:
    r"""The logistic distribution: scores are its mean $\mu$ and $\log s$; its standard deviation is $\pi s / \sqrt 3$.

    The loss is $\log(1 + e^z) + \log(1 + e^{-z}) + \log s$, $z = (y - \mu) / s$; the Fisher information is diagonal,
    $1 / 3 s^2$ and $(3 + \pi^2) / 9$; the ranked score is
    $s (z + 2 \log(1 + e^{-z}) - 1)$ (Jordan, Krüger and Lerch, 2019).

    Example:
        >>> round(float(logistic().quantile(jnp.zeros((2, 1)), 0.75)[0]), 4)
        1.0986
    """
    return location_scale(_LOGISTIC, constant=_logistic_start, is_guess=True, name="logistic")


def _student_density(z: Numbers, degrees: float) -> Numbers:
    constant = math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2) + math.log(degrees * math.pi) / 2
    return (degrees + 1) / 2 * jnp.log1p(z**2 / degrees) + constant


def _student_cdf(z: Numbers, degrees: float) -> Numbers:
    square = z**2
    # Of the two forms each is exact where the other is not.
    outside = either.betainc(degrees / 2, 0.5, degrees / (degrees + square)) / 2
    inside = either.betainc(0.5, degrees / 2, square / (degrees + square)) / 2
    above = either.where(square < degrees, 0.5 - inside, outside)
    return either.where(z > 0, 1 - above, above)


def _student_quantile(level: Numbers, degrees: float) -> Numbers:
    # Far tails are far indeed: the interval is halved on a scale that is logarithmic there.
    return either.sinh(root(lambda at: _student_cdf(either.sinh(at), degrees), level, (-40.0, 40.0), level))


def _student_crps(z: Numbers, degrees: float) -> Numbers:
    log_beta = lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)  # noqa: E731
    ratio = math.exp(log_beta(0.5, degrees - 0.5) - 2 * log_beta(0.5, degrees / 2))
    density = jnp.exp(-_student_density(z, degrees))
    pairs = 2 * math.sqrt(degrees) / (degrees - 1) * ratio
    return z * (2 * _student_cdf(z, degrees) - 1) + 2 * density * (degrees + z**2) / (degrees - 1) - pairs


def _student_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    low, middle, high = (weighted_quantile(target, weight, level) for level in (0.25, 0.5, 0.75))
    return np.array([middle, np.log(max(high - low, 1e-10) / 1.4)])


def student_t(degrees: FloatLike = 5.0) -> Distribution:
    r"""Student's t distribution of $\nu$ degrees of freedom: scores are its location $\mu$ and $\log \sigma$.

    The loss is $\frac{\nu + 1}{2} \log(1 + z^2 / \nu) + \log \sigma$ and a constant, $z = (y - \mu) / \sigma$: far
    targets have little influence (Lange, Little and Taylor, 1989). The Fisher information is diagonal,
    $(\nu + 1) / (\nu + 3) \sigma^2$ and $2 \nu / (\nu + 3)$. Predictions are locations: means for $\nu > 1$, for which
    there is a ranked score too (Jordan, Krüger and Lerch, 2019).

    Args:
        degrees: The degrees of freedom, above 0.

    Raises:
        InvalidInputError: They are not.

    Example:
        >>> round(float(student_t(1.0).quantile(jnp.zeros((2, 1)), 0.75)[0]), 4)
        1.0
    """
    require(0 < degrees < math.inf, "degrees of student_t must be a number above 0", degrees)
    freedom = float(degrees)
    standard = StandardForm(
        given(_student_density, degrees=freedom),
        given(_student_cdf, degrees=freedom),
        given(_student_quantile, degrees=freedom),
        given(_student_crps, degrees=freedom),
        ((freedom + 1) / (freedom + 3), 2 * freedom / (freedom + 3)),
    )
    return location_scale(
        standard,
        has_crps=freedom > 1,
        constant=_student_start,
        is_guess=True,
        name="student_t",
        parameters=(("degrees", freedom),),
    )


def _lognormal_density(scores: Scores, y: Real[Array, "*row"], extras: Any) -> Numbers:
    logarithm = jnp.log(y)
    return _normal_density(standardised(scores, logarithm)) + scores[1] + logarithm


def _lognormal_information(scores: Scores, extras: Any) -> Float[Array, "score score"]:
    return location_scale_information(scores, extras, _NORMAL)


def _lognormal_mean(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "1 row"]:
    return either.exp(scores[0] + scale_of(scores[1]) ** 2 / 2)[None]


def _lognormal_cdf(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    return either.ndtr(standardised(scores, either.log(y)))


def _lognormal_quantile(scores: Scores, level: FloatLike) -> Numbers:
    return either.exp(scores[0] + scale_of(scores[1]) * either.ndtri(either.full_like(scores[0], level)))


def _lognormal_crps(scores: Scores, y: Real[Array, "*row"]) -> Numbers:
    z, scale = standardised(scores, jnp.log(y)), scale_of(scores[1])
    below = ndtr(z - scale) + ndtr(scale / math.sqrt(2)) - 1
    return y * (2 * ndtr(z) - 1) - 2 * _lognormal_mean(scores)[0] * below


def _lognormal_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    return _normal_start(np.log(np.where(weight > 0, target, 1.0)), weight)


def lognormal() -> Distribution:
    r"""The distribution of a positive number whose logarithm is normal: scores are its mean $\mu$ and $\log \sigma$.

    The loss is that of `normal` for $\log y$, and $\log y$; predictions are means $e^{\mu + \sigma^2 / 2}$; the ranked
    score is $y (2 \Phi(z) - 1) - 2 e^{\mu + \sigma^2/2} (\Phi(z - \sigma) + \Phi(\sigma / \sqrt 2) - 1)$,
    $z = (\log y - \mu) / \sigma$ (Baran and Lerch, 2015).

    Example:
        >>> round(float(lognormal().predict(jnp.zeros((2, 1)))[0, 0]), 4)
        1.6487
    """
    return Distribution(
        _lognormal_density,
        num_scores=2,
        hessian="fisher",
        information=_lognormal_information,
        link=_lognormal_mean,
        constant=_lognormal_start,
        domain=Domain(0, is_open=True),
        has_location=True,
        name="lognormal",
        distribution_function=_lognormal_cdf,
        inverse=_lognormal_quantile,
        ranked_score=_lognormal_crps,
    )
