"""The one loop of all searches, and the strategies that say what it tries next.

A strategy is asked for trials, which are fitted and scored on all folds, and is told when they are done: `AllAtOnce`
has those of a grid, or drawn ones; `Halving` drops the worst on the way; `InTime` begins others while there is time.

In successive halving only the best settings go on after some rounds, and after more the best of these. A *rung* is a
number of rounds at which settings are compared (Jamieson and Talwalkar, *Non-stochastic best arm identification and
hyperparameter optimization*, AISTATS 2016). Models pause at a rung, so that those that go on make no round again.
"""

import functools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.boosting.batch import Checkpoint
from jaxtree.boosting.ending import KEPT
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError, present
from jaxtree.estimators.additive.base import BaseAdditive
from jaxtree.estimators.common.conventions import configured, generator_of
from jaxtree.estimators.common.jobs import Job, MakeTogether, fit_many
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.search.boosted_folds import LEFT_THE_NUMBERS, BestSoFar, FoldPrograms, SearchMeasure, SearchProgress
from jaxtree.search.budget import Budget, Forecast
from jaxtree.search.evaluation import Fitted, Parameters, Search, SearchFold, measure
from jaxtree.search.journal import Journal
from jaxtree.search.tree_folds import grow_and_score
from jaxtree.search.trials import Trial, TrialBatch, Trials

PausedModels = Mapping[tuple[int, int], Checkpoint | None]
"""Models that may go on, by trial and fold: from a state, or if this is None, from their beginning."""

OnProgress = Callable[[float, str], Any]
"""The callback with the seconds used, and with words about the work; none while a batch goes on."""


def silent(used: float, words: str) -> None:
    """Tells nobody about progress."""


class Strategy(Protocol):
    """The choice of what a search tries next."""

    def ask(self, trials: Trials) -> TrialBatch | None:
        """Returns the next batch, or None where the search ends."""
        ...

    def tell(self, trials: Trials, paused: PausedModels) -> None:
        """Takes the fits of the last batch, which the store has, and its models that may go on."""
        ...


def run(
    search: Search,
    strategy: Strategy,
    trials: Trials,
    report: Callable[..., Any] | None = None,
    journal: Journal | None = None,
    measure: SearchMeasure | None = None,
) -> None:
    """Fits and scores the trials that a strategy asks for, batch by batch, until it asks for none.

    Args:
        search: The problem.
        strategy: The strategy.
        trials: Gets the fits.
        report: Called with the number of further rounds, or fits, and with words; None for silence.
        journal: Has the fits of a search that was interrupted, which are not made again, and gets all others.
        measure: The score of which the best is told; None to tell of none.

    Raises:
        KeyboardInterrupt: There was an interrupt, which leaves the fits that are done.
    """
    progress = SearchProgress(report)
    batch = strategy.ask(trials)
    while batch is not None:
        models, progress.best = trials.begin(batch), BestSoFar(measure, trials.num_folds)
        for number, fold in models if batch.paused is None else ():
            progress.begin(number, fold, trials[number].most_rounds)
        paused = _fit(search, trials, batch, models, progress, journal)
        strategy.tell(trials, paused)
        following = strategy.ask(trials)
        go_on = {} if following is None else following.paused or {}
        for number, fold in sorted(paused.keys() - go_on.keys()):
            progress.ended(number, fold, batch.until or 0)
        batch = following


def _fit(
    search: Search,
    trials: Trials,
    batch: TrialBatch,
    models: Sequence[tuple[int, int]],
    progress: SearchProgress,
    journal: Journal | None,
) -> PausedModels:
    """Fits and scores the models of a batch that are not known; returns those that may go on."""
    paused = dict[tuple[int, int], Checkpoint | None]()
    if journal is not None:
        models = _take_known(trials, batch, models, progress, journal, paused)
    folds = [SearchFold(search, number) for number in range(trials.num_folds)]
    jobs = [Job(trials[number].estimator, folds[fold]) for number, fold in models]
    together = _together(search, trials, batch, progress)
    with warnings.catch_warnings():
        if search.makes_rounds:
            # A model that has left the numbers would be scored as it is.
            warnings.filterwarnings("error", LEFT_THE_NUMBERS, InterruptedFitWarning)
        for made in fit_many(jobs, keeps_errors=True, together=together, deadline=batch.deadline):
            number, fold = models[made.number]
            fitted = made.made if isinstance(made.made, Fitted) else measure(search, made, fold)
            if fitted.error is not None and search.error_score == "raise":
                raise named_by(trials[number].parameters, fitted.error)
            progress.best.add(number, fitted.result.get("test_scores"))
            if fitted.paused is None:
                progress.ended(number, fold, len(fitted.curve))
            else:
                paused[number, fold] = fitted.paused
            if journal is not None:
                journal.keep(batch.rung, number, fold, fitted)
            trials.keep(batch, number, fold, fitted._replace(paused=None))
    return paused


def _take_known(
    trials: Trials,
    batch: TrialBatch,
    models: Sequence[tuple[int, int]],
    progress: SearchProgress,
    journal: Journal,
    paused: dict[tuple[int, int], Checkpoint | None],
) -> list[tuple[int, int]]:
    """Keeps the fits of a batch that a journal has, and returns the models that are to be fitted."""
    left, ended = [], []
    for number, fold in models:
        known = journal.known(batch.rung, number, fold)
        if known is None:
            left.append((number, fold))
            continue
        if known.was_paused:
            paused[number, fold] = None
        else:
            ended.append((number, fold))
        progress.best.add(number, known.fitted.result["test_scores"])
        trials.keep(batch, number, fold, known.fitted)
    progress.known(ended)
    return left


def _together(search: Search, trials: Trials, batch: TrialBatch, progress: SearchProgress) -> MakeTogether | None:
    """Returns the function that makes models of one kind together; None for that of their family."""
    if search.makes_rounds:
        return FoldPrograms(search, trials, batch, progress).score
    if isinstance(search.estimator, BaseTree):
        return functools.partial(grow_and_score, search)
    if isinstance(search.estimator, BaseAdditive):
        return functools.partial(type(search.estimator).fit_jobs, deadline=batch.deadline)
    return None


def named_by(parameters: Parameters, error: Exception) -> Exception:
    """Returns the error of a fit, with a note of the setting that failed."""
    if isinstance(error, InterruptedFitWarning):
        error = TrainingError(str(error).removesuffix(KEPT))
    error.add_note(f"the setting that failed: {parameters}")
    return error


class AllAtOnce:
    """The strategy of a search whose trials are all in the store: they are one batch."""

    def __init__(self) -> None:
        self._is_done = False

    def ask(self, trials: Trials) -> TrialBatch | None:
        """Returns all trials, once."""
        return None if self._is_done else TrialBatch(range(len(trials)))

    def tell(self, trials: Trials, paused: PausedModels) -> None:
        """Takes the end of the batch."""
        self._is_done = True


class Halving:
    """The strategy of successive halving: the best trials go on to the next rung.

    Args:
        factor: The number of compared settings of which one goes on.
        first: The rounds of the first rung; those of each next one are more by the factor.
        metric: The name of the metric that compares.
        random_state: The seed, or generator, of the seed of models that have none.
    """

    def __init__(self, factor: float, first: int, metric: str, random_state: Any = None):
        self.factor, self.first, self.metric, self.random_state = factor, first, metric, random_state
        self._rung, self._alive = 0, np.zeros(0, int)
        self._paused: PausedModels | None = None

    def rungs(self, most: int) -> list[int]:
        """Returns the rounds of all rungs, for models of at most so many rounds.

        Example:
            >>> Halving(3, 10, "score").rungs(100), Halving(2, 200, "score").rungs(100)
            ([10, 30, 90], [])
        """
        number = math.ceil(math.log(max(most / self.first, 1), self.factor)) + 1
        rounds = dict.fromkeys(int(self.first * self.factor**rung) for rung in range(number))
        return [rung for rung in rounds if rung < most]

    def goes_on(self, scores: Float[np.ndarray, " setting"]) -> Bool[np.ndarray, " setting"]:
        """Returns which settings are not dropped, those as good as the last that goes on included.

        Example:
            >>> Halving(2, 10, "score").goes_on(np.array([0.5, 0.9, np.nan, 0.7, 0.5])).tolist()
            [True, True, False, True, True]
        """
        known = np.where(np.isnan(scores), -np.inf, scores)
        number = math.ceil(len(scores) / self.factor)
        return known >= np.sort(known)[-number]

    def ask(self, trials: Trials) -> TrialBatch | None:
        """Returns the trials that go on to the next rung, or to their end; None after that.

        Raises:
            InvalidInputError: The models of a trial cannot pause.
        """
        if not self._rung:
            self._alive = np.arange(len(trials))
            _set_seeds(trials, int(generator_of(self.random_state).randint(2**31 - 1)))
        ends = [*self.rungs(trials.most_rounds), None]
        if self._rung == len(ends):
            return None
        return TrialBatch(self._alive.tolist(), self._rung, ends[self._rung], self._paused)

    def tell(self, trials: Trials, paused: PausedModels) -> None:
        """Drops the worst trials of the batch, by the mean of the folds' scores."""
        self._rung += 1
        scores = [[own.result["test_scores"] for own in trials[number].fits] for number in self._alive.tolist()]
        known = [[own[self.metric] if isinstance(own, dict) else own for own in row] for row in scores]
        self._alive = self._alive[self.goes_on(np.array(known).mean(axis=1))]
        self._paused = {own: state for own, state in paused.items() if own[0] in self._alive}


def _set_seeds(trials: Trials, seed: int) -> None:
    """Gives a seed to trials without one, so that their models draw the same whenever they go on."""
    for trial in trials:
        own = trial.estimator
        for name, is_allowed in {"drop_rate": own.drop_rate == 0, "warm_start": not own.warm_start}.items():
            if not is_allowed:
                raise InvalidInputError(
                    f"factor is for models that can pause, and those with {name}={getattr(own, name)!r} cannot"
                )
        if not isinstance(own.random_state, int | np.integer):
            trial.estimator = configured(own, {"random_state": seed})


class InTime:
    """The strategy of a tuning: settings begin in batches while there is time for them.

    The first batch is the first setting alone, which is fitted to its end, however long it takes. Others begin if a
    batch like the longest so far ends in time; those that are not finished in time are left out.

    Args:
        search: The problem, with a yardstick.
        settings: The parameters of the settings.
        budget: The time.
        forecast: The time that a batch is expected to take, and that it leaves for what comes after it.
        report: Called after every batch.
        is_for_ensemble: Whether time is left for the choice of an ensemble.

    Attributes:
        search: The problem.
        budget: The time.
        forecast: The time that steps are expected to take.
        report: Called after every step.
        was_interrupted: Whether an interrupt has ended it: no other batch begins.
    """

    def __init__(
        self,
        search: Search,
        settings: Sequence[Parameters],
        budget: Budget,
        forecast: Forecast,
        report: OnProgress = silent,
        *,
        is_for_ensemble: bool = True,
    ):
        self.search, self._settings, self.budget, self.forecast = search, settings, budget, forecast
        self.report, self._is_for_ensemble = report, is_for_ensemble
        self._begun = self._size = 0
        self._began = 0.0
        self.was_interrupted = False

    def go_on(self, trials: Trials) -> bool:
        """Tries settings while there is time; returns whether some were finished.

        An interrupt ends it: a batch leaves the settings that are finished on all folds, the first one the folds.
        """
        finished = len(trials)
        tell = None if self.report is silent else lambda number, words: self.report(self.budget.used(), "")
        try:
            run(self.search, self, trials, tell)
        except KeyboardInterrupt:
            self.was_interrupted = True
            if not any(trials[number].fits for number in range(len(trials))):
                trials.leave_out_incomparable()
            self.tell(trials, {})
        return len(trials) > finished

    def ask(self, trials: Trials) -> TrialBatch | None:
        """Returns the next settings; None where there are none left, or no time for them, and after an interrupt."""
        if self._begun == len(self._settings) or self.was_interrupted:
            return None
        size = self.forecast.size_for(self.budget.left())
        if not size:
            return None
        parameters = self._settings[self._begun : self._begun + size]
        self._begun, self._size, self._began = self._begun + len(parameters), len(parameters), self.budget.used()
        deadline = self.budget.deadline(self.forecast.reserve()) if len(trials) else None
        return TrialBatch(trials.add(self.search, parameters), deadline=deadline)

    def tell(self, trials: Trials, paused: PausedModels) -> None:
        """Scores the settings that are finished, leaves out others, and takes the time.

        Raises:
            Exception: No setting of the batch could be fitted on all folds, and not for a loss that left the numbers.
        """
        trials.leave_out_unfinished()
        new = [trial for trial in trials if trial.predicted is None]
        if new:
            _raise_common_fault(new)
            trials.predict(self.search)
            seconds = self.budget.used()
            for trial in new:
                trial.seconds = seconds
            if len(new) == len(trials) and self._is_for_ensemble:
                self.forecast.choice_takes(self._seconds_of_choice(trials))
            self.forecast.batch_took(self._size, self.budget.used() - self._began)
        if len(trials):
            yardstick, many = self.search.yardstick, "s" if self._begun > 1 else ""
            best = yardstick.shown(trials.scores.mean(axis=1).max())
            self.report(self.budget.used(), f"{self._begun} setting{many}, {yardstick.in_words} {best:.4g}")

    def _seconds_of_choice(self, trials: Trials) -> float:
        """The seconds that the choices of the ensemble, of all folds and without each, are expected to take."""
        yardstick, num_folds = self.search.yardstick, trials.num_folds
        rows = np.concatenate([np.asarray(test) for _, test in self.search.splits[:num_folds]])
        began = self.budget.used()
        scale, own = yardstick.scale, trials[0].predicted[rows]
        yardstick.score(scale.predictions(scale.scores(own)), rows)
        return (self.budget.used() - began) * yardstick.most**2 * num_folds


def _raise_common_fault(trials: Sequence[Trial]) -> None:
    """Raises the first error if the fits of every trial have failed on a fold, unless it has left the numbers."""
    errors = [next((own.error for own in trial.fits if own.error is not None), None) for trial in trials]
    if None not in errors and not isinstance(errors[0], TrainingError | InterruptedFitWarning):
        raise named_by(trials[0].parameters, present(errors[0]))
