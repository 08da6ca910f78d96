"""Forests as binary splits, for Shapley values: all trees side by side, in arrays.

A split with more branches, or at which rows stay, becomes several, all about the same column. At a binary split some
*share* of the training rows takes the first child, and of a row that is explained a *part*: 1, 0, or where a missing
value divides the row among the branches the share itself. An *edge* leads to a child: edge 2 s to the first child of
split s, edge 2 s + 1 to the second. The shares at all edges of one column on a path, multiplied, are the *presence* of
the column there in the training rows, and the parts that in the row.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64, UInt32

from jaxtree.tree import ALL_BRANCHES, SplitKind, Tree
from jaxtree.tree.model import FittedModel
from jaxtree.tree.subsets import SharedSubsets

Values = Float64[np.ndarray, " split"]


class Splits(NamedTuple):
    """The binary splits of all trees: those of one tree side by side, each behind its parent.

    Attributes:
        column: The column.
        question: THRESHOLD asks whether the value is above the limit, ONE_VS_REST whether it is the limit, SUBSET
            whether its code is in the subset.
        subset: The row of the subset in `words`.
        child: A split, or ~node of a leaf, which has the value of a node.
        parent: The edge that leads here; -1 at a root.
        before: The nearest edge above of the same column; -1 if there is none.
        depth: The number of splits above.
        limit: See `question`.
        most: The greatest value that has a branch; a greater one, or NaN, is missing.
        part: The parts of rows that take the first child, for the answers no and yes and for a missing value.
        share: The share of the training rows that takes the first child.
        share_before: The presence of the column in the training rows at the edge `before`.
        num_columns: The columns on the path, this one included.
    """

    column: Int32[np.ndarray, " split"]
    question: Int32[np.ndarray, " split"]
    subset: Int32[np.ndarray, " split"]
    child: Int32[np.ndarray, "2 split"]
    parent: Int32[np.ndarray, " split"]
    before: Int32[np.ndarray, " split"]
    depth: Int32[np.ndarray, " split"]
    limit: Float64[np.ndarray, " split"]
    most: Float64[np.ndarray, " split"]
    part: Float64[np.ndarray, "3 split"]
    share: Float64[np.ndarray, " split"]
    share_before: Float64[np.ndarray, " split"]
    num_columns: Int32[np.ndarray, " split"]


class SplitForest(NamedTuple):
    """A forest.

    Attributes:
        splits: The splits.
        first_split: Where those of every tree begin, with its root, and their number.
        node_value: The values of the nodes.
        first_node: Where those of every tree begin, and their number.
        words: The subsets.
        base: The mean prediction of the training rows.
    """

    splits: Splits
    first_split: Int64[np.ndarray, " boundary"]
    node_value: Float64[np.ndarray, "node output"]
    first_node: Int64[np.ndarray, " boundary"]
    words: UInt32[np.ndarray, "subset word"]
    base: Float64[np.ndarray, " output"]

    @property
    def has_splits(self) -> Bool[np.ndarray, " tree"]:
        """Which trees are more than a leaf."""
        return np.diff(self.first_split) > 0

    @property
    def num_points(self) -> Int64[np.ndarray, " tree"]:
        """The points at which the integrand of every tree is evaluated: half of the most columns on a path."""
        most = np.zeros(len(self.first_split) - 1, np.int64)
        most[self.has_splits] = np.maximum.reduceat(self.splits.num_columns, self.first_split[:-1][self.has_splits])
        return -(-most // 2)


class _SplitLevel(NamedTuple):
    """Splits of one level of all trees: of each some branches of a node, of which the first half is the first child.

    Attributes:
        node: The node.
        begin: The first of its branches.
        middle: The first of the second half.
        parent: The edge that leads here.
        share: The share of the training rows that takes the first half.
        child: ~node of what is below each half if that is a leaf.
    """

    node: Int64[np.ndarray, " split"]
    begin: Int64[np.ndarray, " split"]
    middle: Int64[np.ndarray, " split"]
    parent: Int64[np.ndarray, " split"]
    share: Float64[np.ndarray, " split"]
    child: Int64[np.ndarray, "2 split"]


class _Below(NamedTuple):
    """Branches of nodes that splits are to be made of.

    Attributes:
        node: The node.
        begin: The first of its branches.
        end: The one after the last.
        parent: The edge that leads here.
        reach: The share of the training rows of the tree that comes here.
    """

    node: Int64[np.ndarray, " place"]
    begin: Int64[np.ndarray, " place"]
    end: Int64[np.ndarray, " place"]
    parent: Int64[np.ndarray, " place"]
    reach: Float64[np.ndarray, " place"]


def splits_of(model: FittedModel) -> SplitForest:
    """Takes the trees of a fitted estimator apart, level by level and all at once."""
    nodes, num_trees = model.forest.nodes, len(model.forest)
    is_leaf, num_branches = np.asarray(nodes.is_leaf), _num_branches(nodes)
    roots = model.forest.first_node[:-1]
    base, roots = model.node_value[roots[is_leaf[roots]]].sum(axis=0), roots[~is_leaf[roots]]
    below = _Below(roots, np.zeros_like(roots), num_branches[roots], np.full(len(roots), -1), np.ones(len(roots)))
    levels, number = [], 0
    while len(below.node):
        middle = (below.begin + below.end) // 2
        share = _share_of_first(nodes, below, middle)
        child, following = np.empty((2, len(middle)), np.int64), []
        for side, (begin, end) in enumerate(((below.begin, middle), (middle, below.end))):
            reach, edge = below.reach * (1 - share if side else share), 2 * (number + np.arange(len(middle))) + side
            stays, is_one = begin == nodes.num_children[below.node], end - begin == 1
            node = np.where(is_one & ~stays, nodes.first_child[below.node] + np.where(is_one, begin, 0), below.node)
            is_end = is_one & (stays | is_leaf[node])
            base = base + reach[is_end] @ model.node_value[node[is_end]]
            child[side] = ~node
            begins, ends = np.where(is_one, 0, begin), np.where(is_one, num_branches[node], end)
            following.append([field[~is_end] for field in (node, begins, ends, edge, reach)])
        levels.append(_SplitLevel(below.node, below.begin, middle, below.parent, share, child))
        number += len(middle)
        below = _Below(*(np.concatenate(fields) for fields in zip(*following, strict=True)))
    subsets = SharedSubsets.of(nodes.subset)
    splits = _joined(nodes, levels, np.asarray(subsets.row))
    tree = model.forest.tree_of_node[np.concatenate([level.node for level in levels] or [roots])]
    first_split = np.append(0, np.cumsum(np.bincount(tree, minlength=num_trees)))
    in_order = _taken(splits, np.argsort(tree, kind="stable"))
    words = np.asarray(subsets.words)
    return SplitForest(in_order, first_split, model.node_value, model.forest.first_node, words, base / num_trees)


def _num_branches(nodes: Tree) -> Int64[np.ndarray, " node"]:
    """The branches of every node; one more for rows that stay, if there may be such."""
    number, missing = np.asarray(nodes.num_children, np.int64), np.asarray(nodes.missing_branch)
    may_stay = (missing >= number) | (np.asarray(nodes.split_kind) == SplitKind.MULTIWAY)
    return number + ((may_stay & (missing != ALL_BRANCHES)) | (number == 1))


def _share_of_first(nodes: Tree, below: _Below, middle: Int64[np.ndarray, " place"]) -> Float64[np.ndarray, " place"]:
    """The share of the training rows that takes the branches before the middle; by number if there are no rows."""
    first, end = np.asarray(nodes.first_child)[below.node], np.asarray(nodes.num_children)[below.node]
    weight, sums = np.asarray(nodes.weight, np.float64), np.zeros((2, len(middle)))
    for branch in range(int((below.end - below.begin).max())):
        at = below.begin + branch
        own = np.where(at < np.minimum(below.end, end), weight[np.minimum(first + at, len(weight) - 1)], 0.0)
        sums[0] += np.where(at < middle, own, 0)
        sums[1] += own
    by_number = (middle - below.begin) / (below.end - below.begin)
    return np.where(sums[1] > 0, sums[0] / np.where(sums[1] > 0, sums[1], 1), by_number)


def _joined(nodes: Tree, levels: list[_SplitLevel], subset: Int[np.ndarray, " node"]) -> Splits:
    """The splits of all levels, one level behind the other."""
    if not levels:
        whole = np.zeros(0, np.int64)
        levels = [_SplitLevel(whole, whole, whole, whole, np.zeros(0), np.zeros((2, 0), np.int64))]
    node, begin, middle, parent, share = (
        np.concatenate([getattr(level, name) for level in levels]) for name in _SplitLevel._fields[:-1]
    )
    child = np.concatenate([level.child for level in levels], axis=1)
    below = np.flatnonzero(parent >= 0)
    child[parent[below] % 2, parent[below] // 2] = below
    column, kind = np.asarray(nodes.feature)[node], np.asarray(nodes.split_kind)[node]
    missing, number = np.asarray(nodes.missing_branch)[node], np.asarray(nodes.num_children)[node]
    is_shared, is_multiway = missing == ALL_BRANCHES, kind == SplitKind.MULTIWAY
    limit = np.where(kind == SplitKind.ONE_VS_REST, nodes.code[node], np.asarray(nodes.threshold)[node])
    part = np.stack([(begin <= branch) & (branch < middle) for branch in (0, 1, np.minimum(missing, number))])
    part = np.where([is_multiway, is_multiway, is_shared], [np.ones_like(share), np.zeros_like(share), share], part)
    before, share_before, num_columns = _repeats(levels, column, parent, share)
    return Splits(
        column=column.astype(np.int32),
        question=np.where(is_multiway, SplitKind.THRESHOLD, kind).astype(np.int32),
        subset=subset[node].astype(np.int32),
        child=child.astype(np.int32),
        parent=parent.astype(np.int32),
        before=before.astype(np.int32),
        depth=np.repeat(np.arange(len(levels)), [len(level.node) for level in levels]).astype(np.int32),
        limit=np.where(is_multiway, middle - 0.5, limit).astype(np.float64),
        most=np.where(is_multiway & is_shared, number - 0.5, np.inf),
        part=part.astype(np.float64),
        share=share,
        share_before=share_before,
        num_columns=num_columns.astype(np.int32),
    )


def _repeats(
    levels: list[_SplitLevel], column: Int[np.ndarray, " split"], parent: Int64[np.ndarray, " split"], share: Values
) -> tuple[Int64[np.ndarray, " split"], Values, Int64[np.ndarray, " split"]]:
    """`before`, `share_before` and `num_columns` of all splits."""
    before, waiting = parent.copy(), np.flatnonzero(parent >= 0)
    while waiting.size:  # one edge further up, until it is of the same column
        waiting = waiting[column[before[waiting] // 2] != column[waiting]]
        before[waiting] = parent[before[waiting] // 2]
        waiting = waiting[before[waiting] >= 0]
    presence, num_columns, start = np.ones(len(column)), np.ones(len(column), np.int64), 0
    for level in levels:
        own = slice(start, start + len(level.node))
        start = own.stop
        split, side = np.divmod(before[own], 2)
        behind = presence[split] * np.where(side == 1, 1 - share[split], share[split])
        presence[own] = np.where(before[own] >= 0, behind, 1)
        num_columns[own] = np.where(parent[own] >= 0, num_columns[parent[own] // 2] + (before[own] < 0), 1)
    return before, presence, num_columns


def _taken(splits: Splits, order: Int64[np.ndarray, " split"]) -> Splits:
    """The same splits in another order."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    moved = Splits(*(field[..., order] for field in splits))

    def moved_edge(edge: Int32[np.ndarray, " split"]) -> Int32[np.ndarray, " split"]:
        return np.where(edge >= 0, 2 * place[edge // 2] + edge % 2, -1).astype(np.int32)

    child = np.where(moved.child >= 0, place[np.maximum(moved.child, 0)], moved.child).astype(np.int32)
    return moved._replace(child=child, parent=moved_edge(moved.parent), before=moved_edge(moved.before))
