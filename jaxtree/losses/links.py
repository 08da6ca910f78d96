"""Links of losses by name: what files keep of a link, and what other programs are told of it."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Shaped

from jaxtree import forks
from jaxtree.errors import JaxtreeError
from jaxtree.lazy import jax, jnp
from jaxtree.losses.classes import class_probability
from jaxtree.losses.cox import Cox
from jaxtree.losses.distribution import first_score
from jaxtree.losses.domain import NUMBERS
from jaxtree.losses.elementary import exp_link, sigmoid
from jaxtree.losses.loss import BaseLoss, Loss, identity, is_own, predictions_of
from jaxtree.losses.shaped import exp_of_first
from jaxtree.losses.survival import time_of
from jaxtree.tree.link import Link, ScoreLink

LINKS: dict[str, tuple[Callable[..., Any], Link]] = {
    "identity": (identity, Link.IDENTITY),
    "first_score": (first_score, Link.IDENTITY),
    "exp": (exp_link, Link.EXP),
    "exp_of_first": (exp_of_first, Link.EXP),
    "time": (time_of, Link.EXP),
    "sigmoid": (sigmoid, Link.LOGISTIC),
    "class_probability": (class_probability, Link.SOFTMAX),
}
"""Functions from scores to predictions, each with what other programs know it as."""

_OF_FIRST = ("first_score", "exp_of_first", "time")


def name_of_link(loss: BaseLoss) -> str | None:
    """Returns the name of a loss's link among `LINKS`; None if it is none of them.

    >>> from jaxtree.boosting import poisson, quantiles
    >>> name_of_link(poisson()), name_of_link(quantiles([0.1, 0.9]))
    ('exp', None)
    """
    function: Any = None
    if isinstance(loss, Loss):
        function = loss.link
    elif isinstance(loss, Cox):
        function = exp_link
    elif type(loss).predict is BaseLoss.predict:
        function = identity
    return next((name for name, (own, _) in LINKS.items() if own is function), None)


def are_in_target_unit(loss: BaseLoss, target: Shaped[np.ndarray, "row *output"]) -> Bool[np.ndarray, " score"]:
    """Returns which scores of a loss are numbers in the unit of its target, such as locations.

    >>> from jaxtree.boosting import distributions, poisson
    >>> [are_in_target_unit(own, np.zeros(2)).tolist() for own in (distributions.normal(), poisson())]
    [[True, False], [False]]
    """
    is_plain = isinstance(loss, Loss) and loss.link is identity
    is_location = loss.has_location or (is_plain and loss.num_scores == (target.shape[1] if target.ndim == 2 else 1))
    is_moving = loss.moves_with_target or (is_location and loss.domain == NUMBERS)
    return np.arange(loss.num_scores) < is_moving * (1 if loss.has_location else loss.num_scores)


def are_logarithms_of_means(loss: BaseLoss) -> bool:
    """Whether the scores of a loss are logarithms of means, to which a factor of the targets is added as its logarithm.

    >>> from jaxtree.boosting import distributions, poisson
    >>> are_logarithms_of_means(poisson()), are_logarithms_of_means(distributions.lognormal())
    (True, False)
    """
    return isinstance(loss, Loss) and loss.link is exp_link and loss.name in ("poisson", "gamma", "tweedie")


def link_of(loss: BaseLoss, classes: Shaped[np.ndarray, " class"] | None) -> ScoreLink:
    """Returns what is predicted from the scores of a loss.

    Args:
        loss: The loss.
        classes: The classes that its targets are; None of numbers.
    """
    name = name_of_link(loss)
    kind = Link.OTHER if name is None else LINKS[name][1]
    number = 1 if name in _OF_FIRST else loss.num_scores if name is not None else _num_predictions(loss)
    return ScoreLink(kind, loss.predict, functools.partial(predictions_of, loss), number, classes)


def _num_predictions(loss: BaseLoss) -> int:
    """The number of predictions of a row by a link without a name; that of scores if it is not there, or not traced."""
    try:
        if is_own(loss.link if isinstance(loss, Loss) else type(loss).predict):
            return len(predictions_of(loss, np.zeros((loss.num_scores, 1))))
        forks.check_is_whole(f"the link of {loss}")
        return len(jax.eval_shape(loss.predict, jax.ShapeDtypeStruct((loss.num_scores, 1), jnp.float32)))
    except (TypeError, JaxtreeError):
        return loss.num_scores
