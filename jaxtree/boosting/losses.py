r"""Losses of numbers, counts and classes, from raw scores $s$ and a target $y$.

Each is a function that makes a `Loss`; losses made with the same parameters are equal. Values are 0 or more, and 0
where a target is predicted exactly; terms of the target alone, which change no derivative, see to that.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Real, Shaped

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike, library_of
from jaxtree.boosting.domain import Domain
from jaxtree.boosting.domain import require as require
from jaxtree.boosting.loss import Loss, given
from jaxtree.boosting.robust_losses import huber as huber
from jaxtree.boosting.robust_losses import pseudo_huber as pseudo_huber

MOST_EXPONENT, MOST_EXPONENT_IN_DOUBLE = 50.0, 300.0
"""Beyond these exponents `growth` is constant: sums of $e^{50}$ over any table stay far within float32, squares of
$e^{300}$ within float64."""

LEAST_SHARE = 2.0**-52
"""Of a class that no row has, so that scores are finite."""

Row = Float[Array, " score"]
Target = Real[Array, ""]


def bounded(number: Float[AnyArray, "*shape"], limit: float) -> Float[AnyArray, "*shape"]:
    """The closest number between minus a limit and the limit; its derivative is 1 everywhere.

    Newton steps from beyond the limit thus come back.
    """
    return np.clip(number, -limit, limit) if library_of(number) is np else _bounded(number, limit)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _bounded(number: Float[Array, "*shape"], limit: float) -> Float[Array, "*shape"]:
    return jnp.clip(number, -limit, limit)


@_bounded.defjvp
def _bounded_jvp(limit: float, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return _bounded(*primals, limit), tangents[0]


def growth(exponent: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    r"""$e^x$ where $|x|$ is up to a limit, and beyond it what it is there; its derivative is itself everywhere.

    The limit is 50, and 300 in float64.

    >>> float(growth(jnp.array(1000.0))) == float(jnp.exp(jnp.array(50.0)))
    True
    """
    return either.exp(bounded(exponent, of_precision(exponent, MOST_EXPONENT, MOST_EXPONENT_IN_DOUBLE)))


def of_precision(numbers: FloatLike, single: float, double: float) -> float:
    """One number for what has fewer than 64 bits, and another for float64."""
    dtype = getattr(numbers, "dtype", None) or jax.dtypes.canonicalize_dtype(np.float64)
    return double if dtype == np.float64 else single


def weighted_mean(
    target: Shaped[np.ndarray, "row *output"], weight: Shaped[np.ndarray, " row"]
) -> Float[np.ndarray, " output"]:
    """The mean of targets, as the one score; of several outputs a score each."""
    return np.atleast_1d(np.average(target, axis=0, weights=weight))


def log_of_mean(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    """The logarithm of the mean of targets, as the one score."""
    return np.log(np.maximum(weighted_mean(target, weight), np.finfo(np.float64).tiny))


def exp_link(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """Predictions that are exponentials of scores."""
    return either.exp(scores)


def _squared(scores: Row, target: Real[Array, "*output"], extras: Any) -> Row:
    return (scores - target) ** 2 / 2


def squared(num_outputs: int = 1) -> Loss:
    r"""$(s - y)^2 / 2$: least at the mean (Gauss, 1809; for boosting Friedman, 2001). Its Hessian is 1.

    Scores are in the target's unit, values in its square. Of several outputs a row has a score each, and the loss is
    their sum.

    Args:
        num_outputs: Columns of the target, 1 or more.

    Raises:
        InvalidInputError: There is none.

    Example:
        >>> squared().values(jnp.array([[3.0]]), jnp.array([1.0]), {}).tolist()
        [2.0]
        >>> squared(2).values(jnp.array([[3.0], [1.0]]), jnp.array([[1.0, 2.0]]), {}).tolist()
        [2.5]
    """
    require(num_outputs >= 1, "squared needs an output or more", num_outputs)
    many = () if num_outputs == 1 else (("num_outputs", num_outputs),)
    return Loss(_squared, num_outputs, "one", is_convex=True, constant=weighted_mean, name="squared", parameters=many)


def _absolute(scores: Row, target: Target, extras: Any) -> Row:
    return jnp.abs(scores - target)


def absolute() -> Loss:
    r"""$|s - y|$: least at the median (Friedman, 2001, section 4.2).

    It has no curvature, for which 1 stands; leaves take medians of $y - s$. Scores and values are in the target's unit.

    Example:
        >>> absolute().start(np.array([1.0, 2.0, 9.0]), np.ones(3), {}).tolist()
        [2.0]
    """
    return Loss(_absolute, hessian="one", is_convex=True, renewal=0.5, name="absolute")


def require_level(level: FloatLike, name: str) -> None:
    """Raises `InvalidInputError` unless a level is between 0 and 1."""
    require(0 < level < 1, f"the level of {name} must be between 0 and 1, without these", level)


def _quantile(scores: Row, target: Target, extras: Any, level: float) -> Row:
    above = target - scores
    return jnp.maximum(level * above, (level - 1) * above)


def quantile(level: FloatLike) -> Loss:
    r"""$\max(\tau (y - s), (\tau - 1)(y - s))$: least at the quantile of level $\tau$ (Koenker and Bassett, 1978).

    It has no curvature, for which 1 stands; leaves take quantiles of $y - s$. Scores and values are in the target's
    unit. For several levels in one model see `jaxtree.boosting.quantiles`.

    Args:
        level: Between 0 and 1.

    Raises:
        InvalidInputError: It is not.

    Example:
        >>> quantile(0.75).values(jnp.zeros((1, 2)), jnp.array([1.0, -1.0]), {}).tolist()
        [0.75, 0.25]
    """
    require_level(level, "quantile")
    function = given(_quantile, level=float(level))
    return Loss(
        function, hessian="one", is_convex=True, renewal=float(level), name="quantile", parameters=function.keywords
    )


def _expectile(scores: Row, target: Target, extras: Any, level: float) -> Row:
    above = target - scores
    return jnp.where(above > 0, level, 1 - level) * above**2


def expectile(level: FloatLike) -> Loss:
    r"""$|\tau - [y < s]| (y - s)^2$: least at the expectile of level $\tau$ (Newey and Powell, 1987).

    The mean is the expectile of level 1/2. The Hessian is $2 |\tau - [y < s]|$. Scores are in the target's unit, values
    in its square.

    Args:
        level: Between 0 and 1.

    Raises:
        InvalidInputError: It is not.

    Example:
        >>> expectile(0.9).start(np.array([0.0, 1.0]), np.ones(2), {}).round(4).tolist()
        [0.9]
    """
    require_level(level, "expectile")
    function = given(_expectile, level=float(level))
    return Loss(
        function, is_convex=True, constant=weighted_mean, is_guess=True, name="expectile", parameters=function.keywords
    )


def _poisson(scores: Row, target: Target, extras: Any) -> Row:
    return growth(scores) - target * (1 + scores) + xlogy(target, target)


def poisson() -> Loss:
    r"""$e^s - y + y (\log y - s)$: half the deviance of counts of mean $e^s$ (Nelder and Wedderburn, 1972).

    Predictions are means $e^s$; the gradient is $e^s - y$, the Hessian $e^s$. The extra `offset` is the logarithm of a
    row's exposure. The unit matters, as it does to counts: the variance is the mean.

    Example: two claims in half a year, and one in two years.
        >>> exposure = {"offset": np.log([0.5, 2.0])}
        >>> np.exp(poisson().start(np.array([2.0, 1.0]), np.ones(2), exposure)).round(4).tolist()
        [1.2]
    """
    domain = Domain(0, has_positive=True)
    return Loss(_poisson, is_convex=True, link=exp_link, constant=log_of_mean, domain=domain, name="poisson")


def _gamma(scores: Row, target: Target, extras: Any) -> Row:
    return target * growth(-scores) - 1 - jnp.log(target) + scores


def gamma() -> Loss:
    r"""$y e^{-s} - 1 - \log (y e^{-s})$: half the deviance of the gamma distribution of mean $e^s$.

    Its variance is proportional to the square of the mean (McCullagh and Nelder, 1989, chapter 8). Predictions are
    means; the gradient is $1 - y e^{-s}$, the Hessian $y e^{-s}$. For the shape too see
    `jaxtree.boosting.distributions`.

    Example:
        >>> gamma().predict(gamma().start(np.array([1.0, 3.0]), np.ones(2), {})[:, None]).round(4).tolist()
        [[2.0]]
    """
    domain = Domain(0, is_open=True)
    return Loss(_gamma, is_convex=True, link=exp_link, constant=log_of_mean, domain=domain, name="gamma")


def _tweedie(scores: Row, target: Target, extras: Any, power: float) -> Row:
    below, above = 1 - power, 2 - power
    of_target = jnp.where(target > 0, target, 0) ** above / (below * above)
    return of_target - target * growth(below * scores) / below + growth(above * scores) / above


def tweedie(power: FloatLike = 1.5) -> Loss:
    r"""$\frac{y^{2-p}}{(1-p)(2-p)} - \frac{y e^{(1-p)s}}{1-p} + \frac{e^{(2-p)s}}{2-p}$: half a Tweedie deviance.

    A target is a sum of a Poisson number of gamma variables, 0 where there are none, such as all claims of a year; its
    variance is proportional to the power $p$ of the mean $e^s$ (Jørgensen, 1987). Predictions are means; the gradient
    is $e^{(2-p)s} - y e^{(1-p)s}$. Penalties of steps count less in a smaller unit of the target.

    Args:
        power: Between 1 (`poisson`) and 2 (`gamma`).

    Raises:
        InvalidInputError: It is not.

    Example:
        >>> tweedie(1.5).values(jnp.zeros((1, 2)), jnp.array([0.0, 1.0]), {}).tolist()
        [2.0, 0.0]
    """
    require(1 < power < 2, "the power of tweedie must be between 1 and 2, without these", power)
    function = given(_tweedie, power=float(power))
    return Loss(
        function,
        is_convex=True,
        link=exp_link,
        constant=log_of_mean,
        domain=Domain(0, has_positive=True),
        name="tweedie",
        parameters=function.keywords,
    )


@jax.custom_jvp
def softplus(scores: Row) -> Row:
    """`jax.nn.softplus`, whose derivative is a sigmoid: so those of a row ask for one exponential and no logarithm.

    >>> jax.grad(lambda scores: softplus(scores)[0])(jnp.zeros(1)).tolist()
    [0.5]
    """
    return jax.nn.softplus(scores)


@softplus.defjvp
def _softplus_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (scores,), (tangent,) = primals, tangents
    return softplus(scores), tangent * jax.nn.sigmoid(scores)


def _logistic(scores: Row, target: Target, extras: Any) -> Row:
    return softplus(scores) - target * scores


def _log_odds(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    share = np.clip(weighted_mean(target, weight), LEAST_SHARE, 1 - LEAST_SHARE)
    return np.log(share) - np.log1p(-share)


def sigmoid(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """The probability of class 1, of which scores are the log odds."""
    return either.sigmoid(scores)


def logistic() -> Loss:
    r"""$\log(1 + e^s) - y s$: minus the log likelihood of classes 0 and 1, in nats (Friedman, 2001, section 4.5).

    The score is the log odds of class 1, the prediction its probability $p = 1 / (1 + e^{-s})$. The gradient
    is $p - y$, the Hessian $p (1 - p)$. Targets between 0 and 1 are probabilities.

    Example:
        >>> loss = logistic()
        >>> loss.start(np.array([0, 1, 1, 1]), np.ones(4), {}).round(4).tolist()
        [1.0986]
        >>> loss.check(np.array([1, 2]), {})
        Traceback (most recent call last):
        jaxtree.errors.InvalidInputError: logistic(): a target must be from 0 to 1, got 2
    """
    return Loss(_logistic, is_convex=True, link=sigmoid, constant=_log_odds, domain=Domain(0, 1), name="logistic")
