"""Intervals of predictions from folds, with a coverage that no distribution is assumed for."""

from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d

from jaxtree.dataset.arguments import plain_target
from jaxtree.errors import InvalidInputError, all_or_nothing
from jaxtree.estimators.common.conventions import AnnotatedParameters, Role, check_parameters, progress_of
from jaxtree.estimators.common.folds import folds_of
from jaxtree.estimators.common.jobs import fit_parts
from jaxtree.estimators.common.sorted_lists import SortedLists, intervals_around
from jaxtree.sklearn_compat import HasMethods, safe_split
from jaxtree.table.weights import check_sample_weight


class ConformalRegressor(AnnotatedParameters, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Intervals by CV+, or by the jackknife+ with `cv=LeaveOneOut()` (Barber, Candes, Ramdas and Tibshirani, 2021).

    Each row is predicted by the model of the folds that it is not in, and misses its target by a residual. The interval
    of a new row spans what these models say of it, less and plus their rows' residuals. Rows that are exchangeable with
    those of the fit lie in it with probability at least 1 - 2 (1 - coverage), less a term that vanishes with the rows
    of a fold, whatever the model and the distribution; in practice the share is close to `coverage`.

    Args:
        estimator: A regressor. The folds of a tree of jaxtree are one growth.
        cv: The number of folds, or a splitter that has every row in one test part.
        verbose: 1 for a bar of progress; n for a line every n fits.

    Attributes:
        estimator_: The estimator fitted on all rows, which `predict` asks.
        estimators_: One a fold, fitted on the other folds.
        residuals_: The distance of every row's target from the prediction by the model of the other folds; NaN of a
            row of weight 0.
        fold_: The number of the fold of every row; -1 of a row of weight 0.
        weights_: The number of rows that every row counts as.

    Raises:
        InvalidInputError: A parameter is not allowed, or the folds do not hold every row once.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = ConformalRegressor(DecisionTreeRegressor(max_depth=3), cv=10).fit(X[:300], y[:300])
        >>> interval = model.predict_interval(X[300:], coverage=0.8)
        >>> inside = (interval[:, 0] <= y[300:]) & (y[300:] <= interval[:, 1])
        >>> interval.shape, bool(0.7 < inside.mean() < 0.9)
        ((142, 2), True)
    """

    estimator: Annotated[Any, HasMethods(["fit", "predict"]), Role.FIT]
    cv: Annotated[Any, "cv_object", Role.FIT]
    verbose: Annotated[int, "verbose", Role.REPORTS]

    def __init__(self, estimator: Any, *, cv: Any = 10, verbose: int = 0):
        self.estimator = estimator
        self.cv = cv
        self.verbose = verbose

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: tables may hold what the estimator's may."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_params: Any) -> Self:
        """Fits a model on all rows but those of a fold, for every fold, and one on all.

        Args:
            X: A table.
            y: The number of every row.
            groups: The groups that the splitter keeps together, a value a row, such as `cv=GroupKFold(10)` does.
            **fit_params: Further arguments of `fit`, split like the rows where they have a value for each. With
                `sample_weight` a row counts as so many rows, in the models and among the residuals.
        """
        check_parameters(self)
        X, y = indexable(X, column_or_1d(plain_target(y), warn=True))
        splits = folds_of(self, X, y, self.cv, {"groups": groups}, fit_params)
        weight = check_sample_weight(fit_params.get("sample_weight"), len(y))
        weight = np.ones(len(y)) if weight is None else weight
        there = np.flatnonzero(weight)
        tested = np.sort(np.concatenate([test for _, test in splits]))
        if not np.array_equal(tested, there) or any(len(train) + len(test) != len(there) for train, test in splits):
            raise InvalidInputError(f"cv must have every row in the test part of one split, got {self.cv}")
        parts = [*(train for train, _ in splits), there]
        with progress_of(self.verbose, len(parts), "fitting folds", "fits") as report:
            *self.estimators_, self.estimator_ = fit_parts(self.estimator, X, y, parts, fit_params, report)
        self.fold_, self.residuals_ = np.full(len(y), -1), np.full(len(y), np.nan)
        self.weights_ = weight
        for fold, (own, (_, test)) in enumerate(zip(self.estimators_, splits, strict=True)):
            own_X, own_y = safe_split(own, X, y, test)
            self.fold_[test] = fold
            self.residuals_[test] = np.abs(own_y - own.predict(own_X))
        self.n_features_in_ = self.estimator_.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def predict(self, X: Any) -> Float[np.ndarray, " row"]:
        """Returns what the model of all rows predicts."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_interval(self, X: Any, *, coverage: float = 0.9) -> Float[np.ndarray, "row 2"]:
        """Returns the lower and the upper end of every row's interval; infinite where the rows of the fit are too few.

        Rows of the fit count with their weights: with those that add up to 1, say, they are fewer than two.

        Args:
            X: A table.
            coverage: The share of rows that the intervals are to hold, above 0 and below 1.

        Raises:
            InvalidInputError: The coverage is not allowed.
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise InvalidInputError(f"coverage must be above 0 and below 1, got {coverage}")
        center = np.stack([own.predict(X) for own in self.estimators_], axis=1)
        there = np.flatnonzero(self.weights_)
        lists = SortedLists.of(self.residuals_[there], self.fold_[there], center.shape[1], self.weights_[there])
        return intervals_around(center, lists, coverage=coverage, num_new=1)
