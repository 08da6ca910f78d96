"""The final round of a tuning: the best settings are fitted and judged as what members are, means of models of folds.

A *finalist* is a setting that is fitted as the mean of models of folds: on all rows, which gives a member, and without
every fold of the search, which gives honest predictions of what such a member is. A mean differs less by chance than a
single model does, so that other settings are the best.
"""

import contextlib
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import is_classifier

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InterruptedFitWarning
from jaxtree.estimators.boosting.fold_rows import scheme_of
from jaxtree.estimators.common.conventions import configured
from jaxtree.search.boosted_folds import LEFT_THE_NUMBERS
from jaxtree.search.budget import SLACK, Budget, Forecast
from jaxtree.search.evaluation import predictions
from jaxtree.search.out_of_fold import Choice, Yardstick, scores_of_folds, select
from jaxtree.search.tried import OnProgress, Task, Tried
from jaxtree.sklearn_compat import check_method_params, safe_split

PART_OF_DEFAULTS = 0.5
"""The least weight of the defaults in an ensemble; see `choose`."""

FITS_THAT_COMPILE = 2
"""The first fit on all rows, and the first without a fold: what they take says little of others."""


class Finalists(NamedTuple):
    """The results of a final round.

    Attributes:
        numbers: The numbers of the settings.
        predicted: Their out-of-fold predictions as means of models of folds.
        scores: Their scores on every fold, greater if better.
    """

    numbers: list[int]
    predicted: Float[np.ndarray, "finalist row column"]
    scores: Float[np.ndarray, "finalist fold"]


def choose(
    finalists: Finalists, yardstick: Yardstick, tests: Sequence[Int[np.ndarray, " row"]], deadline: Deadline
) -> Choice:
    """Chooses an ensemble of finalists.

    Every fold chooses greedily one of its own. The ensemble is the mean of these, and of the defaults, which have
    `PART_OF_DEFAULTS` of the weight: finalists differ by little more than chance, and the best of many by less than
    they seem to.

    Args:
        finalists: The finalists; the first is that of the defaults.
        yardstick: How predictions are scored.
        tests: The test rows of every fold.
        deadline: When the choices end with what they have.
    """
    predicted, scores = finalists.predicted, finalists.scores
    choices = []
    for fold, rows in enumerate(tests):
        due = deadline.of_next(len(tests) - fold).own()
        choices.append(select(yardstick, predicted, scores[:, fold], rows, due))
    prior = np.arange(len(scores)) == 0

    def joined(some: list[Any]) -> Float[np.ndarray, " finalist"]:
        return PART_OF_DEFAULTS * prior + (1 - PART_OF_DEFAULTS) * np.mean(some, axis=0)

    judged = np.full(predicted.shape[1:], np.nan)
    for fold, rows in enumerate(tests):
        weights = joined(choices[:fold] + choices[fold + 1 :])
        judged[rows] = yardstick.scale.mean(weights, predicted[:, rows])
    return Choice(joined(choices), judged)


class FinalRound:
    """The fits of finalists.

    Args:
        task: The task, with a blank estimator.
        fixed: The parameters that all finalists share.
        most_before: The most rounds of the single models that were tried.
        budget: The time.
        forecast: The time that the choice of an ensemble is expected to take.
    """

    def __init__(self, task: Task, fixed: dict[str, Any], most_before: int, budget: Budget, forecast: Forecast):
        self._task, self._fixed, self._most_before = task, fixed, most_before
        self._budget, self._forecast = budget, forecast
        scheme = scheme_of(len(task.y), len(task.y))
        self._num_models = scheme.num_folds * scheme.num_repeats
        self._begun: set[int] = set()
        self._seconds_a_round: list[float] = []
        self._predicted: dict[int, Float[np.ndarray, "row column"]] = {}
        self.models: dict[int, Any] = {}
        self.was_interrupted = self._is_judged = self._lacks_time = False

    def has_time(self) -> bool:
        """Returns whether time has sufficed for all that were to be finalists."""
        return self._is_judged and not self._lacks_time and not self.was_interrupted

    def finalists(self) -> Finalists:
        """Returns those that are finished."""
        tests = [np.asarray(test) for _, test in self._task.splits]
        predicted = np.array(list(self._predicted.values()))
        return Finalists(list(self._predicted), predicted, scores_of_folds(self._task.yardstick, predicted, tests))

    def go_on(self, tried: Tried, report: OnProgress) -> bool:
        """Makes finalists of the first setting, which is that of the defaults, and of the best, while there is time.

        Without one of the defaults there are no others: none would be judged beside them.
        Where time suffices for the fit of the first on all rows alone, it is judged by its own models of folds, each by
        the rows that it has not seen, and stays the only one. An interrupt leaves those that are finished.

        Returns:
            Whether there is a new one.
        """
        finished = len(self.models)
        try:
            for number in _in_order(tried, self._task.yardstick.most):
                if number in self._begun:
                    continue
                if not self._has_time_for(tried, number):
                    self._lacks_time = True
                else:
                    self._begun.add(number)
                    # Where one setting fails, others may succeed.
                    with contextlib.suppress(ValueError, ArithmeticError, TypeError):
                        self._make(tried, number)
                    report(self._budget.used(), f"finalists: {len(self.models)} of {len(tried.settings)} settings")
                if 0 not in self.models:
                    break  # no other setting stands in for the defaults
        except (KeyboardInterrupt, InterruptedFitWarning):
            self.was_interrupted = True
        return len(self.models) > finished

    def _has_time_for(self, tried: Tried, number: int) -> bool:
        """Whether there is time for a finalist: of the first for the fit on all rows, as the others are judged too."""
        num_fits = 1 + len(self._task.splits) if self.models else 1
        may_begin = self._is_judged or not self.models
        return may_begin and SLACK * num_fits * self._expected(tried, number) <= self._left()

    def _left(self) -> float:
        return self._budget.left() - self._forecast.of_choice()

    def _expected(self, tried: Tried, number: int) -> float:
        """The seconds of a fit of a setting, by those of a round of fits before; at first by those of single models."""
        if self._seconds_a_round:
            own = float(np.mean(self._seconds_a_round[FITS_THAT_COMPILE:] or self._seconds_a_round))
        else:
            own = float(tried.seconds.max()) / max(float(_rounds_made(tried).sum()), 1.0)
        return own * self._num_rounds(tried, number)

    def _num_rounds(self, tried: Tried, number: int) -> float:
        """The rounds that all models of a fit are expected to make: those of single ones, or all if these were cut."""
        made = _rounds_made(tried)[number]
        ends_later = (made >= self._most_before) | tried.was_cut[number]
        return self._num_models * float(np.mean(np.where(ends_later, self._fixed["n_estimators"], made)))

    def _make(self, tried: Tried, number: int) -> None:
        """Makes a finalist; it is left out if time is over before all folds have judged it, unless it is the first."""
        model = self._fit(tried, number, self._task)
        if not self.models:
            self.models[number], self._predicted[number] = model, _by_its_folds(model, self._task.X)
        judged = np.full_like(next(iter(self._predicted.values())), np.nan)
        for fold, (train, test) in enumerate(self._task.splits):
            if (len(self._task.splits) - fold) * self._expected(tried, number) > self._left():
                return
            part = _part_of(self._task, train)
            own = self._fit(tried, number, part)
            X, _ = safe_split(own, self._task.X, self._task.y, test, train)
            # Classes that the part does not have get no probability.
            columns = np.searchsorted(model.classes_, own.classes_) if is_classifier(own) else np.arange(1)
            judged[test] = 0.0
            judged[np.ix_(test, columns)] = predictions(own, X)
        if not np.isfinite(judged).all():
            return
        self.models[number], self._predicted[number], self._is_judged = model, judged, True

    def _fit(self, tried: Tried, number: int, task: Task) -> Any:
        """Fits a setting as a mean of models of folds."""
        began = self._budget.used()
        model: Any = configured(task.estimator, {**tried.settings[number], **self._fixed})
        with warnings.catch_warnings():
            # A model that is interrupted would be the mean of fewer.
            warnings.filterwarnings("error", "fit was interrupted", InterruptedFitWarning)
            warnings.filterwarnings("ignore", LEFT_THE_NUMBERS, InterruptedFitWarning)
            model.fit(task.X, task.y, task.weight)
        self._seconds_a_round.append((self._budget.used() - began) / self._num_rounds(tried, number))
        return model


def _rounds_made(tried: Tried) -> Float[np.ndarray, "setting fold"]:
    """The rounds that every fit has made; of one by itself, which has no curve, those that it kept."""
    measured = np.array([[len(curve) for curve in curves] for curves in tried.curves], np.float64)
    return np.maximum(measured, np.nan_to_num(tried.num_rounds))


def _in_order(tried: Tried, most: int) -> list[int]:
    """The numbers of the settings that may be finalists, the first setting and the best."""
    means = tried.scores.mean(axis=1)
    best = [number for number in np.argsort(-means, kind="stable").tolist() if np.isfinite(means[number])]
    return list(dict.fromkeys([0, *best]))[:most]


def _part_of(task: Task, rows: Any) -> Task:
    """The task of some rows."""
    X, y = safe_split(task.estimator, task.X, task.y, rows)
    params = check_method_params(task.X, params={"weight": task.weight}, indices=rows)
    return task._replace(X=X, y=y, weight=params["weight"])


def _by_its_folds(model: Any, X: Any) -> Float[np.ndarray, "row column"]:
    """The predictions of the models of folds for rows that they have not seen; rows of weight 0 no model has."""
    own = model.oof_predictions_.reshape(len(model.oof_predictions_), -1)
    return np.where(np.isnan(own), predictions(model, X), own)
