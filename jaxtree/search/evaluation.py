"""The task of a search, and the results of its jobs."""

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier

from jaxtree.errors import JaxtreeError
from jaxtree.estimators.common.conventions import configured, overrides
from jaxtree.estimators.common.jobs import FittedJob, Job, MakeTogether, TablePart, fit_many
from jaxtree.search.settings import Parameters
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer
from jaxtree.table.weights import rows_of_weight

Results = list[list[dict[str, Any] | None]]
"""A row of every setting, with the result of every fold in the form of scikit-learn's `fit_and_score`, or None."""


class Search(NamedTuple):
    """The task of a search.

    Attributes:
        estimator: The estimator.
        candidates: The parameters of every setting.
        X: The table.
        y: The target.
        splits: The rows of the training and of the test part of every fold.
        scorer: A scorer of scikit-learn, one or several.
        fit_params: Further arguments of `fit`, split like the rows.
        score_params: Further arguments of the scorer.
        error_score: The score where a fit fails, or "raise".
        return_train_score: Whether the training part is scored, too.
        mesh: The devices that boosted models of one program are divided among; None for one.
    """

    estimator: Any
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    splits: Sequence[tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]]
    scorer: Any
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    error_score: Any
    return_train_score: bool
    mesh: Mesh | None = None

    @property
    def classes(self) -> Shaped[np.ndarray, " class"] | None:
        """The classes of the rows of weight; None for numbers."""
        if not is_classifier(self.estimator):
            return None
        y, there = np.asarray(self.y), rows_of_weight(self.fit_params.get("sample_weight"), self.y)
        return np.unique(y if there is None else y[there])


class SearchFold(TablePart):
    """The training rows of a fold of a search.

    Attributes:
        number: The number of the fold.
    """

    def __init__(self, search: Search, number: int):
        super().__init__(search.X, search.y, search.fit_params, search.splits[number][0])
        self.number = number


def evaluate(
    search: Search, results: Results, on_scored: Callable[[int], object], together: MakeTogether | None = None
) -> None:
    """Fills in the results of every candidate and fold, in the form of scikit-learn's `fit_and_score`.

    Args:
        search: The task.
        results: A row for every candidate, with None for every fold.
        on_scored: Called with the number of further results.
        together: The function that makes results of jobs of one kind; if not given, fitted estimators are scored.

    Raises:
        InternalError: Settings could not be fitted together, but each of them alone.
        KeyboardInterrupt: There was an interrupt, which leaves the results that are known by then.
    """
    settings = [_only_scored(search, configured(search.estimator, parameters)) for parameters in search.candidates]
    folds = [SearchFold(search, number) for number in range(len(search.splits))]
    jobs = [Job(setting, fold) for setting in settings for fold in folds]
    for fitted in fit_many(jobs, keeps_errors=search.error_score != "raise", together=together):
        candidate, fold = divmod(fitted.number, len(folds))
        is_scored = isinstance(fitted.made, dict)
        results[candidate][fold] = fitted.made if is_scored else result_of(search, fitted, fold)
        on_scored(1)


def _only_scored(search: Search, setting: Any) -> Any:
    """Returns a setting that makes no out-of-bag scores, unless a scorer gets the estimator itself and may read them.

    One that is not allowed stays as it is, and fails.
    """
    scorers = getattr(search.scorer, "_scorers", None) or {"score": search.scorer}
    takes_predictions = all(hasattr(own, "get_metadata_routing") for own in scorers.values())  # as scikit-learn's have
    if not takes_predictions or not getattr(setting, "oob_score", False) or overrides(type(setting)):
        return setting
    try:
        setting.check_parameters()
    except JaxtreeError:
        return setting
    return configured(setting, {"oob_score": False})


def result_of(search: Search, fitted: FittedJob, fold: int) -> dict[str, Any]:
    """Returns the result of a fitted estimator, or of a fit that failed."""
    began = time.perf_counter()
    if fitted.error is None:
        scores = scores_of_parts(search, fitted.made, fold)
        times = {"fit_time": fitted.seconds, "score_time": time.perf_counter() - began}
        return {"fit_error": None, **times, **scores}
    names = getattr(search.scorer, "_scorers", None)
    parts = ("train", "test") if search.return_train_score else ("test",)
    failed = {
        f"{part}_scores": search.error_score if names is None else dict.fromkeys(names, search.error_score)
        for part in parts
    }
    error = "".join(traceback.format_exception(fitted.error))
    return {"fit_error": error, "fit_time": fitted.seconds, "score_time": 0.0, **failed}


def scores_of_parts(search: Search, estimator: Any, number: int) -> dict[str, Any]:
    """Returns the scores of a fitted estimator on the parts of a fold, by the names that they have in a result."""
    splits, scores = search.splits[number], {}
    for part, rows in zip(("train", "test"), splits, strict=True):
        if part == "test" or search.return_train_score:
            X, y = safe_split(estimator, search.X, search.y, rows, splits[0])
            params = check_method_params(search.X, params=search.score_params, indices=rows)
            scores[f"{part}_scores"] = score_by_scorer(estimator, X, y, search.scorer, params, search.error_score)
    return scores


def predictions(model: Any, X: Any) -> Float[np.ndarray, "row column"]:
    """Returns the probabilities of classes, or the numbers, that a model predicts."""
    predicted = np.asarray(model.predict_proba(X) if is_classifier(model) else model.predict(X), np.float64)
    return predicted.reshape(len(predicted), -1)
