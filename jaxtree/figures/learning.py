"""Losses of boosted trees by rounds, or of soft trees by epochs, and the round that counts."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError
from jaxtree.tree.kinds import ModelKind, kind_of


class LearningCurves(NamedTuple):
    """Measures after every step of a fit.

    Attributes:
        step: "round" or "epoch".
        curves: Numbers by metric and evaluation.
        mark: The number of the step that counts, from 1.
        why: The reason for the mark: "kept" of early stopping, "best", or "folds" where each fold has kept a number of
            its own and the mark is their mean.
    """

    step: str
    curves: dict[str, dict[str, Float64[np.ndarray, " step"]]]
    mark: int
    why: str


def learning_of(estimator: Any) -> LearningCurves:
    """Returns the curves of a fitted estimator.

    Raises:
        InvalidInputError: Nothing was measured in its fit.
    """
    kind = kind_of(estimator)
    if kind == ModelKind.SOFT:
        losses = {name.replace("_", " "): np.asarray(own, np.float64) for name, own in estimator.history_.items()}
        return LearningCurves("epoch", {"loss": losses}, estimator.best_epoch_, "kept")
    measured = estimator.evals_result_ if kind == ModelKind.BOOSTED else None
    if not measured:
        raise InvalidInputError(
            f"{type(estimator).__name__} has no learning curve: give a soft tree or forest, or boosted trees fitted "
            "with eval_set= or early_stopping=True"
        )
    curves: dict[str, dict[str, Any]] = {}
    for evaluation, metrics in measured.items():
        for metric, numbers in metrics.items():
            curves.setdefault(metric, {})[evaluation] = np.asarray(numbers, np.float64)
    if estimator.folds_ is not None:
        return LearningCurves("round", curves, estimator.best_iteration_, "folds")
    if estimator.early_stopping:
        return LearningCurves("round", curves, estimator.n_estimators_, "kept")
    return LearningCurves("round", curves, estimator.best_iteration_, "best")
