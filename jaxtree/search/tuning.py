"""Tuning in a given time: settings in batches until the time is nearly over, and an ensemble of the best of them."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.estimators.boosted_ensemble import BoostedEnsemble, ensemble_of
from jaxtree.search.boost_search import BoostSearchCV
from jaxtree.search.out_of_fold import Yardstick, predictions_of_other_choices, scores_of_folds, select
from jaxtree.search.spaces import Space

MOST_SETTINGS = 1000

PART_FOR_MEMBERS = 0.25
"""The most of the time that is kept for the fits of the members on all rows."""

MEMBERS, LONE_FIT, FIRST_FIT = 10, 2.0, 4.0
"""What is expected of these fits: their number, the time of one beside that of a fit among many, and the seconds of
compilation before the first."""

MARGIN = 0.04
"""The part of the time that is left for the files, and for a machine that is slower for a while."""


@dataclasses.dataclass
class Budget:
    """How long a tuning may take.

    Attributes:
        seconds: The time from now on.
        settings: The most settings.
        clock: What tells the time in seconds.
        began: The time now.
    """

    seconds: float
    settings: int = MOST_SETTINGS
    clock: Callable[[], float] = time.monotonic
    began: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Looks at the clock."""
        self.began = self.clock()

    def used(self) -> float:
        """Returns the seconds since it was made."""
        return self.clock() - self.began

    def left(self) -> float:
        """Returns the seconds that are left for work."""
        return self.seconds * (1 - MARGIN) - self.used()


class Tried(NamedTuple):
    """The settings that were tried on all folds.

    Attributes:
        settings: Their parameters.
        predicted: Their out-of-fold predictions.
        curves: Of every setting the losses on the test rows after each round, an array a fold.
        num_rounds: The number of rounds of every setting on every fold.
        scores: Their scores on every fold, greater if better.
        seconds: When each was finished.
    """

    settings: list[dict[str, Any]]
    predicted: Float[np.ndarray, "setting row column"]
    curves: list[list[Float[np.ndarray, " round"]]]
    num_rounds: Float[np.ndarray, "setting fold"]
    scores: Float[np.ndarray, "setting fold"]
    seconds: Float[np.ndarray, " setting"]


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
    """

    model: BoostedEnsemble
    tried: Tried
    weights: Float[np.ndarray, " setting"]
    predicted: Float[np.ndarray, "row column"]
    scores: Float[np.ndarray, " fold"]
    yardstick: Yardstick
    tests: list[Int[np.ndarray, " row"]]


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

    A batch of settings begins if one like the longest so far ends in time; near the end batches are halved. The first
    is made in any case, and so is the fit of the member of the greatest weight; the others are fitted in the order of
    their weights while there is time. A member makes as many rounds as its setting did in the mean of the folds.

    Args:
        task: The task.
        space: The settings.
        budget: The time.
        seed: The seed of what is drawn.
        on_progress: Called after every step.

    Raises:
        InvalidInputError: An argument is not allowed.
    """
    report = on_progress or (lambda used, words: None)
    estimator = task.estimator.set_params(**space.fixed, random_state=seed)
    tried = _search(task._replace(estimator=estimator), space, budget, seed, report)
    tests = [np.asarray(test) for _, test in task.splits]
    scored = np.concatenate(tests)
    weights = select(task.yardstick, tried.predicted, tried.scores.mean(axis=1), scored)
    predicted = predictions_of_other_choices(task.yardstick, tried.predicted, tried.scores, tests)
    scores = scores_of_folds(task.yardstick, predicted[None], tests)[0]
    model, weights = _fit_members(task, tried, weights, budget, report)
    return TunedEnsemble(model, tried, weights, predicted, scores, task.yardstick, tests)


def _search(task: Task, space: Space, budget: Budget, seed: int, report: OnProgress) -> Tried:
    """Tries settings, batch by batch."""
    settings, words = space.settings(budget.settings, seed), task.yardstick.in_words
    parts: list[Tried] = []
    tried, longest = 0, 0.0
    while tried < len(settings):
        size = space.batch
        if parts:
            of_members = FIRST_FIT + MEMBERS * LONE_FIT * longest / (space.batch * len(task.splits))
            size = _size_for(budget.left() - min(PART_FOR_MEMBERS * budget.seconds, of_members), space.batch, longest)
        if not size:
            break
        began = budget.used()
        parts.append(_try_batch(task, settings[tried : tried + size], budget))
        tried += len(parts[-1].settings)
        if size == space.batch:
            # The first batch also compiles: what it takes tells nothing of the next.
            longest = max(longest if len(parts) > 2 else 0.0, budget.used() - began)
        best = max(part.scores.mean(axis=1).max() for part in parts)
        report(budget.used(), f"{tried} settings, {words} {task.yardstick.shown(best):.4g}")
    return Tried(
        [own for part in parts for own in part.settings],
        np.concatenate([part.predicted for part in parts]),
        [own for part in parts for own in part.curves],
        np.concatenate([part.num_rounds for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.seconds for part in parts]),
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


def _try_batch(task: Task, batch: list[dict[str, Any]], budget: Budget) -> Tried:
    """Fits some settings on all folds."""
    space = [{name: [value] for name, value in own.items()} for own in batch]
    search = BoostSearchCV(task.estimator, space, cv=task.splits, refit=False, error_score="raise")
    search.fit(task.X, task.y, sample_weight=task.weight)
    predicted: Any = search.oof_predictions_
    rounds = [search.cv_results_[f"split{fold}_n_rounds"] for fold in range(len(task.splits))]
    scores = scores_of_folds(task.yardstick, predicted, [np.asarray(test) for _, test in task.splits])
    seconds = np.full(len(batch), budget.used())
    return Tried(batch, predicted, search.learning_curves_, np.transpose(rounds), scores, seconds)


def _fit_members(
    task: Task, tried: Tried, weights: Float[np.ndarray, " setting"], budget: Budget, report: OnProgress
) -> tuple[BoostedEnsemble, Float[np.ndarray, " setting"]]:
    """Fits the settings of an ensemble on all rows while there is time; returns it, and the weights of the settings."""
    order = [number for number in np.argsort(-weights, kind="stable").tolist() if weights[number] > 0]
    fitted: list[Any] = []
    longest = 0.0
    for number in order:
        if fitted and budget.left() < longest:
            break
        began = budget.used()
        num_rounds = max(1, round(float(tried.num_rounds[number].mean())))
        model = type(task.estimator)(num_rounds, random_state=task.estimator.random_state, **tried.settings[number])
        fitted.append(model.fit(task.X, task.y, task.weight))
        longest = max(longest, budget.used() - began) if len(fitted) != 2 else budget.used() - began
        report(budget.used(), f"{len(fitted)} of {len(order)} members on all rows")
    kept = np.zeros_like(weights)
    kept[order[: len(fitted)]] = weights[order[: len(fitted)]]
    return ensemble_of(fitted, kept[order[: len(fitted)]].tolist()), kept / kept.sum()
