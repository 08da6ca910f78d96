"""Scores of one estimator on many folds and sizes of its table."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import check_scoring
from sklearn.utils import indexable

from jaxtree.dataset.arguments import plain_target
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import generator_of, progress_of
from jaxtree.estimators.common.extras import extras_of_scores
from jaxtree.estimators.common.folds import folds_of
from jaxtree.estimators.common.jobs import fit_parts
from jaxtree.estimators.common.scorers import of_all_classes, scorers_of
from jaxtree.metrics.scorers import apart
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    fit_params: Mapping[str, Any] | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Returns the scores of every fold, as `sklearn.model_selection.cross_validate` does, with one growth for all.

    So a repeated cross-validation (`cv=RepeatedKFold(...)`) of a tree costs little more than a single one.

    Args:
        estimator: An estimator of jaxtree; others of scikit-learn's conventions are fitted one after another.
        X: A table.
        y: Its target.
        cv: The number of folds, or a splitter of scikit-learn, or pairs of training and test rows. A number keeps the
            rows of a `group` among the arguments of `fit` together.
        scoring: A name of scikit-learn's or of `jaxtree.metrics.scorer`, a scorer, or several in a list or dict; the
            estimator's `score` if None.
        groups: The group of every row, for a splitter that keeps groups together, such as `GroupKFold`.
        fit_params: Further arguments of `fit`, such as `sample_weight`, split like the rows.
        verbose: 1 for a bar of progress; n for a line every n fits.

    Returns:
        Arrays with a value a fold: `test_score` and `train_score`, or `test_NAME` and `train_NAME` of several scorers,
        `fit_time` in seconds (of all folds together, shared out), `score_time`; `estimator` and `indices` as lists.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import RepeatedStratifiedKFold
        >>> from jaxtree import DecisionTreeClassifier
        >>> folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
        >>> scores = cross_validate(DecisionTreeClassifier(max_depth=3), *load_iris(return_X_y=True), cv=folds)
        >>> len(scores["test_score"]), round(float(scores["test_score"].mean()), 2)
        (20, 0.94)
    """
    X, y, groups = indexable(X, plain_target(y), groups)
    fit_params = {name: value for name, value in (fit_params or {}).items() if value is not None}
    extras = extras_of_scores(estimator, scoring, fit_params)
    splits = folds_of(estimator, X, y, cv, {"groups": groups}, fit_params)
    began = time.perf_counter()
    with progress_of(verbose, len(splits), "fitting folds", "fits") as report:
        fitted = fit_parts(estimator, X, y, [train for train, _ in splits], fit_params, report)
    seconds = (time.perf_counter() - began) / len(splits)
    results: dict[str, Any] = {"fit_time": np.full(len(splits), seconds), "estimator": fitted}
    results["indices"] = {"train": [train for train, _ in splits], "test": [test for _, test in splits]}
    began = time.perf_counter()
    for part, of_part in (("test", 1), ("train", 0)):
        rows = [split[of_part] for split in splits]
        scores = [_scores(own, X, y, part, scoring, extras) for own, part in zip(fitted, rows, strict=True)]
        for name in scores[0]:
            results[f"{part}_{name}"] = np.array([own[name] for own in scores])
    results["score_time"] = np.full(len(splits), (time.perf_counter() - began) / len(splits))
    return results


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    train_sizes: Sequence[float] = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = 5,
    scoring: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
    **params: Any,
) -> tuple[Int[np.ndarray, " size"], Float[np.ndarray, "size fold"], Float[np.ndarray, "size fold"]]:
    """Returns scores by the number of training rows, as scikit-learn's `learning_curve` with `shuffle` does.

    The trees of all sizes and folds are one growth.

    Args:
        estimator: An estimator; see `cross_validate`.
        X: A table.
        y: Its target.
        train_sizes: Numbers of training rows, or fractions of those of the smallest fold if all are at most 1.
        cv: The number of folds, or a splitter, or pairs of training and test rows.
        scoring: A name or a scorer; the estimator's `score` if None.
        random_state: The seed of the order in which training rows are taken.
        verbose: 1 for a bar of progress; n for a line every n fits.
        **params: Further arguments of `fit`, such as `sample_weight`, split like the rows; and `groups` for a splitter
            that keeps groups together, such as `GroupKFold`.

    Returns:
        The numbers of rows, the scores on these training rows, and those on the test rows of every fold.

    Raises:
        InvalidInputError: A size is not above 0, or above the number of rows of a fold.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> sizes, train, test = learning_curve(DecisionTreeClassifier(max_depth=3), X, y, train_sizes=[50, 400])
        >>> sizes.tolist(), bool(test[1].mean() > test[0].mean())
        ([50, 400], True)
    """
    X, y, groups = indexable(X, plain_target(y), params.get("groups"))
    fit_params = {name: value for name, value in params.items() if value is not None and name != "groups"}
    extras = extras_of_scores(estimator, scoring, fit_params)
    splits = folds_of(estimator, X, y, cv, {"groups": groups}, fit_params)
    sizes = _numbers_of_rows(np.asarray(train_sizes), min(len(train) for train, _ in splits))
    generator = generator_of(random_state)
    shuffled = [(generator.permutation(train), test) for train, test in splits]
    parts = [(train[:size], test) for size in sizes for train, test in shuffled]
    with progress_of(verbose, len(parts), "fitting parts", "fits") as report:
        fitted = fit_parts(estimator, X, y, [train for train, _ in parts], fit_params, report)
    train_scores, test_scores = (
        np.array(
            [_scores(own, X, y, rows[at], scoring, extras)["score"] for own, rows in zip(fitted, parts, strict=True)]
        )
        for at in (0, 1)
    )
    return sizes, train_scores.reshape(len(sizes), -1), test_scores.reshape(len(sizes), -1)


def _numbers_of_rows(sizes: np.ndarray, most: int) -> Int[np.ndarray, " size"]:
    """The different numbers of rows, ascending."""
    rows = np.floor(sizes * most).astype(int) if sizes.dtype.kind == "f" and sizes.max(initial=0) <= 1 else sizes
    if rows.size == 0 or rows.min() < 1 or rows.max() > most:
        raise InvalidInputError(
            f"train_sizes must be fractions above 0, at most 1, or numbers of rows from 1 to {most}, "
            f"got {sizes.tolist()}"
        )
    return np.unique(rows.astype(int))


def _scores(fitted: Any, X: Any, y: Any, rows: np.ndarray, scoring: Any, extras: Mapping[str, Any]) -> dict[str, float]:
    """The scores of a fitted estimator on some rows, by name; "score" if there is one alone."""
    own_X, own_y = safe_split(fitted, X, y, rows)
    params = check_method_params(X, params=extras, indices=rows)
    scorers = apart(of_all_classes(check_scoring(fitted, scorers_of(scoring))))
    scores: Any = score_by_scorer(fitted, own_X, own_y, scorers, params, "raise")
    return scores if isinstance(scores, dict) else {"score": scores}
