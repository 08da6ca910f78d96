"""How predictions follow from scores, of models whose trees add up to scores.

A *link* is a function from the scores of a row to what is predicted of it. Exports know these links by name; for any
other link they return raw scores.
"""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Shaped


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
    """What is predicted from the scores that trees add up to.

    Attributes:
        kind: The link, if other programs have it.
        predict: The link in JAX, from an array of scores `[score, row]` to one of predictions `[prediction, row]`.
        predict_on_host: The link from an array of NumPy to another one.
        num_predictions: How many predictions a row has; identities and exponentials take as many first scores.
        classes: The classes, of which probabilities are predicted; None of numbers.
    """

    kind: Link
    predict: Callable[..., Any]
    predict_on_host: Callable[..., Any]
    num_predictions: int
    classes: Shaped[np.ndarray, " class"] | None = None
