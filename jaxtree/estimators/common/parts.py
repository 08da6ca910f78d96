"""Estimators on tables and on sources: tables in parts, whose columns may also be the target and the weights."""

import abc
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import allow_tables, check_names
from jaxtree.files.registry import KeptInFiles
from jaxtree.table.columns import TableColumn, as_array, blocks_of_rows
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source, naming, open_source
from jaxtree.table.summary import read_column
from jaxtree.table.target import typed


class Arguments(NamedTuple):
    """The arguments of `fit`, with the columns of a source in the place of their names.

    Attributes:
        X: The table; a source without target and weights.
        y: The target.
        sample_weight: The weights.
        beside: The columns of a source that are no features: target and weights.
    """

    X: Any
    y: Any
    sample_weight: Any
    beside: tuple[str, ...]


def read_arguments(X: Any, y: Any, sample_weight: Any = None) -> Arguments:
    """Reads the target and the weights where X is a source and they are names of its columns.

    Args:
        X: A table, or a source.
        y: A target, or the name of a column, or a list of several names.
        sample_weight: Weights, or the name of a column.

    Raises:
        InvalidInputError: If there is no such column, or the source can be read only once.
    """
    if not is_source(X):
        return Arguments(X, y, sample_weight, ())
    source = open_source(X, to_fit=True)
    beside: list[str] = []
    if isinstance(y, str):
        beside.append(y)
        y = read_column(source, y)
    elif isinstance(y, list | tuple) and y and all(isinstance(name, str) and name in source.names for name in y):
        beside.extend(y)
        y = [read_column(source, name) for name in y]
    if isinstance(sample_weight, str):
        beside.append(sample_weight)
        sample_weight = values_of(read_column(source, sample_weight))
    return Arguments(source.without(beside), y, sample_weight, tuple(beside))


def values_of(y: Any) -> Any:
    """Returns the values of a column that was read from a source, or of several; anything else as it is.

    >>> values_of(TableColumn("kind", "categorical", np.array([1, 0, 2], np.int32), True, ("a", "b")))
    array(['b', 'a', None], dtype=object)
    """
    if isinstance(y, TableColumn):
        return y.items()
    if isinstance(y, list) and y and all(isinstance(column, TableColumn) for column in y):
        return np.stack([values_of(column) for column in y], axis=1)
    return y


def plain_target(y: Any) -> Any:
    """Returns a target as scikit-learn's metrics and splitters take it: not as objects where it need not be.

    >>> plain_target(np.array([1.5, 2], object))
    array([1.5, 2. ])
    """
    y = values_of(y)
    if y is None or scipy.sparse.issparse(y) or getattr(getattr(y, "dtype", None), "kind", "O") != "O":
        return y
    values = as_array("y", y)
    plain = typed(values)
    return y if plain is values else plain  # strings stay in the type that declares their order


class ScoresSources:
    """Extends scikit-learn's `score`, of the mixin that follows this class, to sources."""

    @property
    def score_name_(self) -> str:
        """What `score` returns, as pages and commands call it: "accuracy", or of numbers "R²"."""
        return "accuracy" if isinstance(self, ClassifierMixin) else "R²"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns the share of rows that are predicted right; of numbers the coefficient of determination.

        Args:
            X: A table, or a source.
            y: The target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of its column.
        """
        given = read_arguments(X, y, sample_weight)
        mixin: Any = super()
        return mixin.score(given.X, plain_target(given.y), given.sample_weight)


def part_by_part(method: Callable) -> Callable:
    """Extends a method of a table to sources: it is called with every part, and the results are joined.

    A sparse matrix is divided into blocks of rows, of which one at a time is held with its zeros.
    """

    @functools.wraps(method)
    def of_table_or_source(self: Any, X: Any) -> Any:
        if scipy.sparse.issparse(X) and X.ndim == 2:
            check_is_fitted(self)
            return _join([method(self, block) for block in blocks_of_rows(X)])
        if not is_source(X):
            return method(self, X)
        check_is_fitted(self)
        results = []
        for part in open_source(X).without(self.other_columns_):
            with naming(part.label):
                results.append(method(self, part.table))
        return _join(results)

    return of_table_or_source


class EstimatorOnTables(KeptInFiles, BaseEstimator, abc.ABC):
    """An estimator on any table: what all predictions begin with."""

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table, which turn codes back into words."""
        return self.encoder_.schema_

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: tables may hold words and missing values, and targets several columns."""
        return allow_tables(super().__sklearn_tags__())

    @abc.abstractmethod
    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns shares of classes, or numbers, of rows that `encoder_.values` has encoded."""

    @part_by_part
    def _values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """Returns what thresholds and planes are compared with."""
        check_is_fitted(self)
        values = self.encoder_.values(X)
        check_names(self, X, reset=False)
        return values


class PredictsNumbers(ScoresSources, RegressorMixin):
    """Predictions of numbers, by `predict_values`."""

    is_vector_: bool

    @part_by_part
    def predict(self: Any, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the number of every row, of a forest the mean over its trees; of several outputs (rows, outputs)."""
        return self._as_given(self.predict_values(self._values(X)))

    def _as_given(self, numbers: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row *output"]:
        """Returns the numbers as a vector where the target was one."""
        return numbers[:, 0] if self.is_vector_ else numbers


def _join(results: Sequence[Any]) -> Any:
    """Puts the rows of results one below the other; several outputs are lists of them."""
    if not results:
        raise InvalidInputError("X has no rows in any of its parts, while a minimum of 1 is required")
    if isinstance(results[0], list):
        return [_join(parts) for parts in zip(*results, strict=True)]
    if scipy.sparse.issparse(results[0]):
        return scipy.sparse.vstack(results, format="csr")
    return np.concatenate(results)
