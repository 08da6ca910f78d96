"""The folds of searches and cross-validations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, check_cv

Split = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]
"""The rows of the training part and of the test part."""


def folds_of(
    estimator: Any, X: Any, y: Any, cv: Any, split_params: Mapping[str, Any], fit_params: Mapping[str, Any]
) -> list[Split]:
    """Returns the parts of every fold.

    A number of folds is one of stratified folds of classes, of plain ones of numbers, as in scikit-learn; and where
    `fit` is given `group`, of folds that keep the rows of each group together.

    Args:
        estimator: The estimator.
        X: A table.
        y: Its target.
        cv: The number of folds, or a splitter of scikit-learn, or pairs of training and test rows.
        split_params: What the splitter takes, such as `groups`.
        fit_params: Further arguments of `fit`.

    Example:
        >>> table, group = np.zeros((6, 1)), np.array([0, 0, 1, 1, 2, 2])
        >>> folds = folds_of(None, table, np.zeros(6), 3, {}, {"group": group})
        >>> [test.tolist() for _, test in folds]
        [[4, 5], [2, 3], [0, 1]]
    """
    group = fit_params.get("group")
    if group is not None and split_params.get("groups") is None and (cv is None or isinstance(cv, int | np.integer)):
        return list(GroupKFold(5 if cv is None else int(cv)).split(X, groups=np.asarray(group)))
    splitter: Any = check_cv(cv, y, classifier=is_classifier(estimator))
    return list(splitter.split(X, y, **split_params))
