"""How predictions follow from scores, of models whose trees add up to scores.

A *link* is a function from the scores of a row to what is predicted of it. Exports know these links by name, and any
other one as far as they have the functions that JAX traces in it.
"""

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.arrays import AnyArray


class Link(enum.Enum):
    """A link that other programs have.

    IDENTITY: predictions are scores.
    EXP: they are exponentials of scores.
    LOGISTIC: the one score is the log odds of the second of two classes.
    SOFTMAX: probabilities of classes are in proportion to the exponentials of scores.
    OTHER: none of these.
    """

    IDENTITY = "identity"
    EXP = "exp"
    LOGISTIC = "logistic"
    SOFTMAX = "softmax"
    OTHER = "other"


@dataclasses.dataclass(frozen=True)
class ScoreLink:
    """The predictions that follow from the scores that trees add up to.

    Attributes:
        kind: The link, if other programs have it.
        predict: The link in JAX, from an array of scores `[score, row]` to one of predictions `[prediction, row]`.
        predict_on_host: The link from an array of NumPy to another one.
        num_predictions: How many predictions a row has; identities and exponentials take as many first scores.
        classes: The classes, of which probabilities are predicted; None of numbers.
        is_ratio: Whether the trees add up to scores times weights and, last, to the weights, which divide the others
            before anything is predicted. Both functions do so.
    """

    kind: Link
    predict: Callable[..., Any]
    predict_on_host: Callable[..., Any]
    num_predictions: int
    classes: Shaped[np.ndarray, " class"] | None = None
    is_ratio: bool = False


def of_weighted(link: ScoreLink) -> ScoreLink:
    """Returns the link of trees that add up to scores times weights, and last to the weights."""
    return dataclasses.replace(
        link,
        predict=functools.partial(_predict_of_ratios, link.predict),
        predict_on_host=functools.partial(_predict_of_ratios, link.predict_on_host),
        is_ratio=True,
    )


def ratios(sums: Float[AnyArray, "sum row"]) -> Float[AnyArray, "score row"]:
    """Returns sums of scores times weights over the last of them, the sum of the weights.

    >>> ratios(np.array([[1.0], [6.0], [2.0]])).tolist()
    [[0.5], [3.0]]
    """
    return sums[:-1] / sums[-1:]


def _predict_of_ratios(predict: Callable[..., Any], sums: Float[AnyArray, "sum row"]) -> Any:
    return predict(ratios(sums))
