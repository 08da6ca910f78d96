"""Search over additive models: the rows of every fold are read once, and what settings have in common is fitted once.

Settings that differ in when boosting ends, or in their pairs, are a *group*: they share the steps of single features,
which the endings cut at several places. Groups of a fold share codes, bags, and sums over pairs of bins.
"""

import functools
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, as_completed
from typing import Any, ClassVar, NamedTuple

from jaxtree.additive.bags import SharedRows
from jaxtree.additive.fitting import fit_alike
from jaxtree.blocks import Threads
from jaxtree.boosting.ending import Deadline
from jaxtree.cores import num_cores, with_share_of_cores
from jaxtree.dataset.dataset import Dataset
from jaxtree.devices import carried
from jaxtree.errors import JaxtreeError
from jaxtree.estimators.additive.base import AdditiveTask, BaseAdditive
from jaxtree.estimators.common.conventions import Role, names_of
from jaxtree.search.alone import PlainSearchCV
from jaxtree.search.evaluation import Results, Search, can_share_growth, fit_alone
from jaxtree.search.settings import configured, identity
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer


class FittedSetting(NamedTuple):
    """A setting that is fitted on a fold.

    Attributes:
        number: Its number.
        fold: The fold.
        made: What was made of the fitted estimator.
        seconds: How long the fit took: its part of the time of a group.
    """

    number: int
    fold: int
    made: Any
    seconds: float


class AdditiveSearchCV(PlainSearchCV):
    """A search whose members, a setting on a fold each, share what they have in common.

    Every member is what its fit by itself would be, bit for bit.

    Args:
        estimator: An additive model.
        param_grid: A dict of lists and distributions, or a list of such.
        options: Further arguments, those of `SearchCV`.
    """

    _estimators = (BaseAdditive,)
    _parameter_constraints: ClassVar[dict] = {
        **PlainSearchCV._parameter_constraints,
        "estimator": [*_estimators],
    }

    def _score_all(self, search: Search, results: Results, on_scored: Callable[[int], object]) -> None:
        """Fills in the results of every setting and fold, group by group."""
        if not can_share_growth(search):
            return super()._score_all(search, results, on_scored)

        def keep(fitted: FittedSetting) -> None:
            results[fitted.number][fitted.fold] = {"fit_error": None, "fit_time": fitted.seconds, **fitted.made}
            on_scored(1)

        def fit_by_itself(number: int, fold: int) -> None:
            results[number][fold] = fit_alone(search, number, fold)
            on_scored(1)

        fit_on_folds(search, functools.partial(_scores, search), keep, fit_by_itself)
        return None


def fit_on_folds(
    search: Search,
    use: Callable[[Any, int], Any],
    keep: Callable[[FittedSetting], None],
    fit_by_itself: Callable[[int, int], None],
    deadline: Deadline | None = None,
) -> None:
    """Fits every setting on every fold, groups side by side in threads.

    Args:
        search: The task.
        use: Called with a fitted estimator and a fold; once for settings whose models are equal.
        keep: Called with every setting that was fitted.
        fit_by_itself: Called with the number of a setting that has failed among others, and with the fold.
        deadline: When fits end that are not finished; they are left out.
    """
    settings = [configured(search.estimator, own) for own in search.candidates]
    groups = _grouped(settings)
    stops = [threading.Event() for _ in groups]
    num_threads = num_cores()
    with Threads(num_threads) as pool:
        futures: dict[Future[list[FittedSetting]], tuple[int, int]] = {}
        # Fold by fold, so that the rows of few are held at a time.
        for fold in range(len(search.splits)):
            rows = _RowsOfFold(search, fold)
            for place, group in enumerate(groups):
                own = {number: configured(settings[number], {}) for number in group}
                work = with_share_of_cores(carried(_fit_group), num_threads)
                futures[pool.submit(work, rows, own, use, stops[place])] = place, fold
            # Those that wait hold them.
            del rows

        def end() -> None:
            for future, (place, _) in list(futures.items()):
                stops[place].set()
                future.cancel()

        def take(future: Future[list[FittedSetting]]) -> None:
            place, fold = futures.pop(future)
            if future.cancelled() or stops[place].is_set():
                return
            fitted = {own.number: own for own in future.result()}
            for number in groups[place]:
                if number in fitted:
                    keep(fitted[number])
                else:
                    fit_by_itself(number, fold)

        try:
            try:
                for future in as_completed(list(futures), None if deadline is None else max(deadline.left(), 0.0)):
                    take(future)
            except TimeoutError:
                end()
                for future in as_completed(list(futures)):
                    take(future)
        except BaseException:
            end()
            raise


class _RowsOfFold:
    """The training rows of a fold, which the first thread that asks for them reads, and what fits on them share."""

    def __init__(self, search: Search, fold: int):
        self.search, self.fold = search, fold
        self._lock = threading.Lock()
        self._codes: dict[str, Dataset] = {}
        self._read: dict[Hashable, tuple[AdditiveTask, SharedRows]] = {}

    def read(self, setting: Any) -> tuple[AdditiveTask, SharedRows]:
        """Returns the rows as a setting reads them."""
        kind = _kind_of_rows(setting, self.search.X)
        with self._lock:
            if kind not in self._read:
                task = self._read_rows(setting)
                self._read[kind] = task, SharedRows(setting.fit_data(task), keeps_grams=True)
            return self._read[kind]

    def _read_rows(self, setting: Any) -> AdditiveTask:
        search, (train, _) = self.search, self.search.splits[self.fold]
        X, y = safe_split(setting, search.X, search.y, train)
        params = check_method_params(search.X, params=search.fit_params, indices=train)
        kind = setting.kind_of_codes(search.X)
        task = setting.read_task(X, y, **params, same_as=self._codes.get(kind))
        if task.data.has_weight is None:
            self._codes.setdefault(kind, task.data)
        return task


def _fit_group(
    rows: _RowsOfFold, group: dict[int, Any], use: Callable[[Any, int], Any], stop: threading.Event
) -> list[FittedSetting]:
    """Fits the settings of a group on a fold; those that fail, and all once it is to stop, are left out."""
    began = time.perf_counter()
    try:
        task, shared = rows.read(next(iter(group.values())))
        configs = {number: config for number, setting in group.items() if (config := _config(setting, task))}
        fits = fit_alike(shared, list(configs.values()), stop=stop, num_threads=1) if configs else []
        seconds, made = (time.perf_counter() - began) / max(len(fits), 1), {}
        for number, fitted in zip(configs, fits, strict=True):
            if id(fitted.model) not in made:
                group[number].set_model(task, fitted)
                made[id(fitted.model)] = use(group[number], rows.fold)
    except (Exception, KeyboardInterrupt):
        # Each fails by itself, as scikit-learn's search tells it. It is interrupted where it is to stop.
        return []
    pairs = zip(configs, fits, strict=True)
    return [FittedSetting(number, rows.fold, made[id(fitted.model)], seconds) for number, fitted in pairs]


def _config(setting: Any, task: AdditiveTask) -> Any:
    """The parameters of a fit; None where they are not allowed."""
    try:
        setting.check_parameters()
        return setting.config_of(task)
    except JaxtreeError:
        return None


def _scores(search: Search, setting: Any, fold: int) -> dict[str, Any]:
    """The scores of a fitted setting on the parts of a fold, and how long they took."""
    began, (train, test), scores = time.perf_counter(), search.splits[fold], {}
    for part, rows in (("train", train), ("test", test)):
        if part == "test" or search.return_train_score:
            X, y = safe_split(setting, search.X, search.y, rows, train)
            params = check_method_params(search.X, params=search.score_params, indices=rows)
            scores[f"{part}_scores"] = score_by_scorer(setting, X, y, search.scorer, params, search.error_score)
    return {"score_time": time.perf_counter() - began, **scores}


def _kind_of_group(setting: Any) -> Hashable:
    """The key of settings whose single features are boosted alike."""
    differ = names_of(setting, Role.ENDS, Role.PAIRS, Role.REPORTS)
    own = sorted(setting.get_params(deep=False).items())
    return tuple((name, identity(value)) for name, value in own if name not in differ)


def _kind_of_rows(setting: Any, X: Any) -> Hashable:
    """The key of settings that read rows alike, and divide them into the same bags."""
    own = sorted(names_of(setting, Role.ROWS, Role.SEED))
    return setting.kind_of_codes(X), tuple(identity(getattr(setting, name)) for name in own)


def _grouped(settings: Sequence[Any]) -> list[list[int]]:
    """The numbers of the settings of every group."""
    groups: dict[Hashable, list[int]] = {}
    for number, setting in enumerate(settings):
        groups.setdefault(_kind_of_group(setting), []).append(number)
    return list(groups.values())
