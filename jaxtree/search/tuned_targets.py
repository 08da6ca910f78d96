"""Targets that a tuning can score: of a value a row, and with losses of numbers that have a scorer."""

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.loss_names import LOSSES
from jaxtree.estimators.boosting.responses import scores_by_loss
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.target import encode_classes, encode_numbers

SCORING_OF_LOSSES = {
    "absolute": "neg_mean_absolute_error",
    "poisson": "neg_mean_poisson_deviance",
    "gamma": "neg_mean_gamma_deviance",
}
"""The scorers of losses of numbers that are not those of squares."""


def check_loss(loss: Any) -> None:
    """Raises InvalidInputError if the predictions of a loss are no numbers close to one target a row."""
    if scores_by_loss(_loss_of(loss), 1):
        raise InvalidInputError(
            f"a tuning scores numbers that are close to the target, and those of the loss {loss!r} are not: search "
            "with SearchCV"
        )


def scoring_of(loss: Any) -> str | None:
    """Returns the scorer of a loss of numbers if none is given; None for that of squares.

    Raises:
        InvalidInputError: The loss asks for another one, as it is least at quantiles or expectiles.
    """
    made = _loss_of(loss)
    if made.name in ("quantile", "expectile"):
        raise InvalidInputError(f"squares do not score predictions of the loss {made}: give scoring")
    return SCORING_OF_LOSSES.get(made.name)


def checked_target(y: Any, *, of_classes: bool) -> Any:
    """Returns the target, a value a row; raises InvalidInputError if it cannot be learned or has one class only."""
    shape = getattr(y, "shape", np.shape(y) if isinstance(y, list | tuple) else ())
    if len(shape) == 2 and shape[1] == 1:
        y = column_or_1d(y, warn=True)
    elif len(shape) > 1:
        raise InvalidInputError(f"y must have one value a row, got an array of shape {tuple(shape)}")
    if not of_classes:
        encode_numbers(y)
        return y
    classes = encode_classes(y).classes
    if len(classes) == 1 and len(classes[0]) < 2:
        raise InvalidInputError(f"y has one class only, {classes[0].tolist()[0]!r}: there is nothing to tune")
    if len(classes) == 1 and len(classes[0]) == len(y):
        raise InvalidInputError(
            f"y has {len(y)} different values in {len(y)} rows, of which no class can be learned: give numbers, of "
            "dates such as days since one of them, or classes that several rows have"
        )
    return y


def _loss_of(loss: Any) -> BaseLoss:
    return LOSSES[loss]() if isinstance(loss, str) else loss
