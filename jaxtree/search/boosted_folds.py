"""FoldPrograms of boosted trees: settings of a fold that share one are fitted and scored together."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Int

from jaxtree.boosting.batch import BoostedMember
from jaxtree.boosting.ending import NO_NUMBERS, Stop
from jaxtree.boosting.many import Bounds, boost_members
from jaxtree.dataset.arguments import EXTRAS
from jaxtree.errors import TrainingError, present
from jaxtree.estimators.boosting.many import open_jobs
from jaxtree.estimators.boosting.training import BoostingTask
from jaxtree.estimators.common.conventions import Role, identity, names_of
from jaxtree.estimators.common.jobs import Job, TablePart, grouped
from jaxtree.search.evaluation import Fitted, Search, SearchFold, failed
from jaxtree.search.quick_scores import ScoresOfRows
from jaxtree.search.trials import TrialBatch, Trials
from jaxtree.sklearn_compat import check_method_params, safe_split

LEFT_THE_NUMBERS = ".*derivatives after round"
"""The warning of a fit that stopped at derivatives that are not finite."""


class SearchMeasure(NamedTuple):
    """The score by which settings are compared.

    Attributes:
        metric: Its name in the results of a search.
        in_words: Its name, of a loss without its sign.
        is_loss: Whether less of what is measured is better.
    """

    metric: str
    in_words: str
    is_loss: bool


class BestSoFar:
    """The best mean score of the settings of a batch that are scored on most folds.

    Args:
        measure: The score; None to know of none.
        num_folds: The number of folds.

    Example:
        >>> best = BestSoFar(SearchMeasure("score", "log loss", True), 2)
        >>> best.add(0, -0.5), best.add(1, -0.25), best.in_words()
        (None, None, 'best log loss 0.25 on 1 of 2 folds')
        >>> best.add(0, -0.125), best.in_words()
        (None, 'best log loss 0.3125')
    """

    def __init__(self, measure: SearchMeasure | None, num_folds: int):
        self._measure, self._num_folds = measure, num_folds
        self._scores: dict[int, list[float]] = {}
        self._most, self._best = 0, -np.inf

    def add(self, number: int, scores: Any) -> None:
        """Takes the score, or the scores by their names, of a setting on a fold."""
        if self._measure is None:
            return
        score = scores.get(self._measure.metric) if isinstance(scores, Mapping) else scores
        if score is None or not np.isfinite(score):
            return
        own = self._scores.setdefault(number, [])
        own.append(float(score))
        if len(own) > self._most:
            self._most, self._best = len(own), -np.inf
        if len(own) == self._most:
            self._best = max(self._best, float(np.mean(own)))

    def in_words(self) -> str:
        """Returns the best score; an empty word if there is none."""
        if self._measure is None or not self._most:
            return ""
        shown = 0 - self._best if self._measure.is_loss else self._best
        folds = "" if self._most == self._num_folds else f" on {self._most} of {self._num_folds} folds"
        return f"best {self._measure.in_words} {shown:.4g}{folds}"


class SearchProgress:
    """Counts the rounds of all models of a search, or their fits, and says how many there are.

    Rounds that a model need not make, as it has stopped early or is dropped, count as made when it ends.

    Args:
        report: Called with a number of further rounds, and with words; None for silence.

    Attributes:
        best: The best score of the present batch, which words begin with.

    Example:
        >>> progress = SearchProgress(lambda number, words: print(number, words))
        >>> progress.begin(0, 0, most=100), progress.begin(0, 1, most=100)
        (None, None)
        >>> progress.made(30)
        30
        >>> progress.ended(0, 0, num_made=20)
        80
        >>> progress.opened(2, 3, "max_bins=63")
        0 program 2 of 3: max_bins=63
    """

    def __init__(self, report: Callable[..., Any] | None):
        self._report = report
        self._alive: dict[tuple[int, int], int] = {}
        self._total = self._made = self._told = 0
        self._program = ""
        self.best = BestSoFar(None, 0)

    def begin(self, trial: int, fold: int, most: int) -> None:
        """Takes a further model, and its most rounds."""
        self._alive[trial, fold] = most
        self._total += most

    def opened(self, number: int, total: int, words: str) -> None:
        """Says which program is next: settings that differ in more than numbers do not share one.

        Args:
            number: Its number, from 1 on.
            total: The number of programs.
            words: The parameters by which its settings differ from others.
        """
        self._program = f"program {number} of {total}: {words}"
        self.made(0)

    def ended(self, trial: int, fold: int, num_made: int) -> None:
        """Marks a model as finished after `num_made` rounds."""
        self.made(self._alive.pop((trial, fold), num_made) - num_made)

    def made(self, number: int) -> None:
        """Says that some models have made further rounds, so many all together."""
        self._made += number
        # A batch that memory did not suffice for makes its rounds again, and no model has ended before it is scored.
        number = min(self._made, self._total - len(self._alive)) - self._told
        self._told += number
        if self._report is not None:
            self._report(number, ", ".join(part for part in (self.best.in_words(), self._program) if part))

    def known(self, models: Sequence[tuple[int, int]]) -> None:
        """Marks models as finished at once, as their fits are known already."""
        self.made(sum(self._alive.pop(model, 0) for model in models))


class FoldPrograms:
    """The programs that make the models of settings on a fold, and score them.

    Args:
        search: The problem.
        trials: The settings.
        batch: The trials that are fitted.
        progress: Told which program runs, and the rounds that are made.
    """

    def __init__(self, search: Search, trials: Trials, batch: TrialBatch, progress: SearchProgress):
        self._search, self._batch, self._progress = search, batch, progress
        part, estimators = TablePart(search.X, search.y), [trials[number].estimator for number in batch.numbers]
        self._numbers = dict(zip(map(id, estimators), batch.numbers, strict=True))
        groups = [places for _, places in grouped([Job(own, part) for own in estimators])]
        self._group = {id(estimators[place]): group for group, places in enumerate(groups) for place in places}
        self._words = _in_words(estimators, groups) if len(groups) > 1 else [""]

    def score(self, jobs: Sequence[Job]) -> Iterator[dict[int, Fitted | None]]:
        """Makes the models of settings that share a program on a fold, and yields the result of each by its place."""
        began, search, batch, fold = time.perf_counter(), self._search, self._batch, cast(SearchFold, jobs[0].part)
        group, total = self._group[id(jobs[0].estimator)], len(self._words)
        if total > 1:
            self._progress.opened(group + 1, total, self._words[group])
        parts_left = (total - group) * len(search.splits) - fold.number
        deadline = batch.deadline and batch.deadline.of_next(parts_left)
        train, test = search.splits[fold.number]
        X_test, y_test = safe_split(search.estimator, search.X, search.y, test, train)
        given = _given_of_test(search, jobs[0].estimator, test)
        _, data, learner, opened = open_jobs(jobs, (X_test, y_test, *given))
        places, (task, config, _) = list(opened), next(iter(opened.values()))
        members = []
        for place, own in opened.items():
            pair = self._numbers[id(jobs[place].estimator)], fold.number
            members.append(own.member._replace(pause=batch.until, earlier=batch.paused and batch.paused[pair]))
        params = check_method_params(search.X, params=search.score_params, indices=test)
        classes = task.data.outputs.classes
        scores = ScoresOfRows(search, classes[0] if classes else None, X_test, y_test, params)
        options: dict[str, Any] = {"bounds": Bounds(deadline=deadline, mesh=search.mesh)}
        left: dict[int, Fitted | None] = dict.fromkeys(places)
        for number, made in boost_members(data, task.loss, learner, members, on_rounds=self._progress.made, **options):
            place, fit_time = places[number], time.perf_counter() - began
            del left[place]
            rounds = made.best_round if config.early_stopping else len(made.losses)
            yield {place: _scored(search, task, made, rounds, scores, fit_time)}
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
    search: Search, task: BoostingTask, member: BoostedMember, rounds: int, scores: ScoresOfRows, fit_time: float
) -> Fitted:
    """The fit of a member that keeps so many rounds, scored on the rows of the test part."""
    curve = member.losses[:, -1]
    if member.stop == Stop.NOT_FINITE:
        error = TrainingError(f"{task.loss}: derivatives after round {len(curve)} are {NO_NUMBERS}")
        return failed(search, error, fit_time)._replace(curve=curve)
    began, test = time.perf_counter(), present(task.held.test)
    own_scores = member.scores[-1][:, : test.num_rows].T.astype(np.float64)
    # A scorer that is not given offsets predicts without.
    fixed = task.predict(own_scores, test.fields.get("offset") if "offset" in search.score_params else None)
    scored = {} if search.scorer is None else {"test_scores": scores.score(fixed)}
    times = {"fit_error": None, "fit_time": fit_time, "score_time": time.perf_counter() - began}
    predicted = np.asarray(fixed.predictions, np.float64).reshape(test.num_rows, -1)
    return Fitted(times | scored, rounds, curve, predicted, member.stop == Stop.NO_TIME, member.paused)
