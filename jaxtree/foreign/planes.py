"""The neutral form of models of other libraries: columns, the nodes of trees, and how sums of leaves are predicted.

Each library's file makes a `ForeignModel`, and `jaxtree.foreign.estimators` an estimator of it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64, Shaped

from jaxtree.files.records import require
from jaxtree.foreign.comparisons import ThresholdRule
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.columns import MAX_CODES
from jaxtree.table.rare_words import RareWords

MOST_DEPTH = 5_000
"""The depth of a tree that no library grows."""

MOST_LETTERS = 200
"""The letters of a word that stands for all others."""

LEAST_SHARE = 2.0**-30
"""The least part of a tree's weight that a leaf has: one without any would predict what its parent does."""


class ForeignColumn(NamedTuple):
    """A column of another library's model.

    Attributes:
        name: Its name.
        categories: Its categories in the order of their codes; None of numbers.
        has_missing: Whether it may have had missing values, as far as the model tells.
        is_whole: Whether its numbers are whole.
        ends: The least and the greatest number of the fit, if the model has them.
    """

    name: str
    categories: tuple[Any, ...] | None = None
    has_missing: bool = True
    is_whole: bool = False
    ends: tuple[float, float] | None = None


class NodePlanes(NamedTuple):
    """The nodes of trees, in any order, an array an attribute.

    Attributes:
        feature: The column that a node splits; -1 of a leaf.
        left: The node on the left; -1 of a leaf.
        right: The node on the right; -1 of a leaf.
        limit: Numbers up to it go to the left; an infinite one sends all that is known there.
        missing_left: Whether missing values go to the left.
        codes: The codes of categories that go to the right, of nodes that split by category.
        value: The numbers that a leaf adds to the scores.
        weight: The weight of rows in the fit, read at leaves.
        num_rows: The number of rows in the fit.
        gain: The loss that a split has saved in the fit, in any unit; NaN where it is not known.
        root: The first node of every tree.
    """

    feature: Int64[np.ndarray, " node"]
    left: Int64[np.ndarray, " node"]
    right: Int64[np.ndarray, " node"]
    limit: Float64[np.ndarray, " node"]
    missing_left: Bool[np.ndarray, " node"]
    codes: Mapping[int, Int64[np.ndarray, " _code"]]
    value: Float64[np.ndarray, "node score"]
    weight: Float64[np.ndarray, " node"]
    num_rows: Int64[np.ndarray, " node"]
    gain: Float64[np.ndarray, " node"]
    root: Int64[np.ndarray, " tree"]


class Meaning(NamedTuple):
    """How predictions follow from the sums of leaves.

    Attributes:
        estimator: The name of the class of jaxtree.
        loss: The loss; None of trees and forests, which average.
        parameters: Parameters of the estimator that differ from its defaults.
        classes: The classes of every output; none of numbers.
        num_outputs: The number of targets.
    """

    estimator: str
    loss: BaseLoss | None
    parameters: Mapping[str, Any]
    classes: tuple[Shaped[np.ndarray, " _class"], ...] = ()
    num_outputs: int = 1


@dataclasses.dataclass(frozen=True)
class ForeignModel:
    """A model of another library.

    Attributes:
        columns: Its columns.
        is_named: Whether these have names of their own.
        comparison: How rows are compared with thresholds.
        planes: Its trees. Their values are of one score each if a round has a tree a score, else of all.
        start: The scores before the first tree.
        trees_per_round: How many trees a round has: 1, or one for every score.
        meaning: How predictions follow.
    """

    columns: tuple[ForeignColumn, ...]
    is_named: bool
    comparison: ThresholdRule
    planes: NodePlanes
    start: Float64[np.ndarray, " score"]
    trees_per_round: int
    meaning: Meaning


def join_planes(parts: Sequence[NodePlanes]) -> NodePlanes:
    """Puts the nodes of trees behind those of others."""
    sizes = np.cumsum([0, *(len(part.feature) for part in parts)]).tolist()
    columns: dict[str, list] = {name: [] for name in NodePlanes._fields if name != "codes"}
    codes: dict[int, Int64[np.ndarray, " _code"]] = {}
    for first, part in zip(sizes, parts, strict=False):
        for name, own in columns.items():
            values = getattr(part, name)
            own.append(np.where(values < 0, values, values + first) if name in ("left", "right", "root") else values)
        codes |= {node + first: own for node, own in part.codes.items()}
    return NodePlanes(**{name: np.concatenate(own) for name, own in columns.items()}, codes=codes)


def with_score(planes: NodePlanes, score: int, num_scores: int) -> NodePlanes:
    """Returns trees of one score as trees of all, which leave the others as they are."""
    value = np.zeros((len(planes.feature), num_scores))
    value[:, score] = planes.value[:, 0]
    return planes._replace(value=value)


def rounds_of(trees: Sequence[NodePlanes], score_of_tree: Sequence[int], num_scores: int) -> tuple[NodePlanes, int]:
    """Returns trees of one score each, and how many of them a round has.

    Args:
        trees: The trees.
        score_of_tree: The score that each changes.
        num_scores: The number of scores.
    """
    require(len(trees) > 0, "it has no trees")
    are_rounds = list(score_of_tree) == [place % num_scores for place in range(len(trees))]
    if are_rounds and len(trees) % num_scores == 0:
        return join_planes(trees), num_scores
    require(all(0 <= score < num_scores for score in score_of_tree), "a tree changes a score that there is not")
    apart = [with_score(own, score, num_scores) for own, score in zip(trees, score_of_tree, strict=True)]
    return join_planes(apart), 1


def leaf_planes(value: Float64[np.ndarray, " score"], weight: float = 1.0, num_rows: int = 0) -> NodePlanes:
    """Returns a tree that is a leaf."""
    none = np.array([-1], np.int64)
    return NodePlanes(
        feature=none,
        left=none,
        right=none,
        limit=np.zeros(1),
        missing_left=np.zeros(1, bool),
        codes={},
        value=value[None],
        weight=np.array([weight]),
        num_rows=np.array([num_rows]),
        gain=np.zeros(1),
        root=np.zeros(1, np.int64),
    )


def code_columns(number_of_codes: int, name: str) -> None:
    """Raises ModelFileError if a column has more categories than codes."""
    require(
        number_of_codes <= MAX_CODES,
        f"column {name[:40]!r} has {number_of_codes} categories, and a column has at most {MAX_CODES}",
    )


def with_any_other(categories: Sequence[int | str]) -> tuple[int | str | RareWords, ...]:
    """Returns categories that splits know, and one for all others.

    >>> list(map(str, with_any_other(["green", "red"])))
    ['green', 'red', 'any other']
    """
    numbers = [own for own in categories if isinstance(own, int)]
    words = "".join([*map(str, categories), "other"])[-MOST_LETTERS:]
    other = max(numbers, default=-1) + 1 if len(numbers) == len(categories) else words
    return (*categories, RareWords(number=1, most_rows=0, example=other))
