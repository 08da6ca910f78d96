"""Tuning in a given time: settings in batches until the time is nearly over, and an ensemble of the best of them."""

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InterruptedFitWarning, TrainingError
from jaxtree.estimators.common.conventions import configured
from jaxtree.search.boosted_folds import LEFT_THE_NUMBERS, Fitted, SearchProgress
from jaxtree.search.budget import PART_FOR_FINALS, Budget, Forecast
from jaxtree.search.evaluation import Search, SearchFold
from jaxtree.search.finals import Finalists, FinalRound, choose
from jaxtree.search.members import FitsOfMembers, by_weight
from jaxtree.search.out_of_fold import (
    Choice,
    Yardstick,
    or_first,
    out_of_fold,
    predictions_of_other_choices,
    scores_of_folds,
    select,
)
from jaxtree.search.rounds import Standings, fit_settings
from jaxtree.search.spaces import Space
from jaxtree.search.tried import OnProgress, Task, Tried, silent
from jaxtree.tree.kinds import ModelKind, kind_of

FitBatch = Callable[[Search, Sequence[Any], Standings, SearchProgress, Deadline | None], None]
"""The function that fits some settings on all folds, with fewer rounds if it can end in time by this."""


class TunedModel(NamedTuple):
    """The result of a tuning.

    Attributes:
        model: The mean of the members, or the best additive model, fitted on all rows.
        members: The models that are averaged, that of the greatest weight first; the one additive model.
        tried: The settings.
        finalists: The settings that were judged as members are; None if members are single models.
        weights: The weight of every setting in the model; of an additive model it is that of one.
        predicted: Out-of-fold predictions of what was chosen on other folds.
        scores: Their score on every fold.
        yardstick: How predictions are scored.
        tests: The test rows of every fold.
        was_interrupted: Whether it ended by Ctrl-C, with what was finished by then.
    """

    model: Any
    members: list[Any]
    tried: Tried
    finalists: Finalists | None
    weights: Float[np.ndarray, " setting"]
    predicted: Float[np.ndarray, "row column"]
    scores: Float[np.ndarray, " fold"]
    yardstick: Yardstick
    tests: list[Int[np.ndarray, " row"]]
    was_interrupted: bool

    @property
    def is_ensemble(self) -> bool:
        """Whether the model is a mean of boosted models, not one additive model."""
        return kind_of(self.model) == ModelKind.BOOSTED

    @property
    def kind_of_model(self) -> str:
        """The kind of the model, in a word."""
        return "ensemble" if self.is_ensemble else "model"

    def best_and_defaults(self) -> tuple[Float[np.ndarray, " fold"], Float[np.ndarray, " fold"]]:
        """Returns the scores of the best setting and of the first on every fold: of finalists, if there are such."""
        own = self.finalists
        scores = self.tried.scores if own is None else own.scores
        return scores[scores.mean(axis=1).argmax()], scores[0]

    def predicted_by_members(self) -> Float[np.ndarray, "member row column"]:
        """Returns the out-of-fold predictions of every member."""
        members = np.flatnonzero(self.weights)
        if self.finalists is None:
            return self.tried.predicted[members]
        return self.finalists.predicted[np.isin(self.finalists.numbers, members)]


def find_ensemble(task: Task, space: Space, budget: Budget, seed: int = 0, report: OnProgress = silent) -> TunedModel:
    """Tries settings of a space while there is time, chooses an ensemble by the folds, and fits it on all rows.

    The first setting, which is that of the defaults, is tried first, in any case and to its end, however long it takes.
    A batch of others begins if one like the longest so far ends in time. Where there is no time for all rounds of a
    batch, its models end with fewer. The choice is compared with the defaults on the folds; where it is worse, the
    defaults are taken.

    If the space has finals, settings are tried for half of the time. In the other half the first setting and the best
    are made finalists, see `jaxtree.search.finals`, of which folds choose the ensemble; if all of the best are some and
    time is left, half of it is for further settings, and so on. An interrupt (Ctrl-C) leaves the finalists that are
    finished.

    Without finals, or where there was an interrupt or no time for that of the defaults, an ensemble of all settings is
    chosen. The member of the greatest weight is fitted in any case and to its end, the others in the order of their
    weights while there is time. A member makes as many rounds as its setting did in the mean of the folds. For these
    fits time is kept, of which some is left over. While there is enough of it for further settings, these are tried, an
    ensemble is chosen again, and the members that are new are fitted; if time does not suffice for them, the ensemble
    stays as it was. An interrupt ends the search: the ensemble is of the settings that are finished. Another one ends
    the fits of its members.

    Args:
        task: The task.
        space: The settings.
        budget: The time.
        seed: The seed of what is drawn.
        report: Called after every step.

    Raises:
        InvalidInputError: An argument is not allowed.
        TrainingError: No setting predicts finite numbers on every fold.
        KeyboardInterrupt: There was an interrupt before any setting was finished, or before any member was.
    """
    estimator = configured(task.estimator, {**space.fixed, "random_state": seed})
    forecast = Forecast(budget.seconds, space.batch, len(task.splits))
    search = SearchInTime(
        task._replace(estimator=estimator), space.settings(budget.settings, seed), budget, forecast, _fit_boosted
    )
    blank = task._replace(estimator=configured(task.estimator, {"random_state": seed}))
    if space.finals is not None:
        forecast.keep(PART_FOR_FINALS * budget.seconds)
    if not search.go_on(report):
        raise KeyboardInterrupt
    if space.finals is not None and not search.was_interrupted:
        finals = FinalRound(blank, space.finals, space.fixed["n_estimators"], budget, forecast)
        if finals.go_on(search.tried(), report):
            return _of_finalists(task, search, finals, budget, forecast, report)
        search.was_interrupted = finals.was_interrupted
    forecast.keep(0.0)
    return _of_single_models(task, search, FitsOfMembers(blank, budget, forecast), budget, forecast, report)


def _of_finalists(
    task: Task, search: "SearchInTime", finals: FinalRound, budget: Budget, forecast: Forecast, report: OnProgress
) -> TunedModel:
    """Looks for further finalists while there is time, and chooses an ensemble of all."""
    try:
        while finals.has_time():
            forecast.keep(PART_FOR_FINALS * max(budget.left(), 0.0))
            if not search.go_on(report) or search.was_interrupted or not finals.go_on(search.tried(), report):
                break
    except KeyboardInterrupt:
        search.was_interrupted = True
    tried, finalists = search.tried(), finals.finalists()
    tests = _tests(task, tried)
    chosen = choose(finalists, task.yardstick, tests, budget.deadline(0.0))
    chosen = or_first(chosen, task.yardstick, finalists.predicted, finalists.scores, tests)
    every = np.zeros(len(tried.settings))
    every[finalists.numbers] = chosen.weights
    members = by_weight(every)
    models = [finals.models[number] for number in members]
    return TunedModel(
        models[0].mean_of(models, every[members]),
        models,
        tried,
        finalists,
        every,
        *_judged(task, tried, chosen),
        search.was_interrupted or finals.was_interrupted,
    )


def _of_single_models(
    task: Task, search: "SearchInTime", fits: FitsOfMembers, budget: Budget, forecast: Forecast, report: OnProgress
) -> TunedModel:
    """Chooses an ensemble of the settings, fits its members on all rows, and looks for others while there is time."""
    chosen = _chosen(task, search.tried(), budget, forecast)
    if not fits.go_on(search.tried(), chosen.weights, search.was_interrupted, report):
        fewer = _chosen_of(task, search.tried(), chosen.weights * fits.are_fitted(chosen.weights), budget)
        chosen = _or_defaults(task, search.tried(), fewer)
        if not fits.are_fitted(chosen.weights)[chosen.weights > 0].all() and not fits.make(search.tried(), 0):
            chosen = fewer
    try:
        while not fits.was_interrupted and search.go_on(report):
            other = _chosen(task, search.tried(), budget, forecast)
            if fits.go_on(search.tried(), other.weights, True, report):
                chosen = other
    except KeyboardInterrupt:
        search.was_interrupted = True
    tried = search.tried()
    # Also settings that were tried after the last choice.
    every = np.pad(chosen.weights, (0, len(tried.settings) - len(chosen.weights)))
    was_interrupted = search.was_interrupted or fits.was_interrupted
    members = fits.members(chosen.weights)
    model = members[0].mean_of(members, chosen.weights[by_weight(chosen.weights)])
    return TunedModel(model, members, tried, None, every, *_judged(task, tried, chosen), was_interrupted)


def _chosen(task: Task, tried: Tried, budget: Budget, forecast: Forecast) -> Choice:
    """Chooses an ensemble of the settings that were tried."""
    tests, means = _tests(task, tried), tried.scores.mean(axis=1)
    if not np.isfinite(means).any():
        raise TrainingError(f"none of {len(means)} settings predicts finite numbers on every fold")
    if len(tests) == 1:
        # Nothing could judge an ensemble.
        return Choice((np.arange(len(means)) == means.argmax()).astype(np.float64), tried.predicted[means.argmax()])
    began, deadline = budget.used(), budget.deadline(forecast.of_members())
    due = deadline.of_next(len(tests) + 1).own()
    weights = select(task.yardstick, tried.predicted, means, np.concatenate(tests), due)
    predicted = predictions_of_other_choices(task.yardstick, tried.predicted, tried.scores, tests, deadline)
    forecast.choice_takes(budget.used() - began)
    return _or_defaults(task, tried, Choice(weights, predicted))


def _chosen_of(task: Task, tried: Tried, weights: Float[np.ndarray, " setting"], budget: Budget) -> Choice:
    """The ensemble of these weights, judged by choices among its members alone."""
    of, tests = weights > 0, _tests(task, tried)
    judged = predictions_of_other_choices(
        task.yardstick, tried.predicted[of], tried.scores[of], tests, budget.deadline(0.0)
    )
    return Choice(weights / weights.sum(), judged)


def _or_defaults(task: Task, tried: Tried, chosen: Choice) -> Choice:
    """The choice, or the defaults where these are better."""
    return or_first(chosen, task.yardstick, tried.predicted, tried.scores, _tests(task, tried))


def _tests(task: Task, tried: Tried) -> list[Int[np.ndarray, " row"]]:
    """The test rows of the folds that settings were tried on."""
    return [np.asarray(test) for _, test in task.splits[: tried.scores.shape[1]]]


def _judged(task: Task, tried: Tried, chosen: Choice) -> tuple[Any, Any, Any, Any]:
    """The predictions of ensembles of other choices, their scores, how these are made, and the test rows."""
    tests = _tests(task, tried)
    scores = scores_of_folds(task.yardstick, chosen.predicted[None], tests)[0]
    return chosen.predicted, scores, task.yardstick, tests


class SearchInTime:
    """Settings that are tried batch by batch.

    Args:
        task: The task.
        settings: The settings.
        budget: The time.
        forecast: The time that a batch is expected to take, and that it leaves.
        fit: Fits a batch.
        is_for_ensemble: Whether time is left for the choice of an ensemble.
    """

    def __init__(
        self,
        task: Task,
        settings: list[dict[str, Any]],
        budget: Budget,
        forecast: Forecast,
        fit: FitBatch,
        *,
        is_for_ensemble: bool = True,
    ):
        self._task, self._settings, self._budget, self._forecast = task, settings, budget, forecast
        self._fit, self._is_for_ensemble = fit, is_for_ensemble
        self._parts: list[Tried] = []
        self._begun = 0
        self.was_interrupted = False

    def tried(self) -> Tried:
        """Returns the settings that are finished."""
        return _joined(self._parts)

    def go_on(self, report: OnProgress) -> bool:
        """Tries settings while there is time; returns whether some were finished."""
        finished = len(self._parts)
        while self._begun < len(self._settings) and not self.was_interrupted:
            size = self._forecast.size_for(self._budget.left())
            if not size:
                break
            self._go_on_by(self._settings[self._begun : self._begun + size], report)
            if self._parts:
                self._tell(report)
        return len(self._parts) > finished

    def _go_on_by(self, batch: list[dict[str, Any]], report: OnProgress) -> None:
        on_rounds = None if report is silent else lambda number, words: report(self._budget.used(), "")
        began = self._budget.used()
        # The defaults are tried to their end.
        deadline = self._budget.deadline(self._forecast.reserve()) if self._parts else None
        part, self.was_interrupted = _try_batch(self._task, batch, self._fit, self._budget, deadline, on_rounds)
        self._begun += len(batch)
        if part is None:
            return
        self._parts.append(part)
        if len(self._parts) == 1 and self._is_for_ensemble:
            self._forecast.choice_takes(_seconds_of_choice(self._task, part, self._budget))
        self._forecast.batch_took(len(batch), self._budget.used() - began)

    def _tell(self, report: OnProgress) -> None:
        yardstick, means = self._task.yardstick, [part.scores.mean(axis=1).max() for part in self._parts]
        many = "s" if self._begun > 1 else ""
        words = f"{self._begun} setting{many}, {yardstick.in_words} {yardstick.shown(max(means)):.4g}"
        report(self._budget.used(), words)


def _seconds_of_choice(task: Task, tried: Tried, budget: Budget) -> float:
    """The seconds that the choices of the ensemble, of all folds and without each, are expected to take."""
    num_folds = tried.scores.shape[1]
    rows = np.concatenate([np.asarray(test) for _, test in task.splits[:num_folds]])
    began = budget.used()
    scale, own = task.yardstick.scale, tried.predicted[0][rows]
    task.yardstick.score(scale.predictions(scale.scores(own)), rows)
    return (budget.used() - began) * task.yardstick.most**2 * num_folds


def _joined(parts: Sequence[Tried]) -> Tried:
    """The settings of all batches; those that were interrupted on some folds only count in the first batch."""
    num_folds = parts[0].scores.shape[1]
    parts = [part for part in parts if part.scores.shape[1] == num_folds]
    return Tried(
        [own for part in parts for own in part.settings],
        np.concatenate([part.predicted for part in parts]),
        [own for part in parts for own in part.curves],
        np.concatenate([part.num_rounds for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.fit_seconds for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.was_cut for part in parts]),
    )


def _try_batch(
    task: Task,
    batch: list[dict[str, Any]],
    fit: FitBatch,
    budget: Budget,
    deadline: Deadline | None,
    on_rounds: Callable[..., Any] | None,
) -> tuple[Tried | None, bool]:
    """Fits some settings on all folds; returns what is finished, None if nothing is, and whether it was interrupted."""
    fit_params = {} if task.weight is None else {"sample_weight": task.weight}
    X, y, splits = task.X, task.y, task.splits
    search = Search(task.estimator, batch, X, y, splits, _no_score, fit_params, {}, np.nan, False)
    settings = [configured(task.estimator, own) for own in batch]
    # A setting that does not count its rounds counts once.
    standings = Standings([getattr(own, "most_rounds", 1) for own in settings], len(splits))
    was_interrupted = False
    try:
        fit(search, settings, standings, SearchProgress(on_rounds, standings.most_rounds()), deadline)
    except KeyboardInterrupt:
        was_interrupted = True
    numbers, num_folds = [number for number, fits in enumerate(standings.fits) if fits], len(splits)
    if not numbers:
        numbers, num_folds = standings.kept()
    if not numbers:
        return None, was_interrupted
    fits = [standings.row(number, num_folds) for number in numbers]
    if all(any(own.predicted is None for own in row) for row in fits):
        _raise_as_alone(search, settings[numbers[0]], fits[0])
    predicted = out_of_fold(search._replace(splits=splits[:num_folds]), fits)
    tests = [np.asarray(test) for _, test in splits[:num_folds]]
    tried = Tried(
        [batch[number] for number in numbers],
        predicted,
        [[own.curve for own in row] for row in fits],
        np.array([[own.num_rounds for own in row] for row in fits]),
        scores_of_folds(task.yardstick, predicted, tests),
        np.array([[own.result["fit_time"] for own in row] for row in fits]),
        np.full(len(numbers), budget.used()),
        np.array([any(own.was_cut for own in row) for row in fits]),
    )
    return tried, was_interrupted


def _fit_boosted(
    search: Search, settings: Sequence[Any], standings: Standings, progress: SearchProgress, deadline: Deadline | None
) -> None:
    """Fits settings of boosted trees."""
    fit_settings(search, settings, None, standings, progress, deadline)


def _raise_as_alone(search: Search, setting: Any, fits: Sequence[Fitted]) -> None:
    """Raises what the fit of a setting raises that has failed on some fold, unless it has left the numbers."""
    fold = next(fold for fold, own in enumerate(fits) if own.predicted is None)
    blank: Any = clone(setting)
    with contextlib.suppress(TrainingError), warnings.catch_warnings():
        warnings.filterwarnings("ignore", LEFT_THE_NUMBERS, InterruptedFitWarning)
        SearchFold(search, fold).fit(blank)


def _no_score(estimator: Any, X: Any, y: Any) -> float:
    """The score of a fit: the yardstick scores the predictions of all folds afterwards."""
    return 0.0
