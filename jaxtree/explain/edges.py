"""Forests as edges of binary trees, level by level, in arrays of one shape for all trees.

An *edge* leads to a node of a binary tree; a split with more branches, or at which rows stay, becomes several, all
about the same column. For one row, or for the training rows, the *share* of an edge is the part of what comes to its
split that takes it; the shares of all edges of one column on a path, multiplied, are the column's *presence* there.
Edge 0 stands above the root, and all is present at it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int32, UInt32

from jaxtree.table.schema import Schema
from jaxtree.tree import ALL_BRANCHES, FittedModel, SplitKind, Tree

_WIDTH = 8
"""Levels are as wide as a multiple of this many edges."""


class Splits(NamedTuple):
    """The inner nodes of every tree.

    Attributes:
        feature: What is asked for.
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
        splits: What is asked.
        levels: The edges.
        base: The mean prediction of the training rows.
        most_columns: The most columns on one path.
    """

    splits: Splits
    levels: tuple[Level, ...]
    base: Float64[np.ndarray, " output"]
    most_columns: int


class _Row(NamedTuple):
    """An edge of one tree; places of edges are pairs of a level and a place in it."""

    parent: int
    previous: tuple[int, int] | None
    split: int
    first_branch: int
    end_branch: int
    share: float
    column: int
    value: Float64[np.ndarray, " output"]
    pair: int


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
    branches: tuple[int, ...]
    parent: int
    previous: dict[int, tuple[int, int]]
    reach: float


class _Binary(NamedTuple):
    """The levels of one tree, and what follows from all of them."""

    levels: list[list[_Row]]
    base: Float64[np.ndarray, " output"]
    most_columns: int


def edges_of(model: FittedModel) -> Edges:
    """Takes the trees of a fitted estimator apart."""
    trees = [_binary(tree, value, model.schema) for tree, value in model.by_tree()]
    most = max(len(tree.levels) for tree in trees)
    rows = [[tree.levels[depth] if depth < len(tree.levels) else [] for tree in trees] for depth in range(most)]
    widths = [-(-max(map(len, level)) // _WIDTH) * _WIDTH for level in rows]
    starts = np.cumsum([1, *widths])
    num_pairs = [width // 2 for width in [*widths[1:], 0]]
    num_outputs = model.node_value.shape[1]
    levels = [
        _stack(level, width, pairs, starts, num_outputs)
        for level, width, pairs in zip(rows, widths, num_pairs, strict=bool(widths))
    ]
    base = np.mean([tree.base for tree in trees], axis=0)
    return Edges(_splits(list(model.forest)), tuple(levels), base, max(tree.most_columns for tree in trees))


def _binary(tree: Tree, node_value: Float64[np.ndarray, "node output"], schema: Schema) -> _Binary:
    """The edges of one tree, level by level."""
    is_leaf, first_child = np.asarray(tree.is_leaf), np.asarray(tree.first_child)
    split = np.cumsum(~is_leaf) - 1
    if is_leaf[0]:
        return _Binary([], node_value[0], 0)
    levels, base, most_columns = [], np.zeros(node_value.shape[1]), 0
    waiting = [_Waiting(0, _branches(tree, 0), -1, {}, 1.0)]
    while waiting:
        rows, following = [], []
        for node, branches, parent, previous, reach in waiting:
            column = schema.features[int(tree.feature[node])].column
            half = len(branches) // 2
            shares_of_training = _shares(tree, node, branches, half)
            for target, share in zip((branches[:half], branches[half:]), shares_of_training, strict=True):
                stays = target[0] == tree.num_children[node]
                child = node if stays else int(first_child[node]) + target[0]
                is_end = len(target) == 1 and (stays or bool(is_leaf[child]))
                value = node_value[child] if is_end else np.zeros(node_value.shape[1])
                if is_end:
                    base = base + reach * share * value
                    most_columns = max(most_columns, len({*previous, column}))
                pair = -1 if is_end else len(following)
                place = previous.get(column)
                row = _Row(parent, place, int(split[node]), target[0], target[-1] + 1, share, column, value, pair)
                if not is_end:
                    here = {**previous, column: (len(levels), len(rows))}
                    below = (node, target) if len(target) > 1 else (child, _branches(tree, child))
                    following.append(_Waiting(*below, len(rows), here, reach * share))
                rows.append(row)
        levels.append(rows)
        waiting = following
    return _Binary(levels, base, most_columns)


def _branches(tree: Tree, node: int) -> tuple[int, ...]:
    """The branches of a node; a further one for rows that stay, if there may be such."""
    number, missing = int(tree.num_children[node]), int(tree.missing_branch[node])
    may_stay = missing >= number and missing != ALL_BRANCHES
    return tuple(range(number + may_stay + (number == 1 and not may_stay)))


def _shares(tree: Tree, node: int, branches: tuple[int, ...], half: int) -> tuple[float, float]:
    """The shares of training rows that take the first branches and the others."""
    first, number = int(tree.first_child[node]), int(tree.num_children[node])
    weight = [float(tree.weight[first + branch]) if branch < number else 0.0 for branch in branches]
    whole = sum(weight)
    below = sum(weight[:half]) / whole if whole > 0 else half / len(branches)
    return below, 1 - below


def _stack(
    rows: list[list[_Row]],
    width: int,
    num_pairs: int,
    starts: Int[np.ndarray, " level"],
    num_outputs: int,
) -> Level:
    """One level of all trees, padded with edges of value 0."""
    padding = _Row(0, None, 0, 0, 1, 1.0, 0, np.zeros(num_outputs), -1)
    padded = [[*level, *[padding] * (width - len(level))] for level in rows]

    def stack(read: Callable[[_Row], Any], dtype: type) -> np.ndarray:
        return np.array([[read(row) for row in level] for level in padded], dtype)

    return Level(
        parent=stack(lambda row: max(row.parent, 0), np.int32),
        previous=stack(lambda row: 0 if row.previous is None else starts[row.previous[0]] + row.previous[1], np.int32),
        split=stack(lambda row: row.split, np.int32),
        first_branch=stack(lambda row: row.first_branch, np.int32),
        end_branch=stack(lambda row: row.end_branch, np.int32),
        share=stack(lambda row: row.share, np.float64),
        column=stack(lambda row: row.column, np.int32),
        value=stack(lambda row: row.value, np.float64),
        pair=stack(lambda row: num_pairs if row.pair < 0 else row.pair, np.int32),
    )


def _splits(trees: list[Tree]) -> Splits:
    """The inner nodes of all trees, padded with splits that no edge belongs to."""
    inner = [np.flatnonzero(~np.asarray(tree.is_leaf)) for tree in trees]
    size = max(1, *map(len, inner))

    def stack(name: str, dtype: type) -> np.ndarray:
        parts = [np.asarray(getattr(tree, name))[nodes] for tree, nodes in zip(trees, inner, strict=True)]
        pad = [[(0, size - len(part))] + [(0, 0)] * (part.ndim - 1) for part in parts]
        return np.stack([np.pad(part, width) for part, width in zip(parts, pad, strict=True)]).astype(dtype)

    kind = stack("split_kind", np.int32)
    return Splits(
        feature=np.maximum(stack("feature", np.int32), 0),
        kind=kind,
        limit=np.where(kind == SplitKind.ONE_VS_REST, stack("code", np.int32), stack("threshold", np.float64)),
        subset=stack("subset", np.uint32),
        missing_branch=stack("missing_branch", np.int32),
        num_children=stack("num_children", np.int32),
    )
