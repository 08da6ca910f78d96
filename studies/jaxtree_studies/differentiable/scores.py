"""Scores of fitted models on some rows, and mean differences of them over tables with their intervals."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.metrics import f1_score

from jaxtree_studies.differentiable.tables import Part

LEAST_SHARE = 1e-7
"""A share below it counts as it: one row that a leaf has not seen does not outweigh a table."""
DRAWS = 10_000
LEVEL = 0.95
FEWEST = 5
"""Tables of which an interval is one: draws of fewer are too much alike."""


def macro_f1_of(model: Any, part: Part) -> float:
    """Returns the mean over the classes, those of the rows and those predicted, of their F1."""
    return float(f1_score(part.y, model.predict(part.X), average="macro"))


def log_loss_of(model: Any, part: Part) -> float:
    """Returns the mean log loss; a class that the model does not know has no share."""
    shares = np.asarray(model.predict_proba(part.X), float)
    place = np.searchsorted(model.classes_, part.y).clip(max=len(model.classes_) - 1)
    own = np.where(model.classes_[place] == part.y, shares[np.arange(len(place)), place], 0)
    return float(-np.log(own.clip(LEAST_SHARE, 1)).mean())


class Difference(NamedTuple):
    """A mean difference over tables.

    Attributes:
        mean: The mean.
        low: The lower end of its interval.
        high: The upper end.
        wins: Tables with a difference above 0.
        number: All tables.
    """

    mean: float
    low: float
    high: float
    wins: int
    number: int

    @property
    def has_interval(self) -> bool:
        """Whether there are tables enough for one."""
        return self.number >= FEWEST

    @property
    def is_sure(self) -> bool:
        """Whether there is an interval, and 0 is not in it."""
        return self.has_interval and (self.low > 0 or self.high < 0)

    def __str__(self) -> str:
        """The mean, its interval if there are tables enough, and the wins."""
        interval = f" ({self.low:+.3f} to {self.high:+.3f})" if self.has_interval else ""
        return f"{self.mean:+.3f}{interval}, {self.wins} of {self.number} tables"


def difference(one: Float[np.ndarray, " table"], other: Float[np.ndarray, " table"]) -> Difference:
    """Returns the mean difference, and its interval by a bootstrap over the tables.

    >>> str(difference(np.array([0.9, 0.8]), np.array([0.8, 0.8])))
    '+0.050, 1 of 2 tables'
    >>> str(difference(np.array([0.9, 0.8] * 3), np.full(6, 0.8)))
    '+0.050 (+0.017 to +0.083), 3 of 6 tables'
    """
    found = np.asarray(one, float) - np.asarray(other, float)
    drawn = np.random.default_rng(0).integers(0, len(found), (DRAWS, len(found)))
    low, high = np.quantile(found[drawn].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(float(found.mean()), float(low), float(high), int((found > 0).sum()), len(found))
