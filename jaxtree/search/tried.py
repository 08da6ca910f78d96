"""The settings that a tuning tries, and the results that it keeps of each."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.errors import InvalidInputError
from jaxtree.search.out_of_fold import Yardstick
from jaxtree.search.parameter_importances import parameter_importances

NUM_REPEATS = 20
"""Shuffles of a parameter, by which its importance is measured."""


class Task(NamedTuple):
    """The task of a tuning.

    Attributes:
        estimator: A blank estimator, of boosted trees or an additive model.
        X: The table.
        y: The target.
        weight: The weight of every row, or None.
        splits: The rows of every fold, to fit on and to score on.
        yardstick: How predictions are scored.
    """

    estimator: Any
    X: Any
    y: Any
    weight: Any
    splits: Sequence[tuple[Any, Any]]
    yardstick: Yardstick


OnProgress = Callable[[float, str], Any]
"""The callback with the seconds used, and with words about the work; none while a batch goes on."""


def silent(used: float, words: str) -> None:
    """Tells nobody about progress."""


class Tried(NamedTuple):
    """The settings that were tried, on the folds of a search or, if it was interrupted at once, the first of them.

    Attributes:
        settings: Their parameters.
        predicted: Their out-of-fold predictions.
        curves: The losses of every setting on the test rows after each round, an array a fold.
        num_rounds: The number of rounds of every setting on every fold.
        scores: Their scores on every fold, greater if better.
        fit_seconds: How long every fit took, as long as it was not among others that share its program.
        seconds: When each was finished.
        was_cut: Whether time did not suffice for all rounds of a setting on some fold.
    """

    settings: list[dict[str, Any]]
    predicted: Float[np.ndarray, "setting row column"]
    curves: list[list[Float[np.ndarray, " round"]]]
    num_rounds: Float[np.ndarray, "setting fold"]
    scores: Float[np.ndarray, "setting fold"]
    fit_seconds: Float[np.ndarray, "setting fold"]
    seconds: Float[np.ndarray, " setting"]
    was_cut: Bool[np.ndarray, " setting"]

    def parameter_importances(self) -> list[tuple[str, float]]:
        """Returns parameters by how much they count, the greatest first; none where there are too few settings."""
        means = self.scores.mean(axis=1)
        results = {"params": self.settings, "mean_test_score": np.where(np.isfinite(means), means, np.nan)}
        try:
            found = parameter_importances(results, "score", n_repeats=NUM_REPEATS, random_state=0)
        except InvalidInputError:
            return []
        named = zip(found.names, np.maximum(found.mean, 0.0).tolist(), strict=True)
        return sorted(named, key=lambda own: -own[1])
