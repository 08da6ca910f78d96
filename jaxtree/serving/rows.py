"""From tables to what thresholds are compared with: whole tables, and sources, which are tables in parts."""

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.cores import using_cores
from jaxtree.errors import InvalidInputError, InvalidTypeError, warn_user
from jaxtree.lazy import Array, Tracer, issparse, sparse
from jaxtree.table.columns import blocks_of_rows
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import Table, is_plain_array, read_table
from jaxtree.table.sources import is_source, naming

ANSWERED = ("predict", "predict_proba")
"""The methods over sources that an estimator answers for arrays of JAX, too."""


def over_sources(method: Callable) -> Callable:
    """Extends a method of a table to sources: it is called with every part, and the results are joined.

    A table is read once, and the method gets its columns. A sparse matrix is divided into blocks of rows, of which one
    at a time is held with its zeros. It computes on as many cores as `n_jobs` of the model says. An estimator's
    predictions of an array of JAX are such arrays; models that are served know of none.
    """

    @functools.wraps(method)
    def of_table_or_source(self: Any, X: Any) -> Any:
        n_jobs = getattr(self, "n_jobs", None)
        with contextlib.nullcontext() if n_jobs is None else using_cores(n_jobs):
            if isinstance(X, np.ndarray | Table):
                return method(self, X)
            if isinstance(X, Array) and method.__name__ in ANSWERED and hasattr(self, "_predict_array"):
                return self._predict_array(method.__name__, X)
            if isinstance(X, Tracer):
                raise InvalidTypeError(
                    f"{type(self).__name__} computes this on the host, from rows that are there: inside a program of "
                    "JAX take its functional(), or the predictions of classes, shares, numbers or scores"
                )
            if issparse(X) and X.ndim == 2:
                return _join([method(self, block) for block in blocks_of_rows(X)])
            if not is_source(X):
                return method(self, read_table(X))
            check_has_encoder(self)
            results = []
            for part in self.encoder_.open(X).without(self.other_columns_):
                with naming(part.label):
                    results.append(method(self, part.table))
            return _join(results)

    return of_table_or_source


def of_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """Extends a prediction that is not extended to sources to arrays of JAX, as `over_sources` does."""

    @functools.wraps(method)
    def predict(self: Any, X: Any, **keywords: Any) -> Any:
        if isinstance(X, Array) and hasattr(self, "_predict_array"):
            return self._predict_array(method.__name__, X, **keywords)
        return method(self, X, **keywords)

    return predict


class ReadsTables:
    """Reads tables by `encoder_`, as the table of the fit was read."""

    encoder_: Encoder
    other_columns_: tuple[str, ...] = ()
    """Columns of the fitted source that are no features: target and weights."""

    @over_sources
    def _values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """Returns what thresholds and planes are compared with."""
        if not hasattr(self, "encoder_"):
            check_has_encoder(self)
        values = self.encoder_.values(X, warns=True)
        warn_of_names(self, X)
        return values


def check_has_encoder(model: Any) -> None:
    """Raises scikit-learn's error on a model that has not been fitted."""
    if not hasattr(model, "encoder_"):
        from sklearn.utils.validation import check_is_fitted  # models that are served have been fitted

        check_is_fitted(model)


def warn_of_names(model: Any, X: Any) -> None:
    """Warns where only a table, or that of the fit, has names of columns; the encoder compares names that both have."""
    names = given_names(X)
    if (names is None) == hasattr(model, "feature_names_in_"):
        own, fitted = ("has feature names", "without") if names else ("does not have valid feature names", "with")
        warn_user(f"X {own}, but {type(model).__name__} was fitted {fitted} feature names")  # scikit-learn's words


def given_names(X: Any) -> tuple[str, ...] | None:
    """Returns the names of columns that came with a table; None if there are none."""
    if is_plain_array(X) or issparse(X):
        return None
    table = read_table(X)
    return table.names if table.is_named else None


def _join(results: Sequence[Any]) -> Any:
    """Puts the rows of results one below the other; several outputs are lists of them."""
    if not results:
        raise InvalidInputError("X has no rows in any of its parts, while a minimum of 1 is required")
    if isinstance(results[0], list):
        return [_join(parts) for parts in zip(*results, strict=True)]
    if issparse(results[0]):
        return sparse.vstack(results, format="csr")
    return np.concatenate(results)
