"""Fits of chosen settings on all rows while there is time: finalists, and members that are single models.

A *finalist* is a setting that is fitted as the mean of models of folds: on all rows, which gives a member, and without
every fold of the search, which gives honest predictions of what such a member is. A mean differs less by chance than a
single model does, so that other settings are the best.
"""

import warnings
from collections import deque
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from sklearn.base import is_classifier

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InternalError, InterruptedFitWarning, warn_user
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.fold_rows import scheme_of
from jaxtree.estimators.common.jobs import TablePart, may_be_defect, uninterrupted
from jaxtree.search.boosted_folds import LEFT_THE_NUMBERS
from jaxtree.search.budget import SLACK, Budget, Forecast
from jaxtree.search.evaluation import Parameters, Search, SearchFold, predictions
from jaxtree.search.out_of_fold import Finalists, scores_of_folds
from jaxtree.search.strategies import OnProgress
from jaxtree.search.trials import Trials
from jaxtree.sklearn_compat import safe_split

FITS_THAT_COMPILE = 2
"""The first fit on all rows, and the first without a fold: what they take says little of others."""


class FinalRound:
    """The fits of finalists.

    Args:
        search: The problem, with a blank estimator.
        fixed: The parameters that all finalists share.
        most_before: The most rounds of the single models that were tried.
        budget: The time.
        forecast: The time that the choice of an ensemble is expected to take.

    Attributes:
        models: The models on all rows, by the number of the trial.
        was_interrupted: Whether an interrupt has ended it.
    """

    def __init__(self, search: Search, fixed: Parameters, most_before: int, budget: Budget, forecast: Forecast):
        self._search, self._fixed, self._most_before = search, fixed, most_before
        self._budget, self._forecast = budget, forecast
        scheme = scheme_of(len(search.y), len(search.y))
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
        tests = [np.asarray(test) for _, test in self._search.splits]
        predicted = np.array(list(self._predicted.values()))
        return Finalists(list(self._predicted), predicted, scores_of_folds(self._search.yardstick, predicted, tests))

    def go_on(self, trials: Trials, report: OnProgress) -> bool:
        """Makes finalists of the first setting, which is that of the defaults, and of the best, while there is time.

        Without one of the defaults there are no others: none would be judged beside them.
        Where time suffices for the fit of the first on all rows alone, it is judged by its own models of folds, each by
        the rows that it has not seen, and stays the only one. An interrupt leaves those that are finished. A setting
        whose fit is refused, or leaves the numbers, is no finalist, of which a warning tells.

        Returns:
            Whether there is a new one.

        Raises:
            InternalError: A fit has failed by a defect.
        """
        finished = len(self.models)
        try:
            for number in _in_order(trials, self._search.yardstick.most):
                if number in self._begun:
                    continue
                if not self._has_time_for(trials, number):
                    self._lacks_time = True
                else:
                    self._begun.add(number)
                    self._make_if_possible(trials, number)
                    report(self._budget.used(), f"finalists: {len(self.models)} of {len(trials)} settings")
                if 0 not in self.models:
                    break  # no other setting stands in for the defaults
        except KeyboardInterrupt:
            self.was_interrupted = True
        return len(self.models) > finished

    def _has_time_for(self, trials: Trials, number: int) -> bool:
        """Whether there is time for a finalist: of the first for the fit on all rows, as the others are judged too."""
        num_fits = 1 + len(self._search.splits) if self.models else 1
        may_begin = self._is_judged or not self.models
        return may_begin and SLACK * num_fits * self._expected(trials, number) <= self._left()

    def _left(self) -> float:
        return self._budget.left() - self._forecast.of_choice()

    def _expected(self, trials: Trials, number: int) -> float:
        """The seconds of a fit of a setting, by those of a round of fits before; at first by those of single models."""
        if self._seconds_a_round:
            own = float(np.mean(self._seconds_a_round[FITS_THAT_COMPILE:] or self._seconds_a_round))
        else:
            own = float(trials.seconds.max()) / max(float(_rounds_made(trials).sum()), 1.0)
        return own * self._num_rounds(trials, number)

    def _num_rounds(self, trials: Trials, number: int) -> float:
        """The rounds that all models of a fit are expected to make: those of single ones, or all if these were cut."""
        made = _rounds_made(trials)[number]
        ends_later = (made >= self._most_before) | trials.was_cut[number]
        return self._num_models * float(np.mean(np.where(ends_later, self._fixed["n_estimators"], made)))

    def _make_if_possible(self, trials: Trials, number: int) -> None:
        """Makes a finalist, unless its parameters are refused for some rows or it leaves the numbers."""
        try:
            self._make(trials, number)
        except Exception as error:
            said = f"the finalist with {trials[number].parameters} failed: {error}"
            if may_be_defect(error):
                raise InternalError(said) from error
            warn_user(said)

    def _make(self, trials: Trials, number: int) -> None:
        """Makes a finalist; it is left out if time is over before all folds have judged it, unless it is the first."""
        search = self._search
        model = self._fit(trials, number, TablePart(search.X, search.y, search.fit_params))
        if not self.models:
            self.models[number], self._predicted[number] = model, _by_its_folds(model, search.X)
        judged = np.full_like(next(iter(self._predicted.values())), np.nan)
        for fold, (train, test) in enumerate(search.splits):
            if (len(search.splits) - fold) * self._expected(trials, number) > self._left():
                return
            own = self._fit(trials, number, SearchFold(search, fold))
            X, _ = safe_split(own, search.X, search.y, test, train)
            # Classes that the part does not have get no probability.
            columns = np.searchsorted(model.classes_, own.classes_) if is_classifier(own) else np.arange(1)
            judged[test] = 0.0
            judged[np.ix_(test, columns)] = predictions(own, X)
        if not np.isfinite(judged).all():
            return
        self.models[number], self._predicted[number], self._is_judged = model, judged, True

    def _fit(self, trials: Trials, number: int, part: TablePart) -> Any:
        """Fits a setting as a mean of models of folds."""
        began = self._budget.used()
        model = fit_whole(configured(self._search.estimator, {**trials[number].parameters, **self._fixed}), part)
        self._seconds_a_round.append((self._budget.used() - began) / self._num_rounds(trials, number))
        return model


class FitsOfMembers:
    """The fits of single models on all rows.

    Args:
        search: The problem, with a blank estimator.
        budget: The time.
        forecast: The time that a fit is expected to take.

    Attributes:
        was_interrupted: Whether an interrupt has ended them.
    """

    def __init__(self, search: Search, budget: Budget, forecast: Forecast):
        self._search, self._budget, self._forecast = search, budget, forecast
        self._fitted: dict[int, Any] = {}
        self.was_interrupted = False

    def are_fitted(self, weights: Float[np.ndarray, " setting"]) -> Bool[np.ndarray, " setting"]:
        """Returns which settings are fitted."""
        return np.isin(np.arange(len(weights)), list(self._fitted))

    def members(self, weights: Float[np.ndarray, " setting"]) -> list[Any]:
        """Returns the members of these weights, which are fitted, that of the greatest weight first."""
        return [self._fitted[number] for number in by_weight(weights)]

    def go_on(self, trials: Trials, weights: Float[np.ndarray, " setting"], may_fail: bool, report: OnProgress) -> bool:
        """Fits the members that are not fitted yet while there is time, the first in any case; returns whether all are.

        Args:
            trials: The settings.
            weights: The weights that were chosen.
            may_fail: Whether an interrupt ends the fits also where none is finished; if not, a first one leaves one.
            report: Called after every fit.
        """
        order = by_weight(weights)
        left = deque(number for number in order if number not in self._fitted)
        while left and not self._is_over():
            began = self._budget.used()
            try:
                model = self._fit(trials, left[0], self._budget.deadline(0.0) if self._fitted else None)
            except KeyboardInterrupt:
                if not self._fitted and (may_fail or self.was_interrupted):
                    raise
                self.was_interrupted = True
                continue
            if model is None:
                break
            self._fitted[left.popleft()] = model
            self._forecast.member_took(self._budget.used() - began)
            report(self._budget.used(), f"{len(order) - len(left)} of {len(order)} members on all rows")
        return not left

    def make(self, trials: Trials, number: int) -> bool:
        """Fits a setting in any case, however long it takes; returns whether it is fitted, which an interrupt ends."""
        try:
            self._fitted[number] = self._fit(trials, number, deadline=None)
        except KeyboardInterrupt:
            self.was_interrupted = True
        return number in self._fitted

    def _is_over(self) -> bool:
        """Whether no other fit begins; a first one does in any case."""
        return bool(self._fitted) and (self.was_interrupted or self._budget.left() < self._forecast.of_member())

    def _fit(self, trials: Trials, number: int, deadline: Deadline | None) -> Any:
        """Fits a setting on all rows; returns None if time is over before all of its rounds are made."""
        search, was_cut = self._search, False

        def ends(number: int, measured: Any) -> bool:
            nonlocal was_cut
            was_cut = deadline is not None and deadline.left() <= 0
            return was_cut

        num_rounds = max(1, round(float(trials.num_rounds[number].mean())))
        rounds = {"n_estimators": num_rounds, "early_stopping": False}
        part = TablePart(search.X, search.y, {**search.fit_params, "callbacks": [ends]})
        model = fit_whole(configured(search.estimator, {**trials[number].parameters, **rounds}), part)
        return None if was_cut else model


def fit_whole(model: Any, part: TablePart) -> Any:
    """Fits a model on rows; one that leaves the numbers keeps the rounds before.

    Raises:
        KeyboardInterrupt: There was an interrupt, also one that would have left a model of fewer rounds.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", LEFT_THE_NUMBERS, InterruptedFitWarning)
        return uninterrupted(lambda: part.fit(model))


def by_weight(weights: Float[np.ndarray, " setting"]) -> list[int]:
    """Returns the numbers of the members, that of the greatest weight first."""
    return [number for number in np.argsort(-weights, kind="stable").tolist() if weights[number] > 0]


def _rounds_made(trials: Trials) -> Float[np.ndarray, "setting fold"]:
    """The rounds that every fit has made; of one by itself, which has no curve, those that it kept."""
    measured = np.array([[len(curve) for curve in curves] for curves in trials.curves], np.float64)
    return np.maximum(measured, np.nan_to_num(trials.num_rounds))


def _in_order(trials: Trials, most: int) -> list[int]:
    """The numbers of the settings that may be finalists, the first setting and the best."""
    means = trials.scores.mean(axis=1)
    best = [number for number in np.argsort(-means, kind="stable").tolist() if np.isfinite(means[number])]
    return list(dict.fromkeys([0, *best]))[:most]


def _by_its_folds(model: Any, X: Any) -> Float[np.ndarray, "row column"]:
    """The predictions of the models of folds for rows that they have not seen; rows of weight 0 no model has."""
    own = model.oof_predictions_.reshape(len(model.oof_predictions_), -1)
    return np.where(np.isnan(own), predictions(model, X), own)
