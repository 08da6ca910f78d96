"""The problem of a search, and the measuring of one model on a fold of it."""

import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier

from jaxtree.boosting.batch import Checkpoint
from jaxtree.errors import JaxtreeError
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.common.conventions import configured, overrides
from jaxtree.estimators.common.jobs import FittedJob, TablePart
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer
from jaxtree.table.weights import rows_of_weight

Parameters = dict[str, Any]
"""The parameters of a setting, by name."""


class Search(NamedTuple):
    """The problem of a search.

    Attributes:
        estimator: The estimator.
        X: The table.
        y: The target.
        splits: The rows of the training and of the test part of every fold.
        scorer: A scorer of scikit-learn, one or several; None where a yardstick scores predictions.
        fit_params: Further arguments of `fit`, split like the rows.
        score_params: Further arguments of the scorer.
        error_score: The score where a fit fails, or "raise".
        return_train_score: Whether the training part is scored, too.
        mesh: The devices that boosted models of one program are divided among; None for one.
        yardstick: The `jaxtree.search.out_of_fold.Yardstick` of a tuning, which scores out-of-fold predictions.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]]
    scorer: Any = None
    fit_params: Mapping[str, Any] = {}
    score_params: Mapping[str, Any] = {}
    error_score: Any = np.nan
    return_train_score: bool = False
    mesh: Mesh | None = None
    yardstick: Any = None

    @property
    def makes_rounds(self) -> bool:
        """Whether boosted trees of all settings make their rounds side by side, in programs that score them."""
        return makes_rounds(self.estimator, self.return_train_score)

    @property
    def keeps_predictions(self) -> bool:
        """Whether the predictions of the test part are kept of every model."""
        return self.makes_rounds or self.yardstick is not None

    @property
    def classes(self) -> Shaped[np.ndarray, " class"] | None:
        """The classes of the rows of weight; None for numbers."""
        if not is_classifier(self.estimator):
            return None
        y, there = np.asarray(self.y), rows_of_weight(self.fit_params.get("sample_weight"), self.y)
        return np.unique(y if there is None else y[there])


def makes_rounds(estimator: Any, return_train_score: bool) -> bool:
    """Returns whether a search over an estimator fits boosted trees in programs that score their test parts."""
    return isinstance(estimator, BaseBoosting) and not return_train_score


class SearchFold(TablePart):
    """The training rows of a fold of a search.

    Attributes:
        number: The number of the fold.
    """

    def __init__(self, search: Search, number: int):
        super().__init__(search.X, search.y, search.fit_params, search.splits[number][0])
        self.number = number


class Fitted(NamedTuple):
    """The result of a setting on a fold.

    Attributes:
        result: Scores and times, in the form of scikit-learn's `fit_and_score`.
        num_rounds: The number of rounds of the model; NaN where it is not known.
        curve: The loss of the rows of the test part after every round; empty where a program has not measured it.
        predicted: Probabilities or predictions of these rows; None where the fit failed, or nobody asks for them.
        was_cut: Whether it ended for lack of time.
        paused: The state of a model that may go on.
        error: The reason why the fit failed.
    """

    result: dict[str, Any]
    num_rounds: float = np.nan
    curve: Float[np.ndarray, " round"] = np.zeros(0)
    predicted: Float[np.ndarray, "row column"] | None = None
    was_cut: bool = False
    paused: Checkpoint | None = None
    error: Exception | None = None


def measure(search: Search, job: FittedJob, fold: int) -> Fitted:
    """Returns the result of a model that was fitted by itself on a fold, or of a fit that failed."""
    if job.error is not None:
        return failed(search, job.error, job.seconds)
    began, model, (train, test) = time.perf_counter(), job.made, search.splits[fold]
    scores = {}
    for part, rows in (("train", train), ("test", test)):
        if search.scorer is not None and (part == "test" or search.return_train_score):
            X, y = safe_split(model, search.X, search.y, rows, train)
            params = check_method_params(search.X, params=search.score_params, indices=rows)
            scores[f"{part}_scores"] = score_by_scorer(model, X, y, search.scorer, params, search.error_score)
    times = {"fit_error": None, "fit_time": job.seconds, "score_time": time.perf_counter() - began}
    if not search.keeps_predictions:
        return Fitted(times | scores)
    X, _ = safe_split(model, search.X, search.y, test, train)
    is_boosted = hasattr(model, "n_estimators_")
    num_rounds = model.n_estimators_ if is_boosted else model.num_rounds_.sum(axis=1).mean()
    return Fitted(times | scores, float(num_rounds), predicted=predictions(model, X))


def failed(search: Search, error: Exception, seconds: float) -> Fitted:
    """Returns the result of a fit that failed after some seconds."""
    names = getattr(search.scorer, "_scorers", None)
    score = search.error_score if names is None else dict.fromkeys(names, search.error_score)
    parts = ("train", "test") if search.return_train_score else ("test",)
    scores = {f"{part}_scores": score if names is None else dict(score) for part in parts}
    times = {"fit_time": seconds, "score_time": 0.0}
    return Fitted({"fit_error": "".join(traceback.format_exception(error)), **times, **scores}, error=error)


def only_scored(search: Search, setting: Any) -> Any:
    """Returns a setting that makes no out-of-bag scores, unless a scorer gets the estimator itself and may read them.

    One that is not allowed stays as it is, and fails.
    """
    if not getattr(setting, "oob_score", False) or overrides(type(setting)):
        return setting
    scorers = getattr(search.scorer, "_scorers", None) or {"score": search.scorer}
    if not all(hasattr(own, "get_metadata_routing") for own in scorers.values()):  # as scikit-learn's have
        return setting
    try:
        setting.check_parameters()
    except JaxtreeError:
        return setting
    return configured(setting, {"oob_score": False})


def predictions(model: Any, X: Any) -> Float[np.ndarray, "row column"]:
    """Returns the probabilities of classes, or the numbers, that a model predicts."""
    predicted = np.asarray(model.predict_proba(X) if is_classifier(model) else model.predict(X), np.float64)
    return predicted.reshape(len(predicted), -1)
