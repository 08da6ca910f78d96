"""Fitted models as parameters that are trained further, and parameters as such models again."""

import abc
import copy
import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.special import softmax
from sklearn.base import is_classifier

from jaxtree.dataset.sample import Sample
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.boosting.rows import target_of, weight_of
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.numbers import squared
from jaxtree.soft.epochs import Predict
from jaxtree.soft.fine_tuning import TunedForest, leaf_sums, means_of_trees, shares_of_trees, sums_of_nodes
from jaxtree.soft.from_tree import log_shares
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.losses import cross_entropy
from jaxtree.soft.model import LEAST_PROBABILITY
from jaxtree.soft.scores import OfScores, ScoreScale, weighted_sum
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import target_means

Sums = dict[str, Float64[np.ndarray, "node column"]]


class TrainableModel(abc.ABC):
    """A fitted model whose thresholds and leaves are parameters.

    Args:
        estimator: The model.
        given: The rows that are given, which the loss allows.

    Attributes:
        estimator: The model.
        forest: Its trees.
        loss: The loss of outputs.
        value: The value of every node.
        says: The outputs for which a node has a value; None is all.
    """

    predict: ClassVar[Predict]
    estimator: Any
    forest: Forest
    loss: Any
    value: Float64[np.ndarray, "node output"]
    says: Bool[np.ndarray, "node output"] | None = None

    def rows(self, given: Sample) -> SoftSample:
        """Returns rows as training takes them, those without weight left out."""
        values = self.estimator.encoder_.values(given.X)
        rows = SoftSample(values, self._target(given), np.asarray(weight_of(given), np.float64))
        return rows if rows.weight.all() else rows.take(rows.weight > 0)

    def loss_of(self, estimator: Any, rows: SoftSample) -> float:
        """Returns the mean loss of what an estimator predicts."""
        with jax.enable_x64(True):
            return float(weighted_sum(self.loss, *self._compared(estimator, rows)) / rows.weight.sum())

    def is_better(self, other: Any, rows: SoftSample, standard_errors: float) -> bool:
        """Returns whether another model has less loss than the given one, by more than so many standard errors.

        Losses that compare rows have no errors, and take any gain.
        """
        if isinstance(self.loss, BaseLoss) and self.loss.joins_rows:
            return self.loss_of(other, rows) < self.loss_of(self.estimator, rows)
        with jax.enable_x64(True):
            loss = OfScores(self.loss) if isinstance(self.loss, BaseLoss) else self.loss
            before, after = (np.asarray(loss(*self._compared(one, rows)[:2])) for one in (self.estimator, other))
        gain, share = before - after, rows.weight / rows.weight.sum()
        mean = share @ gain
        return bool(mean > max(standard_errors * np.sqrt(np.square(share) @ np.square(gain - mean)), 0))

    def _compared(self, estimator: Any, rows: SoftSample) -> Any:
        """The predictions of an estimator as the loss takes them, with targets and weights."""
        output = self._outputs(estimator.model_.predict(rows.values))
        return jax.tree.map(jnp.asarray, (output, rows.target, rows.weight))

    def trained_model(self, trained: TunedForest, forest: Forest, schema: Schema) -> Any:
        """Returns a copy of the estimator with the leaves of training, on trees with its thresholds."""
        forest = dataclasses.replace(forest, nodes=dataclasses.replace(forest.nodes, **self._sums(trained)))
        model = copy.copy(self.estimator)
        model.encoder_ = copy.copy(model.encoder_)
        model.encoder_.schema_ = schema
        return model.settle(forest.nodes) if isinstance(model, BaseTree) else model.with_trees(forest)

    @abc.abstractmethod
    def _target(self, given: Sample) -> Any:
        """The target of rows as the loss takes it."""

    @abc.abstractmethod
    def _outputs(self, predicted: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        """Predictions of trees as the loss takes them."""

    @abc.abstractmethod
    def _sums(self, trained: TunedForest) -> Sums:
        """The field of nodes from which predictions follow."""


class TunedClasses(TrainableModel):
    """A tree, or the mean of trees, of classes: leaves have logits of shares."""

    predict = staticmethod(shares_of_trees)

    def __init__(self, estimator: Any, given: Sample):
        self.estimator, self.forest, self.loss = estimator, forest_of(estimator), cross_entropy
        # One row's worth in all: the mean of many trees, of which each is sure, is not.
        self.value = log_shares(self.forest.nodes, smoothing=1 / len(self.forest))

    def _target(self, given: Sample) -> Any:
        return target_of(given)

    def _outputs(self, predicted: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        return np.log(predicted + LEAST_PROBABILITY)

    def _sums(self, trained: TunedForest) -> Sums:
        shares = softmax(np.asarray(trained.leaf.value, np.float64), axis=1)
        return {"count": sums_of_nodes(self.forest, trained, shares)}


class TunedNumbers(TrainableModel):
    """A tree, or the mean of trees, of numbers: leaves have numbers in deviations of the target."""

    predict = staticmethod(means_of_trees)

    def __init__(self, estimator: Any, given: Sample):
        self.estimator, self.forest = estimator, forest_of(estimator)
        self.loss: BaseLoss = squared(estimator.n_outputs_)
        self.scale = ScoreScale.of(self.loss, target_of(given), weight_of(given), given.fields)
        self.value = self.scale.outputs(target_means(self.forest.nodes))

    def _target(self, given: Sample) -> Any:
        return self.scale.rows(self.loss, target_of(given), given.fields)

    def _outputs(self, predicted: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        return self.scale.outputs(predicted)

    def _sums(self, trained: TunedForest) -> Sums:
        return {"target_sum": sums_of_nodes(self.forest, trained, self.scale.scores(trained.leaf.value))}


class TunedScores(TunedNumbers):
    """A boosted model: trees add up to scores, behind the start of the model."""

    predict = staticmethod(leaf_sums)

    def __init__(self, estimator: Any, given: Sample):
        self.estimator, self.forest, self.loss = estimator, estimator.forest_, estimator.loss_
        unit = ScoreScale.of(self.loss, target_of(given), weight_of(given), given.fields).unit
        self.scale = ScoreScale(estimator.start_, unit)
        self.value = target_means(self.forest.nodes) / unit
        self.says = estimator.changed_scores()[self.forest.tree_of_node]

    def _sums(self, trained: TunedForest) -> Sums:
        steps = self.scale.unit * np.where(trained.topology.says, trained.leaf.value, 0)
        return {"target_sum": sums_of_nodes(self.forest, trained, steps)}


def trainable_model(estimator: Any, given: Sample) -> TrainableModel:
    """Returns a fitted model as one whose thresholds and leaves are parameters."""
    if isinstance(estimator, BaseBoosting):
        return TunedScores(estimator, given)
    return (TunedClasses if is_classifier(estimator) else TunedNumbers)(estimator, given)


def forest_of(estimator: Any) -> Forest:
    """Returns the trees of a tree or a forest."""
    return estimator.forest_ if isinstance(estimator, BaseForest) else Forest.of(estimator.tree_)
