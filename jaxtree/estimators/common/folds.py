"""The folds of searches and cross-validations: of the rows of weight, as no others count."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, StratifiedKFold, check_cv

from jaxtree.dataset.arguments import check_groups, numbers_of_groups
from jaxtree.dataset.sample import generator_of
from jaxtree.errors import InvalidInputError, SortedRowsWarning, warn_user
from jaxtree.sklearn_compat import SplitsGiven, safe_indexing
from jaxtree.table.weights import check_sample_weight, rows_of_weight

LEAST_ROWS_OF_FOLD = 10
"""Folds of fewer rows may differ by chance alone."""

MOST_OF_VARIANCE = 0.5
"""The share of the variance of the target, less that of chance, that folds of successive rows may explain."""

Split = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]
"""The rows of the training part and of the test part."""


def folds_of(
    estimator: Any, X: Any, y: Any, cv: Any, split_params: Mapping[str, Any], fit_params: Mapping[str, Any]
) -> list[Split]:
    """Returns the parts of every fold; rows of weight 0 are in none.

    A number of folds is one of stratified folds of classes, of plain ones of numbers, as in scikit-learn; and where
    `fit` is given `group`, of folds that keep the rows of each group together. It does not shuffle the rows; where
    numbers differ from fold to fold as in a table that is sorted by its target, a warning says so.

    Args:
        estimator: The estimator.
        X: A table.
        y: Its target.
        cv: The number of folds, or a splitter of scikit-learn, or pairs of training and test rows.
        split_params: Arguments of the splitter, such as `groups`.
        fit_params: Further arguments of `fit`.

    Raises:
        InvalidInputError: A row has no group, or the weights are not allowed.

    Example:
        >>> from sklearn.dummy import DummyRegressor
        >>> table, group = np.zeros((6, 1)), np.array([0, 0, 1, 1, 2, 2])
        >>> folds = folds_of(DummyRegressor(), table, np.zeros(6), 3, {}, {"group": group})
        >>> [test.tolist() for _, test in folds]
        [[4, 5], [2, 3], [0, 1]]
    """
    group, split_params = fit_params.get("group"), dict(split_params)
    if group is not None and split_params.get("groups") is None and (cv is None or isinstance(cv, int | np.integer)):
        cv = GroupKFold(5 if cv is None else int(cv))
        split_params["groups"] = numbers_of_groups("group", group)
    if split_params.get("groups") is not None:
        check_groups("groups", split_params["groups"])
    splitter: Any = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = split_rows_of_weight(splitter, X, y, fit_params.get("sample_weight"), **split_params)
    if type(splitter) is KFold and not splitter.shuffle and not is_classifier(estimator):
        _warn_if_sorted(y, splits)
    return splits


def _warn_if_sorted(y: Any, splits: list[Split]) -> None:
    """Warns if folds of successive rows explain most of the variance of a target, which no fold is to know."""
    target = np.asarray(y)
    number, num_rows = len(splits), sum(len(test) for _, test in splits)
    if target.ndim != 1 or target.dtype.kind not in "iuf" or num_rows < LEAST_ROWS_OF_FOLD * number:
        return
    parts = [target[test].astype(np.float64) for _, test in splits]
    whole = np.concatenate(parts)
    if not np.isfinite(whole).all() or not np.ptp(whole) > 0:
        return
    within = sum(float(((own - own.mean()) ** 2).sum()) for own in parts) / (num_rows - number)
    share = 1 - within / float(whole.var(ddof=1))
    if share > MOST_OF_VARIANCE:
        warn_user(
            f"the rows seem to be sorted by the target: {number} folds of successive rows explain {share:.0%} of its "
            f"variance, so that every fold is predicted from rows unlike it; cv=KFold({number}, shuffle=True, "
            f"random_state=0) shuffles them, and rows in the order of time need cv=TimeSeriesSplit({number})",
            SortedRowsWarning,
        )


def shuffled_splitter(number: int, random_state: Any, labels: Any = None) -> KFold:
    """Returns a splitter of shuffled rows, which keeps the shares of classes if one of them has a row for every fold.

    Args:
        number: The number of folds.
        random_state: The seed of the shuffle, or a generator.
        labels: The class of every row; None of numbers, and of several outputs.

    Example:
        >>> [type(shuffled_splitter(2, 0, labels)).__name__ for labels in (["a", "a", "b"], ["a", "b"], None)]
        ['StratifiedKFold', 'KFold', 'KFold']
    """
    is_stratified = labels is not None and np.unique(labels, return_counts=True)[1].max() >= number
    kind: Any = StratifiedKFold if is_stratified else KFold
    return kind(number, shuffle=True, random_state=generator_of(random_state))


def split_rows_of_weight(splitter: Any, X: Any, y: Any, sample_weight: Any, **split_params: Any) -> list[Split]:
    """Returns the parts of a splitter, without the rows of weight 0.

    A splitter of scikit-learn divides the others as it would without these. One that knows rows by their numbers, and
    any of the user's own, divides all rows.

    Args:
        splitter: An object with `split`.
        X: A table.
        y: Its target.
        sample_weight: The weight of every row, or None.
        split_params: Arguments of the splitter, such as `groups`.

    Raises:
        InvalidInputError: The weights are not allowed.

    Example:
        >>> from sklearn.model_selection import KFold
        >>> [test.tolist() for _, test in split_rows_of_weight(KFold(2), np.zeros((5, 1)), None, [1, 0, 1, 1, 1])]
        [[0, 2], [3, 4]]
    """
    num_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = check_sample_weight(sample_weight, num_rows)
    if weight is None or weight.all():
        return [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, **split_params)]
    there = np.flatnonzero(weight)
    is_own = not type(splitter).__module__.startswith("sklearn.")
    if is_own or isinstance(splitter, PredefinedSplit | SplitsGiven):
        return [
            (np.intersect1d(train, there), np.intersect1d(test, there))
            for train, test in splitter.split(X, y, **split_params)
        ]
    own = {name: None if values is None else safe_indexing(values, there) for name, values in split_params.items()}
    target = None if y is None else safe_indexing(y, there)
    return [(there[train], there[test]) for train, test in splitter.split(np.zeros((len(there), 1)), target, **own)]


def shuffled_folds(y: Any, number: int, seed: int, *, of_classes: bool) -> list[Split]:
    """Returns the rows of every fold, to fit on and to score on; shuffled, and with like shares of classes.

    Classes keep their shares if one of them has a row for every fold.

    Args:
        y: The target.
        number: The number of folds.
        seed: The seed of the shuffle.
        of_classes: Whether the target has classes.

    Raises:
        InvalidInputError: There are fewer rows than folds.

    Example:
        >>> [test.tolist() for _, test in shuffled_folds(["a", "b"] * 2, 2, 0, of_classes=True)]
        [[1, 2], [0, 3]]
    """
    labels = np.asarray(y)
    if number > len(labels):
        raise InvalidInputError(f"the number of folds must be at most {len(labels)}, the number of rows, got {number}")
    return list(shuffled_splitter(number, seed, labels if of_classes else None).split(labels, labels))


def folds_for(
    X: Any, y: Any, cv: Any, seed: int, *, of_classes: bool, groups: Any = None, sample_weight: Any = None
) -> list[Split]:
    """Returns the folds of a number, which are shuffled, or those of a splitter of scikit-learn, of rows of weight.

    Args:
        X: The table.
        y: The target.
        cv: A number of folds, a splitter, or pairs of rows to fit on and to score on.
        seed: The seed of the shuffle.
        of_classes: Whether the target has classes.
        groups: The groups that the splitter keeps together, a value a row; a number of folds takes none.
        sample_weight: The weight of every row, or None.

    Raises:
        InvalidInputError: There are fewer rows than folds, groups are given with a number of folds, or a row has none.
    """
    if isinstance(cv, int | np.integer):
        if groups is not None:
            raise InvalidInputError(
                f"groups are for a splitter that keeps them together, such as cv=GroupKFold({cv}), got cv={cv}"
            )
        there = rows_of_weight(sample_weight, y)
        rows = np.arange(len(y)) if there is None else np.flatnonzero(there)
        splits = shuffled_folds(safe_indexing(y, rows), int(cv), seed, of_classes=of_classes)
        return [(rows[train], rows[test]) for train, test in splits]
    if groups is not None:
        check_groups("groups", groups)
    splitter: Any = check_cv(cv, y, classifier=of_classes)
    return split_rows_of_weight(splitter, X, y, sample_weight, groups=groups)
