r"""Losses of numbers, counts and classes, from raw scores $s$ and a target $y$.

Each is a function that makes a `Loss`; losses made with the same parameters are equal. Values are 0 or more, and 0
where a target is predicted exactly; terms of the target alone, which change no derivative, see to that.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.boosting.domain import Domain
from jaxtree.boosting.loss import Loss, given
from jaxtree.errors import InvalidInputError

MOST_EXPONENT = 50.0
"""Past this exponent `growth` is constant: sums of $e^{50}$ over any table stay far within float32."""

LEAST_SHARE = 2.0**-52
"""Of a class that no row has, so that its score is finite."""

Row = Float[Array, " score"]
Target = Real[Array, ""]


@jax.custom_jvp
def growth(exponent: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    r"""$e^x$, and $e^{50}$ for larger $x$; its derivative is the same, so that Newton steps from there come back.

    >>> float(growth(jnp.array(1000.0))) == float(jnp.exp(jnp.array(50.0)))
    True
    """
    return jnp.exp(jnp.minimum(exponent, MOST_EXPONENT))


@growth.defjvp
def _growth_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value = growth(*primals)
    return value, value * tangents[0]


def require(is_allowed: bool, message: str, value: object) -> None:
    """Raises `InvalidInputError` with the message and the value given, unless it is allowed."""
    if not is_allowed:
        raise InvalidInputError(f"{message}, got {value}")


def weighted_mean(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    """The mean of targets, as the one score."""
    return np.array([np.average(target, weights=weight)])


def log_of_mean(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    """The logarithm of the mean of targets, as the one score."""
    return np.log(np.maximum(weighted_mean(target, weight), LEAST_SHARE))


def exp_link(scores: Float[AnyArray, "score row"]) -> Float[Array, "score row"]:
    """Predictions that are exponentials of scores."""
    return jnp.exp(scores)


def _squared(scores: Row, target: Target, extras: Any) -> Row:
    return (scores - target) ** 2 / 2


def squared() -> Loss:
    r"""$(s - y)^2 / 2$: least at the mean (Gauss, 1809; for boosting Friedman, 2001). Its Hessian is 1.

    Scores are in the target's unit, values in its square.

    Example:
        >>> squared().values(jnp.array([[3.0]]), jnp.array([1.0]), {}).tolist()
        [2.0]
    """
    return Loss(_squared, hessian="one", is_convex=True, constant=weighted_mean, name="squared")


def _logistic(scores: Row, target: Target, extras: Any) -> Row:
    return jax.nn.softplus(scores) - target * scores


def _log_odds(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    share = np.clip(weighted_mean(target, weight), LEAST_SHARE, 1 - LEAST_SHARE)
    return np.log(share) - np.log1p(-share)


def _sigmoid(scores: Float[AnyArray, "score row"]) -> Float[Array, "score row"]:
    return jax.nn.sigmoid(scores)


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
    return Loss(_logistic, is_convex=True, link=_sigmoid, constant=_log_odds, domain=Domain(0, 1), name="logistic")


def _softmax(scores: Row, target: Target, extras: Any) -> Float[Array, ""]:
    # A comparison, and not an index, which would become a scatter of every row in the gradient.
    is_class = jnp.arange(len(scores)) == target
    return jax.nn.logsumexp(scores) - jnp.sum(jnp.where(is_class, scores, 0))


def _log_shares(
    target: Int[np.ndarray, " row"] | Float[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"], num_classes: int
) -> Float[np.ndarray, " class"]:
    share = np.bincount(target.astype(np.int64), weights=weight, minlength=num_classes) / np.sum(weight)
    logarithm = np.log(np.maximum(share, LEAST_SHARE))
    return logarithm - logarithm.mean()


def _class_probability(scores: Float[AnyArray, "score row"]) -> Float[Array, "score row"]:
    return jax.nn.softmax(scores, axis=0)


def softmax(num_classes: int, hessian: str = "full") -> Loss:
    r"""$\log \sum_c e^{s_c} - s_y$: minus the log likelihood of classes 0, 1, ..., in nats (Friedman, 2001).

    Predictions are the probabilities $p_c = e^{s_c} / \sum_d e^{s_d}$ (his section 4.6); the gradient is $p - e_y$,
    the Hessian $\mathrm{diag}(p) - p p^T$, singular as a number may be added to all scores.

    Args:
        num_classes: How many there are, 2 or more.
        hessian: `"full"`, or `"diagonal"` for $p_c (1 - p_c)$, which takes less memory where classes are many.

    Raises:
        InvalidInputError: A parameter is wrong.

    Example:
        >>> probability = softmax(3).predict(jnp.log(jnp.array([[1.0], [2.0], [5.0]])))
        >>> probability[:, 0].round(3).tolist()
        [0.125, 0.25, 0.625]
    """
    require(num_classes >= 2, "softmax needs 2 classes or more", num_classes)
    require(hessian in ("full", "diagonal"), "hessian of softmax must be 'full' or 'diagonal'", repr(hessian))
    return Loss(
        _softmax,
        num_scores=num_classes,
        hessian=hessian,
        is_convex=True,
        link=_class_probability,
        constant=given(_log_shares, num_classes=num_classes),
        domain=Domain(0, num_classes - 1, is_whole=True),
        name="softmax",
        parameters=(("num_classes", num_classes), ("hessian", hessian)),
    )
