"""Trees side by side whose splits are chosen again, a level at a time, while what is below a node stays.

Given what is below its branches, a split is a question of its own: every row of the node costs something on either
branch, and the best indicator sends it where it costs less (Carreira-Perpinan and Tavallali, *Alternating optimization
of decision trees*, NeurIPS 2018). An *entry* is a row in one of the trees. All nodes of a level, of all trees, are
chosen by one pass over the entries: the sums of what the branches differ by, in every cell of node and code.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int32, Int64

from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.indicators import Indicators
from jaxtree.optimal.nodes import CodedTable, SplitNode
from jaxtree.tree import SplitKind

BITS = 50
"""Bits of the sum of the squared errors of all rows: float64 adds them exactly."""

Trees = list[SplitNode | None]
_Nodes = Int64[np.ndarray, " entry"]


class SplitFields(NamedTuple):
    """The splits of nodes; those of leaves do not matter."""

    feature: Int32[np.ndarray, " node"]
    code: Int32[np.ndarray, " node"]
    kind: Int32[np.ndarray, " node"]
    missing_branch: Int32[np.ndarray, " node"]


class SplitNodes(NamedTuple):
    """The nodes of trees, one tree after the other.

    Attributes:
        split: Their splits.
        child: Both children of a node; a leaf is its own.
        depth: How deep every node is.
        root: The root of every tree.
    """

    split: SplitFields
    child: Int64[np.ndarray, "branch node"]
    depth: Int64[np.ndarray, " node"]
    root: Int64[np.ndarray, " tree"]

    @property
    def is_leaf(self) -> Bool[np.ndarray, " node"]:
        """Which nodes are leaves."""
        return self.child[0] == np.arange(self.depth.size)

    @classmethod
    def of(cls, trees: Trees) -> "SplitNodes":
        """Returns the nodes of trees, depth-first."""
        fields, child, depth, root = [], [], [], []

        def add(tree: SplitNode | None, level: int) -> int:
            number = len(depth)
            depth.append(level)
            fields.append((0, 0, 0, 0) if tree is None else tree[:4])
            child.append((number, number))
            if tree is not None:
                child[number] = add(tree.first, level + 1), add(tree.second, level + 1)
            return number

        for tree in trees:
            root.append(add(tree, 0))
        split = SplitFields(*np.array(fields, np.int32).reshape(-1, 4).T.copy())
        return cls(split, np.array(child, np.int64).T.copy(), np.array(depth, np.int64), np.array(root, np.int64))

    def tree(self, number: int) -> SplitNode | None:
        """Returns the tree below a node."""
        first, second = self.child[:, number].tolist()
        if first == number:
            return None
        return self.split_node(number, self.tree(first), self.tree(second))

    def split_node(self, number: int, first: SplitNode | None, second: SplitNode | None) -> SplitNode:
        """Returns a node with other subtrees."""
        feature, code, kind, missing_branch = (int(field[number]) for field in self.split)
        return SplitNode(feature, code, kind, missing_branch, first, second)


class RoutedRows(NamedTuple):
    """Rows in trees.

    Attributes:
        table: The rows.
        row: The row of every entry.
        tree: Its tree.
        has_missing: Whether a value is missing in any row.
    """

    table: CodedTable
    row: Int64[np.ndarray, " entry"]
    tree: Int64[np.ndarray, " entry"]
    has_missing: bool

    @classmethod
    def of(cls, table: CodedTable, num_trees: int) -> "RoutedRows":
        """Returns all rows in each of some trees."""
        row, tree = np.meshgrid(np.arange(table.num_rows), np.arange(num_trees))
        return cls(table, row.reshape(-1), tree.reshape(-1), bool((table.codes == table.num_values[:, None]).any()))

    def step(self, nodes: SplitNodes, node: _Nodes, some: Int[np.ndarray, " entry"] | slice = slice(None)) -> _Nodes:
        """Returns the children that some entries come to from nodes."""
        split, table = nodes.split, self.table
        feature = split.feature[node]
        code = table.codes.reshape(-1)[feature.astype(np.int64) * table.num_rows + self.row[some]]
        second = code > split.code[node]
        if table.is_categorical.any():
            second = np.where(split.kind[node] == SplitKind.THRESHOLD, second, code == split.code[node])
        if self.has_missing:
            second = np.where(code == table.num_values[feature], split.missing_branch[node] == 1, second)
        return np.where(second, nodes.child[1][node], nodes.child[0][node])

    def ends(self, nodes: SplitNodes, node: _Nodes, some: Int[np.ndarray, " entry"] | slice = slice(None)) -> _Nodes:
        """Returns the leaves where some entries come from nodes."""
        while not nodes.is_leaf[node].all():
            node = self.step(nodes, node, some)
        return node


class LeafLosses:
    """The cost of every row in leaves whose predictions suit their own rows, in whole numbers.

    Args:
        target: The target, with costs by losses of classes, regrets or squared errors.
        row: The row of every entry.
        leaf: The leaf of every entry.
        num_nodes: The number of nodes.
    """

    def __init__(self, target: CostedTarget, row: Int64[np.ndarray, " entry"], leaf: _Nodes, num_nodes: int):
        cost, (label, value) = target.cost, target.values
        self._label, self._weight = label, value[0]
        self._loss = self._regret = None
        if cost.formula == "regret":
            sums = np.stack([np.bincount(leaf, own[row], num_nodes) for own in value[1:]]).astype(np.int64)
            self._regret, self._action = value[1:], sums.argmin(axis=0)
            return
        if cost.num_targets == 0:
            cells = np.bincount(leaf * cost.num_labels + label[row], value[0, row], num_nodes * cost.num_labels)
            loss = np.asarray(cost.loss)
            self._loss = loss[:, (cells.reshape(num_nodes, -1).astype(np.int64) @ loss).argmin(axis=1)]
            return
        weight = np.bincount(leaf, value[0, row], num_nodes)
        sums = [np.bincount(leaf, own[row], num_nodes) for own in value[1 : 1 + cost.num_targets]]
        self._mean = [own / np.maximum(weight, 1) for own in sums]
        self._target = value[1 : 1 + cost.num_targets] / value[0]
        most = sum(float(np.ptp(own)) ** 2 for own in self._target) * float(value[0].sum())
        self._scale = 2.0 ** (BITS - np.frexp(most)[1])

    def __call__(self, row: Int64[np.ndarray, " entry"], leaf: _Nodes) -> Int64[np.ndarray, " entry"]:
        """Returns what rows cost in leaves."""
        if self._regret is not None:
            return self._regret[self._action[leaf], row]
        if self._loss is not None:
            return self._weight[row] * self._loss[self._label[row], leaf]
        error = sum((own[row] - mean[leaf]) ** 2 for own, mean in zip(self._target, self._mean, strict=True))
        return np.round(self._weight[row] * error * self._scale).astype(np.int64)


def chosen_again(nodes: SplitNodes, entries: RoutedRows, target: CostedTarget, indicators: Indicators) -> SplitNodes:
    """Returns trees with every split chosen again, the lower ones first, for the predictions that leaves have."""
    if indicators.number == 0:
        return nodes
    path = [nodes.root[entries.tree]]
    while not nodes.is_leaf[path[-1]].all():
        path.append(entries.step(nodes, path[-1]))
    losses = LeafLosses(target, entries.row, path[-1], nodes.depth.size)
    lost = losses(entries.row, path[-1])
    for level in range(len(path) - 2, -1, -1):
        nodes = _level_chosen(nodes, path[level], path[level + 1], lost, entries, losses, indicators)
    return nodes


def _level_chosen(
    nodes: SplitNodes, at: _Nodes, after: _Nodes, lost, entries: RoutedRows, losses, indicators
) -> SplitNodes:
    """The trees with the splits of a level chosen again.

    Args:
        nodes: The trees.
        at: The node of every entry at the level, or its leaf above it.
        after: The same of the next level.
        lost: The cost of every entry, which is changed in place.
        entries: The entries.
        losses: The costs of rows in leaves.
        indicators: The indicators that splits may ask.
    """
    some = np.flatnonzero(~nodes.is_leaf[at])
    node, row = at[some], entries.row[some]
    now_first = after[some] == nodes.child[0][node]
    other = np.where(now_first, nodes.child[1][node], nodes.child[0][node])
    own, lost_there = lost[some], losses(row, entries.ends(nodes, other, some))
    saved = np.where(now_first, own - lost_there, lost_there - own)
    slot_of = np.zeros(nodes.depth.size, np.int64)
    slot_of[node] = 1
    asked = np.flatnonzero(slot_of)
    slot_of[asked] = np.arange(asked.size)
    slot = slot_of[node]
    now = np.bincount(slot, np.where(now_first, saved, 0), asked.size)
    inside = _sums_inside(indicators, slot, row, saved, asked.size)
    total = np.bincount(slot, saved, asked.size)[:, None]
    # Inside to the first branch, or the other way round.
    changes = np.concatenate([inside, total - inside], axis=1)
    best = changes.argmin(axis=1)
    better = np.flatnonzero(changes[np.arange(asked.size), best] < now)
    chosen = _with_splits(nodes, asked[better], best[better], indicators)
    moves = np.isin(slot, better)
    moves[moves] = (entries.step(chosen, node[moves], some[moves]) == nodes.child[0][node[moves]]) != now_first[moves]
    lost[some] = np.where(moves, lost_there, own)
    return chosen


def _sums_inside(
    indicators: Indicators,
    slot: Int64[np.ndarray, " some_entry"],
    row: Int64[np.ndarray, " some_entry"],
    saved: Int64[np.ndarray, " some_entry"],
    num_slots: int,
) -> Float64[np.ndarray, "slot indicator"]:
    """The sums of the entries of every node where every indicator is 1: whole numbers."""
    sums = np.zeros((num_slots, indicators.number))
    for group, codes in enumerate(indicators.codes):
        begin, end = indicators.first[group : group + 2]
        width = int(end - begin) + 1
        cells = np.bincount(slot * width + codes[row], saved, num_slots * width).reshape(num_slots, width)[:, :-1]
        sums[:, begin:end] = np.cumsum(cells, axis=1) if indicators.is_nested[group] else cells
    return sums


def _with_splits(
    nodes: SplitNodes, number: Int64[np.ndarray, " some"], chosen: Int64[np.ndarray, " some"], indicators: Indicators
) -> SplitNodes:
    """Trees where some nodes ask an indicator; from `indicators.number` on, with the first branch outside."""
    at, is_turned = chosen % max(indicators.number, 1), chosen >= indicators.number
    turned = is_turned ^ (indicators.kind[at] != SplitKind.THRESHOLD)
    names = ("feature", "code", "kind", "missing_branch")
    fields = [field.copy() for field in nodes.split]
    for field, name in zip(fields, names, strict=True):
        field[number] = getattr(indicators, name)[at]
    child = nodes.child.copy()
    child[:, number] = np.where(turned, child[::-1, number], child[:, number])
    return nodes._replace(split=SplitFields(*fields), child=child)
