"""Losses of boosting in files: those that jaxtree has by the name and the parameters of the function that makes them.

A file has the name of a loss of the user's own, its number of scores, and its link if jaxtree has that. The loss
that is loaded in its place can do what follows from these.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NoReturn

from jaxtree import boosting
from jaxtree.errors import InvalidInputError
from jaxtree.losses.loss import BaseLoss, Given, Loss, given

SHIPPED = (
    *("logistic", "softmax", "focal"),
    *("squared", "absolute", "quantile", "quantiles", "expectile", "huber", "pseudo_huber"),
    *("poisson", "gamma", "tweedie"),
    *("ndcg", "average_precision", "pairwise"),
    *("cox", "accelerated_failure_time"),
    *(f"distributions.{name}" for name in ("normal", "laplace", "logistic", "student_t", "lognormal")),
    *(f"distributions.{name}" for name in ("gamma", "weibull", "negative_binomial", "beta")),
)
"""The losses of jaxtree: the functions of `jaxtree.boosting` that make them."""

MOST_SCORES = 2**20
"""The most scores of a row."""


@dataclasses.dataclass(frozen=True, repr=False)
class AbsentLoss(Loss):
    """A loss of the user's own, as a file has it: without the code."""

    @property
    def has_link(self) -> bool:
        """Whether its link is one of jaxtree's."""
        return not isinstance(self.link, Given)


def make_shipped_loss(name: str, parameters: dict[str, Any]) -> BaseLoss:
    """Makes a loss of jaxtree.

    Raises:
        LookupError: There is none of that name.
        InvalidInputError: A parameter is not allowed.

    >>> make_shipped_loss("huber", {"delta": 2.0})
    huber(delta=2.0)
    """
    return _maker_named(name)(**parameters)


def make_absent_loss(name: str, num_scores: int, link: str | None) -> AbsentLoss:
    """Makes what stands in the place of a loss of the user's own.

    Args:
        name: The name of the loss.
        num_scores: Scores of a row.
        link: The name of its link, if jaxtree has that.

    Raises:
        LookupError: jaxtree has no such link.
        InvalidInputError: The number of scores is none.

    >>> make_absent_loss("lopsided", 1, "identity")
    lopsided()
    """
    if not (isinstance(name, str) and type(num_scores) is int and num_scores <= MOST_SCORES):
        raise InvalidInputError("a loss has a name and a number of scores")
    from jaxtree.losses.links import LINKS  # with which most losses are loaded

    absent = given(_refuse, name=name)
    return AbsentLoss(absent, num_scores, link=absent if link is None else LINKS[link][0], name=name)


def maker_of(loss: BaseLoss) -> tuple[str, dict[str, Any]] | None:
    """Returns the name and the parameters by which `make_shipped_loss` makes an equal loss; None if nothing does.

    >>> from jaxtree.boosting import distributions, quantile
    >>> maker_of(quantile(0.9)), maker_of(distributions.gamma()), maker_of(Loss(lambda scores, target, extras: 0.0))
    (('quantile', {'level': 0.9}), ('distributions.gamma', {}), None)
    """
    parameters = _parameters_of(loss)
    for name in (loss.name, f"distributions.{loss.name}"):
        try:
            if make_shipped_loss(name, parameters) == loss:
                return name, parameters
        except (LookupError, TypeError, ValueError):
            continue
    return None


def describe_absent_loss(loss: BaseLoss) -> tuple[str, int, str | None]:
    """Returns what `make_absent_loss` needs of a loss of the user's own."""
    from jaxtree.losses.links import name_of_link  # with which most losses are loaded

    return loss.name, loss.num_scores, name_of_link(loss)


def _parameters_of(loss: BaseLoss) -> dict[str, Any]:
    """Returns the arguments that a loss was made with."""
    if isinstance(loss, Loss):
        return dict(loss.parameters)
    if not dataclasses.is_dataclass(loss):
        return {}
    return {field.name: getattr(loss, field.name) for field in dataclasses.fields(loss)}


def _maker_named(name: str) -> Callable[..., BaseLoss]:
    """The function that makes losses of a name, whose room is loaded alone; raises LookupError if there is none."""
    if name not in SHIPPED:
        raise LookupError(name)
    room, _, own = name.rpartition(".")
    return getattr(boosting.distributions if room else boosting, own)


def _refuse(*_: Any, name: str) -> NoReturn:
    """Stands for the functions of a loss that a file does not have."""
    raise InvalidInputError(
        f"the loss {name!r} is the user's own, and model files hold no code: give it again, load(path, loss={name})"
    )
