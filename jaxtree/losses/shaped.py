"""Distributions whose second score is a shape: of positive numbers, of counts, and of shares.

They stand in `jaxtree.boosting.distributions`, beside those of a location and a scale.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Real

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.lazy import Array, jax, jax_special, jnp
from jaxtree.losses.distribution import (
    MOST_LOG_SHAPE,
    Distribution,
    Numbers,
    Scores,
    log_or_none,
    matrix,
    moments,
    root,
    shape_of,
    trigamma_excess,
)
from jaxtree.losses.domain import Domain
from jaxtree.losses.elementary import bounded, growth

POSITIVE = Domain(0, is_open=True)
COUNTS = Domain(0, is_whole=True, has_positive=True)
SHARES = Domain(0, 1, is_open=True)

LOGARITHMS = (-800.0, 20.0)
"""The limits of logarithms of quantiles, divided by the mean."""

FAR = 16.0
"""The argument above which logarithms of gamma functions are those of Stirling's series."""

MANY_COUNTS = 1e4
"""The ratio to the size above which counts are as good as numbers."""

TINIEST = 1e-280
"""The share below which shares are computed by the first terms of their series."""


def exp_of_first(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "1 row"]:
    """Means whose logarithm is the first score."""
    return either.exp(scores[:1])


def _log_shape(shape: float) -> float:
    """The logarithm of a shape found from moments, within bounds."""
    return float(np.clip(np.log(max(shape, 1e-300)), -MOST_LOG_SHAPE, MOST_LOG_SHAPE))


def _stirling(shape: Numbers) -> Numbers:
    r"""$\log \Gamma(k) - (k - \frac12) \log k + k - \frac12 \log 2 \pi$ (Abramowitz and Stegun, 1964, 6.1.41).

    >>> round(float(_stirling(jnp.array(1.0))), 4)
    0.0811
    """
    far = jnp.maximum(shape, FAR)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * far**2)) / far**2) / far**2) / far
    near = jnp.minimum(shape, FAR)
    direct = jax_special.gammaln(near) - (near - 0.5) * jnp.log(near) + near - math.log(2 * math.pi) / 2
    return jnp.where(shape > FAR, series, direct)


def _log_beta(a: Numbers, b: Numbers) -> Numbers:
    """The logarithm of the beta function, without a loss of digits.

    >>> round(float(_log_beta(jnp.array(1.0), jnp.array(4.0))), 4) == round(-math.log(4), 4)
    True
    """
    main = (math.log(2 * math.pi) + jnp.log(1 / a + 1 / b)) / 2 - a * jnp.log1p(b / a) - b * jnp.log1p(a / b)
    return main + _stirling(a) + _stirling(b) - _stirling(a + b)


def _gamma_density(scores: Scores, y: Real[Array, "*row"], extras: Any) -> Numbers:
    log_shape, logarithm = bounded(scores[1], MOST_LOG_SHAPE), jnp.log(y)
    shape, above = jnp.exp(log_shape), logarithm - scores[0]
    return shape * (growth(above) - 1 - above) + logarithm + _stirling(shape) + (math.log(2 * math.pi) - log_shape) / 2


def _gamma_information(scores: Scores, extras: Any) -> Float[Array, "score score"]:
    shape = shape_of(scores[1])
    return matrix((shape, 0.0), (0.0, trigamma_excess(shape)))


def _gamma_cdf(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    return either.gammainc(shape_of(scores[1]), _gamma_ratio(scores, y))


def _gamma_ratio(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    """A number in scales of the distribution; none is below 0."""
    return shape_of(scores[1]) * either.exp(log_or_none(y) - scores[0])


def _gamma_quantile(scores: Scores, level: FloatLike) -> Numbers:
    shape = shape_of(scores[1])
    found = root(lambda at: either.gammainc(shape, shape * either.exp(at)), level, LOGARITHMS, shape)
    return either.exp(scores[0] + found)


def _gamma_crps(scores: Scores, y: Real[Array, "*row"]) -> Numbers:
    shape, mean, at = shape_of(scores[1]), jnp.exp(scores[0]), _gamma_ratio(scores, y)
    pairs = jnp.exp(-_log_beta(jnp.full_like(shape, 0.5), shape)) / shape
    return y * (2 * jax_special.gammainc(shape, at) - 1) - mean * (2 * jax_special.gammainc(shape + 1, at) - 1 + pairs)


def _gamma_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, deviation = moments(target, weight)
    return np.array([np.log(mean), _log_shape((mean / deviation) ** 2)])


def gamma() -> Distribution:
    r"""The gamma distribution of positive numbers: scores are $\log \mu$, its mean, and $\log k$, its shape.

    Its variance is $\mu^2 / k$. The loss is $k (y / \mu - 1 - \log(y / \mu)) + \log y + \log \Gamma(k) - k \log k + k$;
    the Fisher information is diagonal, $k$ and $k^2 \psi'(k) - k$; the ranked score is $y (2 F_k(y) - 1) -
    \mu (2 F_{k+1}(y) - 1) - \mu / k B(\frac{1}{2}, k)$ (Scheuerer and Möller, 2015). Shapes are between
    $e^{-10}$ and $e^{10}$.

    Example: of shape 1, it is the exponential distribution.
        >>> round(float(gamma().quantile(jnp.zeros((2, 1)), 0.5)[0]), 4)
        0.6931
    """
    return Distribution(
        _gamma_density,
        num_scores=2,
        hessian="fisher",
        information=_gamma_information,
        link=exp_of_first,
        constant=_gamma_start,
        is_guess=True,
        domain=POSITIVE,
        has_location=True,
        name="gamma",
        distribution_function=_gamma_cdf,
        inverse=_gamma_quantile,
        ranked_score=_gamma_crps,
    )


def _weibull_exponent(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    r"""The logarithm of $(y / \lambda)^k$."""
    return shape_of(scores[1]) * (log_or_none(y) - scores[0])


def _weibull_density(scores: Scores, y: Real[Array, "*row"], extras: Any) -> Numbers:
    exponent = _weibull_exponent(scores, y)
    return growth(exponent) - exponent - bounded(scores[1], MOST_LOG_SHAPE) + jnp.log(y)


def _weibull_information(scores: Scores, extras: Any) -> Float[Array, "score score"]:
    shape = shape_of(scores[1])
    across = -shape * (1 - np.euler_gamma)
    return matrix((shape**2, across), (across, math.pi**2 / 6 + (1 - np.euler_gamma) ** 2))


def _weibull_mean(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "1 row"]:
    return either.exp(scores[:1] + either.gammaln(1 + 1 / shape_of(scores[1:])))


def _weibull_cdf(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    return -either.expm1(-either.exp(_weibull_exponent(scores, y)))


def _weibull_quantile(scores: Scores, level: FloatLike) -> Numbers:
    exponent = either.log(-either.log1p(-either.full_like(scores[0], level)))
    return either.exp(scores[0] + exponent / shape_of(scores[1]))


def _weibull_crps(scores: Scores, y: Real[Array, "*row"]) -> Numbers:
    at, inverse = jnp.exp(_weibull_exponent(scores, y)), 1 / shape_of(scores[1])
    log_mean = scores[0] + jax_special.gammaln(1 + inverse)
    below = jax_special.gammainc(1 + inverse, at)
    # Wide distributions have products of huge and tiny numbers; where these are no numbers, the first terms of the
    # series stand in.
    is_tiny, terms = below < TINIEST, 1 + at / (2 + inverse) * (1 + at / (3 + inverse) * (1 + at / (4 + inverse)))
    series = y * jnp.where(is_tiny, at * jnp.exp(-at) / (1 + inverse) * terms, 0)
    of_below = jnp.where(is_tiny, series, jnp.exp(log_mean + jnp.log(jnp.where(is_tiny, 1, below))))
    return y * (1 - 2 * jnp.exp(-at)) + jnp.exp(log_mean - math.log(2) * inverse) - 2 * of_below


def _weibull_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, deviation = moments(np.log(np.where(weight > 0, target, 1.0)), weight)
    shape = math.pi / (math.sqrt(6) * deviation)
    return np.array([mean + np.euler_gamma / shape, _log_shape(shape)])


def weibull() -> Distribution:
    r"""The Weibull distribution of positive numbers: scores are $\log \lambda$, its scale, and $\log k$, its shape.

    The loss is $z - \log z - \log k + \log y$, $z = (y / \lambda)^k$; the Fisher information is $\begin{pmatrix} k^2 &
    -k (1 - \gamma) \\ -k (1 - \gamma) & \pi^2 / 6 + (1 - \gamma)^2 \end{pmatrix}$ with Euler's $\gamma$; predictions
    are means $\lambda \Gamma(1 + 1/k)$. The ranked score is half of $E|Y - Y'|$ taken from $E|Y - y|$ (Gneiting and
    Raftery, 2007, eq. 21). Shapes are between $e^{-10}$ and $e^{10}$.

    Example: of shape 1, it is the exponential distribution.
        >>> round(float(weibull().quantile(jnp.zeros((2, 1)), 0.5)[0]), 4)
        0.6931
    """
    return Distribution(
        _weibull_density,
        num_scores=2,
        hessian="fisher",
        information=_weibull_information,
        link=_weibull_mean,
        constant=_weibull_start,
        is_guess=True,
        domain=POSITIVE,
        has_location=True,
        name="weibull",
        distribution_function=_weibull_cdf,
        inverse=_weibull_quantile,
        ranked_score=_weibull_crps,
    )


def _log_arrangements(y: Real[Array, "*row"], size: Numbers) -> Numbers:
    r"""$\log \Gamma(y + r) - \log \Gamma(y + 1)$, of large counts by Stirling's series without a loss of digits."""
    y = y.astype(size.dtype)
    near = jnp.minimum(y, FAR)
    low, more = jnp.maximum(y, FAR) + 1, size - 1
    high = low + more
    far = (low - 0.5) * jnp.log1p(more / low) + more * (jnp.log(high) - 1) + _stirling(high) - _stirling(low)
    return jnp.where(y > FAR, far, jax_special.gammaln(near + size) - jax_special.gammaln(near + 1))


def _counts_density(scores: Scores, y: Real[Array, "*row"], extras: Any) -> Numbers:
    log_size = bounded(scores[1], MOST_LOG_SHAPE)
    size, above = jnp.exp(log_size), scores[0] - log_size
    arrangements = _log_arrangements(y, size) - jax_special.gammaln(size)
    return size * jax.nn.softplus(above) + y * jax.nn.softplus(-above) - arrangements


def _counts_cdf(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    at = _smooth_counts_cdf(shape_of(scores[1]), either.exp(scores[0]), either.maximum(either.floor(y), 0.0))
    return either.where(y < 0, 0, at)


def _smooth_counts_cdf(size: Numbers, mean: Numbers, y: Real[AnyArray, "*row"]) -> Numbers:
    """The distribution function, of large counts that of a gamma distribution (Temme, 1987)."""
    is_large = y > MANY_COUNTS * either.maximum(size, 1)
    exact = either.betainc(size, either.where(is_large, 1.0, y + 1), size / (size + mean))
    far = either.gammainc(size, (y + 1 + (size - 1) / 2) * either.log1p(size / mean))
    return either.where(is_large, far, exact)


def _counts_quantile(scores: Scores, level: FloatLike) -> Numbers:
    size, mean = shape_of(scores[1]), either.exp(scores[0])

    def smooth_cdf(at: Numbers) -> Numbers:
        return _smooth_counts_cdf(size, mean, (1 + mean) * either.exp(at))

    found = either.floor((1 + mean) * either.exp(root(smooth_cdf, level, LOGARITHMS, mean)))
    # The root is a little above or below a whole number where that one is the quantile.
    smallest = either.maximum(found - 1, 0)
    for count in (smallest, smallest + 1):
        smallest = either.where(_counts_cdf(scores, smallest) < level, count + 1, smallest)
    return smallest


def _counts_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, deviation = moments(target, weight)
    return np.array([np.log(mean), _log_shape(mean**2 / max(deviation**2 - mean, 1e-10 * mean))])


def negative_binomial() -> Distribution:
    r"""The negative binomial distribution of counts: scores are $\log \mu$, its mean, and $\log r$, its size.

    Its variance is $\mu + \mu^2 / r$: the one of `poisson` and more. The loss is $(r + y) \log(r + \mu) - r \log r -
    y \log \mu - \log \binom{y + r - 1}{y}$ (Lawless, 1987). The Fisher information of $r$ has no closed form: the
    absolute value of the Hessian stands for it. Sizes are between $e^{-10}$ and $e^{10}$. An offset of one number a row
    is the logarithm of its exposure.

    Example: of size 1, it is the geometric distribution.
        >>> negative_binomial().cdf(jnp.zeros((2, 3)), jnp.arange(3.0)).round(4).tolist()
        [0.5, 0.75, 0.875]
    """
    return Distribution(
        _counts_density,
        num_scores=2,
        link=exp_of_first,
        constant=_counts_start,
        is_guess=True,
        domain=COUNTS,
        has_location=True,
        name="negative_binomial",
        distribution_function=_counts_cdf,
        inverse=_counts_quantile,
    )


def _beta_shapes(scores: Scores) -> tuple[Numbers, Numbers]:
    logit, precision = bounded(scores[0], MOST_LOG_SHAPE), shape_of(scores[1])
    return precision * either.sigmoid(logit), precision * either.sigmoid(-logit)


def _beta_density(scores: Scores, y: Real[Array, "*row"], extras: Any) -> Numbers:
    a, b = _beta_shapes(scores)
    return _log_beta(a, b) - (a - 1) * jnp.log(y) - (b - 1) * jnp.log1p(-y)


def _beta_information(scores: Scores, extras: Any) -> Float[Array, "score score"]:
    a, b = _beta_shapes(scores)
    mean, rest = a / (a + b), b / (a + b)
    of_a, of_b, of_both = trigamma_excess(a), trigamma_excess(b), trigamma_excess(a + b)
    across = rest * of_a - mean * of_b
    return matrix(((a + b) * mean * rest + rest**2 * of_a + mean**2 * of_b, across), (across, of_a + of_b - of_both))


def _beta_mean(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "1 row"]:
    return either.sigmoid(bounded(scores[:1], MOST_LOG_SHAPE))


def _beta_cdf(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    return either.betainc(*_beta_shapes(scores), either.clip(y, 0, 1))


def _beta_quantile(scores: Scores, level: FloatLike) -> Numbers:
    a, b = _beta_shapes(scores)
    return either.sigmoid(root(lambda at: either.betainc(a, b, either.sigmoid(at)), level, (-800.0, 40.0), a))


def _beta_crps(scores: Scores, y: Real[Array, "*row"]) -> Numbers:
    a, b = _beta_shapes(scores)
    pairs = 2 * jnp.exp(_log_beta(2 * a, 2 * b) - 2 * _log_beta(a, b)) / a
    return y * (2 * jax_special.betainc(a, b, y) - 1) + a / (a + b) * (1 - 2 * jax_special.betainc(a + 1, b, y) - pairs)


def _beta_start(target: Any, weight: Any) -> Float[np.ndarray, "2"]:
    mean, deviation = moments(target, weight)
    return np.array([np.log(mean) - np.log1p(-mean), _log_shape(mean * (1 - mean) / deviation**2 - 1)])


def beta() -> Distribution:
    r"""The beta distribution of shares between 0 and 1: scores are the log odds of its mean $\mu$, and $\log \phi$.

    Its variance is $\mu (1 - \mu) / (1 + \phi)$ (Ferrari and Cribari-Neto, 2004). With $a = \mu \phi$, $b = (1 - \mu)
    \phi$ and $e(k) = k^2 \psi'(k) - k$, the loss is $\log B(a, b) - (a - 1) \log y - (b - 1) \log(1 - y)$, and the
    Fisher information $\begin{pmatrix} \phi \mu (1 - \mu) + (1 - \mu)^2 e(a) + \mu^2 e(b) & (1 - \mu) e(a) - \mu e(b)
    \\ \cdot & e(a) + e(b) - e(\phi) \end{pmatrix}$. The ranked score is that of Taillardat et al. (2016). Both scores
    count between -10 and 10.

    Example: of mean 1/2 and precision 2, it is uniform.
        >>> scores = jnp.array([[0.0], [jnp.log(2.0)]])
        >>> round(float(beta().quantile(scores, 0.9)[0]), 4)
        0.9
    """
    return Distribution(
        _beta_density,
        num_scores=2,
        hessian="fisher",
        information=_beta_information,
        link=_beta_mean,
        constant=_beta_start,
        is_guess=True,
        domain=SHARES,
        has_location=True,
        name="beta",
        distribution_function=_beta_cdf,
        inverse=_beta_quantile,
        ranked_score=_beta_crps,
    )
