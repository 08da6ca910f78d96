"""Ensembles: boosted models whose probabilities or numbers are averaged with weights, as one estimator in one file."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError, ModelFileError
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.common.conventions import AnnotatedParameters, allow_tables, check_parameters
from jaxtree.estimators.common.display import Shown
from jaxtree.estimators.common.parts import ScoresSources
from jaxtree.files.boosting import EnsembleMember, EnsembleState
from jaxtree.files.records import require
from jaxtree.files.registry import KeptInFiles
from jaxtree.losses.loss import identity
from jaxtree.table.schema import Schema

OF_TABLE = ("encoder_", "n_features_in_", "feature_names_in_", "n_outputs_", "classes_", "n_classes_")
"""What an ensemble knows of its table as its first member does."""


class BoostedEnsemble(Shown, AnnotatedParameters, KeptInFiles, BaseEstimator):
    """Boosted models whose predictions are averaged."""

    estimators: Any
    weights: Any
    estimators_: list[Any]
    weights_: Float[np.ndarray, " member"]

    _member_class: type

    @classmethod
    def of(cls, fitted: Sequence[Any], weights: Sequence[float]) -> Self:
        """Returns models that are fitted already, on one table, as an ensemble.

        Args:
            fitted: The models.
            weights: A number above 0 of each; the weights are divided by their sum.
        """
        kind: Any = cls
        ensemble = kind([clone(model) for model in fitted], [float(weight) for weight in weights])
        ensemble.check_parameters()
        ensemble.take_members(list(fitted), _shares(weights))
        return ensemble

    def __sklearn_is_fitted__(self) -> bool:
        """Answers scikit-learn's `check_is_fitted`."""
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: tables may hold words and missing values."""
        return allow_tables(super().__sklearn_tags__())

    @property
    def schema_(self) -> Schema:
        """The columns of the fitted table."""
        return self.encoder_.schema_

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """The weighted mean of the importances that the members have."""
        check_is_fitted(self)
        return self._mean([model.feature_importances_ for model in self.estimators_])

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fits all members on the same rows.

        Args:
            X: A table, or a source.
            y: Its target; of a source also the name of its column.
            sample_weight: The weight of every row; of a source also the name of a column.
            **params: What else the members' `fit` takes.

        Raises:
            InvalidInputError: A parameter is not allowed, or a member refuses an argument.
        """
        self.check_parameters()
        blanks: list[Any] = [clone(model) for model in self.estimators]
        fitted = [blank.fit(X, y, sample_weight, **params) for blank in blanks]
        weights = np.ones(len(fitted)) if self.weights is None else self.weights
        self.take_members(fitted, _shares(weights))
        return self

    def additive_members(self) -> list[Any]:
        """Returns the members if the prediction is the weighted sum of their scores, which are sums over trees.

        Raises:
            InvalidTypeError: It is not: probabilities are averaged, or predictions that a link makes of scores.
        """
        check_is_fitted(self)
        for model in self.estimators_:
            if is_classifier(model) or getattr(model.loss_, "link", None) is not identity:
                averaged = "probabilities" if is_classifier(model) else f"predictions of the loss {model.loss_}"
                raise InvalidTypeError(
                    f"{type(self).__name__} averages {averaged}, which are no sums over trees as scores are: give one "
                    "of its members, `estimators_`"
                )
        return self.estimators_

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self)
        name = self._member_class.__name__
        if not len(self.estimators):
            raise InvalidInputError(f"estimators must be one {name} or more, got none")
        for model in self.estimators:
            if not isinstance(model, self._member_class):
                raise InvalidInputError(f"estimators must be of class {name}, got {type(model).__name__}")
        if self.weights is None:
            return
        weights = np.asarray(self.weights)
        is_vector = weights.shape == (len(self.estimators),) and weights.dtype.kind in "iuf"
        if not is_vector or not (np.isfinite(weights) & (weights > 0)).all():
            raise InvalidInputError(
                f"weights must be {len(self.estimators)} numbers above 0, one a member, got {self.weights!r}"
            )

    def kept_parameters(self) -> dict[str, Any]:
        """Returns the parameters that a file has; the members stand beside what they have learned."""
        return {"weights": self.weights}

    def fitted_state(self) -> EnsembleState:
        """Returns what fitting has learned: what a model file keeps."""
        check_is_fitted(self)
        kind: Any = self._member_class.__name__
        members = [
            EnsembleMember(kind, model.get_params(deep=False), model.fitted_state()) for model in self.estimators_
        ]
        return EnsembleState(tuple(members), self.weights_, tuple(self.other_columns_))

    def restore(self, state: EnsembleState) -> None:
        """Takes what `fitted_state` of another ensemble returned; see `KeptInFiles.restore`."""
        models = [self._restored(member) for member in state.members]
        first = models[0]
        for model in models:
            alike = model.schema_.column_names == first.schema_.column_names and model.n_outputs_ == first.n_outputs_
            alike = alike and np.array_equal(getattr(model, "classes_", ()), getattr(first, "classes_", ()))
            require(alike, "its members are not of one table and target")
        self.estimators = [clone(model) for model in models]
        self.check_parameters()
        self.take_members(models, state.share)
        self.other_columns_ = state.beside

    def _restored(self, member: EnsembleMember) -> Any:
        """A member from a file."""
        name = self._member_class.__name__
        require(member.kind == name, f"it has a member that is no {name}")
        try:
            model = self._member_class(**member.parameters)
        except TypeError:
            raise ModelFileError(f"the parameters of a member are not those of {name}") from None
        model.restore(member.state)
        return model

    def take_members(self, fitted: list[Any], shares: Float[np.ndarray, " member"]) -> None:
        """Takes fitted members and weights that add up to 1, and learns of the table what the first has learned."""
        for name in OF_TABLE:
            vars(self).pop(name, None)
            if hasattr(fitted[0], name):
                setattr(self, name, getattr(fitted[0], name))
        self.other_columns_ = tuple(fitted[0].other_columns_)
        self.estimators_, self.weights_ = fitted, shares

    def _mean(self, of_members: Sequence[Float[np.ndarray, "*shape"]]) -> Float[np.ndarray, "*shape"]:
        """The weighted mean, summed up in the order of the members."""
        return np.sum([weight * own for weight, own in zip(self.weights_, of_members, strict=True)], axis=0)


@dataclasses.dataclass(repr=False, eq=False)
class BoostedEnsembleClassifier(ScoresSources, ClassifierMixin, BoostedEnsemble):
    """Boosted models whose probabilities of classes are averaged.

    `BoostSearchCV` with `refit="ensemble"` and the command `jaxtree tune` make such ensembles. `save` writes an
    ensemble into one file.

    Args:
        estimators: The members, each a `GradientBoostingClassifier`; `fit` fits copies of them.
        weights: The weight of every member, above 0; all alike if not given.

    Attributes:
        estimators_: The fitted members.
        weights_: Their weights, which add up to 1.
        classes_: The classes in ascending order.
        feature_importances_: The weighted mean of the importances that the members have.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> members = [GradientBoostingClassifier(20, max_depth=depth) for depth in (2, 4)]
        >>> model = BoostedEnsembleClassifier(members, weights=[1, 3]).fit(X[::2], y[::2])
        >>> model.weights_.tolist(), model.score(X[1::2], y[1::2]) > 0.9
        ([0.25, 0.75], True)
    """

    estimators: Any = ()
    weights: Any = None

    _member_class = GradientBoostingClassifier
    _parameter_constraints = {"estimators": [list, tuple], "weights": ["array-like", None]}  # noqa: RUF012

    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"]:
        """Returns the mean probability of every class of `classes_`."""
        check_is_fitted(self)
        return self._mean([model.predict_proba(X) for model in self.estimators_])

    def predict(self, X: Any) -> Shaped[np.ndarray, " row"]:
        """Returns the most probable class of every row, of equal ones the first."""
        place = self.predict_proba(X).argmax(axis=1)
        return self.classes_[place]


@dataclasses.dataclass(repr=False, eq=False)
class BoostedEnsembleRegressor(ScoresSources, RegressorMixin, BoostedEnsemble):
    """Boosted models whose predictions are averaged; see `BoostedEnsembleClassifier`.

    Args:
        estimators: The members, each a `GradientBoostingRegressor`; `fit` fits copies of them.
        weights: The weight of every member, above 0; all alike if not given.

    Attributes:
        estimators_: The fitted members.
        weights_: Their weights, which add up to 1.
        feature_importances_: The weighted mean of the importances that the members have.
    """

    estimators: Any = ()
    weights: Any = None

    _member_class = GradientBoostingRegressor
    _parameter_constraints = {"estimators": [list, tuple], "weights": ["array-like", None]}  # noqa: RUF012

    def predict(self, X: Any) -> Float[np.ndarray, "row *prediction"]:
        """Returns the mean prediction of every row."""
        check_is_fitted(self)
        return self._mean([model.predict(X) for model in self.estimators_])


def ensemble_of(fitted: Sequence[Any], weights: Sequence[float]) -> BoostedEnsemble:
    """Returns fitted models of one kind as an ensemble."""
    is_of_classes = isinstance(fitted[0], GradientBoostingClassifier)
    return (BoostedEnsembleClassifier if is_of_classes else BoostedEnsembleRegressor).of(fitted, weights)


def _shares(weights: Any) -> Float[np.ndarray, " member"]:
    """Weights that add up to 1."""
    return np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)
