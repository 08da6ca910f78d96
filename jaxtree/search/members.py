"""The members of a tuned ensemble: settings that are fitted on all rows while there is time."""

import warnings
from collections import deque
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InterruptedFitWarning
from jaxtree.estimators.common.conventions import configured
from jaxtree.search.boosted_folds import LEFT_THE_NUMBERS
from jaxtree.search.budget import Budget, Forecast
from jaxtree.search.tried import OnProgress, Task, Tried


class FitsOfMembers:
    """The fits of settings on all rows."""

    def __init__(self, task: Task, budget: Budget, forecast: Forecast):
        self._task, self._budget, self._forecast = task, budget, forecast
        self._fitted: dict[int, Any] = {}
        self.was_interrupted = False

    def are_fitted(self, weights: Float[np.ndarray, " setting"]) -> Bool[np.ndarray, " setting"]:
        """Returns which settings are fitted."""
        return np.isin(np.arange(len(weights)), list(self._fitted))

    def members(self, weights: Float[np.ndarray, " setting"]) -> list[Any]:
        """Returns the members of these weights, which are fitted, that of the greatest weight first."""
        return [self._fitted[number] for number in by_weight(weights)]

    def go_on(self, tried: Tried, weights: Float[np.ndarray, " setting"], may_fail: bool, report: OnProgress) -> bool:
        """Fits the members that are not fitted yet while there is time, the first in any case; returns whether all are.

        Args:
            tried: The settings.
            weights: The weights that were chosen.
            may_fail: Whether an interrupt ends the fits also where none is finished; if not, a first one leaves one.
            report: Called after every fit.
        """
        order = by_weight(weights)
        left = deque(number for number in order if number not in self._fitted)
        while left and not self._is_over():
            began = self._budget.used()
            try:
                model = self._fit(tried, left[0], self._budget.deadline(0.0) if self._fitted else None)
            except (KeyboardInterrupt, InterruptedFitWarning):
                if not self._fitted and (may_fail or self.was_interrupted):
                    raise KeyboardInterrupt from None
                self.was_interrupted = True
                continue
            if model is None:
                break
            self._fitted[left.popleft()] = model
            self._forecast.member_took(self._budget.used() - began)
            report(self._budget.used(), f"{len(order) - len(left)} of {len(order)} members on all rows")
        return not left

    def make(self, tried: Tried, number: int) -> bool:
        """Fits a setting in any case, however long it takes; returns whether it is fitted, which an interrupt ends."""
        try:
            self._fitted[number] = self._fit(tried, number, deadline=None)
        except (KeyboardInterrupt, InterruptedFitWarning):
            self.was_interrupted = True
        return number in self._fitted

    def _is_over(self) -> bool:
        """Whether no other fit begins; a first one does in any case."""
        return bool(self._fitted) and (self.was_interrupted or self._budget.left() < self._forecast.of_member())

    def _fit(self, tried: Tried, number: int, deadline: Deadline | None) -> Any:
        """Fits a setting on all rows; returns None if time is over before all of its rounds are made."""
        task, was_cut = self._task, False

        def ends(number: int, measured: Any) -> bool:
            nonlocal was_cut
            was_cut = deadline is not None and deadline.left() <= 0
            return was_cut

        num_rounds = max(1, round(float(tried.num_rounds[number].mean())))
        rounds = {"n_estimators": num_rounds, "early_stopping": False}
        model: Any = configured(task.estimator, {**tried.settings[number], **rounds})
        with warnings.catch_warnings():
            # A model that is interrupted would be kept with the rounds that it has.
            warnings.filterwarnings("error", "fit was interrupted", InterruptedFitWarning)
            warnings.filterwarnings("ignore", LEFT_THE_NUMBERS, InterruptedFitWarning)
            model.fit(task.X, task.y, task.weight, callbacks=[ends])
        return None if was_cut else model


def by_weight(weights: Float[np.ndarray, " setting"]) -> list[int]:
    """The numbers of the members, that of the greatest weight first."""
    return [number for number in np.argsort(-weights, kind="stable").tolist() if weights[number] > 0]
