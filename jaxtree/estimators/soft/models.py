"""The models of soft estimators: one tree, begun at random or from a hard tree, or a forest."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.hardened import hard_estimator
from jaxtree.estimators.soft.parameters import AUTO
from jaxtree.estimators.soft.preparing import Sample
from jaxtree.programs import compiled
from jaxtree.soft.courses import Predict
from jaxtree.soft.forest import SoftForest, apply_forest, forest_log_mixture, init_forest
from jaxtree.soft.from_tree import from_tree, log_shares
from jaxtree.soft.harden import harden
from jaxtree.soft.model import SoftForm, SoftTree, apply, init
from jaxtree.soft.outputs import log_mixture
from jaxtree.soft.training import Trained
from jaxtree.table.encoder import Encoder
from jaxtree.tree import target_means

ROWS_FOR_THRESHOLDS = 1000
"""Rows among which axis gates have their first thresholds."""


class OfOneTree(BaseSoft):
    """The model is one soft tree, the best of several."""

    _largest_auto_depth = 10
    init: Any
    n_classes_: int
    classes_: Any
    init_width: float
    n_restarts: int
    model_: SoftTree

    def harden(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, refit: bool | None = None, drop: str = "box"
    ) -> Any:
        """Returns an ordinary tree that sends every row where the gates rather send it.

        Of axis gates it is a `DecisionTreeClassifier` or `DecisionTreeRegressor`, whose node table `tree_` can be
        pruned, exported and plotted like any other; of oblique gates a `HardTreeClassifier` or `HardTreeRegressor`.
        Its `agreement_` tells how far it says what the soft tree says.

        Args:
            X: Rows to refit leaves on, and to tell by which branches are dead; those of the last fit if not given.
            y: Their targets.
            sample_weight: Their weights.
            refit: Whether a leaf says the shares, or the mean, of its rows. If not, it says what it says in the soft
                tree. Not given, leaves of numbers are refitted and those of classes are not, which have learned from
                rows nearby, too.
            drop: Which branches go: "box", those where no point within the ranges of the columns comes; or "rows",
                those where none of the rows come: a smaller tree, that says less of further rows.

        Raises:
            InvalidInputError: The estimator was loaded from a file or a pickle, which has no rows; or other arguments
                are not allowed.
        """
        check_is_fitted(self)
        sample = self._rows_to_harden_on(X, y, sample_weight)
        of_classes = is_classifier(self)
        has_linear = self.model_.leaf.weight is not None
        tree = dataclasses.replace(self.model_, leaf=self._hard_leaf(self.model_.leaf))
        hardened = harden(
            tree,
            self.inputs_,
            sample.values,
            sample.target[:, None] if of_classes else self._in_units_of_table(sample.target),
            num_classes=(self.n_classes_,) if of_classes else (),
            weight=sample.weight,
            temperature=self.last_temperature,
            refit=not of_classes or has_linear if refit is None else refit,
            drop=drop,
        )
        return hard_estimator(self, hardened)

    def _rows_to_harden_on(self, X: Any, y: Any, sample_weight: Any) -> Sample:
        if X is not None:
            sample = self._read_further_sample(X, y, sample_weight)
        elif (sample := getattr(self, "_rows", None)) is None:
            raise InvalidInputError("the rows of the fit are not kept in a file or pickle: give harden() X and y")
        if is_classifier(self) and sample.target.ndim == 2:
            return sample._replace(target=sample.target.argmax(axis=1))
        return sample

    def _predict_function(self) -> Predict:
        return log_mixture if is_classifier(self) else apply

    def _num_models(self) -> int:
        return self.n_restarts

    def _first_models(
        self, form: SoftForm, keys: Key[Array, " model"], x: Float[np.ndarray, "row feature"]
    ) -> SoftTree:
        if self.init is not None:
            return jax.vmap(lambda key: self._tree_of_init(form, key))(keys)
        return first_trees(form, keys, x)

    def _encoder_to_fit(self, X: Any) -> Encoder:
        """A fitted encoder: that of the tree to begin with, if there is any."""
        if self.init is None:
            return super()._encoder_to_fit(X)
        if not isinstance(self.init, BaseTree):
            raise InvalidTypeError(f"init must be a fitted tree of jaxtree, got {type(self.init).__name__}")
        check_is_fitted(self.init)
        known = np.asarray(getattr(self.init, "classes_", None)).tolist()
        if is_classifier(self) and known != self.classes_.tolist():
            raise InvalidInputError(f"init must know the classes of y, {self.classes_.tolist()}, got {known}")
        return self.init.encoder_

    def _tree_of_init(self, form: SoftForm, key: Any) -> SoftTree:
        """The hard tree that training begins with, as a soft one."""
        tree = self.init.tree_
        said = log_shares(tree) if is_classifier(self) else self._as_outputs(target_means(tree))
        return from_tree(
            tree,
            self.inputs_,
            temperature=self.init_width,
            gate=form.gate,
            step=form.step,
            selector=form.selector,
            said=said,
            depth=None if self.depth == AUTO else form.depth,
            key=key,
        )

    def _choose(self, trained: Trained, score: Float[np.ndarray, " model"]) -> None:
        best = int(np.argmin(score))
        one = jax.tree.map(lambda part: np.asarray(part)[best], trained)
        self.model_, self.progress_, self.best_epoch_ = one.model, one.progress, int(one.best_epoch)
        self.history_ = curves_of(one)


class OfOneForest(BaseSoft):
    """The model is a soft forest, its trees trained apart, or all together with their weights."""

    _largest_auto_depth = 8
    n_estimators: int
    mixture: str
    model_: SoftForest

    @property
    def _is_trained_apart(self) -> bool:
        return self.mixture == "mean"

    def _predict_function(self) -> Predict:
        return forest_log_mixture if is_classifier(self) else apply_forest

    def _predict_in_training(self) -> Predict:
        if self._is_trained_apart:
            return log_mixture if is_classifier(self) else apply
        return self._predict_function()

    def _num_models(self) -> int:
        return self.n_estimators if self._is_trained_apart else 1

    def _first_models(self, form: SoftForm, keys: Key[Array, " model"], x: Float[np.ndarray, "row feature"]) -> Any:
        if self._is_trained_apart:
            return first_trees(form, keys, x)
        return jax.vmap(lambda key: init_forest(form, num_trees=self.n_estimators, mixture=self.mixture, key=key))(keys)

    def _stacked(self, model: Any) -> Any:
        if not self._is_trained_apart:
            return super()._stacked(model)
        return model.trees if isinstance(model, SoftForest) else model

    def _choose(self, trained: Trained, score: Float[np.ndarray, " model"]) -> None:
        host = jax.tree.map(np.asarray, trained)
        self.best_epoch_ = int(np.median(host.best_epoch))
        judged = None if host.validation_loss is None else host.validation_loss.mean(axis=0)
        self.history_ = curves_of(host._replace(loss=host.loss.mean(axis=0), validation_loss=judged))
        if self._is_trained_apart:
            self.model_, self.progress_ = SoftForest(host.model, None), host.progress
        else:
            self.model_, self.progress_ = jax.tree.map(lambda part: part[0], (host.model, host.progress))


def first_trees(form: SoftForm, keys: Key[Array, " model"], x: Float[np.ndarray, "row feature"]) -> SoftTree:
    """Random trees. Planes pass through the middle of the rows, thresholds of axis gates lie among them."""
    rows = x[:: max(1, len(x) // ROWS_FOR_THRESHOLDS)] if form.gate == "axis" else None
    return _first_trees(keys, rows, form=form)


@compiled("form")
def _first_trees(
    keys: Key[Array, " model"], rows: Float[AnyArray, "row feature"] | None, *, form: SoftForm
) -> SoftTree:
    return jax.vmap(lambda key: init(form, key=key, inputs=rows))(keys)


def curves_of(trained: Trained) -> dict[str, list[float]]:
    """The history of one training."""
    history = {"loss": trained.loss.tolist()}
    if trained.validation_loss is not None:
        history["validation_loss"] = trained.validation_loss.tolist()
    return history
