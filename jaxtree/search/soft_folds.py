"""Search over soft models: settings, folds and restarts that share a program are trained as its runs."""

import copy
import time
import warnings
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, NamedTuple

from sklearn.base import clone

from jaxtree.errors import warn_user
from jaxtree.estimators.common.conventions import Role, names_of
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.tasks import SoftRows, SoftTask
from jaxtree.search.alone import PlainSearchCV
from jaxtree.search.evaluation import Results, Search, can_share_growth, fit_alone, unless_it_fails
from jaxtree.search.settings import configured
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer
from jaxtree.soft.epochs import TrainingConfig
from jaxtree.soft.runs import Trained, train_runs

MOST_FITS = 64
"""The most fits that are begun before they are trained: their first and last states are in memory together."""


class _BegunFit(NamedTuple):
    """A setting on a fold that has begun."""

    setting: int
    fold: int
    estimator: BaseSoft
    task: SoftTask
    seconds: float


class SoftSearchCV(PlainSearchCV):
    """A search whose fits, of a setting on a fold each, are trained together.

    Every fit is what it would be by itself, bit for bit on one kind of device. The rows of a fold are read once for all
    settings that read them alike.

    Args:
        estimator: A soft model.
        param_grid: A dict of lists and distributions, or a list of such.
        options: Further arguments, those of `SearchCV`.
    """

    _estimators = (BaseSoft,)
    _parameter_constraints: ClassVar[dict] = {
        **PlainSearchCV._parameter_constraints,
        "estimator": [*_estimators],
    }

    def _score_all(self, search: Search, results: Results, on_scored: Callable[[int], object]) -> None:
        """Fills in the results of every setting and fold, so many fits at a time, fold by fold."""
        if not can_share_growth(search):
            return super()._score_all(search, results, on_scored)
        fits = [(setting, fold) for fold in range(len(search.splits)) for setting in range(len(results))]
        readings = _Readings(search)
        for at in range(0, len(fits), MOST_FITS):
            begun = {}
            for setting, fold in fits[at : at + MOST_FITS]:
                begun[setting, fold] = unless_it_fails(readings.begin, setting, fold)
            trained = _train(fit for fit in begun.values() if fit is not None)
            for (setting, fold), fit in begun.items():
                own = trained.get((setting, fold))
                result = None if own is None else unless_it_fails(_finish, search, fit, *own)
                results[setting][fold] = fit_alone(search, setting, fold) if result is None else result
                on_scored(1)
        return None


class _Readings:
    """The rows of the fold at hand, by what they are read by."""

    def __init__(self, search: Search):
        self._search = search
        self._fold = -1
        self._known: dict[Hashable, tuple[BaseSoft, SoftRows]] = {}

    def begin(self, setting: int, fold: int) -> _BegunFit:
        """Begins the fit of a setting on a fold."""
        began = time.perf_counter()
        if fold != self._fold:
            self._fold = fold
            self._known.clear()
        search = self._search
        blank: Any = clone(search.estimator)
        own = blank.set_params(**search.candidates[setting])
        own.check_parameters()
        of_training = names_of(own, Role.TRAINS, Role.REPORTS)
        kind = tuple(
            (name, value if isinstance(value, str | int | float | None) else id(value))
            for name, value in own.get_params(deep=False).items()
            if name not in of_training
        )
        if kind not in self._known:
            X, y = safe_split(own, search.X, search.y, search.splits[fold][0])
            params = check_method_params(search.X, params=search.fit_params, indices=search.splits[fold][0])
            reader = copy.copy(own)
            self._known[kind] = reader, reader.read_rows(X, y, **params)
        reader, rows = self._known[kind]
        estimator = configured(reader, {name: getattr(own, name) for name in of_training})
        return _BegunFit(setting, fold, estimator, estimator.begin_fit(rows), time.perf_counter() - began)


def _train(fits: Iterable[_BegunFit]) -> dict[tuple[int, int], tuple[list[Trained], float]]:
    """Trains fits that have begun, all of one program together; returns what each has come to, and its seconds."""
    programs: dict[TrainingConfig, list[_BegunFit]] = {}
    for fit in fits:
        programs.setdefault(fit.task.config, []).append(fit)
    found = {}
    for config, together in programs.items():
        began = time.perf_counter()
        trained, is_interrupted = train_runs([run for fit in together for run in fit.task.runs], config=config)
        if is_interrupted:
            raise KeyboardInterrupt
        seconds, at = (time.perf_counter() - began) / len(together), 0
        for fit in together:
            own = trained[at : at + len(fit.task.runs)]
            at += len(own)
            found[fit.setting, fit.fold] = own, fit.seconds + seconds
    return found


def _finish(search: Search, fit: _BegunFit, trained: list[Trained], seconds: float) -> dict[str, Any]:
    """Returns the result of a fit, in scikit-learn's form."""
    began, scores = time.perf_counter(), {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit.estimator.finish_fit(fit.task, trained)
    for own in caught:
        # As of a lone fit, but for the name of the one of many.
        warn_user(f"{search.candidates[fit.setting]} on fold {fit.fold}: {own.message}", own.category)
    fitted = time.perf_counter()
    train, test = search.splits[fit.fold]
    for part, rows in (("train", train), ("test", test)):
        if part == "test" or search.return_train_score:
            X, y = safe_split(fit.estimator, search.X, search.y, rows, train)
            params = check_method_params(search.X, params=search.score_params, indices=rows)
            scores[f"{part}_scores"] = score_by_scorer(fit.estimator, X, y, search.scorer, params, search.error_score)
    times = {"fit_time": seconds + fitted - began, "score_time": time.perf_counter() - fitted}
    return {"fit_error": None, **times, **scores}
