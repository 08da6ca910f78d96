"""Forests as edges of binary trees, level by level, in arrays of one shape for all trees.

An *edge* leads to a node of a binary tree; a split with more branches, or at which rows stay, becomes several, all
about the same column. For one row, or for the training rows, the *share* of an edge is the part of what comes to its
split that takes it; the shares of all edges of one column on a path, multiplied, are the column's *presence* there.
Edge 0 stands above the root, and all is present at it.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int32, UInt32

from jaxtree.arrays import AnyArray
from jaxtree.table.schema import Schema
from jaxtree.tree import ALL_BRANCHES, SplitKind, Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import FittedModel
from jaxtree.tree.subsets import SharedSubsets

TINY = 1e-30
"""The number that stands for a factor of 0, so that it can be divided out again."""


class Rule(NamedTuple):
    """Points of Gauss-Legendre's rule between 0 and 1, and their weights."""

    point: Float64[AnyArray, " point"]
    weight: Float64[AnyArray, " point"]


class Taken(NamedTuple):
    """The branch that every row takes at every split, and whether it is shared out among all; None if none is."""

    branch: Int[AnyArray, "split row"]
    is_shared: Bool[AnyArray, "split row"] | None


class EdgeWeights(NamedTuple):
    """The factors by which the edges of a level change products and sums, at every point and for every row.

    Attributes:
        down: The factor by which the product over all columns on the path changes at the edge.
        up: The part of a sum that comes up the edge which a column gets.
    """

    down: Float[AnyArray, "edge _ _"]
    up: Float[AnyArray, "edge _ _"]


_WIDTH = 8
"""Levels are as wide as a multiple of this many edges."""


class Splits(NamedTuple):
    """The inner nodes of every tree.

    Attributes:
        feature: The feature.
        kind: A `SplitKind`.
        limit: The threshold; of a split of one category against the others its code.
        subset: The words of a subset split.
        missing_branch: The branch of a missing value.
        num_children: The number of branches; a row that stays takes the one after the last.
    """

    feature: Int32[np.ndarray, "tree split"]
    kind: Int32[np.ndarray, "tree split"]
    limit: Float64[np.ndarray, "tree split"]
    subset: UInt32[np.ndarray, "tree split word"]
    missing_branch: Int32[np.ndarray, "tree split"]
    num_children: Int32[np.ndarray, "tree split"]


class Level(NamedTuple):
    """The edges of one level of all trees, the two of a split side by side.

    Attributes:
        parent: The edge above, as a place in the level above.
        previous: The nearest edge above of the same column, as a place among all edges; 0 if there is none.
        split: The split that it belongs to.
        first_branch: The first of its branches.
        end_branch: The one after the last.
        share: The share of the training rows.
        column: The column.
        value: The value of the node at its end; 0 at inner nodes.
        pair: The place among the pairs of the level below; past the last if it is a leaf.
    """

    parent: Int32[np.ndarray, "tree edge"]
    previous: Int32[np.ndarray, "tree edge"]
    split: Int32[np.ndarray, "tree edge"]
    first_branch: Int32[np.ndarray, "tree edge"]
    end_branch: Int32[np.ndarray, "tree edge"]
    share: Float64[np.ndarray, "tree edge"]
    column: Int32[np.ndarray, "tree edge"]
    value: Float64[np.ndarray, "tree edge output"]
    pair: Int32[np.ndarray, "tree edge"]


class Edges(NamedTuple):
    """A forest.

    Attributes:
        splits: The splits.
        levels: The edges.
        base: The mean prediction of the training rows.
        most_columns: The most columns on one path.
    """

    splits: Splits
    levels: tuple[Level, ...]
    base: Float64[np.ndarray, " output"]
    most_columns: int


class _Edge(NamedTuple):
    """An edge of one tree, see `Level`; `previous` is a level, counted from 1, and a place in it."""

    parent: int
    previous: tuple[int, int]
    split: int
    first_branch: int
    end_branch: int
    share: float
    column: int
    value: Float64[np.ndarray, " output"]
    pair: int


ABOVE_ALL = (0, 0)
"""The level and place of edge 0."""


class _Waiting(NamedTuple):
    """Some branches of a node that edges are to be made of, and the way to them.

    Attributes:
        node: The node.
        branches: Its branches.
        parent: The place of the edge that leads here, in its level.
        previous: The last edge about every column on the path.
        reach: The share of the training rows of the tree that comes here.
    """

    node: int
    branches: range
    parent: int
    previous: dict[int, tuple[int, int]]
    reach: float


def edges_of(model: FittedModel) -> Edges:
    """Takes the trees of a fitted estimator apart."""
    taken = [_edges_of_tree(*tree, model.schema) for tree in model.by_tree()]
    return _joined(taken, _splits(model.forest), _WIDTH)


def edges_by_tree(model: FittedModel) -> list[Edges]:
    """Takes the trees of a fitted estimator apart, each by itself and without padding."""
    size, splits = np.bincount(model.forest.tree_of_node[~model.tree.is_leaf]), _splits(model.forest)
    of_trees = []
    for number, tree in enumerate(model.by_tree()):
        end = size[number] if number < len(size) else 0
        own = Splits(*(field[number : number + 1, :end] for field in splits))
        of_trees.append(_joined([_edges_of_tree(*tree, model.schema)], own, 1))
    return of_trees


def _joined(
    taken: Sequence[tuple[list[list[_Edge]], Float64[np.ndarray, " output"], int]], splits: Splits, width: int
) -> Edges:
    """Puts trees beside one another, the levels of all as wide as a multiple of some width."""
    trees, base, most_columns = zip(*taken, strict=True)
    rows = list(itertools.zip_longest(*trees, fillvalue=[]))
    widths = [-(-max(map(len, level)) // width) * width for level in rows]
    starts = np.cumsum([0, 1, *widths])
    num_pairs = [width // 2 for width in [*widths[1:], 0]]
    levels = tuple(_stack(*level, starts) for level in zip(rows, widths, num_pairs, strict=False))
    return Edges(splits, levels, np.mean(base, axis=0), max(most_columns))


def _edges_of_tree(
    tree: Tree, node_value: Float64[np.ndarray, "node output"], schema: Schema
) -> tuple[list[list[_Edge]], Float64[np.ndarray, " output"], int]:
    """The edges of one tree, level by level; the mean prediction of its training rows; the most columns on a path."""
    is_leaf, first_child = np.asarray(tree.is_leaf), np.asarray(tree.first_child)
    if is_leaf[0]:
        return [], node_value[0], 0
    split, nothing = np.cumsum(~is_leaf) - 1, np.zeros(node_value.shape[1])
    levels, base, most_columns = [], nothing, 0
    waiting = [_Waiting(0, _branches(tree, 0), 0, {}, 1.0)]
    while waiting:
        edges, following = [], []
        for node, branches, parent, previous, reach in waiting:
            column = int(tree.feature[node])
            for target, share in _halves(tree, node, branches):
                stays = target[0] == tree.num_children[node]
                child = node if stays else int(first_child[node]) + target[0]
                is_end = len(target) == 1 and (stays or bool(is_leaf[child]))
                value = node_value[child] if is_end else nothing
                here = {**previous, column: (len(levels) + 1, len(edges))}
                place, pair = previous.get(column, ABOVE_ALL), -1 if is_end else len(following)
                if is_end:
                    base = base + reach * share * value
                    most_columns = max(most_columns, len(here))
                else:
                    below = (node, target) if len(target) > 1 else (child, _branches(tree, child))
                    following.append(_Waiting(*below, len(edges), here, reach * share))
                edges.append(
                    _Edge(parent, place, int(split[node]), target[0], target[-1] + 1, share, column, value, pair)
                )
        levels.append(edges)
        waiting = following
    return levels, base, most_columns


def _branches(tree: Tree, node: int) -> range:
    """The branches of a node; a further one for rows that stay, if there may be such."""
    number, missing = int(tree.num_children[node]), int(tree.missing_branch[node])
    may_stay = missing >= number and missing != ALL_BRANCHES
    return range(number + (may_stay or number == 1))


def _halves(tree: Tree, node: int, branches: range) -> list[tuple[range, float]]:
    """The first of some branches and the others, each with the share of the training rows that takes them."""
    first, number, half = int(tree.first_child[node]), int(tree.num_children[node]), len(branches) // 2
    weight = [float(tree.weight[first + branch]) if branch < number else 0.0 for branch in branches]
    whole = sum(weight)
    share = sum(weight[:half]) / whole if whole > 0 else half / len(branches)
    return [(branches[:half], share), (branches[half:], 1 - share)]


def _stack(edges: tuple[list[_Edge], ...], width: int, num_pairs: int, starts: Int[np.ndarray, " level"]) -> Level:
    """One level of all trees, padded with edges of value 0."""
    nothing = np.zeros_like(next(own[0] for own in edges if own).value)
    padding = _Edge(0, ABOVE_ALL, 0, 0, 1, 1.0, 0, nothing, -1)
    padded = [[*own, *[padding] * (width - len(own))] for own in edges]
    fields = {name: np.array([[getattr(edge, name) for edge in own] for own in padded]) for name in _Edge._fields}
    fields["previous"] = starts[fields["previous"][..., 0]] + fields["previous"][..., 1]
    fields["pair"] = np.where(fields["pair"] < 0, num_pairs, fields["pair"])
    return Level(
        **{
            name: values.astype(np.float64 if name in ("share", "value") else np.int32)
            for name, values in fields.items()
        }
    )


def _splits(forest: Forest) -> Splits:
    """The inner nodes of all trees, padded with splits that no edge belongs to."""
    nodes = forest.nodes
    inner = np.flatnonzero(~np.asarray(nodes.is_leaf))
    tree = forest.tree_of_node[inner]
    size = np.bincount(tree, minlength=len(forest))
    place = np.arange(inner.size) - (np.cumsum(size) - size)[tree]

    def by_tree(values: np.ndarray | SharedSubsets, dtype: type) -> np.ndarray:
        table = np.zeros((len(forest), max(1, size.max()), *values.shape[1:]), dtype)
        table[tree, place] = np.asarray(values[inner])
        return table

    is_one = np.asarray(nodes.split_kind) == SplitKind.ONE_VS_REST
    return Splits(
        feature=by_tree(nodes.feature, np.int32),
        kind=by_tree(nodes.split_kind, np.int32),
        limit=by_tree(np.where(is_one, nodes.code, nodes.threshold), np.float64),
        subset=by_tree(nodes.subset, np.uint32),
        missing_branch=by_tree(nodes.missing_branch, np.int32),
        num_children=by_tree(nodes.num_children, np.int32),
    )
