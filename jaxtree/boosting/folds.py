"""The mean of boosted models that have each been grown without one fold: one sum of trees, and what the folds know.

The mean of the scores of several sums of trees is a sum of trees, too: of all their trees, each with its steps divided
by the number of models.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.boosting.ending import Measure, Measured
from jaxtree.tree.forest import Forest, join_forests

HELD = "held"
"""The name of the rows of a fold among what is measured of its model."""


def measures_of_folds(measures: Sequence[Measure], number: int) -> tuple[Measure, ...]:
    """Returns the names of what is measured of the models of several folds, given those of one.

    >>> [own.evaluation for own in measures_of_folds([Measure("held", "log_loss"), Measure("test", "log_loss")], 2)]
    ['fold_0', 'fold_0 test', 'fold_1', 'fold_1 test']
    """
    return tuple(
        own._replace(evaluation=f"fold_{fold}" + ("" if own.evaluation == HELD else f" {own.evaluation}"))
        for fold in range(number)
        for own in measures
    )


class Folds(NamedTuple):
    """Data per fold of a model that is the mean of those of folds.

    Attributes:
        fold_of_tree: The fold without which a tree was grown.
        start: The scores of every model before its first tree.
        row: The rows of the table that a fold held out, fold after fold.
        first: Where every fold begins among these, and the end.
        residual: The distance of the target of each from what the model of its fold predicts; none if that is no
            number.
        weight: The weight of each; none if all are 1.
        predictions: The mean prediction of every row of the table by the models that have not seen it; NaN where all
            have, or the row has no weight.
        score: The `score` of these predictions.
        measured: The metrics of each fold after every round; NaN after the last of its rounds. Rows are named
            "fold_0", and other rows that were measured beside "fold_0 validation_0".
        num_measured: The number of these rounds of each fold, those after the best included.
        rows: A digest of the rows of the table, see `jaxtree.dataset.dataset.Dataset.digest`.
    """

    fold_of_tree: Int64[np.ndarray, " tree"]
    start: Float64[np.ndarray, "fold score"]
    row: Int64[np.ndarray, " held"]
    first: Int64[np.ndarray, " boundary"]
    residual: Float64[np.ndarray, " residual"]
    weight: Float64[np.ndarray, " weight"]
    predictions: Float64[np.ndarray, "row column"]
    score: float
    measured: Measured
    num_measured: Int64[np.ndarray, " fold"]
    rows: str

    def __len__(self) -> int:
        """The number of folds."""
        return len(self.start)

    @property
    def num_trees(self) -> Int64[np.ndarray, " fold"]:
        """The number of trees of every model."""
        return np.bincount(self.fold_of_tree, minlength=len(self))

    @property
    def fold_of_held(self) -> Int64[np.ndarray, " held"]:
        """The fold of every row that was held out."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Returns what was measured of every fold, as long as its model made rounds."""
        result = {}
        for fold in range(len(self)):
            measures, values = self.measured_of(fold)
            names = [own.metric if own.evaluation == HELD else f"{own.evaluation} {own.metric}" for own in measures]
            result[f"fold_{fold}"] = dict(zip(names, values.T.tolist(), strict=True))
        return result

    def measured_of(self, fold: int) -> Measured:
        """Returns what was measured of the model of one fold, under the names that its own fit has."""
        places, measures = [], []
        for place, measure in enumerate(self.measured.measures):
            name, _, beside = measure.evaluation.partition(" ")
            if name == f"fold_{fold}":
                places.append(place)
                measures.append(measure._replace(evaluation=beside or HELD))
        return Measured(tuple(measures), self.measured.values[: self.num_measured[fold]][:, places])

    def model_of(self, fold: int, forest: Forest) -> Forest:
        """Returns the trees of the model of one fold, with the steps that it made.

        Args:
            fold: The number of the fold.
            forest: The trees of the mean.
        """
        own = forest.take(np.flatnonzero(self.fold_of_tree == fold))
        return _with_sums(own, own.nodes.target_sum * len(self))


def mean_of_models(forests: Sequence[Forest], trees_per_round: int = 1) -> tuple[Forest, Int64[np.ndarray, " tree"]]:
    """Returns the mean of several sums of trees, and the number of the model of every tree.

    The first rounds of all models come first, then the second ones; the trees of a round stay together.
    """
    model_of_tree = np.repeat(np.arange(len(forests)), [len(forest) for forest in forests])
    number = np.concatenate([np.arange(len(forest)) for forest in forests])
    order = np.lexsort((number, model_of_tree, number // trees_per_round))
    joined = join_forests(forests).take(order)
    # A division by a sum of two powers of two, and no product, is undone by a product, bit for bit (Goldberg, *What
    # every computer scientist should know about floating-point arithmetic*, ACM Computing Surveys 23, 1991, theorem 7).
    return _with_sums(joined, joined.nodes.target_sum / len(forests)), model_of_tree[order]


def weighted_sum(forests: Sequence[Forest], shares: Float64[np.ndarray, " model"]) -> Forest:
    """Returns several sums of trees as one, in which each counts with a share: the trees of the first come first.

    Gains of splits are multiplied by the share, too.
    """
    weighted = []
    for own, share in zip(forests, shares, strict=True):
        nodes = dataclasses.replace(own.nodes, gain=own.nodes.gain * share)
        weighted.append(_with_sums(dataclasses.replace(own, nodes=nodes), own.nodes.target_sum * share))
    return join_forests(weighted)


def _with_sums(forest: Forest, target_sum: Float64[np.ndarray, "node output"]) -> Forest:
    """The same trees with other steps."""
    return dataclasses.replace(forest, nodes=dataclasses.replace(forest.nodes, target_sum=target_sum))
