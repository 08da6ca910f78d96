"""Ensembles: the weighted mean of the scores of boosted models, which is a boosted model, too: one sum of trees."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from jaxtyping import Bool, Float
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from jaxtree.boosting.folds import weighted_sum
from jaxtree.dataset.fields import EXTRAS
from jaxtree.dataset.sample import Outputs, read_known
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.boosting.scored import ClassesByScores, NumbersByScores, ScoredTrees
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times, without_hazards
from jaxtree.estimators.common.conventions import AnnotatedParameters, all_or_nothing, allow_tables, check_parameters
from jaxtree.files.boosting import EnsembleMember, EnsembleState
from jaxtree.files.records import require
from jaxtree.losses.links import name_of_link
from jaxtree.losses.loss import BaseLoss
from jaxtree.sklearn_compat import check_method_params, safe_indexing, safe_split
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Column, make_schema
from jaxtree.table.weights import rows_of_weight
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import target_means

OF_TABLE = ("n_features_in_", "feature_names_in_", "n_outputs_", "classes_", "n_classes_", "is_vector_")
"""The attributes of the table that an ensemble takes from its first member."""


class BoostedEnsemble(AnnotatedParameters, ScoredTrees):
    """Boosted models whose scores are averaged."""

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

        Raises:
            InvalidInputError: The models are of several tables, or predict otherwise from their scores.
        """
        kind: Any = cls
        ensemble = kind([clone(model) for model in fitted], [float(weight) for weight in weights])
        ensemble.check_parameters()
        ensemble.take_members(list(fitted), _shares(weights))
        return ensemble

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: tables may hold words and missing values."""
        return allow_tables(super().__sklearn_tags__())

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """The weighted mean of the importances that the members have."""
        check_is_fitted(self)
        return np.average([model.feature_importances_ for model in self.estimators_], axis=0, weights=self.weights_)

    @all_or_nothing
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
        return self.learn_of_time(X, y, sample_weight, **params)

    def learn_of_time(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Learns what predictions of survival times need of the rows that the members were fitted on, if any do."""
        if is_of_times(self.loss_):
            fields = {name: values for name, values in params.items() if name in (*EXTRAS, *self.loss_.needs)}
            rows = read_known(self.outputs(), X, y, sample_weight, fields).without_weightless_rows()
            rows = allowed_rows(self.loss_, rows)
            self.survival_ = learn_times(self.loss_, rows, self.raw_scores(rows.X))
        return self

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
        members = [EnsembleMember(kind, model.kept_parameters(), model.fitted_state()) for model in self.estimators_]
        return EnsembleState(tuple(members), self.weights_, tuple(self.other_columns_), self.survival_)

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
        self.other_columns_, self.survival_ = state.beside, state.survival

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
        """Takes fitted members and weights that add up to 1, and learns of the table what the first has learned.

        Raises:
            InvalidInputError: The members are of several tables, or predict otherwise from their scores.
        """
        first = fitted[0]
        encoder = _common_encoder([model.encoder_ for model in fitted])
        for model in fitted:
            if not _predict_alike(model.loss_, first.loss_):
                raise InvalidInputError(
                    "estimators must predict alike from their scores, which are averaged, got the losses "
                    f"{first.loss_} and {model.loss_}"
                )
        for name in OF_TABLE:
            vars(self).pop(name, None)
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        self.other_columns_ = tuple(first.other_columns_)
        self.estimators_, self.weights_, self.encoder_, self._loss = fitted, shares, encoder, first.loss_
        forest = weighted_sum([model.forest_ for model in fitted], shares)
        start = np.sum([share * model.start_ for share, model in zip(shares, fitted, strict=True)], axis=0)
        self.survival_ = None
        self.set_trees(forest, start, target_means(forest.nodes))

    def with_trees(self, forest: Forest) -> Self:
        """Returns a copy of this table with other trees, as many: members have theirs, divided by their weights."""
        model, members, begin = copy.copy(self), [], 0
        for member, share in zip(self.estimators_, self.weights_, strict=True):
            own, begin = np.arange(begin, begin + len(member.forest_)), begin + len(member.forest_)
            alike = copy.copy(member)
            alike.encoder_ = self.encoder_
            members.append(alike.with_trees(weighted_sum([forest.take(own)], np.array([1 / share]))))
        model.take_members(members, self.weights_)
        model.survival_ = without_hazards(self.survival_)
        return model

    def changed_scores(self) -> Bool[np.ndarray, "tree score"]:
        """Returns which scores every tree changes."""
        return np.concatenate([model.changed_scores() for model in self.estimators_])

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        """Returns the loss of the first member."""
        return self.loss_


@dataclasses.dataclass(repr=False, eq=False)
class BoostedEnsembleClassifier(ClassesByScores, BoostedEnsemble):
    """Boosted models whose scores are averaged: one sum of trees, with every export and explanation.

    `jaxtree.tune`, `jaxtree.resampling.bag`, `BoostSearchCV` with `refit="ensemble"` and the command `jaxtree tune`
    make such ensembles. `save` writes an ensemble into one file. The mean of scores is that of the logarithms of
    probabilities, and not of these themselves.

    Args:
        estimators: The members, each a `GradientBoostingClassifier`; `fit` fits copies of them.
        weights: The weight of every member, above 0; all alike if not given.

    Attributes:
        estimators_: The fitted members.
        weights_: Their weights, which add up to 1.
        forest_: The trees of all members, whose steps are multiplied by the weights.
        start_: The scores before the first tree.
        loss_: The loss of the first member.
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


@dataclasses.dataclass(repr=False, eq=False)
class BoostedEnsembleRegressor(PredictsSurvival, NumbersByScores, BoostedEnsemble):
    """Boosted models whose scores are averaged; see `BoostedEnsembleClassifier`.

    Members may have several losses if these predict alike from scores, such as "squared_error" and "huber".

    Args:
        estimators: The members, each a `GradientBoostingRegressor`; `fit` fits copies of them.
        weights: The weight of every member, above 0; all alike if not given.

    Attributes:
        estimators_: The fitted members.
        weights_: Their weights, which add up to 1.
        forest_: The trees of all members, whose steps are multiplied by the weights.
        start_: The scores before the first tree.
        loss_: The loss of the first member, by which `score` scores.
        feature_importances_: The weighted mean of the importances that the members have.
    """

    estimators: Any = ()
    weights: Any = None

    _member_class = GradientBoostingRegressor
    _parameter_constraints = {"estimators": [list, tuple], "weights": ["array-like", None]}  # noqa: RUF012


def ensemble_of(fitted: Sequence[Any], weights: Sequence[float]) -> BoostedEnsemble:
    """Returns fitted models of one kind as an ensemble."""
    is_of_classes = isinstance(fitted[0], GradientBoostingClassifier)
    return (BoostedEnsembleClassifier if is_of_classes else BoostedEnsembleRegressor).of(fitted, weights)


def fit_on_parts(
    blank: Any, X: Any, y: Any, parts: Sequence[Any], fit_params: Mapping[str, Any], on_fitted: Any = None
) -> list[Any]:
    """Returns copies of a boosted estimator, each fitted on some rows; all read the table as its rows together say.

    Args:
        blank: The estimator, not fitted.
        X: A table.
        y: Its target.
        parts: The rows of every fit.
        fit_params: Further arguments of `fit`, split like the rows where they have a value for each.
        on_fitted: Called with the number of further fits.
    """
    there = rows_of_weight(fit_params.get("sample_weight"), y)
    known, fitted = X if there is None else safe_indexing(X, np.flatnonzero(there)), []
    encoder = blank.make_encoder().fit(known)
    for rows in parts:
        own: Any = clone(blank)
        own_X, own_y = safe_split(own, X, y, rows)
        params = check_method_params(X, params=dict(fit_params), indices=rows)
        fitted.append(own.fit_task(own.read_task(own_X, own_y, encoder=encoder, **params)))
        if on_fitted is not None:
            on_fitted(1)
    return fitted


def _common_encoder(encoders: Sequence[Encoder]) -> Encoder:
    """The encoder of a table that every member has read: of each column the finest of their bins."""
    first, schemas = encoders[0], [own.schema_ for own in encoders]
    if all(schema == schemas[0] for schema in schemas):
        return first
    names = {schema.column_names for schema in schemas}
    if len(names) > 1:
        raise InvalidInputError("estimators must be fitted on one table to be averaged, got several lists of columns")
    columns = tuple(_common_column(own) for own in zip(*(schema.columns for schema in schemas), strict=True))
    encoder = copy.copy(first)
    encoder.schema_ = make_schema(columns, onehot=False)
    return encoder


def _common_column(columns: Sequence[Column]) -> Column:
    first = columns[0]
    for own in columns:
        if (own.kind, own.categories, own.time) != (first.kind, first.categories, first.time):
            raise InvalidInputError(
                "estimators must read the columns of one table alike to be averaged, and of "
                f"{first.name!r} they have other kinds, categories or dates"
            )
    finest = max(columns, key=lambda own: own.num_values)
    return dataclasses.replace(finest, has_missing=any(own.has_missing for own in columns))


def _predict_alike(loss: BaseLoss, other: BaseLoss) -> bool:
    """Whether two losses predict the same from the same scores."""
    link = name_of_link(loss)
    alike = link is not None and link == name_of_link(other) and loss.num_scores == other.num_scores
    return alike or loss == other


def _shares(weights: Any) -> Float[np.ndarray, " member"]:
    """Weights that add up to 1."""
    return np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)
