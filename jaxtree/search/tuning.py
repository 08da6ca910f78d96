"""Tuning in a given time: settings in batches until the time is nearly over, and a model made of the best of them."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.errors import TrainingError
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.jobs import until_interrupted
from jaxtree.figures.searches import ScoredSettings
from jaxtree.search.budget import MOST_SETTINGS, PART_FOR_FINALS, Budget, Forecast
from jaxtree.search.evaluation import Search
from jaxtree.search.finals import FinalRound, FitsOfMembers, by_weight
from jaxtree.search.out_of_fold import (
    Choice,
    Finalists,
    Yardstick,
    choose,
    or_first,
    predictions_of_other_choices,
    scores_of_folds,
    select,
)
from jaxtree.search.spaces import Space
from jaxtree.search.strategies import InTime, OnProgress, silent
from jaxtree.search.trials import Trials
from jaxtree.search.verdict import verdict_in_words
from jaxtree.tree.kinds import ModelKind, kind_of

OF_THE_SEARCH = ("outer_bags",)
"""Parameters of fits of additive models on folds that the fit on all rows has not."""


class Plain(NamedTuple):
    """The plain estimator, with its own parameters, beside what a tuning has found.

    Attributes:
        scores: Its score on every fold, greater if better.
        constant: The scores of a constant: the shares of classes, or the mean.
        found: The scores of what was found.
        ratio: The number of test rows for each training row.
        is_taken: Whether it is the model that is returned, as nothing that was found is better.
    """

    scores: Float[np.ndarray, " fold"]
    constant: Float[np.ndarray, " fold"]
    found: Float[np.ndarray, " fold"]
    ratio: float
    is_taken: bool = False


class TunedModel(NamedTuple):
    """The result of a tuning.

    Attributes:
        model: The mean of the members, or the best additive model, fitted on all rows.
        members: The models that are averaged, that of the greatest weight first; the one additive model.
        tried: The settings that were tried, and their fits.
        finalists: The settings that were judged as members are; None if members are single models.
        weights: The weight of every setting in the model; of an additive model it is that of one.
        predicted: Out-of-fold predictions of what was chosen on other folds.
        scores: Their score on every fold.
        yardstick: How predictions are scored.
        tests: The test rows of every fold.
        was_interrupted: Whether it ended by Ctrl-C, with what was finished by then.
        plain: The plain estimator on the same folds; None before it is asked for.
        seconds: How long all of it took.
        most_settings: The most settings that were to be tried.
    """

    model: Any
    members: list[Any]
    tried: Trials
    finalists: Finalists | None
    weights: Float[np.ndarray, " setting"]
    predicted: Float[np.ndarray, "row column"]
    scores: Float[np.ndarray, " fold"]
    yardstick: Yardstick
    tests: list[Int[np.ndarray, " row"]]
    was_interrupted: bool
    plain: Plain | None = None
    seconds: float = np.nan
    most_settings: int = MOST_SETTINGS

    def verdict(self) -> str:
        """Returns in words what won, by how much, and whether time sufficed."""
        return verdict_in_words(self)

    @property
    def is_plain(self) -> bool:
        """Whether the model is the plain estimator."""
        return self.plain is not None and self.plain.is_taken

    @property
    def is_ensemble(self) -> bool:
        """Whether the model is a mean of boosted models, not one additive model, or the plain estimator."""
        return kind_of(self.model) == ModelKind.BOOSTED and not self.is_plain

    @property
    def kind_of_model(self) -> str:
        """The kind of the model, in a word."""
        return "ensemble" if self.is_ensemble else "model"

    def best_and_defaults(self) -> tuple[Float[np.ndarray, " fold"], Float[np.ndarray, " fold"]]:
        """Returns the scores of the best setting, of finalists if there are such, and of the plain estimator.

        Before that is asked for, it is the first setting.
        """
        own = self.finalists
        scores = self.tried.scores if own is None else own.scores
        return scores[scores.mean(axis=1).argmax()], scores[0] if self.plain is None else self.plain.scores

    def scored(self) -> ScoredSettings:
        """Returns the settings with their scores as single models, as tables and charts show them."""
        tried, yardstick = self.tried, self.yardstick
        return tried.scored(
            np.where(np.isfinite(tried.scores), tried.scores, np.nan),
            yardstick.in_words,
            is_loss=yardstick.name.startswith("neg_"),
        )._replace(weights=self.weights, finished=tried.seconds)

    def predicted_by_members(self) -> Float[np.ndarray, "member row column"]:
        """Returns the out-of-fold predictions of every member."""
        members = np.flatnonzero(self.weights)
        if self.finalists is None:
            return self.tried.predicted[members]
        return self.finalists.predicted[np.isin(self.finalists.numbers, members)]


def find_ensemble(
    search: Search, space: Space, budget: Budget, seed: int = 0, report: OnProgress = silent
) -> TunedModel:
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
    forecast = Forecast(budget.seconds, space.batch, len(search.splits))
    blank, tried = _with(search, random_state=seed), Trials(len(search.splits), space.scales())
    settings = space.settings(budget.settings, seed)
    strategy = InTime(_with(blank, **space.fixed), settings, budget, forecast, report)
    if space.finals is not None:
        forecast.keep(PART_FOR_FINALS * budget.seconds)
    if not strategy.go_on(tried):
        raise KeyboardInterrupt
    if space.finals is not None and not strategy.was_interrupted:
        finals = FinalRound(blank, space.finals, space.fixed["n_estimators"], budget, forecast)
        if finals.go_on(tried, report):
            return _of_finalists(tried, strategy, finals)
        strategy.was_interrupted = finals.was_interrupted
    forecast.keep(0.0)
    return _of_single_models(tried, strategy, FitsOfMembers(blank, budget, forecast))


def find_additive(
    search: Search, space: Space, budget: Budget, seed: int = 0, report: OnProgress = silent
) -> TunedModel:
    """Tries settings of a space while there is time, and fits the best one on all rows.

    A model of which people read the curves is one setting, no ensemble. It is judged by settings that were chosen on
    the other folds; where these are worse than the defaults, the defaults are taken. The first setting, which is that
    of the defaults, and the fit on all rows are made in any case, and to their ends. A batch of settings begins if one
    like the longest so far ends in time; those of its settings that are not finished in time are left out. An interrupt
    (Ctrl-C) ends the search: the best setting is of those that are finished. Another one ends the fit on all rows, with
    the rounds that its bags have.

    Args:
        search: The problem.
        space: The settings.
        budget: The time.
        seed: The seed of what is drawn.
        report: Called after every step.

    Raises:
        InvalidInputError: An argument is not allowed.
        TrainingError: No setting predicts finite numbers on every fold.
        KeyboardInterrupt: There was an interrupt before any setting was finished, or before any bag was begun.
    """
    forecast = Forecast(budget.seconds, space.batch, len(search.splits))
    blank, tried = _with(search, random_state=seed), Trials(len(search.splits), space.scales())
    settings = space.settings(budget.settings, seed)
    strategy = InTime(_with(blank, **space.fixed), settings, budget, forecast, report, is_for_ensemble=False)
    if not strategy.go_on(tried):
        raise KeyboardInterrupt
    scores, predicted, tests = _scores_of(tried), tried.predicted, _tests(search, tried)
    best = Choice(_one_of(scores, scores.mean(axis=1).argmax()), _of_other_choices(scores, predicted, tests))
    chosen = or_first(best, search.yardstick, predicted, scores, tests)
    fixed = {name: value for name, value in space.fixed.items() if name not in OF_THE_SEARCH}
    setting = configured(blank.estimator, {**fixed, **tried[int(chosen.weights.argmax())].parameters})
    model, was_interrupted = until_interrupted(lambda: setting.fit(search.X, search.y, **search.fit_params))
    report(budget.used(), "the best setting on all rows")
    judged = _judged(search, tried, chosen)
    was_interrupted |= strategy.was_interrupted
    return TunedModel(model, [model], tried, None, chosen.weights, *judged, was_interrupted)


def _of_finalists(tried: Trials, strategy: InTime, finals: FinalRound) -> TunedModel:
    """Looks for further finalists while there is time, and chooses an ensemble of all."""
    search, budget = strategy.search, strategy.budget
    try:
        while finals.has_time():
            strategy.forecast.keep(PART_FOR_FINALS * max(budget.left(), 0.0))
            if not strategy.go_on(tried) or strategy.was_interrupted or not finals.go_on(tried, strategy.report):
                break
    except KeyboardInterrupt:
        strategy.was_interrupted = True
    finalists, tests, yardstick = finals.finalists(), _tests(search, tried), search.yardstick
    chosen = choose(finalists, yardstick, tests, budget.deadline(0.0))
    chosen = or_first(chosen, yardstick, finalists.predicted, finalists.scores, tests)
    weights = np.zeros(len(tried))
    weights[finalists.numbers] = chosen.weights
    members = by_weight(weights)
    models = [finals.models[number] for number in members]
    model = models[0].mean_of(models, weights[members])
    judged = _judged(search, tried, chosen)
    was_interrupted = strategy.was_interrupted or finals.was_interrupted
    return TunedModel(model, models, tried, finalists, weights, *judged, was_interrupted)


def _of_single_models(tried: Trials, strategy: InTime, fits: FitsOfMembers) -> TunedModel:
    """Chooses an ensemble of the settings, fits its members on all rows, and looks for others while there is time."""
    chosen = _chosen(tried, strategy)
    if not fits.go_on(tried, chosen.weights, strategy.was_interrupted, strategy.report):
        fewer = _chosen_of(tried, strategy, chosen.weights * fits.are_fitted(chosen.weights))
        chosen = _or_defaults(strategy.search, tried, fewer)
        if not fits.are_fitted(chosen.weights)[chosen.weights > 0].all() and not fits.make(tried, 0):
            chosen = fewer
    try:
        while not fits.was_interrupted and strategy.go_on(tried):
            other = _chosen(tried, strategy)
            if fits.go_on(tried, other.weights, True, strategy.report):
                chosen = other
    except KeyboardInterrupt:
        strategy.was_interrupted = True
    # Settings that were tried after the last choice have no weight.
    weights = np.pad(chosen.weights, (0, len(tried) - len(chosen.weights)))
    members = fits.members(weights)
    model = members[0].mean_of(members, weights[by_weight(weights)])
    judged = _judged(strategy.search, tried, chosen)
    return TunedModel(model, members, tried, None, weights, *judged, strategy.was_interrupted or fits.was_interrupted)


def _with(search: Search, **parameters: Any) -> Search:
    """The problem with parameters of its estimator."""
    return search._replace(estimator=configured(search.estimator, parameters))


def _scores_of(tried: Trials) -> Float[np.ndarray, "trial fold"]:
    """The scores of all settings; raises TrainingError if none has finite ones on every fold."""
    scores = tried.scores
    if not np.isfinite(scores.mean(axis=1)).any():
        raise TrainingError(f"none of {len(scores)} settings predicts finite numbers on every fold")
    return scores


def _one_of(scores: Float[np.ndarray, "trial fold"], number: int) -> Float[np.ndarray, " trial"]:
    """Weights that one setting has all of."""
    return (np.arange(len(scores)) == number).astype(np.float64)


def _chosen(tried: Trials, strategy: InTime) -> Choice:
    """Chooses an ensemble of the settings that were tried."""
    search, budget, forecast = strategy.search, strategy.budget, strategy.forecast
    yardstick, tests, scores, predicted = search.yardstick, _tests(search, tried), _scores_of(tried), tried.predicted
    means = scores.mean(axis=1)
    if len(tests) == 1:
        # Nothing could judge an ensemble.
        return Choice(_one_of(scores, means.argmax()), predicted[means.argmax()])
    began, deadline = budget.used(), budget.deadline(forecast.of_members())
    due = deadline.of_next(len(tests) + 1).own()
    weights = select(yardstick, predicted, means, np.concatenate(tests), due)
    judged = predictions_of_other_choices(yardstick, predicted, scores, tests, deadline)
    forecast.choice_takes(budget.used() - began)
    return _or_defaults(search, tried, Choice(weights, judged))


def _chosen_of(tried: Trials, strategy: InTime, weights: Float[np.ndarray, " setting"]) -> Choice:
    """The ensemble of these weights, judged by choices among its members alone."""
    search, of, deadline = strategy.search, weights > 0, strategy.budget.deadline(0.0)
    given = search.yardstick, tried.predicted[of], tried.scores[of], _tests(search, tried)
    return Choice(weights / weights.sum(), predictions_of_other_choices(*given, deadline))


def _or_defaults(search: Search, tried: Trials, chosen: Choice) -> Choice:
    """The choice, or the defaults where these are better."""
    return or_first(chosen, search.yardstick, tried.predicted, tried.scores, _tests(search, tried))


def _of_other_choices(
    scores: Float[np.ndarray, "trial fold"],
    predicted: Float[np.ndarray, "trial row column"],
    tests: list[Int[np.ndarray, " _test"]],
) -> Float[np.ndarray, "row column"]:
    """The predictions of every fold by the setting that is the best on the other folds; NaN for rows in no fold."""
    judged = np.full_like(predicted[0], np.nan)
    for fold, rows in enumerate(tests):
        others = np.delete(scores, fold, axis=1) if len(tests) > 1 else scores
        judged[rows] = predicted[int(others.mean(axis=1).argmax())][rows]
    return judged


def _tests(search: Search, tried: Trials) -> list[Int[np.ndarray, " _test"]]:
    """The test rows of the folds that settings were tried on."""
    return [np.asarray(test) for _, test in search.splits[: tried.num_folds]]


def _judged(search: Search, tried: Trials, chosen: Choice) -> tuple[Any, Any, Yardstick, list[Any]]:
    """The predictions of ensembles of other choices, their scores, how these are made, and the test rows."""
    yardstick, tests = search.yardstick, _tests(search, tried)
    return chosen.predicted, scores_of_folds(yardstick, chosen.predicted[None], tests)[0], yardstick, tests
