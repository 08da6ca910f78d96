"""Distributions of targets whose parameters are scores, and the ways to make one.

Scores are any numbers, so that trees may add to them: locations, or logarithms of what is positive. Functions of
distributions take scores with the score first, of one row or of many, and work on each row by itself.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Real

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike, library_of
from jaxtree.errors import InvalidInputError
from jaxtree.lazy import Array, jax, jnp
from jaxtree.losses.domain import require
from jaxtree.losses.elementary import bounded, of_precision
from jaxtree.losses.loss import Loss, given
from jaxtree.switches import by_own

MOST_LOG_SCALE, MOST_LOG_SCALE_IN_DOUBLE = 25.0, 350.0
"""Scales are from $e^{-25}$ to $e^{25}$: squares of what they divide stay within float32; in float64 up to
$e^{350}$."""

MOST_LOG_SHAPE = 10.0
"""Shapes and precisions are from $e^{-10}$ to $e^{10}$: beyond, logarithms of gamma functions lose all their digits."""

HALVINGS = 60

Numbers = Float[AnyArray, "*row"]
Scores = Float[AnyArray, "score *row"]


@dataclasses.dataclass(frozen=True, repr=False)
class Distribution(Loss):
    r"""A distribution of targets: minus its log density is the loss (natural gradient boosting; Duan et al., 2020).

    Newton steps divide by the Fisher information where it is known in closed form. Predictions are means.

    Attributes:
        distribution_function: The function `(scores, y)` to $P(Y \le y)$.
        inverse: The function `(scores, level)` to the quantile.
        ranked_score: The function `(scores, y)` to the continuous ranked probability score; None where there is no
            closed form.

    Example:
        >>> from jaxtree.boosting import distributions
        >>> scores = jnp.array([[10.0], [jnp.log(2.0)]])
        >>> round(float(distributions.normal().quantile(scores, 0.975)[0]), 2)
        13.92
    """

    distribution_function: Callable[..., Any] | None = None
    inverse: Callable[..., Any] | None = None
    ranked_score: Callable[..., Any] | None = None

    @by_own
    def cdf(self, scores: Float[AnyArray, "score row"], y: Real[AnyArray, " row"]) -> Float[AnyArray, " row"]:
        r"""Returns $P(Y \le y)$ for every row: uniform, if a distribution of densities is the true one."""
        library = library_of(scores, y)
        return self._function("distribution_function")(library.asarray(scores), library.asarray(y))

    @by_own
    def quantile(self, scores: Float[AnyArray, "score row"], level: FloatLike) -> Float[AnyArray, " row"]:
        """Returns the quantile of a level for every row: two of them are the ends of a prediction interval.

        Raises:
            InvalidInputError: The level is not between 0 and 1.
        """
        require(0 < level < 1, "a level must be between 0 and 1, without these", level)
        return self._function("inverse")(scores, level)

    @by_own
    def crps(self, scores: Float[AnyArray, "score row"], y: Real[AnyArray, " row"]) -> Float[Array, " row"]:
        r"""Returns the continuous ranked probability score, $\int (F(x) - [y \le x])^2 dx$, in the target's unit.

        Raises:
            InvalidInputError: The distribution has none in closed form.
        """
        y = jnp.asarray(y)
        # A number that cannot be is as far from all that can as from the closest of these, and farther.
        closest = jnp.clip(y, self.domain.lowest, self.domain.highest)
        return self._function("ranked_score")(jnp.asarray(scores), closest) + jnp.abs(y - closest)

    def _function(self, name: str) -> Callable[..., Any]:
        function = getattr(self, name)
        if function is None:
            raise InvalidInputError(f"{self} has no {name} in closed form")
        return function


class StandardForm(NamedTuple):
    """A distribution of location 0 and scale 1 that is symmetric.

    Attributes:
        minus_log_density: Minus its log density.
        cdf: The distribution function.
        quantile: The inverse of it.
        crps: The continuous ranked probability score.
        information: The expected second derivatives of minus the log density by location and by log scale.
    """

    minus_log_density: Callable[..., Any]
    cdf: Callable[..., Any]
    quantile: Callable[..., Any]
    crps: Callable[..., Any]
    information: tuple[float, float]


def location_scale(standard: StandardForm, *, has_crps: bool = True, **attributes: Any) -> Distribution:
    """Makes the distribution of two scores, location and logarithm of the scale.

    Args:
        standard: The one of location 0 and scale 1.
        has_crps: Whether its ranked score is finite.
        attributes: Attributes of the loss.
    """
    return Distribution(
        function=given(_density, standard=standard),
        information=given(location_scale_information, standard=standard),
        num_scores=2,
        hessian="fisher",
        link=first_score,
        has_location=True,
        moves_with_target=True,
        units_at=location_scale_units,
        distribution_function=given(_cdf, standard=standard),
        inverse=given(_quantile, standard=standard),
        ranked_score=given(_crps, standard=standard) if has_crps else None,
        **attributes,
    )


def location_scale_units(start: Float[np.ndarray, "2"]) -> Float[np.ndarray, "2"]:
    """The units of steps: locations move by scales, of which the start has the logarithm."""
    limit = MOST_LOG_SCALE_IN_DOUBLE
    return np.array([np.exp(np.clip(start[1], -limit, limit)), 1.0])


def first_score(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "1 row"]:
    """The first score, where it is the mean."""
    return scores[:1]


def scale_of(score: Numbers) -> Numbers:
    """A scale from its logarithm, within bounds."""
    return either.exp(bounded(score, of_precision(score, MOST_LOG_SCALE, MOST_LOG_SCALE_IN_DOUBLE)))


def shape_of(score: Numbers) -> Numbers:
    """A shape or precision from its logarithm, within bounds."""
    return either.exp(bounded(score, MOST_LOG_SHAPE))


def standardised(scores: Scores, y: Real[AnyArray, "*row"]) -> Numbers:
    """How many scales a number is above the location."""
    return (y - scores[0]) * scale_of(-scores[1])


def _density(scores: Scores, y: Real[Array, "*row"], extras: Any, standard: StandardForm) -> Numbers:
    return standard.minus_log_density(standardised(scores, y)) + scores[1]


def location_scale_information(scores: Scores, extras: Any, standard: StandardForm) -> Float[Array, "score score"]:
    """The Fisher information of location and logarithm of the scale."""
    of_location, of_scale = standard.information
    return matrix((of_location * scale_of(-scores[1]) ** 2, 0.0), (0.0, of_scale))


def _cdf(scores: Scores, y: Real[AnyArray, "*row"], standard: StandardForm) -> Numbers:
    return standard.cdf(standardised(scores, y))


def _quantile(scores: Scores, level: FloatLike, standard: StandardForm) -> Numbers:
    return scores[0] + scale_of(scores[1]) * standard.quantile(either.full_like(scores[0], level))


def _crps(scores: Scores, y: Real[Array, "*row"], standard: StandardForm) -> Numbers:
    return scale_of(scores[1]) * standard.crps(standardised(scores, y))


def log_or_none(y: Real[AnyArray, "*row"]) -> Numbers:
    r"""The logarithm of a positive number, of others $-\infty$: distributions of positive numbers have none there."""
    return either.where(y > 0, either.log(either.where(y > 0, y, 1.0)), -np.inf)


def matrix(*rows: tuple[Any, ...]) -> Float[Array, "score score"]:
    """The array of a matrix, given by its rows."""
    return jnp.stack([jnp.stack([jnp.asarray(number) for number in row]) for row in rows])


def root(
    cdf: Callable[[Numbers], Numbers], level: FloatLike, ends: tuple[float, float], like: Numbers
) -> Float[AnyArray, "*row"]:
    """Returns where a distribution function reaches a level, by halving an interval.

    Args:
        cdf: The function, which works on each row by itself.
        level: The level.
        ends: The ends of the interval.
        like: An array of the shape and precision of the result.
    """

    def halve(_: Any, interval: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
        low, high = interval
        middle = (low + high) / 2
        is_below = cdf(middle) < level
        return either.where(is_below, middle, low), either.where(is_below, high, middle)

    low, high = (either.full_like(like, end) for end in ends)
    if library_of(like) is np:
        return functools.reduce(lambda interval, number: halve(number, interval), range(HALVINGS), (low, high))[1]
    return jax.lax.fori_loop(0, HALVINGS, halve, (low, high))[1]


def trigamma_excess(k: Numbers) -> Numbers:
    r"""$k^2 \psi'(k) - k$, from 1 at 0 down to 1/2 at infinity, without a loss of digits.

    Eight steps of $\psi'(k) = k^{-2} + \psi'(k + 1)$, then the asymptotic series (Abramowitz and Stegun, 1964, 6.4.12).

    >>> round(float(trigamma_excess(jnp.array(1.0))), 5)
    0.64493
    """
    steps = 8
    far = k + steps
    ratio = k / far
    near = sum((k / (k + step)) ** 2 for step in range(steps)) - steps * ratio
    series = 1 / 6 + (-1 / 30 + (1 / 42 - 1 / (30 * far**2)) / far**2) / far**2
    return near + ratio**2 * (1 / 2 + series / far)


def moments(values: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"]) -> tuple[float, float]:
    """The weighted mean and standard deviation; that of equal numbers is not quite 0, see `or_small`."""
    mean = float(np.average(values, weights=weight))
    apart = np.where(weight > 0, values - mean, 0)
    # Divided before they are squared, as squares of very small numbers are 0.
    largest = np.max(np.abs(apart))
    unit = largest if largest > 0 else 1.0
    return mean, or_small(unit * float(np.sqrt(np.average((apart / unit) ** 2, weights=weight))), mean)


def or_small(spread: float, location: float) -> float:
    """A spread of numbers, or where rounding alone has made it, a millionth of where they lie; 1e-10 at 0.

    >>> or_small(1e-9, 1e-3), or_small(0.0, 2.0)
    (1e-09, 2e-06)
    """
    if spread > 8 * np.finfo(np.float64).eps * abs(location):
        return spread
    return 1e-6 * abs(location) or 1e-10
