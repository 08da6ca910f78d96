"""The plain estimator, which a tuning has to beat on the same folds, and otherwise returns."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int
from sklearn.base import clone

from jaxtree.errors import present
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.jobs import TablePart
from jaxtree.figures.comparisons import ratio_of_parts
from jaxtree.metrics.constants import OF_MEDIANS, KnownRows, constant_model
from jaxtree.search.budget import SLACK, Budget
from jaxtree.search.evaluation import Search
from jaxtree.search.finals import fit_whole
from jaxtree.search.spaces import Space
from jaxtree.search.strategies import AllAtOnce, OnProgress, run, silent
from jaxtree.search.trials import Trial, Trials
from jaxtree.search.tuning import OF_THE_SEARCH, Plain, TunedModel

Find = Callable[[Search, Space, Budget, int, OnProgress], TunedModel]
"""A tuning, such as `find_ensemble`."""


def find_or_plain(
    find: Find, search: Search, space: Space, budget: Budget, seed: int = 0, report: OnProgress = silent
) -> TunedModel:
    """Finds a model in a given time, or returns the plain estimator where that is at least as good on its folds.

    The estimator is scored first, as it is given, in any case and to its end, however long it takes; time for its fit
    on all rows is kept.

    Args:
        find: The tuning.
        search: The problem.
        space: The settings.
        budget: The time.
        seed: The seed of what is drawn.
        report: Called after every step.

    Raises:
        InvalidInputError: An argument is not allowed.
        TrainingError: No setting predicts finite numbers on every fold.
        KeyboardInterrupt: There was an interrupt before any setting was finished, or before any member was.
    """
    began = budget.used()
    blank = search._replace(estimator=configured(search.estimator, {"random_state": seed}))
    trial = _tried(blank, space)
    expected = SLACK * (budget.used() - began) / len(search.splits)
    report(budget.used(), "the plain estimator")
    left = Budget(budget.seconds - expected, budget.settings, budget.clock, budget.used())
    tuned = find(search, space, left, seed, report)
    number = len(tuned.tests)
    splits = search.splits[:number]
    constant = np.array([_constant_score(search, *split) for split in splits])
    tuned = tuned._replace(plain=Plain(trial.scores[:number], constant, tuned.scores, ratio_of_parts(splits)))
    if trial.scores[:number].mean() >= tuned.scores.mean():
        tuned = _with_plain(tuned, blank, trial)
    return tuned._replace(seconds=budget.used(), most_settings=budget.settings)


def _tried(search: Search, space: Space) -> Trial:
    """Scores the estimator on the folds; an additive model has one bag there, as all settings do."""
    trials = Trials(len(search.splits))
    trials.add(search, [{name: space.fixed[name] for name in OF_THE_SEARCH if name in space.fixed}])
    run(search, AllAtOnce(), trials)
    trials.predict(search)
    return trials[0]


def _with_plain(tuned: TunedModel, search: Search, trial: Trial) -> TunedModel:
    """The plain estimator in place of what was found; an interrupt of its fit leaves what was found."""
    try:
        model = fit_whole(clone(search.estimator), TablePart(search.X, search.y, search.fit_params))
    except KeyboardInterrupt:
        return tuned._replace(was_interrupted=True)
    plain = present(tuned.plain)
    return tuned._replace(
        model=model,
        members=[model],
        weights=np.zeros(len(tuned.weights)),
        predicted=trial.predicted,
        scores=plain.scores,
        plain=plain._replace(is_taken=True),
    )


def _constant_score(search: Search, train: Int[np.ndarray, " train"], test: Int[np.ndarray, " test"]) -> float:
    """The score on a fold of a constant that its training part has taught."""
    yardstick = search.yardstick
    of_classes, center = yardstick.classes is not None, "median" if yardstick.name in OF_MEDIANS else "mean"
    weight = None if yardstick.weight is None else yardstick.weight[train]
    model = constant_model(KnownRows(yardstick.target[train], weight), of_classes=of_classes, center=center)
    predicted = np.zeros((len(test), len(yardstick.classes) if of_classes else 1))
    if of_classes:
        predicted[:, model.classes_] = model.predict_proba(predicted)  # the classes of the part, by number
    else:
        predicted[:, 0] = model.predict(predicted)
    return yardstick.score(predicted, np.asarray(test))
