"""Losses of classes: of two, one score a row; of several, a score a class."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.arrays import MOST_WRITTEN_OUT, AnyArray, library_of
from jaxtree.errors import InvalidInputError
from jaxtree.lazy import Array, custom_jvp, jax, jnp, lax
from jaxtree.losses.domain import Domain, require
from jaxtree.losses.elementary import LEAST_SHARE, Row, Target, sigmoid, softplus, weighted_mean
from jaxtree.losses.loss import BaseLoss, Loss, given, identity


def _logistic(scores: Row, target: Target, extras: Any) -> Row:
    return softplus(scores) - target * scores


def _log_odds(target: Shaped[np.ndarray, " row"], weight: Shaped[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    share = np.clip(weighted_mean(target, weight), LEAST_SHARE, 1 - LEAST_SHARE)
    return np.log(share) - np.log1p(-share)


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


def softmax(num_classes: int, hessian: str = "diagonal") -> Loss:
    r"""$\log \sum_c e^{s_c} - s_y$: minus the log likelihood of classes 0, 1, ..., in nats (Friedman, 2001).

    Predictions are the probabilities $p_c = e^{s_c} / \sum_d e^{s_d}$ (his section 4.6); the gradient is $p - e_y$,
    the Hessian $\mathrm{diag}(p) - p p^T$, singular as a number may be added to all scores. A target of a column for
    every class has their probabilities; the loss is then the mean of those of the classes.

    Args:
        num_classes: How many there are, 2 or more.
        hessian: `"diagonal"` for $p_c (1 - p_c)$, or `"full"`, whose steps are shorter, and cost more where classes are
            many (`benchmarks/results/boosting-hessians-2026-11-23.json`).

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
        information=given(_softmax_information, hessian=hessian),
        is_convex=True,
        link=class_probability,
        constant=given(_log_shares, num_classes=num_classes),
        domain=Domain(0, num_classes - 1, is_whole=True, num_shares=num_classes),
        name="softmax",
        parameters=(("num_classes", num_classes), ("hessian", hessian)),
    )


def focal(gamma: float = 2.0, num_scores: int = 1, hessian: str = "diagonal") -> Loss:
    r"""$-(1 - p_y)^\gamma \log p_y$: the log loss, less of rows that are predicted well (Lin et al., 2017).

    With one score $p_1 = 1 / (1 + e^{-s})$, as `logistic`; with a score a class $p_c = e^{s_c} / \sum_d e^{s_d}$, as
    `softmax`. Estimators make it for the classes of their target, `focal()` is enough. Factors of classes, alpha in the
    paper, are their `class_weight`. The loss is not convex: Newton steps take absolute values of its curvature.

    Predictions are the $p_c$. They are closer to even ones than the shares of classes, as all rows that are predicted
    well count less: calibrate them where these are needed.

    Args:
        gamma: By how much less, 0 or more; 0 is the log loss.
        num_scores: 1, of two classes; or the number of classes.
        hessian: "diagonal" or "full", as of `softmax`.

    Raises:
        InvalidInputError: A parameter is wrong.

    Example: a row of probability 1/2 has a quarter of the log loss, one of 9/10 a hundredth.
        >>> rows = jnp.log(jnp.array([[1.0, 9.0]])), jnp.ones(2), {}
        >>> np.round(focal(gamma=2).values(*rows) / logistic().values(*rows), 4)
        Array([0.25, 0.01], dtype=float32)
    """
    require(gamma >= 0 and np.isfinite(gamma), "gamma of focal must be a finite number of 0 or more", gamma)
    require(num_scores >= 1, "num_scores of focal must be 1, or the number of classes", num_scores)
    require(hessian in ("full", "diagonal"), "hessian of focal must be 'full' or 'diagonal'", repr(hessian))
    gamma, is_pair = float(gamma), num_scores == 1
    return Loss(
        given(_focal, gamma=gamma),
        num_scores=num_scores,
        hessian=hessian,
        link=sigmoid if is_pair else class_probability,
        constant=given(_log_odds) if is_pair else given(_log_shares, num_classes=num_scores),
        is_guess=True,
        domain=Domain(0, 1) if is_pair else Domain(0, num_scores - 1, is_whole=True),
        name="focal",
        parameters=(
            ("gamma", gamma),
            *[("num_scores", num_scores)] * (not is_pair),
            *[("hessian", hessian)] * (hessian != "diagonal"),
        ),
    )


def _focal(scores: Row, target: Target, extras: Any, gamma: float) -> Row | Float[Array, ""]:
    if len(scores) == 1:
        # A target between 0 and 1 is the probability of class 1.
        return target * _focal_of(softplus(-scores), softplus(scores), gamma) + (1 - target) * _focal_of(
            softplus(scores), softplus(-scores), gamma
        )
    is_class, total = jnp.arange(len(scores)) == target, _log_total(scores)
    own = jnp.sum(jnp.where(is_class, scores, 0))
    return _focal_of(total - own, total - _log_total(jnp.where(is_class, -jnp.inf, scores)), gamma)


def _focal_of(less: Any, other: Any, gamma: float) -> Any:
    """The loss of minus the logarithms of the class's probability, and of that of all others together."""
    return jnp.exp(-gamma * other) * less


def for_classes(loss: BaseLoss, num_classes: int, *, is_score_a_class: bool = False) -> BaseLoss:
    """Returns a loss as models of some classes take it, which predict probabilities.

    Args:
        loss: The loss. `logistic` and `focal` of one score become those of a score a class where that is needed, and
            one whose link leaves scores as they are gets that of log odds, or of logarithms of probabilities.
        num_classes: The number of classes.
        is_score_a_class: Whether two classes have two scores, too.

    Raises:
        InvalidInputError: It has another number of scores.

    >>> for_classes(focal(1.5), 3), for_classes(logistic(), 2, is_score_a_class=True)
    (focal(gamma=1.5, num_scores=3), softmax(num_classes=2, hessian='diagonal'))
    """
    allowed = (num_classes,) if is_score_a_class or num_classes > 2 else (1, 2)
    if isinstance(loss, Loss) and loss.num_scores == 1 and 1 not in allowed:
        if loss.name == "focal":
            return focal(**{**dict(loss.parameters), "num_scores": num_classes})
        if loss == logistic() and num_classes == 2:
            return softmax(num_classes)
    if loss.num_scores not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise InvalidInputError(
            f"loss {loss} must have {wanted} scores, one for each of {num_classes} classes, got {loss.num_scores}"
        )
    if isinstance(loss, Loss) and loss.link is identity:
        return dataclasses.replace(loss, link=sigmoid if loss.num_scores == 1 else class_probability)
    return loss


def _softmax(scores: Row, target: Target, extras: Any) -> Float[Array, ""]:
    if jnp.ndim(target):
        return _log_total(scores) - jnp.sum(target * scores)
    # A comparison, and not an index, which would become a scatter of every row in the gradient.
    is_class = jnp.arange(len(scores)) == target
    return _log_total(scores) - jnp.sum(jnp.where(is_class, scores, 0))


def _softmax_information(scores: Row, extras: Any, hessian: str) -> Float[Array, "*score_score"]:
    probability, _ = _probability(scores)
    if hessian == "diagonal":
        return probability * (1 - probability)
    return jnp.diag(probability) - probability[:, None] * probability


@custom_jvp
def _log_total(scores: Row) -> Float[Array, ""]:
    """The logarithm of the sum of exponentials, whose gradient autodiff would add up class by class."""
    return _probability(scores)[1]


@_log_total.defjvp
def _log_total_jvp(scores: tuple[Row], tangent: tuple[Row]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    probability, log_total = _probability(*scores)
    return log_total, jnp.sum(probability * tangent[0])


def _probability(scores: Row) -> tuple[Row, Float[Array, ""]]:
    """The probabilities of classes, and the logarithm of the sum of exponentials."""
    most = lax.stop_gradient(_over_classes(jnp.maximum, jnp.max, scores))
    exponential = jnp.exp(scores - most)
    total = _over_classes(jnp.add, jnp.sum, exponential)
    return exponential / total, jnp.log(total) + most


def _over_classes(pair: Callable[..., Any], all_: Callable[..., Any], values: Row) -> Float[Array, ""]:
    """A sum or the like over the classes of a row, from the function of two of them or that of all.

    With few classes the sums of a row have the same bits in every program, however many rows there are. Behind the
    barrier XLA makes it once, and not again for every class that is divided by it.
    """
    over_all = functools.reduce(pair, list(values)) if len(values) <= MOST_WRITTEN_OUT else all_(values)
    return lax.optimization_barrier(over_all)


def _log_shares(
    target: Shaped[np.ndarray, "row *class"], weight: Shaped[np.ndarray, " row"], num_classes: int
) -> Float[np.ndarray, " class"]:
    if target.ndim == 2:
        share = weight @ target / np.sum(weight)
    else:
        share = np.bincount(target.astype(np.int64), weights=weight, minlength=num_classes) / np.sum(weight)
    logarithm = np.log(np.maximum(share, LEAST_SHARE))
    return logarithm - logarithm.mean()


def class_probability(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """The probabilities of classes, which are in proportion to the exponentials of scores."""
    if library_of(scores) is jnp:
        return jax.nn.softmax(scores, axis=0)
    exponential = np.exp(scores - scores.max(axis=0))
    # A running sum adds the classes in one order, however many rows there are.
    return exponential / np.add.accumulate(exponential, axis=0)[-1]
