"""Objectives of other libraries: the estimator and the loss that they are here, by their parameters."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from jaxtree.files.losses import make_absent_loss
from jaxtree.files.records import require
from jaxtree.foreign.planes import Meaning
from jaxtree.foreign.reading import number_of
from jaxtree.losses.loss import BaseLoss

CLASSIFIER, REGRESSOR, RANKER = "GradientBoostingClassifier", "GradientBoostingRegressor", "GradientBoostingRanker"

MOST_SCORES = 2**16
"""The most scores of a row that a file may name."""

Values = Mapping[str, Any]
"""Parameters by name."""


class ForeignObjective(NamedTuple):
    """An objective.

    Attributes:
        estimator: The name of the estimator that it is here.
        loss: Makes the loss of the parameters and the number of scores.
        margin: Makes the score of a prediction for all rows.
        is_scaled: Whether scores are multiplied by the parameter `sigmoid`.
    """

    estimator: str
    loss: Callable[[Values, int], BaseLoss]
    margin: Callable[[Any], Any] = np.asarray
    is_scaled: bool = False


def named(make: Callable[[], BaseLoss]) -> Callable[[Values, int], BaseLoss]:
    """Returns what makes a loss without parameters."""
    return lambda values, number: make()


def of_scores(make: Callable[[int], BaseLoss]) -> Callable[[Values, int], BaseLoss]:
    """Returns what makes a loss of the number of scores."""
    return lambda values, number: make(number)


def of_parameter(make: Callable[[float], BaseLoss], name: str, default: float) -> Callable[[Values, int], BaseLoss]:
    """Returns what makes a loss of one parameter."""
    return lambda values, number: make(parameter(values, name, default))


def absent(name: str) -> Callable[[Values, int], BaseLoss]:
    """Returns what makes a loss that jaxtree does not have, whose predictions are the scores."""
    return lambda values, number: make_absent_loss(name, number, "identity")


def parameter(values: Values, name: str, default: float) -> float:
    """Returns a parameter; raises ModelFileError if it is no number."""
    return number_of(values.get(name, default), name)


def meaning_of(
    name: str,
    kind: ForeignObjective,
    values: Values,
    num_scores: int,
    classes: Shaped[np.ndarray, " class"] | None = None,
) -> Meaning:
    """Returns how predictions follow from the sums of leaves.

    Args:
        name: The name of the objective.
        kind: The objective.
        values: Its parameters.
        num_scores: The number of scores of a row.
        classes: The classes; their numbers if not given.

    Raises:
        ModelFileError: The objective has another number of scores.
    """
    loss = kind.loss(values, num_scores)
    require(loss.num_scores == num_scores, f"objective {name!r} does not have {num_scores} scores")
    if kind.estimator != CLASSIFIER:
        # Several squared errors are of several targets.
        return Meaning(kind.estimator, loss, {"loss": loss}, (), loss.num_scores if loss.name == "squared" else 1)
    number = max(num_scores, 2)
    require(classes is None or len(classes) == number, f"it has {number} classes, and other ones are given")
    return Meaning(CLASSIFIER, loss, {}, (np.arange(number) if classes is None else classes,))
