"""Fits of one estimator on many parts of a table, in one growth where its trees can be roots of one."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int
from sklearn.base import clone

from jaxtree.estimators.common.growing import GrowthTask, grow_tables
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.sklearn_compat import check_method_params, safe_split

Rows: TypeAlias = Int[np.ndarray, " _part"]

ROWS_AT_A_TIME = 2**20
"""Rows of the parts that one growth has at most, if it has several."""


def fit_parts(
    estimator: Any,
    X: Any,
    y: Any,
    parts: Sequence[Rows],
    fit_params: Mapping[str, Any] | None = None,
    on_fitted: Callable[[int], Any] | None = None,
) -> list[Any]:
    """Returns a clone of the estimator fitted on every part, each as its own `fit` would have fitted it.

    Trees of jaxtree are roots of one growth, in which means of numbers differ from those of `fit` by rounding. Others
    are fitted one after another.

    Args:
        estimator: An estimator, not fitted.
        X: A table.
        y: Its target.
        parts: The rows of every part.
        fit_params: Further arguments of `fit`, split like the rows where they have a value for each.
        on_fitted: Called with the number of further fits.
    """
    fitted = []
    for batch in _batches(parts) if _can_share_growth(estimator) else ([rows] for rows in parts):
        given = [_of_part(estimator, X, y, rows, fit_params or {}) for rows in batch]
        fitted += _grow_together(estimator, given) if _can_share_growth(estimator) else _fit_each(estimator, given)
        if on_fitted is not None:
            on_fitted(len(batch))
    return fitted


def _can_share_growth(estimator: Any) -> bool:
    """Whether fits are those of a tree of jaxtree, and leave no trace on others: a generator draws anew for each."""
    is_own = isinstance(estimator, BaseTree) and type(estimator).__module__.startswith("jaxtree.")
    state = getattr(estimator, "random_state", None)
    return is_own and (state is None or isinstance(state, int | np.integer))


def _batches(parts: Sequence[Rows]) -> Iterator[list[Rows]]:
    """The parts, in batches of so many rows that one growth has room for them."""
    end = np.cumsum([len(rows) for rows in parts])
    for _, members in itertools.groupby(range(len(parts)), key=lambda part: end[part] // ROWS_AT_A_TIME):
        yield [parts[part] for part in members]


def _of_part(
    estimator: Any, X: Any, y: Any, rows: Rows, fit_params: Mapping[str, Any]
) -> tuple[Any, Any, dict[str, Any]]:
    """The arguments of `fit` for a part."""
    own_X, own_y = safe_split(estimator, X, y, rows)
    return own_X, own_y, check_method_params(X, params=dict(fit_params), indices=rows)


def _grow_together(estimator: BaseTree, given: Sequence[tuple[Any, Any, dict[str, Any]]]) -> list[Any]:
    tasks: list[tuple[Any, GrowthTask]] = []
    with placed_fit(estimator, given[0][0], num_fits=len(given)):
        for X, y, params in given:
            own: Any = clone(estimator)
            tasks.append((own, own.growth_task(X, y, **params)))
        trees = grow_tables([task for _, task in tasks])
        return [own.finish_fit(tree, task) for (own, task), tree in zip(tasks, trees, strict=True)]


def _fit_each(estimator: Any, given: Sequence[tuple[Any, Any, dict[str, Any]]]) -> list[Any]:
    blank: list[Any] = [clone(estimator) for _ in given]
    return [own.fit(X, y, **params) for own, (X, y, params) in zip(blank, given, strict=True)]
