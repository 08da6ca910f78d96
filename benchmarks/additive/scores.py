"""Test scores of additive models."""

from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error

LEAST = 1e-15
"""The least probability in a log loss."""


def score(model: Any, X: Any, y: np.ndarray, num_classes: int) -> dict[str, float]:
    """AUC and log loss of classes, or the root mean squared error of numbers."""
    if num_classes == 0:
        return {"rmse": float(root_mean_squared_error(y, model.predict(X)))}
    return score_classes(_probabilities(model, X), y)


def score_classes(proba: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """AUC, of several classes the mean of those of each against the others, and log loss.

    Args:
        proba: The probability of every row and class.
        y: Classes from 0; a class that no row has, counts nothing.
    """
    proba = np.clip(np.asarray(proba, float), LEAST, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    present = range(1, 2) if proba.shape[1] == 2 else np.unique(y)
    areas = [roc_auc_score(y == one, proba[:, one]) for one in present]
    return {"auc": float(np.mean(areas)), "log_loss": float(log_loss(y, proba, labels=np.arange(proba.shape[1])))}


def _probabilities(model: Any, X: Any) -> np.ndarray:
    proba = np.asarray(model.predict_proba(X))
    # pygam's are those of the second class.
    return proba if proba.ndim == 2 else np.stack([1 - proba, proba], axis=1)
