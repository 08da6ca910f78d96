"""Estimators on tables and on sources, which are tables in parts."""

import abc
import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from jaxtree.cores import using_cores
from jaxtree.dataset.arguments import plain_target, read_arguments
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import allow_tables, warn_of_names
from jaxtree.estimators.common.display import Shown
from jaxtree.files.registry import KeptInFiles
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.columns import blocks_of_rows
from jaxtree.table.reading import Table, read_table
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source, naming, open_source
from jaxtree.tree.kinds import ModelKind, Prediction


class ScoresSources:
    """Makes the `score` of the next mixin accept tables in parts."""

    @property
    def score_name_(self) -> str:
        """The name of what `score` returns, for pages and commands: "accuracy", or of numbers "R²"."""
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


def over_sources(method: Callable) -> Callable:
    """Extends a method of a table to sources: it is called with every part, and the results are joined.

    A table is read once, and the method gets its columns. A sparse matrix is divided into blocks of rows, of which one
    at a time is held with its zeros. It computes on as many cores as `n_jobs` of the estimator says.
    """

    @functools.wraps(method)
    def of_table_or_source(self: Any, X: Any) -> Any:
        n_jobs = getattr(self, "n_jobs", None)
        with contextlib.nullcontext() if n_jobs is None else using_cores(n_jobs):
            if isinstance(X, np.ndarray | Table):
                return method(self, X)
            if scipy.sparse.issparse(X) and X.ndim == 2:
                return _join([method(self, block) for block in blocks_of_rows(X)])
            if not is_source(X):
                return method(self, read_table(X))
            check_is_fitted(self)
            results = []
            for part in open_source(X).without(self.other_columns_):
                with naming(part.label):
                    results.append(method(self, part.table))
            return _join(results)

    return of_table_or_source


class EstimatorOnTables(Shown, KeptInFiles, BaseEstimator, abc.ABC):
    """An estimator on any table: what all predictions begin with."""

    model_kind: ModelKind
    n_outputs_: int = 1
    is_vector_: bool

    @property
    def predicts(self) -> Prediction:
        """The kind of the predictions."""
        return Prediction.CLASSES if isinstance(self, ClassifierMixin) else Prediction.NUMBERS

    @property
    def score_loss(self) -> BaseLoss | None:
        """The loss that predicts from scores; None of models whose leaves have shares or means."""
        return None

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table, which turn codes back into words."""
        return self.encoder_.schema_

    def class_names(self) -> tuple[Shaped[np.ndarray, " class"], ...]:
        """Returns the classes of every output; none for numbers."""
        return ()

    def outputs(self) -> Outputs:
        """Returns what the target of the fit was."""
        classes = self.class_names()
        return Outputs(self.n_outputs_, classes, is_vector=not classes and self.is_vector_)

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: tables may hold words and missing values, and targets several columns."""
        return allow_tables(super().__sklearn_tags__())

    @abc.abstractmethod
    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns shares of classes, or numbers, of rows that `encoder_.values` has encoded."""

    @over_sources
    def _values(self, X: Any) -> Float[np.ndarray, "row feature"]:
        """Returns what thresholds and planes are compared with."""
        if not hasattr(self, "encoder_"):
            check_is_fitted(self)
        values = self.encoder_.values(X)
        warn_of_names(self, X)
        return values


class PredictsNumbers(ScoresSources, RegressorMixin):
    """Predictions of numbers, by `predict_values`."""

    is_vector_: bool

    @over_sources
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
