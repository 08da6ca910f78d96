"""Losses of times until an event, of which some are known only to lie within bounds."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Real, Shaped

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.errors import InvalidInputError
from jaxtree.lazy import Array, custom_jvp, jax, jax_special, jnp
from jaxtree.losses.cox import cox as cox
from jaxtree.losses.distribution import Distribution, Numbers, Scores, log_or_none, moments
from jaxtree.losses.domain import Domain, require
from jaxtree.losses.elementary import bounded, exp_link
from jaxtree.losses.loss import Extras, given

__all__ = ["accelerated_failure_time", "cox"]

MOST_LOG_SCALE = 8.0
"""A scale that is learned is from $e^{-8}$ to $e^8$."""

NARROW = 1e-3
"""The distance of bounds, in scales, below which their probability is that of their middle's density."""

TAIL = 8.0
"""The place above which the hazard of the normal distribution is a continued fraction, of `LEVELS` levels."""

LEVELS = 8


class Tails(NamedTuple):
    """A distribution of location 0 and scale 1, by the logarithms that rows within bounds need.

    Attributes:
        minus_log_density: Minus its log density.
        log_survival: The logarithm of what is above a number.
        log_cdf: The logarithm of what is below it.
        cdf: The distribution function.
        quantile: The inverse of it.
        is_symmetric: Whether it is symmetric.
        middle: The middle of numbers that are told apart; gradients stay what they are beyond.
        reach: How far these are from it.
    """

    minus_log_density: Callable[..., Any]
    log_survival: Callable[..., Any]
    log_cdf: Callable[..., Any]
    cdf: Callable[..., Any]
    quantile: Callable[..., Any]
    is_symmetric: bool
    middle: float
    reach: float


def _normal(z: Numbers) -> Numbers:
    return z**2 / 2 + math.log(2 * math.pi) / 2


def _above_hazard(z: Numbers) -> Numbers:
    """How much the normal hazard is above z, a tail's number (Laplace's continued fraction)."""
    z = jnp.maximum(z, TAIL)
    fraction = z
    for level in range(LEVELS, 1, -1):
        fraction = z + level / fraction
    return 1 / fraction


@custom_jvp
def _normal_hazard(z: Numbers) -> Numbers:
    """The density divided by what is above; autodiff of its logarithms would lose all digits in the tail."""
    near = jnp.exp(-_normal(jnp.minimum(z, TAIL)) - jax_special.log_ndtr(-jnp.minimum(z, TAIL)))
    return jnp.where(z > TAIL, z + _above_hazard(z), near)


@_normal_hazard.defjvp
def _normal_hazard_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (z,), hazard = primals, _normal_hazard(*primals)
    return hazard, tangents[0] * hazard * (hazard - z)


@custom_jvp
def _normal_above(z: Numbers) -> Numbers:
    return jax_special.log_ndtr(-z)


@_normal_above.defjvp
def _normal_above_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return _normal_above(*primals), -tangents[0] * _normal_hazard(*primals)


def _normal_below(z: Numbers) -> Numbers:
    return _normal_above(-z)


def _logistic(z: Numbers) -> Numbers:
    return jax.nn.softplus(z) + jax.nn.softplus(-z)


def _logistic_above(z: Numbers) -> Numbers:
    return -jax.nn.softplus(z)


def _logistic_below(z: Numbers) -> Numbers:
    return jax.nn.log_sigmoid(z)


def _logistic_quantile(level: Numbers) -> Numbers:
    return either.log(level) - either.log1p(-level)


def _extreme(z: Numbers) -> Numbers:
    return jnp.exp(z) - z


def _extreme_above(z: Numbers) -> Numbers:
    return -jnp.exp(z)


def _extreme_below(z: Numbers) -> Numbers:
    return _log_minus_expm1(jnp.exp(z))


def _extreme_cdf(z: Numbers) -> Numbers:
    return -either.expm1(-either.exp(z))


def _extreme_quantile(level: Numbers) -> Numbers:
    return either.log(-either.log1p(-level))


TAILS = {
    "normal": Tails(_normal, _normal_above, _normal_below, either.ndtr, either.ndtri, True, 0.0, 300.0),
    "logistic": Tails(
        _logistic, _logistic_above, _logistic_below, either.sigmoid, _logistic_quantile, True, 0.0, 300.0
    ),
    "extreme": Tails(_extreme, _extreme_above, _extreme_below, _extreme_cdf, _extreme_quantile, False, -2.5, 27.5),
}


def _log_minus_expm1(number: Numbers) -> Numbers:
    r"""$\log(1 - e^{-x})$ of a positive number."""
    return jnp.log(-jnp.expm1(-number))


def _log_between(low: Numbers, high: Numbers, tails: Tails) -> Numbers:
    """The logarithm of what is between two numbers, from the closer tail."""
    if tails.is_symmetric:
        is_turned = low + high < 0
        low, high = jnp.where(is_turned, -high, low), jnp.where(is_turned, -low, high)
    above = tails.log_survival(low)
    return above + _log_minus_expm1(above - tails.log_survival(high))


def _log_scale(scores: Scores, scale: float | None) -> Any:
    return bounded(scores[1], MOST_LOG_SCALE) if scale is None else either.full_like(scores[0], math.log(scale))


def _within_bounds(
    scores: Scores, target: Real[Array, ""], extras: Any, distribution: str, scale: float | None
) -> Float[Array, ""]:
    """Minus the log probability of what is known of a row."""
    tails = TAILS[distribution]
    upper = extras["upper"]
    is_exact, has_low, has_high = upper == target, target > 0, jnp.isfinite(upper)
    log_scale = _log_scale(scores, scale)

    def standardised(time: Numbers, is_known: Bool[Array, ""]) -> Numbers:
        # Where a time is not known any number will do, but derivatives there must be numbers too.
        z = (jnp.log(jnp.where(is_known, time, 1)) - scores[0]) * jnp.exp(-log_scale)
        return bounded(z - tails.middle, tails.reach) + tails.middle

    low, high = standardised(target, has_low), standardised(upper, has_high)
    is_between = has_low & has_high & ~is_exact
    is_wide = is_between & (high - low > NARROW)
    wide = -_log_between(low, jnp.where(is_wide, high, low + 1), tails)
    ratio = jnp.where(is_between, (upper - target) / jnp.where(has_low, target, 1), 1)
    narrow = tails.minus_log_density((low + high) / 2) + log_scale - jnp.log(jnp.log1p(ratio))
    exact = tails.minus_log_density(low) + log_scale + jnp.log(jnp.where(has_low, target, 1))
    beyond = jnp.where(has_low, -tails.log_survival(low), jnp.where(has_high, -tails.log_cdf(high), 0))
    between = jnp.where(is_wide, wide, narrow)
    return jnp.where(is_exact, exact, jnp.where(is_between, between, beyond))


def _cdf(scores: Scores, y: Real[AnyArray, "*row"], distribution: str, scale: float | None) -> Numbers:
    return TAILS[distribution].cdf((log_or_none(y) - scores[0]) * either.exp(-_log_scale(scores, scale)))


def _quantile(scores: Scores, level: FloatLike, distribution: str, scale: float | None) -> Numbers:
    z = TAILS[distribution].quantile(either.full_like(scores[0], level))
    return either.exp(scores[0] + either.exp(_log_scale(scores, scale)) * z)


def time_of(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "1 row"]:
    """Times whose logarithm is the first score."""
    return exp_link(scores[:1])


def _guess(
    target: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"], num_scores: int
) -> Float[np.ndarray, " score"]:
    is_known = (target > 0) & (weight > 0)
    if not is_known.any():
        return np.zeros(num_scores)
    mean, deviation = moments(np.log(target[is_known]), weight[is_known])
    return np.array([mean, max(np.log(deviation), -3.0)])[:num_scores]


@dataclasses.dataclass(frozen=True, repr=False)
class FailureTime(Distribution):
    """The loss that `accelerated_failure_time` makes."""

    def check(self, target: Shaped[np.ndarray, "row *output"], extras: Extras) -> None:
        """Checks that lower bounds are 0 or more, and upper bounds not below these."""
        super().check(target, extras)
        upper, lower = np.asarray(extras["upper"]), np.asarray(target)
        is_wrong = ~(upper >= lower) | (upper <= 0)
        if is_wrong.any():
            first = np.flatnonzero(is_wrong)[0]
            raise InvalidInputError(
                f"{self}: the extra 'upper' must be above 0, and the target, its lower bound, or more, "
                f"got {upper[first]} for the target {lower[first]}"
            )

    def check_extra(self, extra: str, values: Shaped[np.ndarray, "row *output"]) -> None:
        """Checks an extra; upper bounds, which may be infinite, are checked with the targets."""
        if extra != "upper":
            super().check_extra(extra, values)


def accelerated_failure_time(distribution: str = "normal", scale: FloatLike | None = 1.0) -> FailureTime:
    r"""Times $T$ of which $(\log T - s) / \sigma$ has a given distribution (Wei, 1992; Barnwal, Cho and Hocking, 2022).

    A row has bounds of its time: the target is the lower one, 0 if there is none; the extra `upper` the upper one,
    infinite if there is none, and the target itself if the time is known. The loss is minus the log density of a known
    time, and else minus the log probability of the bounds, in nats. If rows are watched until an event or an end,
    `upper` is `np.where(event, time, np.inf)`.

    Predictions are $e^s$, in the unit of time: medians of the normal and logistic distribution. The extreme one,
    $P(Z > z) = \exp(-e^z)$, makes a Weibull distribution of times. `quantile` and `cdf` tell more.

    Args:
        distribution: `"normal"`, `"logistic"` or `"extreme"`.
        scale: $\sigma$, above 0; None learns $\log \sigma$ as a second score.

    Raises:
        InvalidInputError: A parameter is wrong.

    Example: half of all rows have the event by the time 2.
        >>> loss = accelerated_failure_time()
        >>> time, event = np.array([1.0, 4.0]), np.array([True, True])
        >>> extras = {"upper": np.where(event, time, np.inf)}
        >>> np.exp(loss.start(time, np.ones(2), extras)).round(4).tolist()
        [2.0]
    """
    names = ", ".join(map(repr, TAILS))
    require(distribution in TAILS, f"distribution of accelerated_failure_time must be one of {names}", distribution)
    if scale is not None:
        require(0 < scale < math.inf, "scale of accelerated_failure_time must be None or above 0", scale)
        scale = float(scale)
    num_scores = 2 if scale is None else 1
    return FailureTime(
        given(_within_bounds, distribution=distribution, scale=scale),
        num_scores=num_scores,
        link=time_of,
        constant=given(_guess, num_scores=num_scores),
        is_guess=True,
        domain=Domain(0),
        needs=("upper",),
        has_location=True,
        name="accelerated_failure_time",
        parameters=(("distribution", distribution), ("scale", scale)),
        distribution_function=given(_cdf, distribution=distribution, scale=scale),
        inverse=given(_quantile, distribution=distribution, scale=scale),
    )
