"""Scores of fitted models on some rows."""

from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.differentiable.tables import Part

LEAST_SHARE = 1e-7
"""A share below it counts as it: one row that a leaf has not seen does not outweigh a table."""


def macro_f1_of(model: Any, part: Part) -> float:
    """Returns the mean over the classes, those of the rows and those predicted, of their F1."""
    return float(f1_score(part.y, model.predict(part.X), average="macro"))


def log_loss_of(model: Any, part: Part) -> float:
    """Returns the mean log loss; a class that the model does not know has no share."""
    shares = np.asarray(model.predict_proba(part.X), float)
    place = np.searchsorted(model.classes_, part.y).clip(max=len(model.classes_) - 1)
    own = np.where(model.classes_[place] == part.y, shares[np.arange(len(place)), place], 0)
    return float(-np.log(own.clip(LEAST_SHARE, 1)).mean())
