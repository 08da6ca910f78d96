"""Tuning in a given time: settings in batches until the time is nearly over, and an ensemble of the best of them."""

import dataclasses
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.estimators.boosted_ensemble import BoostedEnsemble, ensemble_of
from jaxtree.search.evaluation import Search
from jaxtree.search.halving import Standings, fit_settings
from jaxtree.search.out_of_fold import Yardstick, out_of_fold, predictions_of_other_choices, scores_of_folds, select
from jaxtree.search.parameter_importances import parameter_importances
from jaxtree.search.search_progress import SearchProgress
from jaxtree.search.settings import configured
from jaxtree.search.spaces import Space

MOST_SETTINGS = 1000

PART_FOR_MEMBERS = 0.25
"""The most of the time that is kept for the fits of the members on all rows."""

PART_FOR_CHOICE = 0.1
"""The most of the time that is kept for the choice of the ensemble."""

MEMBERS, LONE_FIT, FIRST_FIT = 10, 2.0, 4.0
"""What is expected of these fits: their number, the time of one beside that of a fit among many, and the seconds of
compilation before the first."""

NUM_REPEATS = 20
"""Shuffles of a parameter, by which its importance is measured."""

MARGIN = 0.04
"""The part of the time that is left for the files, and for a machine that is slower for a while."""


@dataclasses.dataclass
class Budget:
    """How long a tuning may take.

    Attributes:
        seconds: The time.
        settings: The most settings.
        clock: What tells the time in seconds.
        used_before: The seconds that are used already.
        began: The time now, less these seconds.
    """

    seconds: float
    settings: int = MOST_SETTINGS
    clock: Callable[[], float] = time.monotonic
    used_before: float = 0.0
    began: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Looks at the clock."""
        self.began = self.clock() - self.used_before

    def used(self) -> float:
        """Returns the seconds that are used."""
        return self.clock() - self.began

    def left(self) -> float:
        """Returns the seconds that are left for work."""
        return self.seconds * (1 - MARGIN) - self.used()

    def deadline(self, reserve: float) -> Deadline:
        """Returns when so many seconds are left for other work."""
        return Deadline(self.began + self.seconds * (1 - MARGIN) - reserve, self.clock)


class Tried(NamedTuple):
    """The settings that were tried, on the folds of a search or, if it was interrupted at once, the first of them.

    Attributes:
        settings: Their parameters.
        predicted: Their out-of-fold predictions.
        curves: Of every setting the losses on the test rows after each round, an array a fold.
        num_rounds: The number of rounds of every setting on every fold.
        scores: Their scores on every fold, greater if better.
        seconds: When each was finished.
        was_cut: Whether time did not suffice for all rounds of a setting on some fold.
    """

    settings: list[dict[str, Any]]
    predicted: Float[np.ndarray, "setting row column"]
    curves: list[list[Float[np.ndarray, " round"]]]
    num_rounds: Float[np.ndarray, "setting fold"]
    scores: Float[np.ndarray, "setting fold"]
    seconds: Float[np.ndarray, " setting"]
    was_cut: Bool[np.ndarray, " setting"]

    def parameter_importances(self) -> list[tuple[str, float]]:
        """Returns parameters by how much they count, the greatest first; none where there are too few settings."""
        results = {"params": self.settings, "mean_test_score": self.scores.mean(axis=1)}
        try:
            found = parameter_importances(results, "score", num_repeats=NUM_REPEATS, seed=0)
        except InvalidInputError:
            return []
        named = zip(found.names, np.maximum(found.mean, 0.0).tolist(), strict=True)
        return sorted(named, key=lambda own: -own[1])


class TunedEnsemble(NamedTuple):
    """What a tuning has found.

    Attributes:
        model: The ensemble, fitted on all rows.
        tried: The settings.
        weights: The weight of every setting in the ensemble.
        predicted: Out-of-fold predictions of ensembles that were chosen on other folds.
        scores: Their score on every fold.
        yardstick: How predictions are scored.
        tests: The test rows of every fold.
        was_interrupted: Whether it ended by Ctrl-C, with what was finished by then.
    """

    model: BoostedEnsemble
    tried: Tried
    weights: Float[np.ndarray, " setting"]
    predicted: Float[np.ndarray, "row column"]
    scores: Float[np.ndarray, " fold"]
    yardstick: Yardstick
    tests: list[Int[np.ndarray, " row"]]
    was_interrupted: bool


class Task(NamedTuple):
    """What is tuned.

    Attributes:
        estimator: A blank `GradientBoostingClassifier` or `GradientBoostingRegressor`.
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
"""What is called with the seconds used, and with words about what is done."""


def tune(
    task: Task, space: Space, budget: Budget, seed: int = 0, on_progress: OnProgress | None = None
) -> TunedEnsemble:
    """Tries settings of a space while there is time, chooses an ensemble by the folds, and fits it on all rows.

    A batch of settings begins if one like the longest so far ends in time; near the end batches are halved. Where there
    is no time for all rounds of a batch, its models end with fewer. The first batch is made in any case, and so is the
    fit of the member of the greatest weight; the others are fitted in the order of their weights while there is time. A
    member makes as many rounds as its setting did in the mean of the folds.

    An interrupt (Ctrl-C) ends the search: the ensemble is of the settings that are finished. Another one ends the fits
    of its members.

    Args:
        task: The task.
        space: The settings.
        budget: The time.
        seed: The seed of what is drawn.
        on_progress: Called after every step.

    Raises:
        InvalidInputError: An argument is not allowed.
        KeyboardInterrupt: There was an interrupt before any setting was finished, or before any member was.
    """
    report = on_progress or (lambda used, words: None)
    estimator = task.estimator.set_params(**space.fixed, random_state=seed)
    tried, longest, was_interrupted = _search(task._replace(estimator=estimator), space, budget, seed, report)
    tests = [np.asarray(test) for _, test in task.splits[: tried.scores.shape[1]]]
    scored, means = np.concatenate(tests), tried.scores.mean(axis=1)
    if len(tests) > 1:
        deadline = budget.deadline(_seconds_of_members(space, task, longest, budget))
        weights = select(task.yardstick, tried.predicted, means, scored, deadline.of_next(len(tests) + 1).own())
        predicted = predictions_of_other_choices(task.yardstick, tried.predicted, tried.scores, tests, deadline)
    else:
        # Nothing could judge an ensemble.
        weights = (np.arange(len(means)) == means.argmax()).astype(np.float64)
        predicted = tried.predicted[means.argmax()]
    scores = scores_of_folds(task.yardstick, predicted[None], tests)[0]
    fitting = _FitOfMembers(task, tried, budget, report)
    model, weights = fitting.run(weights, was_interrupted)
    return TunedEnsemble(
        model, tried, weights, predicted, scores, task.yardstick, tests, was_interrupted or fitting.was_interrupted
    )


def _search(task: Task, space: Space, budget: Budget, seed: int, report: OnProgress) -> tuple[Tried, float, bool]:
    """Tries settings, batch by batch; returns them, the time of the longest batch, and whether it was interrupted."""
    settings, words = space.settings(budget.settings, seed), task.yardstick.in_words
    parts: list[Tried] = []
    tried, longest, of_choice, was_interrupted = 0, 0.0, 0.0, False
    while tried < len(settings) and not was_interrupted:
        size, reserve = space.batch, PART_FOR_MEMBERS * budget.seconds
        if parts:
            reserve = of_choice + _seconds_of_members(space, task, longest, budget)
            size = _size_for(budget.left() - reserve, space.batch, longest)
        if not size:
            break
        began = budget.used()
        part, was_interrupted = _try_batch(task, settings[tried : tried + size], budget, budget.deadline(reserve))
        tried += size
        if part is None:
            break
        parts.append(part)
        if len(parts) == 1:
            of_choice = min(_seconds_of_choice(task, part), PART_FOR_CHOICE * budget.seconds)
        if size == space.batch:
            # The first batch also compiles: what it takes tells nothing of the next.
            longest = max(longest if len(parts) > 2 else 0.0, budget.used() - began)
        best = max(part.scores.mean(axis=1).max() for part in parts)
        report(budget.used(), f"{tried} settings, {words} {task.yardstick.shown(best):.4g}")
    if not parts:
        raise KeyboardInterrupt
    return _joined(parts), longest, was_interrupted


def _seconds_of_members(space: Space, task: Task, longest: float, budget: Budget) -> float:
    """The seconds that the fits of the members are expected to take, after the longest time of a batch."""
    expected = FIRST_FIT + MEMBERS * LONE_FIT * longest / (space.batch * len(task.splits))
    return min(PART_FOR_MEMBERS * budget.seconds, expected)


def _seconds_of_choice(task: Task, tried: Tried) -> float:
    """The seconds that the choices of the ensemble, of all folds and without each, are expected to take."""
    num_folds = tried.scores.shape[1]
    rows = np.concatenate([np.asarray(test) for _, test in task.splits[:num_folds]])
    began = time.monotonic()
    task.yardstick.score(tried.predicted[0][rows], rows)
    return (time.monotonic() - began) * task.yardstick.most**2 * num_folds


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
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.was_cut for part in parts]),
    )


def _size_for(seconds: float, whole: int, longest: float) -> int:
    """The number of settings of the next batch; 0 if there is no time for one.

    Args:
        seconds: The time that is left.
        whole: The number of settings of a batch. One of another size compiles a program of its own.
        longest: The time that such a batch took.

    >>> _size_for(10.0, 8, 9.0), _size_for(10.0, 8, 12.0), _size_for(10.0, 8, 200.0)
    (8, 4, 0)
    """
    size = whole
    while size and longest * size / whole + (FIRST_FIT if size < whole else 0.0) > seconds:
        size //= 2
    return size


def _try_batch(
    task: Task, batch: list[dict[str, Any]], budget: Budget, deadline: Deadline
) -> tuple[Tried | None, bool]:
    """Fits some settings on all folds; returns what is finished, None if nothing is, and whether it was interrupted."""
    fit_params = {} if task.weight is None else {"sample_weight": task.weight}
    X, y, splits = task.X, task.y, task.splits
    search = Search(task.estimator, batch, X, y, splits, _no_score, fit_params, {}, "raise", False)
    standings = Standings([configured(task.estimator, own).n_estimators for own in batch], len(splits))
    was_interrupted = False
    try:
        fit_settings(search, None, standings, SearchProgress(None, standings.most_rounds()), deadline)
    except KeyboardInterrupt:
        was_interrupted = True
    numbers, num_folds = [number for number, fits in enumerate(standings.fits) if fits], len(splits)
    if not numbers:
        numbers, num_folds = standings.kept()
    if not numbers:
        return None, was_interrupted
    fits = [standings.row(number, num_folds) for number in numbers]
    predicted = out_of_fold(search._replace(splits=splits[:num_folds]), fits)
    tests = [np.asarray(test) for _, test in splits[:num_folds]]
    tried = Tried(
        [batch[number] for number in numbers],
        predicted,
        [[own.curve for own in row] for row in fits],
        np.array([[own.num_rounds for own in row] for row in fits]),
        scores_of_folds(task.yardstick, predicted, tests),
        np.full(len(numbers), budget.used()),
        np.array([any(own.was_cut for own in row) for row in fits]),
    )
    return tried, was_interrupted


def _no_score(estimator: Any, X: Any, y: Any) -> float:
    """The score of a fit: the yardstick scores the predictions of all folds afterwards."""
    return 0.0


class _FitOfMembers:
    """The fits of the members of an ensemble on all rows."""

    def __init__(self, task: Task, tried: Tried, budget: Budget, report: OnProgress):
        self._task, self._tried, self._budget, self._report = task, tried, budget, report
        self.was_interrupted = False

    def run(
        self, weights: Float[np.ndarray, " setting"], was_interrupted: bool
    ) -> tuple[BoostedEnsemble, Float[np.ndarray, " setting"]]:
        """Fits members while there is time; returns the ensemble, and the weights that settings have in it.

        Args:
            weights: The weights that were chosen.
            was_interrupted: Whether the search was. If it was not, a first interrupt leaves one member.
        """
        order = [number for number in np.argsort(-weights, kind="stable").tolist() if weights[number] > 0]
        fitted: list[Any] = []
        left, longest = deque(order), 0.0
        while left and not (fitted and (self.was_interrupted or self._budget.left() < longest)):
            began = self._budget.used()
            try:
                fitted.append(self._fit(left[0]))
            except (KeyboardInterrupt, InterruptedFitWarning):
                if not fitted and (was_interrupted or self.was_interrupted):
                    raise KeyboardInterrupt from None
                self.was_interrupted = True
                continue
            left.popleft()
            took = self._budget.used() - began
            # The first fit also compiles.
            longest = max(longest, took) if len(fitted) != 2 else took
            self._report(self._budget.used(), f"{len(fitted)} of {len(order)} members on all rows")
        kept = np.zeros_like(weights)
        kept[order[: len(fitted)]] = weights[order[: len(fitted)]]
        return ensemble_of(fitted, kept[order[: len(fitted)]].tolist()), kept / kept.sum()

    def _fit(self, number: int) -> Any:
        """Fits a setting on all rows, with fewer rounds if there is no time for all."""
        task, tried, deadline = self._task, self._tried, self._budget.deadline(0.0)
        num_rounds = max(1, round(float(tried.num_rounds[number].mean())))
        model = type(task.estimator)(num_rounds, random_state=task.estimator.random_state, **tried.settings[number])
        with warnings.catch_warnings():
            # A model that is interrupted would be kept with the rounds that it has.
            warnings.filterwarnings("error", "fit was interrupted", InterruptedFitWarning)
            warnings.filterwarnings("ignore", ".*derivatives are no numbers", InterruptedFitWarning)
            ends = [lambda number, measured: deadline.left() <= 0]
            return model.fit(task.X, task.y, task.weight, callbacks=ends)
