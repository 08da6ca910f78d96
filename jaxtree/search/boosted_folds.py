"""Fits of many settings of boosted trees on the folds of a search, those of a fold that share a program in one."""

import contextlib
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.base import clone, is_classifier

from jaxtree.boosting.batch import BoostedMember, Bounds, Member, Paused
from jaxtree.boosting.data import BaseLearner, BoostData
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Deadline, Stop
from jaxtree.boosting.many import boost_members
from jaxtree.boosting.many_rounds import OwnRows
from jaxtree.dataset.fields import EXTRAS
from jaxtree.errors import InterruptedFitWarning, TrainingError
from jaxtree.estimators.boosting.parameters import FOLDS
from jaxtree.estimators.boosting.training import BoostingTask, encode
from jaxtree.estimators.common.conventions import Role, names_of
from jaxtree.search.evaluation import Search
from jaxtree.search.quick_scores import ScoresOfRows
from jaxtree.search.search_progress import SearchProgress
from jaxtree.search.settings import identity
from jaxtree.sklearn_compat import check_method_params, fit_and_score, safe_split

LEFT_THE_NUMBERS = ".*derivatives after round"
"""The warning of a fit that stopped at derivatives that are not finite."""

TEST = "test"
"""The name of the rows of a fold that no tree is grown on."""


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


def group_by_program(settings: Sequence[Any]) -> list[list[int]]:
    """Returns the numbers of the settings that share a program on every fold; one that shares none is alone.

    Those that hold rows out to stop early have these in common, and so a seed.

    Example:
        >>> from jaxtree import GradientBoostingClassifier as Boosting
        >>> settings = [Boosting(max_depth=3), Boosting(max_bins=63), Boosting(subsample=0.5), Boosting(drop_rate=0.1)]
        >>> group_by_program(settings)
        [[0, 2], [1], [3]]
    """
    groups: dict[Hashable, list[int]] = {}
    for number, setting in enumerate(settings):
        # Rows that are held out to stop early are drawn by the seed.
        numbers = names_of(setting, Role.NUMBER, *(() if setting.early_stopping else (Role.SEED,)))
        fixed = {name: value for name, value in vars(setting).items() if name not in numbers}
        kind = tuple((name, identity(value)) for name, value in sorted(fixed.items()))
        groups.setdefault(number if _is_alone(setting) else kind, []).append(number)
    return list(groups.values())


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
    groups = group_by_program(settings)
    for place, (group, words) in enumerate(zip(groups, _in_words(settings, groups), strict=True)):
        progress.opened(place + 1, len(groups), words)
        for fold in range(len(search.splits)):
            parts_left = (len(groups) - place) * len(search.splits) - fold
            due = deadline and deadline.of_next(parts_left)
            own = {number: settings[number] for number in group if leg.goes(number, fold)}
            for number, fitted in _fit_group(_Fold(search, fold, leg, due), own, progress):
                on_fitted(number, fold, fitted)


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


def _is_alone(setting: Any) -> bool:
    """Whether a setting is fitted by itself: one program drops no trees, and a generator begins anew for each fit."""
    is_seed = setting.random_state is None or isinstance(setting.random_state, int | np.integer)
    return setting.drop_rate > 0 or setting.warm_start or setting.early_stopping == FOLDS or not is_seed


class _Fold(NamedTuple):
    """A fold of a search, the part of the rounds that is made on it, and when it ends."""

    search: Search
    number: int
    leg: Leg
    deadline: Deadline | None

    def rows_of_test(self) -> tuple[Any, Any]:
        """Returns the table and the target of the test part."""
        train, test = self.search.splits[self.number]
        return safe_split(self.search.estimator, self.search.X, self.search.y, test, train)


def _fit_group(of: _Fold, settings: dict[int, Any], progress: SearchProgress) -> Iterator[tuple[int, Fitted]]:
    """Fits settings of a group on a fold, together if they share a program, and yields each with its number."""
    left = dict(settings)
    if settings and not _is_alone(next(iter(settings.values()))):
        # Where this fails, those that are left fail by themselves, or do not.
        with contextlib.suppress(ValueError, ArithmeticError, TypeError):
            began = time.perf_counter()
            opened, own_rows = _open_all(of, settings)
            for number, fitted in _fit_together(of, opened, settings, own_rows, progress, began):
                del left[number]
                yield number, fitted
            # Time does not suffice for others that share the program.
            left = {number: own for number, own in left.items() if number not in own_rows}
    for number in sorted(left):
        yield number, fit_alone(of.search, left[number], of.number)


class _Opened(NamedTuple):
    """The fit of a setting on a fold before its first round."""

    task: BoostingTask
    data: BoostData
    num_bins: int

    def own_rows(self) -> OwnRows:
        """The targets and weights of its rows, which differ from those of other settings by the weights of classes."""
        tables = (self.data.rows, *self.data.evaluations)
        start = np.asarray(self.data.start)
        return OwnRows(start, tuple(rows.target for rows in tables), tuple(rows.weight for rows in tables))

    def shares_codes(self, other: "_Opened") -> bool:
        """Whether two fits have the same rows, bins and categories."""
        own, others = ((of.data.rows, *of.data.evaluations) for of in (self, other))
        return all(np.array_equal(one.codes, two.codes) for one, two in zip(own, others, strict=True))


def _open(of: _Fold, setting: Any) -> _Opened:
    """Prepares a fit on a fold, with the test rows as an evaluation set."""
    search, (train, test) = of.search, of.search.splits[of.number]
    X, y = safe_split(setting, search.X, search.y, train)
    params = check_method_params(search.X, params=search.fit_params, indices=train)
    asked = {*search.score_params, *EXTRAS, *getattr(getattr(setting, "loss", None), "needs", ())} - {"sample_weight"}
    if "offset" not in search.score_params:
        asked.discard("offset")  # scorers of scikit-learn predict without
    extras = {name: values for name, values in search.fit_params.items() if name in asked}
    extras = check_method_params(search.X, params=extras, indices=test)
    weight = {"weight": search.fit_params.get("sample_weight")}
    weight = check_method_params(search.X, params=weight, indices=test)["weight"]
    task = setting.read_task(X, y, beside={TEST: (*of.rows_of_test(), weight, extras)}, **params)
    rows = encode(task)
    # The rows of a loss that joins them keep their padding.
    data = rows.data if task.loss.joins_rows else rows.with_little_padding()
    return _Opened(task, data, rows.num_bins)


def _open_all(of: _Fold, settings: dict[int, Any]) -> tuple[_Opened, dict[int, OwnRows | None]]:
    """Opens a fit, and returns the settings that have its codes, and the rows of those that have not its weights."""
    of_weights: dict[Hashable, list[int]] = {}
    for number, setting in settings.items():
        of_weights.setdefault(identity(getattr(setting, "class_weight", None)), []).append(number)
    first, *others = of_weights.values()
    opened = _open(of, settings[first[0]])
    rows: dict[int, OwnRows | None] = dict.fromkeys(first)
    for numbers in others:
        other = _open(of, settings[numbers[0]])
        if opened.shares_codes(other):
            rows |= dict.fromkeys(numbers, other.own_rows())
    if opened.task.is_ordered.any():
        # Statistics of categories follow from the seed.
        seed = settings[first[0]].random_state
        rows = {number: own for number, own in rows.items() if settings[number].random_state == seed}
    return opened, rows


def _fit_together(
    of: _Fold,
    opened: _Opened,
    settings: dict[int, Any],
    own_rows: dict[int, OwnRows | None],
    progress: SearchProgress,
    began: float,
) -> Iterator[tuple[int, Fitted]]:
    """Fits settings of one program on a fold, and yields each with its number."""
    task, data, num_bins = opened
    numbers, members, learners = list(own_rows), [], []
    for number, rows in own_rows.items():
        config = settings[number].config(task.data.num_rows, num_bins)
        seed = settings[number].seed()
        member = Member(config.learner.limits, config.shrinkage, config.num_rounds, seed, own=rows)
        members.append(of.leg.member(member, number, of.number))
        learners.append(config.learner)
    bounds = Bounds(deadline=of.deadline, mesh=of.search.mesh)
    boosted = boost_members(data, task.loss, _widest(learners), members, bounds=bounds, on_rounds=progress.made)
    scores = _scores_of_test(of, task)
    for place, member in boosted:
        number, fit_time = numbers[place], time.perf_counter() - began
        if member.paused is not None:
            of.leg.pausing[number, of.number] = member.paused
        if member.stop == Stop.NOT_FINITE:
            text = f"{task.loss}: derivatives after round {len(member.losses)} are {NO_NUMBERS}"
            yield number, _failed(of.search, TrainingError(text), member.losses[:, -1])
        else:
            yield number, _scored(task, member, scores, fit_time, keeps_best=settings[number].early_stopping)
        began = time.perf_counter()


def _widest(learners: Sequence[BaseLearner]) -> BaseLearner:
    """A learner whose program grows the trees of all."""
    capacity = max(own.sizes.capacity for own in learners)
    counts_rows = any(own.counts_rows for own in learners)
    return learners[0]._replace(sizes=learners[0].sizes._replace(capacity=capacity), counts_rows=counts_rows)


def _scores_of_test(of: _Fold, task: BoostingTask) -> ScoresOfRows:
    """The scorer of models on the rows of the test part."""
    classes = task.data.outputs.classes[0] if task.data.outputs.classes else None
    _, test = of.search.splits[of.number]
    params = check_method_params(of.search.X, params=of.search.score_params, indices=test)
    return ScoresOfRows(of.search, classes, *of.rows_of_test(), params)


def _scored(
    task: BoostingTask, member: BoostedMember, scores: ScoresOfRows, fit_time: float, *, keeps_best: bool
) -> Fitted:
    """The fit of a member, scored on the rows of the test part."""
    began, test = time.perf_counter(), task.held[TEST]
    own_scores = member.scores[-1][:, : test.num_rows].T.astype(np.float64)
    fixed = task.predict(own_scores, test.fields.get("offset"))
    scored = scores.score(fixed)
    times = {"fit_time": fit_time, "score_time": time.perf_counter() - began}
    columns = np.asarray(fixed.predictions, np.float64).reshape(test.num_rows, -1)
    rounds = member.best_round if keeps_best else len(member.losses)
    result = {"fit_error": None, **times, "test_scores": scored}
    return Fitted(result, rounds, member.losses[:, -1], columns, member.stop == Stop.NO_TIME)


def _failed(search: Search, error: TrainingError, curve: Float[np.ndarray, " round"]) -> Fitted:
    """A fit that failed, scored as scikit-learn's search does it.

    Raises:
        TrainingError: The search raises errors.
    """
    if search.error_score == "raise":
        raise error
    names = getattr(search.scorer, "_scorers", None)
    scores = search.error_score if names is None else dict.fromkeys(names, search.error_score)
    result = {
        "fit_error": f"{type(error).__name__}: {error}",
        "fit_time": 0.0,
        "score_time": 0.0,
        "test_scores": scores,
    }
    return Fitted(result, np.nan, curve, None)


@contextlib.contextmanager
def _as_training_error() -> Iterator[None]:
    """Raises the error that a fit which has left the numbers is, in place of its warning."""
    try:
        yield
    except InterruptedFitWarning as warning:
        raise TrainingError(str(warning).removesuffix(KEPT)) from None


def fit_alone(search: Search, setting: Any, fold: int) -> Fitted:
    """Fits a setting by itself, as scikit-learn's search does."""
    train, test = search.splits[fold]
    estimator: Any = clone(setting)
    with warnings.catch_warnings(), _as_training_error():
        # A model that has left the numbers would be scored.
        warnings.filterwarnings("error", LEFT_THE_NUMBERS, InterruptedFitWarning)
        result = fit_and_score(
            estimator, search.X, search.y, scorer=search.scorer, train=train, test=test, verbose=0,
            parameters=None, fit_params=search.fit_params, score_params=search.score_params,
            return_train_score=False, return_times=True, error_score=search.error_score, return_estimator=True,
        )  # fmt: skip
    model = result.pop("estimator")
    if result["fit_error"] is not None:
        return Fitted(result, np.nan, np.zeros(0), None)
    X_test, _ = safe_split(model, search.X, search.y, test, train)
    predicted = np.asarray(model.predict_proba(X_test) if is_classifier(model) else model.predict(X_test), np.float64)
    return Fitted(result, getattr(model, "n_estimators_", np.nan), np.zeros(0), predicted.reshape(len(test), -1))
