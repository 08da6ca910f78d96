"""A fitted tree or forest as one value: the columns, the nodes, and the prediction for rows that end at each."""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int, Int64, Real, Shaped

from jaxtree.errors import InvalidInputError
from jaxtree.table.schema import Schema
from jaxtree.table.target import encode_classes, encode_numbers
from jaxtree.tree.forest import Forest
from jaxtree.tree.link import ScoreLink
from jaxtree.tree.predictor import Predictor
from jaxtree.tree.tree import Tree

MOST_SUM = 2.0**1021
"""The largest sum of targets and of what trees predict: differences of two such are numbers still."""

PROBABILITY_TOLERANCE = 1e-6
"""The most that shares of classes, mixed from several leaves, may differ by and count as equal."""


class RowSums(NamedTuple):
    """The exact sums over rows that a model keeps, so that it can take rows and give them back: whole numbers of units.

    Attributes:
        weight: The unit of weights.
        target: The unit of weighted targets.
        moment: The unit of moments.
        center: The number that is subtracted from the targets of every output.
        is_scaled: Whether weights are in fixed point; if not, their unit is 1.
        sums: The weight of every class, the outputs side by side; or weight, targets and moment. None where the
            weights of classes are whole, so that the nodes have them.
    """

    weight: float
    target: float
    moment: float
    center: Float64[np.ndarray, " output"]
    is_scaled: bool
    sums: Int64[np.ndarray, "channel node"] | None


@dataclasses.dataclass(frozen=True)
class FittedModel:
    """The result of fitting an estimator of hard splits.

    Attributes:
        schema: The columns and features of the table.
        forest: The nodes, with thresholds in units of the table; a single tree is a forest of one.
        node_value: The share of every class at each node, the outputs side by side, or the mean of every target.
        node_label: The class that is predicted at each node; None for numbers, and for forests, which predict the
            class of greatest mean share.
        classes: The classes of every output, ascending; none for numbers.
        class_order: The places of the classes in the order that decides between equal ones.
        averages_trees: Whether the prediction is the mean of the trees, which is what makes a forest.
        is_vote: Whether the values are those of a vote of prunings, and not the nodes' own.
        link: The link where the trees add up to scores, whose values are then those of nodes; else None.
    """

    schema: Schema
    forest: Forest
    node_value: Float64[np.ndarray, "node column"]
    node_label: Int[np.ndarray, "output node"] | None
    classes: tuple[Shaped[np.ndarray, " _class"], ...]
    class_order: tuple[Int[np.ndarray, " _class"], ...]
    averages_trees: bool = False
    is_vote: bool = False
    link: ScoreLink | None = None

    @classmethod
    def of_scores(
        cls,
        schema: Schema,
        forest: Forest,
        start: Float64[np.ndarray, " score"],
        step: Float64[np.ndarray, "node score"],
        link: ScoreLink | None = None,
    ) -> "FittedModel":
        """Returns the model of trees that add up to scores.

        Args:
            schema: The columns.
            forest: The trees.
            start: The scores before the first tree.
            step: The numbers that every node adds to the scores.
            link: The predictions that follow from the scores, for exports.
        """
        # The mean of the trees' predictions is the sum of their steps, behind the start.
        value = start + len(forest) * step
        return cls(schema, forest, value, None, (), (), averages_trees=True, link=link)

    @property
    def tree(self) -> Tree:
        """The nodes: of a model of one tree that tree."""
        return self.forest.nodes

    def by_tree(self) -> list[tuple[Tree, Float64[np.ndarray, "node column"]]]:
        """Every tree, with the values of its nodes."""
        values = np.split(self.node_value, self.forest.first_node[1:-1])
        return list(zip(self.forest, values, strict=True))

    @property
    def num_outputs(self) -> int:
        """The number of targets."""
        return len(self.classes) or (1 if self.link else self.node_value.shape[1])

    @property
    def is_ratio(self) -> bool:
        """Whether scores are means by weights, whose sum is the last number that the trees add up to."""
        return self.link is not None and self.link.is_ratio

    @property
    def num_scores(self) -> int:
        """The numbers that trees add up to, without the sum of weights."""
        return self.node_value.shape[1] - self.is_ratio

    @property
    def predicted_classes(self) -> Shaped[np.ndarray, " class"] | None:
        """The classes that are predicted of one output; None of numbers."""
        return self.classes[0] if self.classes else None if self.link is None else self.link.classes

    @functools.cached_property
    def predictor(self) -> Predictor:
        """The trees, ready for prediction."""
        return Predictor(self.forest)

    def by_output(self, values: Float[np.ndarray, "row column"]) -> list[Float[np.ndarray, "row _class"]]:
        """The shares of the classes of every output."""
        return np.split(values, np.cumsum([len(names) for names in self.classes])[:-1], axis=1)

    def predict(self, values: Float[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row column"]:
        """The shares of classes, the outputs side by side, or the means.

        Args:
            values: The rows: numbers, and the codes of categories; NaN is a missing value.
        """
        return self.predictor.mean(values, self.node_value)

    def predict_label(self, values: Float[np.ndarray, "row feature"]) -> Int[np.ndarray, "output row"]:
        """The place of every row's class in `classes`."""
        if self.node_label is None:
            return np.stack([shares.argmax(axis=1) for shares in self.by_output(self.predict(values))])
        end = self.predictor.ends(values)
        label = self.node_label[:, end]
        held = self.predictor.rows_to_share(end)
        if held.size:
            label[:, held] = self._most_probable(self.predictor.mean_at(values[held], end[held], self.node_value))
        return label

    def node_votes(self) -> Float64[np.ndarray, "node column"]:
        """The vote of each node where a pruning is a vote: 1 for its class; or the means."""
        if self.node_label is None:
            return self.node_value
        pairs = zip(self.classes, self.node_label, strict=True)
        return np.concatenate([np.eye(len(names))[label] for names, label in pairs], axis=1)

    def with_votes(self, votes: Float[np.ndarray, "node column"]) -> "FittedModel":
        """The model whose nodes predict what a vote of prunings does."""
        votes = np.asarray(votes, np.float64)
        label = self._most_probable(votes) if self.classes else None
        return dataclasses.replace(self, node_value=votes, node_label=label, is_vote=True)

    def _most_probable(self, values: Float[np.ndarray, "row column"]) -> Int[np.ndarray, "output row"]:
        """The class of greatest share, of equal ones the first in the order of classes."""
        labels = []
        for order, shares in zip(self.class_order, self.by_output(values), strict=True):
            ordered = shares[:, order]
            most = ordered.max(axis=1, keepdims=True) - PROBABILITY_TOLERANCE
            labels.append(order[(ordered >= most).argmax(axis=1)])
        return np.stack(labels)

    def encode_target(self, y: Any) -> Real[np.ndarray, "output row"]:
        """The codes of classes, -1 for one that fit has not seen; or the numbers.

        Raises:
            InvalidInputError: The target has another number of outputs than in fit.
        """
        return encode_known_classes(y, self.classes) if self.classes else encode_known_numbers(y, self.num_outputs)


def encode_known_classes(y: Any, classes: tuple[Shaped[np.ndarray, " _class"], ...]) -> Int[np.ndarray, "output row"]:
    """The places of classes among those of fit; -1 for a class that fit has not seen.

    Raises InvalidInputError if the target has another number of outputs.
    """
    target = encode_classes(y)
    if len(classes) != len(target.classes):
        raise InvalidInputError(f"y must have {len(classes)} outputs, as in fit, got {len(target.classes)}")
    codes = []
    for known, given, code in zip(classes, target.classes, target.codes, strict=True):
        place = {name: number for number, name in enumerate(known.tolist())}
        codes.append(np.array([place.get(name, -1) for name in given.tolist()], np.int32)[code])
    return np.stack(codes)


def encode_known_numbers(y: Any, num_outputs: int) -> Float[np.ndarray, "output row"]:
    """The numbers of a target; raises InvalidInputError if it has another number of outputs than in fit."""
    values = encode_numbers(y).values
    if len(values) != num_outputs:
        raise InvalidInputError(f"y must have {num_outputs} outputs, as in fit, got {len(values)}")
    return values
