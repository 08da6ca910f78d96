"""The losses that have names, and the forms in which a loss is given wherever one is: a name, a loss, or a function."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from jaxtree.errors import InvalidInputError
from jaxtree.lazy import jnp
from jaxtree.losses import distributions, ranking
from jaxtree.losses.cox import cox
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.loss import BaseLoss, Loss, given
from jaxtree.losses.numbers import absolute, gamma, poisson, squared, tweedie
from jaxtree.losses.robust import huber, pseudo_huber
from jaxtree.losses.survival import accelerated_failure_time

LOSSES: dict[str, Callable[[], BaseLoss]] = {
    "squared_error": squared,
    "absolute_error": absolute,
    "huber": huber,
    "pseudo_huber": pseudo_huber,
    "poisson": poisson,
    "gamma": gamma,
    "tweedie": tweedie,
    "cox": cox,
    "accelerated_failure_time": accelerated_failure_time,
}
"""The losses of numbers that have names."""

RANKING_LOSSES: dict[str, Callable[[], BaseLoss]] = {
    "ndcg": ranking.ndcg,
    "map": ranking.average_precision,
    "pairwise": ranking.pairwise,
}
"""The losses of order that have names."""

DISTRIBUTIONS: dict[str, Callable[[], Distribution]] = {
    name: getattr(distributions, name) for name in distributions.__all__
}
"""The distributions that have names."""

OF_NUMBERS: dict[str, Callable[[], BaseLoss]] = {**DISTRIBUTIONS, **RANKING_LOSSES, **LOSSES}
"""All losses of numbers that have names; "gamma" is that of means."""

AnyLoss: TypeAlias = str | BaseLoss | Callable[..., Any]
"""The forms in which a loss is given."""

OF_CLASSES = ("log_loss",)
"""The losses of classes that have names; how they are computed follows from the number of classes."""


def loss_of(loss: Any, named: Mapping[str, Callable[[], BaseLoss]] = OF_NUMBERS, num_scores: int = 1) -> BaseLoss:
    """Returns a loss, of any of the forms in which one is given.

    Args:
        loss: A name; a loss; or a function: of the scores of a row, its target and its extras, as that of `Loss`, or of
            the outputs of rows and their targets to the loss of every row, as those of `jaxtree.soft.losses`.
        named: The losses that have names.
        num_scores: The scores of a row, where a function is given.

    Raises:
        InvalidInputError: It is none of these.

    Example:
        >>> loss_of("huber"), loss_of(squared()), loss_of(lambda scores, target, extras: (scores[0] - target) ** 4)
        (huber(), squared(), <lambda>())
    """
    if isinstance(loss, BaseLoss):
        return loss
    if isinstance(loss, str) and loss in named:
        return named[loss]()
    if isinstance(loss, str) or not callable(loss):
        names = ", ".join(map(repr, sorted(named)))
        raise InvalidInputError(f"loss must be one of {names}, a loss of jaxtree.boosting or a function, got {loss!r}")
    number, name = number_of_arguments(loss), getattr(loss, "__name__", type(loss).__name__)
    if number == len(("scores", "target", "extras")):
        return Loss(loss, num_scores, name=name)
    return Loss(given(_of_one_row, of_rows=loss), num_scores, name=name)


def number_of_arguments(loss: Callable[..., Any]) -> int:
    """Returns how many arguments without a default a function of a loss has: 3 of a row, or 2 of many rows.

    Raises:
        InvalidInputError: It is another number.
    """
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = inspect.signature(loss).parameters.values()
    number = sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in own)
    if number not in (2, 3):
        name = getattr(loss, "__name__", loss)
        hint = f": give what it returns, loss={name}()" if number == 0 else ""
        raise InvalidInputError(
            "loss must be a function of the scores, target and extras of a row to its loss, or of outputs and targets "
            f"of rows to the loss of each, got {name} of {number} arguments{hint}"
        )
    return number


def _of_one_row(scores: Any, target: Any, extras: Any, of_rows: Callable[..., Any]) -> Any:
    losses = of_rows(scores[None], jnp.asarray(target)[None])
    if jnp.shape(losses)[:1] != (1,):
        raise InvalidInputError(
            f"{getattr(of_rows, '__name__', of_rows)}, a loss of outputs and targets of rows, must return the loss of "
            f"each, got the shape {jnp.shape(losses)} for 1 row"
        )
    return losses[0]
