"""Distributions of targets: a model that predicts all of it, and not the mean alone.

Each function makes a `Distribution`, whose scores are unbounded; `predict` returns means, and `quantile`, `cdf` and
`crps` what else is asked of a distribution. Minus the log density is in nats.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Real

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.lazy import Array, jax, jax_special, jnp
from jaxtree.losses.distribution import (
    Distribution,
    Numbers,
    Scores,
    StandardForm,
    location_scale,
    location_scale_information,
    log_or_none,
    moments,
    or_small,
    root,
    scale_of,
    standardised,
)
from jaxtree.losses.domain import Domain, require
from jaxtree.losses.elementary import of_precision
from jaxtree.losses.loss import given
from jaxtree.losses.shaped import beta as beta
from jaxtree.losses.shaped import gamma as gamma
from jaxtree.losses.shaped import negative_binomial as negative_binomial
from jaxtree.losses.shaped import weibull as weibull
from jaxtree.losses.start import weighted_quantile

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

MANY_DEGREES = 1e4
"""With more degrees of freedom, Student's distribution is computed from the normal one."""

NARROW, TAIL = 1e-2, 12.0
"""Lognormal distributions of scales below 0.01 are narrow; beyond 12 scales nothing is left in their tails."""


def _normal_density(z: Numbers) -> Numbers:
    return z**2 / 2 + math.log(2 * math.pi) / 2


def _normal_crps(z: Numbers) -> Numbers:
    density = jnp.exp(-_normal_density(z))
    return z * (2 * jax_special.ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi)


def _normal_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, deviation = moments(target, weight)
    return np.array([mean, np.log(deviation)])


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
    # The derivative of the absolute value at 0 is 1 in JAX: equal targets would move their own median.
    return jnp.where(z == 0, 0.0, jnp.abs(z)) + math.log(2)


def _laplace_cdf(z: Numbers) -> Numbers:
    tail = either.exp(-abs(z)) / 2
    return either.where(z > 0, 1 - tail, tail)


def _laplace_quantile(level: Numbers) -> Numbers:
    return either.where(level > 0.5, -either.log(2 * (1 - level)), either.log(2 * level))


def _laplace_crps(z: Numbers) -> Numbers:
    return jnp.abs(z) + jnp.exp(-jnp.abs(z)) - 3 / 4


def _laplace_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    median = weighted_quantile(target, weight, 0.5)
    return np.array([median, np.log(_mean_distance(target, weight, median))])


def _mean_distance(target: Any, weight: Any, middle: float) -> float:
    """How far numbers are from their middle in the mean."""
    distance = np.where(weight > 0, np.abs(target - middle), 0)
    return or_small(float(np.average(distance, weights=weight)), middle)


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
    mean, deviation = moments(target, weight)
    return np.array([mean, np.log(math.sqrt(3) / math.pi * deviation)])


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


def _log_ratio_of_gammas(k: float) -> float:
    r"""$\log \Gamma(k + \frac12) - \log \Gamma(k)$ without a loss of digits (Abramowitz and Stegun, 1964, 6.1.47)."""
    if k < 50:
        return math.lgamma(k + 0.5) - math.lgamma(k)
    return math.log(k) / 2 - (1 / 8 - (1 / 192 - 1 / 640 / k**2) / k**2) / k


def _student_density(z: Numbers, degrees: float) -> Numbers:
    constant = math.log(degrees * math.pi) / 2 - _log_ratio_of_gammas(degrees / 2)
    return (degrees + 1) / 2 * jnp.log1p(z**2 / degrees) + constant


def _student_cdf(z: Numbers, degrees: float) -> Numbers:
    if degrees > MANY_DEGREES:
        return either.ndtr(_as_normal(z, degrees))
    square = z**2
    # Each of the two forms is exact where the other is not.
    outside = either.betainc(degrees / 2, 0.5, degrees / (degrees + square)) / 2
    inside = either.betainc(0.5, degrees / 2, square / (degrees + square)) / 2
    above = either.where(square < min(degrees, 1), 0.5 - inside, outside)
    return either.where(z > 0, 1 - above, above)


def _as_normal(z: Numbers, degrees: float) -> Numbers:
    """A number of the normal distribution with as much below it (Hill, 1970)."""
    rest = degrees - 0.5
    square, far = rest * either.log1p(z**2 / degrees), 48 * rest**2
    correction = (((-0.4 * square - 3.3) * square - 24) * square - 85.5) / (0.8 * square**2 + 100 + far)
    return either.sign(z) * either.sqrt(square) * (1 + (correction + square + 3) / far)


def _student_quantile(level: Numbers, degrees: float) -> Numbers:
    # Far tails are far indeed: the interval is halved on a scale that is logarithmic there.
    end = of_precision(level, 40.0, 350.0)
    return either.sinh(root(lambda at: _student_cdf(either.sinh(at), degrees), level, (-end, end), level))


def _student_crps(z: Numbers, degrees: float) -> Numbers:
    log_beta = lambda b: math.log(math.pi) / 2 - _log_ratio_of_gammas(b)  # noqa: E731
    ratio = math.exp(log_beta(degrees - 0.5) - 2 * log_beta(degrees / 2))
    density = jnp.exp(-_student_density(z, degrees))
    pairs = 2 * math.sqrt(degrees) / (degrees - 1) * ratio
    return z * (2 * _student_cdf(z, degrees) - 1) + 2 * density * (degrees + z**2) / (degrees - 1) - pairs


def _student_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    low, middle, high = (weighted_quantile(target, weight, level) for level in (0.25, 0.5, 0.75))
    scale = (high - low) / 1.4 if high > low else _mean_distance(target, weight, middle)
    return np.array([middle, np.log(or_small(scale, middle))])


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
    return either.ndtr(standardised(scores, log_or_none(y)))


def _lognormal_quantile(scores: Scores, level: FloatLike) -> Numbers:
    return either.exp(scores[0] + scale_of(scores[1]) * either.ndtri(either.full_like(scores[0], level)))


def _lognormal_crps(scores: Scores, y: Real[Array, "*row"]) -> Numbers:
    z, scale = standardised(scores, log_or_none(y)), scale_of(scores[1])
    z = jnp.where(y > 0, z, -jnp.inf)
    log_mean = scores[0] + scale**2 / 2
    # Wide distributions have products of huge and tiny numbers.
    whole = jnp.exp(log_mean + jax_special.log_ndtr(-scale / math.sqrt(2)))
    parts = whole - jnp.exp(log_mean + jax_special.log_ndtr(z - scale))
    wide = y * (2 * jax_special.ndtr(z) - 1) + 2 * parts
    return jnp.where(scale < NARROW, _narrow_lognormal_crps(log_mean, scale, jnp.clip(z, -TAIL, TAIL), y), wide)


def _narrow_lognormal_crps(log_mean: Numbers, scale: Numbers, z: Numbers, y: Numbers) -> Numbers:
    """The same score as a sum of differences that are known themselves; beyond tails, of numbers at their ends."""
    half = lambda at: jax_special.erf(at / math.sqrt(2)) / 2  # noqa: E731
    middle, at_z = z - scale / 2, jnp.exp(log_mean + scale * z - scale**2 / 2)
    # The part of the normal distribution from z - scale to z, by the derivatives of its density in between.
    correction = (middle**4 - 6 * middle**2 + 3) * scale**4 / 1920
    between = scale * jnp.exp(-_normal_density(middle)) * (1 + (middle**2 - 1) * scale**2 / 24 + correction)
    within = between + jnp.expm1(scale * z - scale**2 / 2) * half(z) - half(scale / math.sqrt(2))
    return 2 * jnp.exp(log_mean) * within + jnp.abs(y - at_z) * (jnp.abs(z) >= TAIL)


def _lognormal_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    return _normal_start(np.log(np.where(weight > 0, target, 1.0)), weight)


def lognormal() -> Distribution:
    r"""The distribution of a positive number whose logarithm is normal.

    The scores are $\mu$, the mean of the *logarithm*, and $\log \sigma$ of its standard deviation: the number's median
    is $e^\mu$. The loss is that of `normal` for $\log y$, and $\log y$; predictions are means $e^{\mu + \sigma^2 / 2}$;
    the ranked score is $y (2 \Phi(z) - 1) - 2 e^{\mu + \sigma^2/2} (\Phi(z - \sigma) + \Phi(\sigma / \sqrt 2) - 1)$,
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
