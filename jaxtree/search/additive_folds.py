"""Search over additive models: the rows of every fold are read once, and settings are fitted side by side."""

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, ClassVar

from sklearn.base import clone

from jaxtree.dataset.dataset import Dataset
from jaxtree.devices import carried, num_cores
from jaxtree.estimators.additive.base import AdditiveTask, BaseAdditive
from jaxtree.search.alone import PlainSearchCV
from jaxtree.search.evaluation import Results, Search, can_share_growth, fit_alone, unless_it_fails
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer


class AdditiveSearchCV(PlainSearchCV):
    """A search whose members, a setting on a fold each, share codes and are fitted in a thread each.

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
        """Fills in the results of every setting and fold, side by side."""
        if not can_share_growth(search):
            return super()._score_all(search, results, on_scored)
        encodings = Encodings()
        with ThreadPoolExecutor(num_cores()) as pool:
            # Fold by fold, so that few codes are wanted at a time.
            members = [(number, fold) for fold in range(len(search.splits)) for number in range(len(results))]
            score = carried(lambda number, fold: _score_setting(search, number, fold, encodings))
            futures = {pool.submit(score, *member): member for member in members}
            try:
                for future in as_completed(futures):
                    number, fold = futures[future]
                    results[number][fold] = future.result()
                    on_scored(1)
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                raise
        return None


class Encodings:
    """The codes of folds by kind of encoder, each made by the first thread that asks for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[tuple[int, str], threading.Lock] = {}
        self._known: dict[tuple[int, str], Dataset] = {}

    def read(self, fold: int, kind: str, read: Callable[[Dataset | None], AdditiveTask]) -> AdditiveTask:
        """Returns what a function reads, given the codes of these rows if they are known; those that it makes are kept.

        Args:
            fold: The fold.
            kind: The kind of encoder.
            read: Reads the rows of a fit; codes of all rows that it was given are kept.
        """
        with self._lock:
            own = self._locks.setdefault((fold, kind), threading.Lock())
        with own:
            task = read(self._known.get((fold, kind)))
            if task.data.has_weight is None:
                self._known.setdefault((fold, kind), task.data)
        return task


def _score_setting(search: Search, candidate: int, fold: int, encodings: Encodings) -> dict[str, Any]:
    """Returns the result of a setting on a fold, in scikit-learn's form."""
    scored = unless_it_fails(_fit_and_score, search, candidate, fold, encodings)
    return fit_alone(search, candidate, fold) if scored is None else scored


def _fit_and_score(search: Search, candidate: int, fold: int, encodings: Encodings) -> dict[str, Any]:
    began = time.perf_counter()
    train, _ = search.splits[fold]
    blank: Any = clone(search.estimator)
    setting = blank.set_params(**search.candidates[candidate])
    X, y = safe_split(setting, search.X, search.y, train)
    params = check_method_params(search.X, params=search.fit_params, indices=train)
    read = functools.partial(setting.read_task, X, y, **params)
    task = encodings.read(fold, setting.kind_of_codes(X), lambda known: read(same_as=known))
    setting.fit_task(task, num_threads=1)
    fitted, scores = time.perf_counter(), {}
    for part, rows in zip(("train", "test"), search.splits[fold], strict=True):
        if part == "test" or search.return_train_score:
            X, y = safe_split(setting, search.X, search.y, rows, train)
            params = check_method_params(search.X, params=search.score_params, indices=rows)
            scores[f"{part}_scores"] = score_by_scorer(setting, X, y, search.scorer, params, search.error_score)
    times = {"fit_time": fitted - began, "score_time": time.perf_counter() - fitted}
    return {"fit_error": None, **times, **scores}
