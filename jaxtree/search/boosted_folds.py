"""Fits of many settings of boosted trees on the folds of a search, those of a fold that share a program in one."""

import contextlib
import copy
import functools
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.base import clone, is_classifier

from jaxtree.boosting.data import BoostData
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Deadline, Stop
from jaxtree.boosting.many import BoostedMember, Bounds, Member, boost_many
from jaxtree.boosting.many_rounds import OwnRows
from jaxtree.boosting.paused import Paused
from jaxtree.errors import InterruptedFitWarning, TrainingError
from jaxtree.estimators.boosting.training import BoostingTask, encode
from jaxtree.estimators.common.fixed import FixedPredictions
from jaxtree.search.evaluation import Search
from jaxtree.search.quick_scores import ScoresOfRows
from jaxtree.search.search_progress import SearchProgress
from jaxtree.search.settings import Parameters, configured, identity
from jaxtree.sklearn_compat import check_method_params, fit_and_score, safe_split

NUMBERS = (
    *("n_estimators", "learning_rate", "max_depth", "max_leaf_nodes", "min_samples_leaf", "min_child_weight"),
    *("reg_lambda", "reg_alpha", "gamma", "max_delta_step", "subsample", "top_rate", "other_rate"),
    *("colsample_bytree", "colsample_bylevel", "colsample_bynode", "n_iter_no_change", "tol", "class_weight"),
)
"""Parameters in which models of one program may differ, and so may seeds where no rows are held out by them."""

LEFT_THE_NUMBERS = ".*derivatives after round"
"""The warning of a fit that has left the numbers, and keeps the rounds before."""

TEST = "test"
"""The name of the rows of a fold that no tree is grown on."""


class Fitted(NamedTuple):
    """What a search keeps of a setting on a fold.

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
"""What is called with the number of the setting, that of the fold, and the fit."""


def group_by_program(estimator: Any, candidates: Sequence[Parameters]) -> list[list[int]]:
    """Returns the numbers of the candidates that share a program on every fold; one that shares none is alone.

    Those that hold rows out to stop early have these in common, and so a seed.

    Example:
        >>> from jaxtree import GradientBoostingClassifier
        >>> settings = [{"max_depth": 3}, {"max_bins": 63}, {"max_depth": 5, "subsample": 0.5}, {"drop_rate": 0.1}]
        >>> group_by_program(GradientBoostingClassifier(), settings)
        [[0, 2], [1], [3]]
    """
    groups: dict[Hashable, list[int]] = {}
    for number, parameters in enumerate(candidates):
        setting = configured(estimator, parameters)
        numbers = {*NUMBERS} if setting.early_stopping else {*NUMBERS, "random_state"}
        fixed = {name: value for name, value in vars(setting).items() if name not in numbers}
        kind = tuple((name, identity(value)) for name, value in sorted(fixed.items()))
        groups.setdefault(number if _is_alone(setting) else kind, []).append(number)
    return list(groups.values())


def fit_folds(
    search: Search, leg: Leg, on_fitted: OnFitted, progress: SearchProgress, deadline: Deadline | None = None
) -> None:
    """Fits and scores every candidate on every fold, or goes on with those that have paused.

    Args:
        search: The task.
        leg: The part of the rounds that is made.
        on_fitted: Called with every fit when it is done or pauses.
        progress: Told which program runs, and the rounds that are made.
        deadline: When all is to be done. The folds share the time; models that share a program end with the rounds
            that they have, and those that have not begun by then are left out.
    """
    groups = group_by_program(search.estimator, search.candidates)
    for place, (group, words) in enumerate(zip(groups, _in_words(search, groups), strict=True)):
        progress.opened(place + 1, len(groups), words)
        for fold in range(len(search.splits)):
            parts_left = (len(groups) - place) * len(search.splits) - fold
            of_fold = _Fold(search, fold, leg, deadline and deadline.of_next(parts_left))
            settings = {
                number: configured(search.estimator, search.candidates[number])
                for number in group
                if leg.goes(number, fold)
            }
            left = set(settings)

            def keep(candidate: int, fitted: Fitted, fold: int = fold, left: set[int] = left) -> None:
                left.discard(candidate)
                on_fitted(candidate, fold, fitted)

            if left and _shares_program(search, group):
                # Where this fails, those that are left fail by themselves, or do not.
                with contextlib.suppress(ValueError, ArithmeticError, TypeError):
                    left.intersection_update(_fit_together(of_fold, settings, keep, progress))
            for candidate in sorted(left):
                on_fitted(candidate, fold, fit_alone(search, candidate, fold))


def _in_words(search: Search, groups: Sequence[Sequence[int]]) -> list[str]:
    """What the candidates of each group have in common that those of other groups have not."""
    names = sorted({name for own in search.candidates for name in own if name not in NUMBERS})
    settings: list[Any] = [configured(search.estimator, own).get_params() for own in search.candidates]
    values = {name: [identity(own[name]) for own in settings] for name in names}
    differ = [name for name in names if len(set(values[name])) > 1]
    words = []
    for group in groups:
        common = [name for name in differ if len({values[name][number] for number in group}) == 1]
        words.append(", ".join(f"{name}={settings[group[0]][name]!r}" for name in common))
    return words


def _shares_program(search: Search, group: Sequence[int]) -> bool:
    return not _is_alone(configured(search.estimator, search.candidates[group[0]]))


def _is_alone(setting: Any) -> bool:
    """Whether a setting is fitted by itself: one program drops no trees, and a generator begins anew for each fit."""
    is_seed = setting.random_state is None or isinstance(setting.random_state, int | np.integer)
    return setting.drop_rate > 0 or setting.warm_start or not is_seed


class _Fold(NamedTuple):
    """A fold of a search, the part of the rounds that is made on it, and when it ends."""

    search: Search
    number: int
    leg: Leg
    deadline: Deadline | None


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
    model = copy.copy(setting)
    X, y = safe_split(model, search.X, search.y, train)
    X_test, y_test = safe_split(model, search.X, search.y, test, train)
    params = check_method_params(search.X, params=search.fit_params, indices=train)
    asked = {*search.score_params, *getattr(getattr(model, "loss", None), "needs", ())} - {"sample_weight"}
    extras = {name: values for name, values in search.fit_params.items() if name in asked}
    extras = check_method_params(search.X, params=extras, indices=test)
    task = model.read_task(X, y, beside={TEST: (X_test, y_test, extras)}, **params)
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
    of: _Fold, settings: dict[int, Any], keep: Callable[[int, Fitted], None], progress: SearchProgress
) -> set[int]:
    """Fits settings of one program on a fold, and returns the numbers of those that cannot be fitted so."""
    search, fold, leg, deadline = of
    began = time.perf_counter()
    test = search.splits[fold][1]
    (task, data, num_bins), own_rows = _open_all(of, settings)
    X_test, y_test = safe_split(search.estimator, search.X, search.y, test, search.splits[fold][0])
    apart = set(settings) - set(own_rows)
    settings = {number: own for number, own in settings.items() if number in own_rows}
    configs = {number: own.config(task.data.num_rows, num_bins) for number, own in settings.items()}
    members = [
        leg.member(
            Member(own.learner.limits, own.shrinkage, own.num_rounds, settings[number].seed(), own=own_rows[number]),
            *(number, fold),
        )
        for number, own in configs.items()
    ]
    learners = [own.learner for own in configs.values()]
    learner = learners[0]._replace(
        sizes=learners[0].sizes._replace(capacity=max(own.sizes.capacity for own in learners)),
        counts_rows=any(own.counts_rows for own in learners),
    )
    classes = task.data.outputs.classes[0] if task.data.outputs.classes else None
    score_params = check_method_params(search.X, params=search.score_params, indices=test)
    scores = ScoresOfRows(search, classes, X_test, y_test, score_params)
    numbers = list(settings)

    def on_member(place: int, member: BoostedMember) -> Callable[[], None]:
        nonlocal began
        if member.stop == Stop.NOT_FINITE:
            return functools.partial(fail, numbers[place], member)
        fit_time, began = time.perf_counter() - began, time.perf_counter()
        # A program of JAX may make the predictions.
        own_scores = member.scores[-1][:, : len(test)].T.astype(np.float64)
        fixed = task.predict(own_scores, task.held[TEST].fields.get("offset"))
        return functools.partial(score, numbers[place], member, fixed, fit_time)

    def fail(number: int, member: BoostedMember) -> None:
        text = f"{task.loss}: derivatives after round {len(member.losses)} are {NO_NUMBERS}"
        keep(number, _failed(search, TrainingError(text), member.losses[:, -1]))

    def score(number: int, member: BoostedMember, fixed: FixedPredictions, fit_time: float) -> None:
        fitted = time.perf_counter()
        scored = scores.score(fixed)
        score_time = time.perf_counter() - fitted
        result = {"fit_error": None, "fit_time": fit_time, "score_time": score_time, "test_scores": scored}
        rounds = member.best_round if settings[number].early_stopping else len(member.losses)
        columns = np.asarray(fixed.predictions, np.float64).reshape(len(test), -1)
        if member.paused is not None:
            leg.pausing[number, fold] = member.paused
        was_cut = member.stop == Stop.NO_TIME
        keep(number, Fitted(result, rounds, member.losses[:, -1], columns, was_cut))

    bounds = Bounds(deadline=deadline, mesh=search.mesh)
    boost_many(data, task.loss, learner, members, bounds=bounds, on_member=on_member, on_rounds=progress.made)
    return apart


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


def fit_alone(search: Search, candidate: int, fold: int) -> Fitted:
    """Fits a candidate by itself, as scikit-learn's search does."""
    train, test = search.splits[fold]
    estimator: Any = clone(search.estimator)
    with warnings.catch_warnings(), _as_training_error():
        # A model that has left the numbers would be scored.
        warnings.filterwarnings("error", LEFT_THE_NUMBERS, InterruptedFitWarning)
        result = fit_and_score(
            estimator, search.X, search.y, scorer=search.scorer, train=train, test=test, verbose=0,
            parameters=search.candidates[candidate], fit_params=search.fit_params, score_params=search.score_params,
            return_train_score=False, return_times=True, error_score=search.error_score, return_estimator=True,
        )  # fmt: skip
    model = result.pop("estimator")
    if result["fit_error"] is not None:
        return Fitted(result, np.nan, np.zeros(0), None)
    X_test, _ = safe_split(model, search.X, search.y, test, train)
    predicted = np.asarray(model.predict_proba(X_test) if is_classifier(model) else model.predict(X_test), np.float64)
    return Fitted(result, model.n_estimators_, np.zeros(0), predicted.reshape(len(test), -1))
