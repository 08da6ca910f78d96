"""Folds of a search that draws its own: shuffled, and with like shares of the classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from jaxtree.dataset.arguments import check_groups
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.folds import shuffled_splitter, split_rows_of_weight
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.weights import rows_of_weight

Splits = list[tuple[Any, Any]]
"""The rows of every fold to fit on, and those to score on."""


def shuffled_folds(y: Any, number: int, seed: int, *, of_classes: bool) -> Splits:
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
) -> Splits:
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


def check_rows_to_fit_on(splits: Sequence[tuple[Any, Any]], least: int, num_rows: int) -> None:
    """Raises InvalidInputError if a fold has too few rows to fit on, of which a tenth decides when to stop.

    >>> check_rows_to_fit_on([(range(6), range(6, 12))], 10, 12)
    Traceback (most recent call last):
    jaxtree.errors.InvalidInputError: tune needs 10 rows or more to fit on, as a tenth of them decides when to stop, and
    1 fold leaves 6 of 12
    """
    fewest = min((len(train) for train, _ in splits), default=0)
    if fewest < least:
        plural = "s leave" if len(splits) != 1 else " leaves"
        raise InvalidInputError(
            f"tune needs {least} rows or more to fit on, as a tenth of them decides when to stop, and {len(splits)} "
            f"fold{plural} {fewest} of {num_rows}"
        )
