"""Fits of many settings of boosted trees on the folds of a search, those of a fold that share a program in one."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int

from jaxtree.boosting.batch import BoostedMember, Bounds, Member, Paused
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Deadline, Stop
from jaxtree.boosting.many import boost_members
from jaxtree.dataset.arguments import EXTRAS
from jaxtree.errors import InterruptedFitWarning, TrainingError, present
from jaxtree.estimators.boosting.many import open_jobs
from jaxtree.estimators.boosting.training import BoostingTask
from jaxtree.estimators.common.conventions import Role, identity, names_of
from jaxtree.estimators.common.jobs import FittedJob, Job, TablePart, fit_many, grouped
from jaxtree.search.evaluation import Search, SearchFold, predictions, result_of
from jaxtree.search.quick_scores import ScoresOfRows
from jaxtree.sklearn_compat import check_method_params, safe_split

LEFT_THE_NUMBERS = ".*derivatives after round"
"""The warning of a fit that stopped at derivatives that are not finite."""


class Fitted(NamedTuple):
    """The result of a setting on a fold.

    Attributes:
        result: Scores and times, in the form of scikit-learn's `fit_and_score`.
        num_rounds: The number of rounds of the model; NaN if it was fitted by itself.
        curve: The loss of the rows of the test part after every round.
        predicted: Probabilities or predictions of these rows; None where the fit failed.
        was_cut: Whether it ended for lack of time.
    """

    result: dict[str, Any]
    num_rounds: float
    curve: Float[np.ndarray, " round"]
    predicted: Float[np.ndarray, "row column"] | None
    was_cut: bool = False


class SearchProgress:
    """Counts the rounds of all models of a search, and says how many there are.

    Rounds that a model need not make, as it has stopped early or is dropped, count as made when it ends.

    Args:
        report: Called with a number of further rounds, and with words; None for silence.
        num_rounds: The most rounds of every model, by setting and fold.

    Example:
        >>> progress = SearchProgress(lambda number, words: print(number, words), {(0, 0): 100, (0, 1): 100})
        >>> progress.made(30)
        30 2 models alive
        >>> progress.ended(0, 0, num_made=20)
        80 1 model alive
        >>> progress.opened(2, 3, "max_bins=63")
        0 1 model alive, program 2 of 3: max_bins=63
    """

    def __init__(self, report: Callable[..., Any] | None, num_rounds: Mapping[tuple[int, int], int]):
        self._report = report
        self._alive = dict(num_rounds)
        self._left = sum(num_rounds.values())
        self._program = ""

    def opened(self, number: int, total: int, words: str) -> None:
        """Says which program is next: settings that differ in more than numbers do not share one.

        Args:
            number: Its number, from 1 on.
            total: The number of programs.
            words: The parameters by which its settings differ from others.
        """
        self._program = f", program {number} of {total}: {words}"
        self._advance(0)

    def made(self, number: int) -> None:
        """Says that some models have made further rounds, so many all together."""
        self._advance(number)

    def ended(self, setting: int, fold: int, num_made: int) -> None:
        """Marks a model as finished after `num_made` rounds."""
        self._advance(self._alive.pop((setting, fold), num_made) - num_made)

    def _advance(self, number: int) -> None:
        # A batch that memory did not suffice for makes its rounds again.
        number = min(number, self._left)
        self._left -= number
        if self._report is not None:
            self._report(number, f"{len(self._alive):,} model{'s' * (len(self._alive) != 1)} alive{self._program}")


class Leg(NamedTuple):
    """One rung of successive halving: active models train up to round `until`.

    Attributes:
        until: The number of rounds at its end; None for the last part, where no model pauses.
        paused: The models that go on, by setting and fold; None for the first part, where all begin.
        pausing: Gets the models that pause.
    """

    until: int | None
    paused: dict[tuple[int, int], Paused] | None
    pausing: dict[tuple[int, int], Paused]

    def goes(self, setting: int, fold: int) -> bool:
        """Whether a model makes rounds of this part."""
        return self.paused is None or (setting, fold) in self.paused

    def member(self, own: Member, setting: int, fold: int) -> Member:
        """Returns a model with what it has had, and with its pause."""
        return own._replace(pause=self.until, earlier=None if self.paused is None else self.paused[setting, fold])


OnFitted = Callable[[int, int, Fitted], Any]
"""The callback with the number of the setting, that of the fold, and the fit."""


def fit_folds(
    search: Search,
    settings: Sequence[Any],
    leg: Leg,
    on_fitted: OnFitted,
    progress: SearchProgress,
    deadline: Deadline | None = None,
) -> None:
    """Fits and scores every setting on every fold, or goes on with those that have paused.

    Args:
        search: The task.
        settings: The estimators with the parameters of its candidates.
        leg: The part of the rounds that is made.
        on_fitted: Called with every fit when it is done or pauses.
        progress: Told which program runs, and the rounds that are made.
        deadline: When all is to be done. The folds share the time; models that share a program end with the rounds
            that they have, and those that have not begun by then are left out.
    """
    folds = [SearchFold(search, number) for number in range(len(search.splits))]
    pairs = [(setting, fold) for setting in range(len(settings)) for fold in range(len(folds))]
    pairs = [pair for pair in pairs if leg.goes(*pair)]
    jobs = [Job(settings[setting], folds[fold]) for setting, fold in pairs]
    together = _Programs(search, settings, leg, progress, deadline).score
    keeps_errors = search.error_score != "raise"
    with warnings.catch_warnings():
        # A model that has left the numbers would be scored.
        warnings.filterwarnings("error", LEFT_THE_NUMBERS, InterruptedFitWarning)
        try:
            for fitted in fit_many(jobs, keeps_errors=keeps_errors, together=together, deadline=deadline):
                setting, fold = pairs[fitted.number]
                is_scored = isinstance(fitted.made, Fitted)
                on_fitted(setting, fold, fitted.made if is_scored else scored_alone(search, fitted, fold))
        except InterruptedFitWarning as warning:
            raise TrainingError(str(warning).removesuffix(KEPT)) from None


def scored_alone(search: Search, fitted: FittedJob, fold: int) -> Fitted:
    """Returns the result of a model that was fitted by itself on a fold, or of a fit that failed."""
    result, model = result_of(search, fitted, fold), fitted.made
    if model is None:
        return Fitted(result, np.nan, np.zeros(0), None)
    train, test = search.splits[fold]
    X, _ = safe_split(model, search.X, search.y, test, train)
    is_boosted = hasattr(model, "n_estimators_")
    num_rounds = model.n_estimators_ if is_boosted else model.num_rounds_.sum(axis=1).mean()
    return Fitted(result, float(num_rounds), np.zeros(0), predictions(model, X))


class _Programs:
    """The programs that make the models of settings on a fold, and score them.

    Args:
        search: The task.
        settings: The settings.
        leg: The part of the rounds that is made.
        progress: Told which program runs, and the rounds that are made.
        deadline: When all is to be done.
    """

    def __init__(
        self,
        search: Search,
        settings: Sequence[Any],
        leg: Leg,
        progress: SearchProgress,
        deadline: Deadline | None,
    ):
        self._search, self._leg, self._progress, self._deadline = search, leg, progress, deadline
        self._number = dict(zip(map(id, settings), range(len(settings)), strict=True))
        part = TablePart(search.X, search.y)
        groups = [numbers for _, numbers in grouped([Job(own, part) for own in settings])]
        self._group = dict[int, int]()
        for place, numbers in enumerate(groups):
            self._group.update(dict.fromkeys(numbers, place))
        self._words = _in_words(settings, groups) if len(groups) > 1 else [""]

    def score(self, jobs: Sequence[Job]) -> Iterator[dict[int, Fitted | None]]:
        """Makes the models of settings that share a program on a fold, and yields the result of each by its place."""
        began, search, fold = time.perf_counter(), self._search, cast(SearchFold, jobs[0].part)
        numbers = [self._number[id(job.estimator)] for job in jobs]
        place, total = self._group[numbers[0]], len(self._words)
        if total > 1:
            self._progress.opened(place + 1, total, self._words[place])
        parts_left = (total - place) * len(search.splits) - fold.number
        deadline = self._deadline and self._deadline.of_next(parts_left)
        train, test = search.splits[fold.number]
        X_test, y_test = safe_split(search.estimator, search.X, search.y, test, train)
        given = _given_of_test(search, jobs[0].estimator, test)
        _, data, learner, opened = open_jobs(jobs, (X_test, y_test, *given))
        places, (task, config, _) = list(opened), next(iter(opened.values()))
        members = [self._leg.member(own.member, numbers[place], fold.number) for place, own in opened.items()]
        params = check_method_params(search.X, params=search.score_params, indices=test)
        classes = task.data.outputs.classes
        scores = ScoresOfRows(search, classes[0] if classes else None, X_test, y_test, params)
        options: dict[str, Any] = {"bounds": Bounds(deadline=deadline, mesh=search.mesh)}
        left: dict[int, Fitted | None] = dict.fromkeys(places)
        for number, made in boost_members(data, task.loss, learner, members, on_rounds=self._progress.made, **options):
            place, fit_time = places[number], time.perf_counter() - began
            del left[place]
            if made.paused is not None:
                self._leg.pausing[numbers[place], fold.number] = made.paused
            rounds = made.best_round if config.early_stopping else len(made.losses)
            yield {place: _scored(search, fold, task, made, rounds, scores, fit_time)}
            began = time.perf_counter()
        if left:  # time has not sufficed for them
            yield left


def _in_words(settings: Sequence[Any], groups: Sequence[Sequence[int]]) -> list[str]:
    """The parameters that the settings of each group share, and those of other groups do not, in words."""
    names = sorted(vars(settings[0]).keys() - names_of(settings[0], Role.NUMBER))
    values = {name: [identity(getattr(own, name)) for own in settings] for name in names}
    differ = [name for name in names if len(set(values[name])) > 1]
    words = []
    for group in groups:
        common = [name for name in differ if len({values[name][number] for number in group}) == 1]
        words.append(", ".join(f"{name}={getattr(settings[group[0]], name)!r}" for name in common))
    return words


def _given_of_test(search: Search, setting: Any, test: Int[np.ndarray, " test"]) -> tuple[Any, dict[str, Any]]:
    """Returns the weights and the extras of the test part, as a member of `eval_set` has them."""
    needs = getattr(getattr(setting, "loss", None), "needs", ())
    taken = {*search.score_params, *EXTRAS, *needs} - {"sample_weight"}
    extras = {name: values for name, values in search.fit_params.items() if name in taken}
    extras = check_method_params(search.X, params=extras, indices=test)
    weight = {"weight": search.fit_params.get("sample_weight")}
    weight = check_method_params(search.X, params=weight, indices=test)["weight"]
    return weight, extras


def _scored(
    search: Search,
    fold: SearchFold,
    task: BoostingTask,
    member: BoostedMember,
    rounds: int,
    scores: ScoresOfRows,
    fit_time: float,
) -> Fitted:
    """The fit of a member that keeps so many rounds, scored on the rows of the test part."""
    curve = member.losses[:, -1]
    if member.stop == Stop.NOT_FINITE:
        error = TrainingError(f"{task.loss}: derivatives after round {len(curve)} are {NO_NUMBERS}")
        if search.error_score == "raise":
            raise error
        return Fitted(result_of(search, FittedJob(0, None, fit_time, error), fold.number), np.nan, curve, None)
    began, test = time.perf_counter(), present(task.held.test)
    own_scores = member.scores[-1][:, : test.num_rows].T.astype(np.float64)
    # A scorer that is not given offsets predicts without.
    fixed = task.predict(own_scores, test.fields.get("offset") if "offset" in search.score_params else None)
    scored = scores.score(fixed)
    times = {"fit_time": fit_time, "score_time": time.perf_counter() - began}
    columns = np.asarray(fixed.predictions, np.float64).reshape(test.num_rows, -1)
    result = {"fit_error": None, **times, "test_scores": scored}
    return Fitted(result, rounds, curve, columns, member.stop == Stop.NO_TIME)
