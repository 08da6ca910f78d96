r"""Losses of numbers and counts, from raw scores $s$ and a target $y$.

Each is a function that makes a `Loss`; losses made with the same parameters are equal. Values are 0 or more, and 0
where a target is predicted exactly; terms of the target alone, which change no derivative, see to that.
"""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float, Real

from jaxtree import either
from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.lazy import Array, jax_special, jnp
from jaxtree.losses.domain import Domain, require
from jaxtree.losses.elementary import Row, Target, exp_link, growth, log_of_mean, weighted_mean
from jaxtree.losses.loss import Loss, given


def _squared(scores: Row, target: Real[Array, "*output"], extras: Any) -> Row:
    return (scores - target) ** 2 / 2


def squared(num_outputs: int = 1) -> Loss:
    r"""$(s - y)^2 / 2$: least at the mean (Gauss, 1809; for boosting Friedman, 2001). Its Hessian is 1.

    Scores are in the target's unit, values in its square. With several outputs a row has a score each, and the loss is
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
    return Loss(
        _squared,
        num_outputs,
        "one",
        is_convex=True,
        constant=weighted_mean,
        moves_with_target=True,
        name="squared",
        parameters=many,
    )


def _absolute(scores: Row, target: Target, extras: Any) -> Row:
    return jnp.abs(scores - target)


def absolute() -> Loss:
    r"""$|s - y|$: least at the median (Friedman, 2001, section 4.2).

    It has no curvature, for which 1 stands; leaves take medians of $y - s$. Scores and values are in the target's unit.

    Example:
        >>> import numpy as np
        >>> absolute().start(np.array([1.0, 2.0, 9.0]), np.ones(3), {}).tolist()
        [2.0]
    """
    return Loss(_absolute, hessian="one", is_convex=True, renewal=0.5, moves_with_target=True, name="absolute")


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
        function,
        hessian="one",
        is_convex=True,
        renewal=float(level),
        moves_with_target=True,
        name="quantile",
        parameters=function.keywords,
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
        >>> import numpy as np
        >>> expectile(0.9).start(np.array([0.0, 1.0]), np.ones(2), {}).round(4).tolist()
        [0.9]
    """
    require_level(level, "expectile")
    function = given(_expectile, level=float(level))
    return Loss(
        function,
        is_convex=True,
        constant=weighted_mean,
        is_guess=True,
        moves_with_target=True,
        name="expectile",
        parameters=function.keywords,
    )


def _poisson(scores: Row, target: Target, extras: Any) -> Row:
    return growth(scores) - target * (1 + scores) + jax_special.xlogy(target, target)


def poisson() -> Loss:
    r"""$e^s - y + y (\log y - s)$: half the deviance of counts of mean $e^s$ (Nelder and Wedderburn, 1972).

    Predictions are means $e^s$; the gradient is $e^s - y$, the Hessian $e^s$. The extra `offset` is the logarithm of a
    row's exposure. To limits and penalties an estimator counts events: targets, times weights, in units of the least
    where all are whole multiples of it, else of their mean.

    Example: two claims in half a year, and one in two years.
        >>> import numpy as np
        >>> exposure = {"offset": np.log([0.5, 2.0])}
        >>> np.exp(poisson().start(np.array([2.0, 1.0]), np.ones(2), exposure)).round(4).tolist()
        [1.2]
    """
    domain = Domain(0, has_positive=True)
    return Loss(
        _poisson, is_convex=True, link=exp_link, constant=log_of_mean, domain=domain, degree=1.0, name="poisson"
    )  # fmt: skip


def _gamma(scores: Row, target: Target, extras: Any) -> Row:
    return target * growth(-scores) - 1 - jnp.log(target) + scores


def gamma() -> Loss:
    r"""$y e^{-s} - 1 - \log (y e^{-s})$: half the deviance of the gamma distribution of mean $e^s$.

    Its variance is proportional to the square of the mean (McCullagh and Nelder, 1989, chapter 8). Predictions are
    means; the gradient is $1 - y e^{-s}$, the Hessian $y e^{-s}$. For the shape too see
    `jaxtree.boosting.distributions`.

    Example:
        >>> import numpy as np
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
    is $e^{(2-p)s} - y e^{(1-p)s}$. To limits and penalties of an estimator, one row has the mean of $y^{2-p}$.

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
        degree=2 - float(power),
        name="tweedie",
        parameters=function.keywords,
    )


def _pinball(
    scores: Float[Array, " score"], target: Real[Array, ""], extras: Any, levels: tuple[float, ...]
) -> Float[Array, " score"]:
    above = target - scores
    level = jnp.asarray(levels, scores.dtype)
    return jnp.maximum(level * above, (level - 1) * above)


def _in_order(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    return either.sort(scores, axis=0)


def quantiles(levels: Sequence[FloatLike]) -> Loss:
    r"""$\sum_k \max(\tau_k (y - s_k), (\tau_k - 1)(y - s_k))$: quantiles of several levels $\tau_k$ in one model.

    All share the splits of a tree; a leaf has a number a level. Predictions are the scores of a row, sorted: quantiles
    that cross are never closer to the true ones than the same numbers in order (Chernozhukov, Fernández-Val and
    Galichon, 2010). As for `quantile`, 1 stands for curvature, and leaves take quantiles of $y - s_k$.

    Args:
        levels: Between 0 and 1, each above the one before it.

    Raises:
        InvalidInputError: They are not.

    Example:
        >>> loss = quantiles([0.1, 0.5, 0.9])
        >>> loss.predict(jnp.array([[1.0], [3.0], [2.0]]))[:, 0].tolist()
        [1.0, 2.0, 3.0]
    """
    numbers = tuple(float(level) for level in levels)
    require(len(numbers) > 0, "quantiles needs a level or more", list(numbers))
    for level in numbers:
        require_level(level, "quantiles")
    require(sorted(set(numbers)) == list(numbers), "levels of quantiles must rise", list(numbers))
    function = given(_pinball, levels=numbers)
    return Loss(
        function,
        num_scores=len(numbers),
        hessian="one",
        is_convex=True,
        link=_in_order,
        renewal=numbers,
        moves_with_target=True,
        name="quantiles",
        parameters=function.keywords,
    )
