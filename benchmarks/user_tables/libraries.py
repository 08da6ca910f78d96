"""The two libraries: an estimator of either, and the table as it is given to it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmarks.suite.tables import Rows
from benchmarks.user_tables.cells import FITS

OURS, PEER = "jaxtree", "sklearn"
LIBRARIES = (OURS, PEER)
SEED = 0


class Prepared(NamedTuple):
    """A library that is ready to fit.

    Attributes:
        fit: Makes an estimator and fits it.
        as_given: A table as the library is given it.
    """

    fit: Callable[[Any, np.ndarray], Any]
    as_given: Callable[[Any], Any]


def prepare(library: str, fit: str, rows: Rows) -> Prepared:
    """Imports a library and chooses its class, a classifier or a regressor by the target."""
    family = "Regressor" if rows.y.dtype.kind == "f" else "Classifier"
    chosen = FITS[fit]
    options = chosen.options | {"random_state": SEED}
    if library == OURS:
        return Prepared(_fit_ours(getattr(import_module("jaxtree"), chosen.kind + family), options), lambda X: X)
    if chosen.is_forest:
        options |= {"n_jobs": -1}
    kind = getattr(import_module(f"sklearn.{'ensemble' if chosen.is_forest else 'tree'}"), chosen.kind + family)
    return Prepared(lambda X, y: kind(**options).fit(X, y), _as_numbers)


def _as_numbers(X: Any) -> Any:
    """A matrix or a frame of numbers as it is, and words as numbers."""
    if isinstance(X, np.ndarray) or all(dtype.kind in "iuf" for dtype in X.dtypes):
        return X
    # Imported here, so that it takes no memory in a process of ours.
    from benchmarks.suite.contenders.of_sklearn import as_numbers

    return as_numbers(X)


def _fit_ours(kind: Any, options: dict[str, Any]) -> Callable[[Any, np.ndarray], Any]:
    import jax

    def fit(X: Any, y: np.ndarray) -> Any:
        estimator = kind(**options).fit(X, y)
        # JAX may still be computing when fit returns.
        jax.block_until_ready(getattr(estimator, "tree_", None))
        return estimator

    return fit
