"""Bagging of boosted models: the mean of models that are fitted on samples of the rows (Breiman, 1996)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import is_classifier
from sklearn.utils import indexable

from jaxtree.dataset.arguments import plain_target
from jaxtree.dataset.sample import read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.boosting.survival import is_of_times, learn_times
from jaxtree.estimators.common.conventions import generator_of, progress_of
from jaxtree.estimators.common.jobs import fit_parts
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.export.models import best_of_search
from jaxtree.sklearn_compat import safe_split
from jaxtree.table.weights import rows_of_weight


class Bagged(NamedTuple):
    """Models on samples of the rows.

    Attributes:
        model: Their mean, one model of the estimator's class.
        out_of_bag: The predictions of rows by the mean of the models that have not drawn them, or probabilities;
            NaN where all have.
        members: The models.
    """

    model: Any
    out_of_bag: Float[np.ndarray, "row column"]
    members: list[Any]


def bag(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_estimators: int = 10,
    max_samples: float | None = None,
    random_state: Any = 0,
    fit_params: Mapping[str, Any] | None = None,
    verbose: int = 0,
) -> Bagged:
    """Returns the mean of boosted models, each fitted on a sample of the rows of its own, with honest predictions.

    The scores of the models are averaged, not their probabilities: of models that are too sure of their classes, such
    as those of many rounds on few rows, the mean is, too. Stop them early.

    A sample has as many rows as the table, drawn with replacement (Breiman, *Bagging predictors*, 1996), or a share of
    them without (*subagging*: Buhlmann and Yu, *Analyzing bagging*, 2002). Rows of classes are drawn class by class,
    so that every model knows all. A random forest does this with trees.

    Args:
        estimator: A `GradientBoostingClassifier` or `GradientBoostingRegressor`.
        X: A table.
        y: Its target.
        n_estimators: The number of models.
        max_samples: The share of the rows of a sample without replacement, above 0 and below 1; None draws with it.
        random_state: The seed of the samples.
        fit_params: Further arguments of `fit`, such as `sample_weight`, drawn like the rows; rows of weight 0 are not.
        verbose: 1 for a bar of progress; n for a line every n fits.

    Raises:
        InvalidInputError: The estimator is another, or stops early and samples have rows twice, which would judge
            models that were grown on them; or a number is not allowed.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> bagged = bag(GradientBoostingRegressor(30, learning_rate=0.2), X, y, n_estimators=5, max_samples=0.7)
        >>> known = ~np.isnan(bagged.out_of_bag[:, 0])
        >>> len(bagged.members), bool(np.corrcoef(bagged.out_of_bag[known, 0], y[known])[0, 1] > 0.6)
        (5, True)
    """
    estimator = best_of_search(estimator)
    _check(estimator, n_estimators, max_samples)
    X, y = indexable(X, plain_target(y))
    generator = generator_of(random_state)
    target, is_there = np.asarray(y), rows_of_weight((fit_params or {}).get("sample_weight"), y)
    there = np.arange(len(target)) if is_there is None else np.flatnonzero(is_there)
    strata = [there]
    if is_classifier(estimator):
        strata = [there[target[there] == own] for own in np.unique(target[there])]
    parts = [np.concatenate([_drawn(rows, max_samples, generator) for rows in strata]) for _ in range(n_estimators)]
    with placed_fit(estimator, X, num_fits=n_estimators):
        with progress_of(verbose, n_estimators, "fitting models", "fits") as report:
            fitted = fit_parts(estimator, X, y, parts, fit_params, report, reads_alike=True)
        model = fitted[0].mean_of(fitted)
        if is_of_times(model.loss_):
            fields = dict(fit_params or {})
            given = read_known(model.outputs(), X, y, fields.pop("sample_weight", None), fields)
            rows = allowed_rows(model.loss_, given.without_weightless_rows())
            model.survival_ = learn_times(model.loss_, rows, model.raw_scores(rows.X))
        return Bagged(model, _out_of_bag(fitted, X, y, parts), fitted)


def _check(estimator: Any, n_estimators: int, max_samples: float | None) -> None:
    if not isinstance(estimator, GradientBoostingClassifier | GradientBoostingRegressor):
        raise InvalidInputError(
            "bag fits a GradientBoostingClassifier or GradientBoostingRegressor, got "
            f"{type(estimator).__name__}; RandomForestClassifier and RandomForestRegressor are bagged trees"
        )
    if n_estimators < 1:
        raise InvalidInputError(f"n_estimators must be at least 1, got {n_estimators}")
    if max_samples is not None and not 0 < max_samples < 1:
        raise InvalidInputError(f"max_samples must be above 0 and below 1, or None, got {max_samples}")
    if max_samples is None and estimator.early_stopping:
        raise InvalidInputError(
            "early_stopping needs samples without replacement, such as max_samples=0.7, got max_samples=None: a row "
            "that is drawn twice would judge the model that was grown on it"
        )


def _drawn(rows: Int[np.ndarray, " row"], max_samples: float | None, generator: Any) -> Int[np.ndarray, " drawn"]:
    """A sample of some rows, one at least."""
    number = len(rows) if max_samples is None else max(1, round(max_samples * len(rows)))
    return np.sort(generator.choice(rows, number, replace=max_samples is None))


def _out_of_bag(models: list[Any], X: Any, y: Any, parts: list[np.ndarray]) -> Float[np.ndarray, "row column"]:
    """The prediction of every row by the mean of the models that have not drawn it."""
    model = models[0]
    total, number = np.zeros((len(y), model.start_.size)), np.zeros((len(y), 1))
    for own, rows in zip(models, parts, strict=True):
        unseen = np.setdiff1d(np.arange(len(y)), rows)
        own_X, _ = safe_split(own, X, y, unseen)
        total[unseen] += own.raw_scores(own_X)
        number[unseen] += 1
    predicted: Any = model.fixed_predictions(total / np.maximum(number, 1)).predictions
    return np.where(number > 0, np.asarray(predicted, np.float64).reshape(len(y), -1), np.nan)
