"""How right probabilities of classes are: ROC curves, calibration, and the confusion matrix."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.metrics import auc, confusion_matrix, roc_curve

from jaxtree.losses.start import weighted_quantiles
from jaxtree.metrics.survival import NORMAL_QUANTILE

NUM_BINS = 10
"""Bins of rows of similar predictions, of about equal weight."""


class OneClass(NamedTuple):
    """One class against all others.

    Attributes:
        name: The class.
        place: Its place among the classes.
        is_own: Whether a row is of it.
        chance: Its predicted probability.
        weight: The weights of the rows.
    """

    name: str
    place: int
    is_own: Bool[np.ndarray, " row"]
    chance: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]

    @property
    def has_both(self) -> bool:
        """Whether rows of the class and other rows have a weight."""
        own = self.is_own[self.weight > 0]
        return bool(own.any() and not own.all())


class Roc(NamedTuple):
    """A receiver operating characteristic.

    Attributes:
        wrong: The share of the other rows that are taken for the class, for every limit of the probability.
        right: The share of the rows of the class that are found.
        area: The area below.
    """

    wrong: Float[np.ndarray, " point"]
    right: Float[np.ndarray, " point"]
    area: float


def roc_of(own: OneClass) -> Roc | None:
    """Returns the curve of a class; None if all rows are of one kind."""
    if not own.has_both:
        return None
    wrong, right, _ = roc_curve(own.is_own, own.chance, sample_weight=own.weight)
    return Roc(wrong, right, float(auc(wrong, right)))


class Calibration(NamedTuple):
    """Bins of rows of similar predictions.

    Attributes:
        mean: Their mean prediction.
        observed: Their mean target; of a class, the share of rows that are of it.
        weight: The sum of their weights.
    """

    mean: Float[np.ndarray, " bin"]
    observed: Float[np.ndarray, " bin"]
    weight: Float[np.ndarray, " bin"]

    @property
    def gap(self) -> float:
        """The mean distance of what is observed from what is predicted."""
        return float(np.average(np.abs(self.mean - self.observed), weights=self.weight))

    def interval(self) -> tuple[Float[np.ndarray, " bin"], Float[np.ndarray, " bin"]]:
        """Returns the 95 % intervals of shares (Wilson, 1927)."""
        z, share, number = NORMAL_QUANTILE, self.observed, self.weight
        middle = (share + z**2 / (2 * number)) / (1 + z**2 / number)
        half = z / (1 + z**2 / number) * np.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
        return np.clip(middle - half, 0, share), np.clip(middle + half, share, 1)


def calibration_of(
    predicted: Float[np.ndarray, " row"],
    target: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    num_bins: int = NUM_BINS,
) -> Calibration:
    """Returns what comes of rows of similar predictions; equal predictions are in one bin.

    Args:
        predicted: The predictions: probabilities of a class, or numbers.
        target: Whether each row is of the class, as 0 and 1; or the numbers.
        weight: The weight of every row.
        num_bins: How many bins at most.

    Example:
        >>> calibration_of(np.array([0.1, 0.2, 0.9]), np.array([0.0, 1.0, 1.0]), np.ones(3), 2).observed.tolist()
        [0.5, 1.0]
    """
    inner = np.unique(weighted_quantiles(predicted, weight, np.linspace(0, 1, num_bins + 1)[1:-1]))
    place = np.searchsorted(inner, predicted, side="left")
    total, of_predicted, of_target = (
        np.bincount(place, weight * own, inner.size + 1) for own in (np.ones(len(place)), predicted, target)
    )
    kept = total > 0
    return Calibration(of_predicted[kept] / total[kept], of_target[kept] / total[kept], total[kept])


class Confusion(NamedTuple):
    """Rows by their class and by the class that is predicted.

    Attributes:
        cells: The sums of weights; rows of classes that the model does not know stand in a last line, if there are any.
        right: The share of the rows that are right.
    """

    cells: Float[np.ndarray, "truth class"] | Int[np.ndarray, "truth class"]
    right: float


def confusion_of(
    labels: Int[np.ndarray, " row"], predicted: Int[np.ndarray, " row"], weight: Float[np.ndarray, " row"], number: int
) -> Confusion:
    """Returns the confusion matrix of rows.

    Args:
        labels: The codes of their classes, -1 where the model does not know one.
        predicted: The codes of the classes that are predicted.
        weight: Their weights.
        number: The number of classes.
    """
    truth = np.where(labels < 0, number, labels)
    cells = confusion_matrix(truth, predicted, labels=np.arange(number + 1), sample_weight=weight)[:, :number]
    right = float(weight[labels == predicted].sum() / weight.sum())
    return Confusion(cells if cells[number].any() else cells[:number], right)
