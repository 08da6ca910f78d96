"""Estimators on tables and on sources, which are tables in parts."""

import abc
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from jaxtree.dataset.arguments import plain_target, read_arguments
from jaxtree.dataset.sample import Outputs
from jaxtree.estimators.common.conventions import allow_tables
from jaxtree.estimators.common.display import Shown
from jaxtree.estimators.common.functions import answer_of_array, functional
from jaxtree.export.functions import Function
from jaxtree.files.registry import KeptInFiles
from jaxtree.losses.loss import BaseLoss
from jaxtree.serving.answers import AnswersOfNumbers
from jaxtree.serving.rows import ReadsTables
from jaxtree.table.schema import Schema
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


class EstimatorOnTables(Shown, ReadsTables, KeptInFiles, BaseEstimator, abc.ABC):
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

    @property
    @abc.abstractmethod
    def model_of_function(self) -> Any:
        """The part of the fitted estimator that `parts_of_function` takes: another object after another fit."""

    @abc.abstractmethod
    def parts_of_function(self, dtype: Any) -> tuple[Any, Function]:
        """Returns the parameters of the model, and the function of these and of rows, with floats of a type."""

    def functional(self, of: str = "predictions") -> tuple[Any, Callable[[Any, Any], Any]]:
        """Returns the fitted model as parameters, a pytree, and a pure function `(parameters, X)` of these and of rows.

        It works under `jax.jit`, `jax.vmap` and `jax.grad`: predictions have derivatives by the values of leaves, and
        none by X where splits are hard. X has the shape (row, column): the numbers of numeric columns and the codes of
        categories, NaN where a value is missing, as `encoder_.values(table)` returns them. Floats have the type that
        JAX has for them now.

        Args:
            of: "predictions": the shares of all classes, of several outputs in a list, or the numbers. Or "scores", of
                models that have some: the sums that predictions follow from, of shape (row, score).

        Raises:
            InvalidInputError: The model has no scores, or there is no such word.
            sklearn.exceptions.NotFittedError: It is not fitted.

        Example:
            >>> import jax
            >>> import jax.numpy as jnp
            >>> from jaxtree import DecisionTreeRegressor
            >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0]], [0.0, 0.0, 6.0])
            >>> parameters, apply = model.functional()
            >>> jax.jit(apply)(parameters, jnp.array([[2.0], [9.0]])).tolist()
            [0.0, 6.0]
        """
        return functional(self, of)

    def _predict_array(self, method: str, X: Any, offset: Any = None) -> Any:
        """Returns what a method, such as "predict_proba", predicts of an array of JAX: another such array."""
        return answer_of_array(self, method, X, offset)

    @abc.abstractmethod
    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns shares of classes, or numbers, of rows that `encoder_.values` has encoded."""


class PredictsNumbers(ScoresSources, AnswersOfNumbers, RegressorMixin):
    """Predictions of numbers, by `predict_values`."""
