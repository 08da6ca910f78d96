"""Tuning of additive models in a given time: settings with one bag a fold, and the best one on all rows."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import TrainingError
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.jobs import Job, fit_many, until_interrupted
from jaxtree.search.boosted_folds import SearchProgress, scored_alone
from jaxtree.search.budget import Budget, Forecast
from jaxtree.search.evaluation import Search, SearchFold
from jaxtree.search.out_of_fold import Choice, or_first, scores_of_folds
from jaxtree.search.rounds import Standings
from jaxtree.search.spaces import Space
from jaxtree.search.tried import OnProgress, Task, Tried, silent
from jaxtree.search.tuning import SearchInTime, TunedModel

OF_THE_SEARCH = ("outer_bags",)
"""Parameters of fits on folds that the fit on all rows has not."""


def find_additive(task: Task, space: Space, budget: Budget, seed: int = 0, report: OnProgress = silent) -> TunedModel:
    """Tries settings of a space while there is time, and fits the best one on all rows.

    A model of which people read the curves is one setting, no ensemble. It is judged by settings that were chosen on
    the other folds; where these are worse than the defaults, the defaults are taken. The first setting, which is that
    of the defaults, and the fit on all rows are made in any case, and to their ends. A batch of settings begins if one
    like the longest so far ends in time; those of its settings that are not finished in time are left out. An interrupt
    (Ctrl-C) ends the search: the best setting is of those that are finished. Another one ends the fit on all rows, with
    the rounds that its bags have.

    Args:
        task: The task.
        space: The settings.
        budget: The time.
        seed: The seed of what is drawn.
        report: Called after every step.

    Raises:
        InvalidInputError: An argument is not allowed.
        TrainingError: No setting predicts finite numbers on every fold.
        KeyboardInterrupt: There was an interrupt before any setting was finished, or before any bag was begun.
    """
    estimator = configured(task.estimator, {**space.fixed, "random_state": seed})
    forecast = Forecast(budget.seconds, space.batch, len(task.splits))
    settings = space.settings(budget.settings, seed)
    own = task._replace(estimator=estimator)
    search = SearchInTime(own, settings, budget, forecast, _fit_batch, is_for_ensemble=False)
    if not search.go_on(report):
        raise KeyboardInterrupt
    tried = search.tried()
    means = tried.scores.mean(axis=1)
    if not np.isfinite(means).any():
        raise TrainingError(f"none of {len(means)} settings predicts finite numbers on every fold")
    tests = [np.asarray(test) for _, test in task.splits[: tried.scores.shape[1]]]
    best = np.arange(len(means)) == means.argmax()
    judged = Choice(best.astype(np.float64), _of_other_choices(tried, tests))
    chosen = or_first(judged, task.yardstick, tried.predicted, tried.scores, tests)
    fixed = {name: value for name, value in space.fixed.items() if name not in OF_THE_SEARCH}
    blank = configured(task.estimator, {**fixed, "random_state": seed})
    setting = configured(blank, tried.settings[int(chosen.weights.argmax())])
    model, was_interrupted = until_interrupted(lambda: setting.fit(task.X, task.y, task.weight))
    report(budget.used(), "the best setting on all rows")
    return TunedModel(
        model,
        [model],
        tried,
        None,
        chosen.weights,
        chosen.predicted,
        scores_of_folds(task.yardstick, chosen.predicted[None], tests)[0],
        task.yardstick,
        tests,
        search.was_interrupted or was_interrupted,
    )


def _fit_batch(
    search: Search,
    settings: Sequence[Any],
    standings: Standings,
    progress: SearchProgress,
    deadline: Deadline | None,
) -> None:
    """Fits settings on all folds; those that are not finished in time are left out."""
    parts = [SearchFold(search, fold) for fold in range(len(search.splits))]
    jobs = [Job(setting, part) for part in parts for setting in settings]
    together = functools.partial(type(settings[0]).fit_jobs, deadline=deadline)
    for fitted in fit_many(jobs, keeps_errors=True, together=together, deadline=deadline):
        fold, setting = divmod(fitted.number, len(settings))
        standings.keep(setting, fold, scored_alone(search, fitted, fold))
        progress.ended(setting, fold, 0)


def _of_other_choices(tried: Tried, tests: Sequence[Int[np.ndarray, " row"]]) -> Float[np.ndarray, "row column"]:
    """The predictions of every fold by the setting that is the best on the other folds; NaN for rows in no fold."""
    predicted, scores = np.full_like(tried.predicted[0], np.nan), tried.scores
    for fold, rows in enumerate(tests):
        others = np.delete(scores, fold, axis=1) if len(tests) > 1 else scores
        predicted[rows] = tried.predicted[int(others.mean(axis=1).argmax())][rows]
    return predicted
