"""Losses of classes: of two, one score a row; of several, a score a class."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.arrays import MOST_WRITTEN_OUT, AnyArray, library_of
from jaxtree.lazy import Array, custom_jvp, jax, jnp, lax
from jaxtree.losses.domain import Domain, require
from jaxtree.losses.elementary import LEAST_SHARE, Row, Target, sigmoid, softplus, weighted_mean
from jaxtree.losses.loss import Loss, given


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
