"""Hardened soft forests as estimators: forests, boosted trees, and trees whose leaves have weights.

The *steps* of a leaf are what it adds to the scores of a row, from which a loss predicts.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Real
from scipy.special import softmax as softmax_of
from sklearn.base import is_classifier

from jaxtree.boosting.ending import Measured
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.estimators.boosting.scored import ClassesByScores, NumbersByScores, ScoredTrees
from jaxtree.estimators.forests.forests import RandomForestClassifier, RandomForestRegressor
from jaxtree.estimators.soft.hardened import MadeByHarden
from jaxtree.explain.coalitions import drawn_background
from jaxtree.files.boosting import BoostedState
from jaxtree.files.records import require
from jaxtree.files.soft import HardForestState, SoftState
from jaxtree.files.trees import FittedTable, ForestState, TreeArrays
from jaxtree.losses.classes import logistic, softmax
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.links import link_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.ranking import Ranking
from jaxtree.soft.forest import LeafWeights, SoftForest
from jaxtree.soft.hard_forest import harden_forest, leaf_weights
from jaxtree.soft.harden import agreement
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.link import of_weighted, ratios
from jaxtree.tree.model import MOST_SUM, FittedModel
from jaxtree.tree.nodes import target_means

LOSSES_OF_CLASSES, LOSSES_OF_NUMBERS = ("logistic", "softmax"), ("squared", "poisson")
"""The names of the losses that a hardened forest may have."""


class _HardForest(MadeByHarden, ScoredTrees):
    """Trees whose leaves have scores and weights: the scores of a row are means by the weights of its leaves.

    Attributes:
        forest_: The trees, whose targets are the scores of leaves times their weights and, last, the weights.
    """

    model_kind = ModelKind.WEIGHTED

    def set_trees(
        self, forest: Forest, start: Float64[np.ndarray, " score"], step: Float64[np.ndarray, "node score"]
    ) -> None:
        """Takes trees as the fitted ones: sums of scores times weights, and of weights."""
        self.forest_, self.start_ = forest, start
        link = of_weighted(link_of(self._loss, getattr(self, "classes_", None)))
        # The number of trees would cancel out in the ratio: the mean of their steps does as well as the sum.
        self._model = FittedModel(
            self.encoder_.schema_, forest, start + step, None, (), (), averages_trees=True, link=link
        )

    def fitted_state(self) -> HardForestState:
        """Returns what the forest consists of: what a model file keeps."""
        table, nodes = self.fitted_table(), TreeArrays.of(self.model_.tree)
        first_node = np.asarray(self.forest_.first_node, np.int64)
        return HardForestState(table, nodes, first_node, self._loss, float(self.agreement_))

    def restore(self, state: HardForestState) -> None:
        """Takes what `fitted_state` of another forest returned; see `KeptInFiles.restore`."""
        self.restore_table(state.table)
        number = sum(state.table.num_classes)
        size = state.table.num_outputs if not number else 1 if number == 2 else number
        fits = state.loss.name in LOSSES_OF_CLASSES if number else state.loss.name in LOSSES_OF_NUMBERS
        require(fits and state.loss.num_scores == size, "its loss is not one of its outputs")
        self._loss, self.agreement_ = state.loss, state.agreement
        forest = state.forest(self.schema_)
        step = target_means(forest.nodes)
        require((np.abs(step) <= MOST_SUM * step[:, -1:]).all(), "the score of a node is no finite number")
        self.set_trees(forest, np.zeros(step.shape[1]), step)

    def scores_of(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row score"]:
        """Returns the scores of rows that `encoder_.values` has encoded."""
        return ratios(self.model_.predict(values).T).T

    def _make_loss(self, outputs: Any) -> BaseLoss:
        return self.loss_


class HardForestClassifier(_HardForest, ClassesByScores):
    """Hardened trees of classes with weights of leaves: the `harden()` of a `SoftForestClassifier` of "by_leaf".

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import SoftForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> soft = SoftForestClassifier(3, depth=2, gate="hard", mixture="by_leaf", max_epochs=20, random_state=0)
        >>> hard = soft.fit(X, y).harden()
        >>> bool((hard.predict(X) == soft.predict(X)).all())
        True
    """


class HardForestRegressor(_HardForest, NumbersByScores):
    """Hardened trees of numbers with weights of leaves: the `harden()` of a `SoftForestRegressor` of "by_leaf".

    Example:
        >>> from jaxtree import SoftForestRegressor
        >>> X = np.linspace(-1, 1, 200)[:, None]
        >>> soft = SoftForestRegressor(3, depth=2, gate="hard", mixture="by_leaf", max_epochs=20, random_state=0)
        >>> hard = soft.fit(X, np.abs(X[:, 0])).harden()
        >>> bool(np.allclose(hard.predict(X), soft.predict(X), atol=1e-5))
        True
    """


def hard_ensemble(soft: Any, values: Real[np.ndarray, "row value"], weight: Float64[np.ndarray, " row"]) -> Any:
    """Returns an ordinary ensemble that predicts what a soft forest does if its gates decide.

    Args:
        soft: The fitted soft estimator.
        values: Rows that nodes count and bins describe.
        weight: Their weights.

    Raises:
        InvalidInputError: The forest has no hard form, or one class.
    """
    model: SoftForest = soft.soft_model_
    state: SoftState = soft.fitted_state()
    of_classes, share, leaf = is_classifier(soft), leaf_weights(model), np.asarray(model.trees.leaf.value, np.float64)
    if of_classes and soft.n_classes_ < 2:
        raise InvalidInputError("a forest of one class is not hardened: it predicts that class of every row")

    def harden(columns: Float64[np.ndarray, "tree leaf column"], num_classes: tuple[int, ...] = ()) -> Any:
        options = {"temperature": soft.last_temperature_, "num_classes": num_classes}
        return harden_forest(model, soft.inputs_, values, weight, columns, **options)

    if not model.adds_logits and (of_classes or soft.loss_.name == "squared"):
        shares = softmax_of(leaf, axis=2) if of_classes else state.start + state.unit * leaf
        estimator = _forest_of(soft, state, *harden(shares, (soft.n_classes_,) if of_classes else ()))
    else:
        loss, start, score = _scores_of(soft, state, leaf)
        if isinstance(model.mixing, LeafWeights):
            weighted = np.concatenate([share[..., None] * (score + start), share[..., None]], axis=2)
            estimator = _weighted_of(state, loss, *harden(weighted))
            estimator.background_ = drawn_background(np.asarray(values, np.float64))
        else:
            estimator = _boosted_of(soft, state, (loss, start), *harden(share[..., None] * score))
    num_classes = (soft.n_classes_,) if of_classes else ()
    both = soft.predict_values(values), estimator.predict_values(values)
    estimator.agreement_ = agreement(*both, weight, num_classes)
    return estimator


def _scores_of(
    soft: Any, state: SoftState, leaf: Float64[np.ndarray, "tree leaf output"]
) -> tuple[BaseLoss, Float64[np.ndarray, " score"], Float64[np.ndarray, "tree leaf score"]]:
    """The loss that predicts what a soft estimator does, the scores to begin with, and those of the leaves."""
    num_outputs = leaf.shape[2]
    if is_classifier(soft):
        if num_outputs == 2:
            return logistic(), np.zeros(1), leaf[..., 1:] - leaf[..., :1]
        return softmax(num_outputs), np.zeros(num_outputs), leaf
    loss: BaseLoss = soft.loss_
    if isinstance(loss, Distribution | Ranking):
        raise InvalidInputError(f"a forest of {loss} is not hardened: of distributions and orders it stays soft")
    return loss, state.start, state.unit * leaf


def _table_of(state: SoftState, schema: Schema) -> FittedTable:
    """The soft estimator's schema, with other bins."""
    outputs = {"num_outputs": state.table.num_outputs or 1, "max_features": len(schema.columns)}
    return state.table._replace(columns=tuple(schema.columns), **outputs)


def _forest_of(soft: Any, state: SoftState, forest: Forest, schema: Schema) -> Any:
    """A forest whose prediction is the mean of its trees."""
    kind = RandomForestClassifier if is_classifier(soft) else RandomForestRegressor
    estimator = kind(n_estimators=len(forest), max_depth=max(soft.depth_, 1))
    arrays = TreeArrays.of(forest.nodes), np.asarray(forest.first_node, np.int64), None, None
    estimator.restore(
        ForestState(_table_of(state, schema), *arrays, key=state.key, rows=None, oob_score=None, oob_outputs=())
    )
    return estimator


def _boosted_of(
    soft: Any,
    state: SoftState,
    begun: tuple[BaseLoss, Float64[np.ndarray, " score"]],
    forest: Forest,
    schema: Schema,
) -> Any:
    """Boosted trees, whose steps add up to scores; of a loss and the scores to begin with."""
    loss, start = begun
    sizes = {"n_estimators": len(forest), "max_depth": max(soft.depth_, 1)}
    if is_classifier(soft):
        estimator: Any = GradientBoostingClassifier(**sizes)
    else:
        estimator = GradientBoostingRegressor(**sizes, loss=soft.loss)
    rounds = forest, start, Measured((), np.zeros((len(forest), 0))), 1
    estimator.restore(BoostedState.of(_table_of(state, schema), rounds, loss, survival=state.survival, folds=None))
    return estimator


def _weighted_of(state: SoftState, loss: BaseLoss, forest: Forest, schema: Schema) -> Any:
    """Trees whose leaves have weights."""
    estimator: Any = HardForestClassifier() if state.table.outputs else HardForestRegressor()
    nodes, first_node = TreeArrays.of(forest.nodes), np.asarray(forest.first_node, np.int64)
    estimator.restore(HardForestState(_table_of(state, schema), nodes, first_node, loss, 1.0))
    return estimator
