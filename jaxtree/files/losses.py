"""Losses of boosting in files: those that jaxtree has by the name and the parameters of the function that makes them.

A file has the name of a loss of the user's own, its number of scores, and its link if jaxtree has that. The loss
that is loaded in its place can do what follows from these.
"""

import dataclasses
import functools
import typing
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from jaxtree import boosting
from jaxtree.errors import InvalidInputError
from jaxtree.losses import distributions
from jaxtree.losses.links import LINKS, name_of_link
from jaxtree.losses.loss import BaseLoss, Loss, given

MOST_SCORES = 2**20
"""The most scores of a row."""


@dataclasses.dataclass(frozen=True, repr=False)
class AbsentLoss(Loss):
    """A loss of the user's own, as a file has it: without the code."""


def make_shipped_loss(name: str, parameters: dict[str, Any]) -> BaseLoss:
    """Makes a loss of jaxtree.

    Raises:
        LookupError: There is none of that name.
        InvalidInputError: A parameter is not allowed.

    >>> make_shipped_loss("huber", {"delta": 2.0})
    huber(delta=2.0)
    """
    return _makers()[name](**parameters)


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
    return loss.name, loss.num_scores, name_of_link(loss)


def _parameters_of(loss: BaseLoss) -> dict[str, Any]:
    """Returns the arguments that a loss was made with."""
    if isinstance(loss, Loss):
        return dict(loss.parameters)
    if not dataclasses.is_dataclass(loss):
        return {}
    return {field.name: getattr(loss, field.name) for field in dataclasses.fields(loss)}


@functools.cache
def _makers() -> dict[str, Callable[..., BaseLoss]]:
    """The functions that make losses, by name; those of distributions have "distributions." before it."""
    of_numbers = {name: getattr(boosting, name) for name in _losses_among(boosting, vars(boosting))}
    named = _losses_among(distributions, distributions.__all__)
    return of_numbers | {f"distributions.{name}": getattr(distributions, name) for name in named}


def _losses_among(room: Any, names: Iterable[str]) -> list[str]:
    """The names of a room's functions that make a loss."""
    functions = [name for name in names if type(getattr(room, name)) is type(_refuse) and not name.startswith("_")]
    made = {name: typing.get_type_hints(getattr(room, name)).get("return") for name in functions}
    return [name for name, kind in made.items() if isinstance(kind, type) and issubclass(kind, BaseLoss)]


def _refuse(*_: Any, name: str) -> NoReturn:
    """Stands for the functions of a loss that a file does not have."""
    raise InvalidInputError(
        f"the loss {name!r} is the user's own, and model files hold no code: give it again, load(path, loss={name})"
    )
