"""The best subtrees of no more leaves in place of those of two levels or one at the bottom of trees."""

import jax
import numpy as np
from jaxtyping import Int, Int32, Int64

from jaxtree.optimal.exact import Fork, SplitTable, first_split, frontier_of
from jaxtree.optimal.levels import RoutedRows, SplitNodes, Trees
from jaxtree.optimal.nodes import SplitNode, split_node_of

LEVELS = 2
"""Levels of the subtrees."""

MOST_SIDES = 2**24
"""Least costs that are held at once."""


def with_best_bottoms(nodes: SplitNodes, entries: RoutedRows, splits: SplitTable) -> Trees:
    """Returns trees with the best subtrees at their bottom where these cost less."""
    height = heights(nodes)
    bottom = _bottoms(nodes, height)
    if bottom.size == 0 or splits.indicators.number == 0:
        return [nodes.tree(root) for root in nodes.root.tolist()]
    slot, leaf = _slots(nodes, entries, bottom)
    costs = leaf_costs(splits, nodes, entries, leaf)
    better: dict[int, SplitNode | None] = {}
    most = max(1, MOST_SIDES // (4 * splits.indicators.number))
    for tree in range(nodes.root.size):
        own = np.flatnonzero(entries.tree == tree)
        asked = np.unique(slot[own][slot[own] >= 0])
        for start in range(0, asked.size, most):
            some = asked[start : start + most]
            place = np.full(bottom.size + 1, -1, np.int32)
            place[some] = np.arange(some.size)
            better |= _better_subtrees(nodes, bottom[some], place[slot[own]], costs, splits)
    return [_replaced(nodes, root, better) for root in nodes.root.tolist()]


def heights(nodes: SplitNodes) -> Int64[np.ndarray, " node"]:
    """Returns how many levels are below every node."""
    height = np.zeros(nodes.depth.size, np.int64)
    for level in range(int(nodes.depth.max()), -1, -1):
        inner = np.flatnonzero((nodes.depth == level) & ~nodes.is_leaf)
        height[inner] = 1 + height[nodes.child[:, inner]].max(axis=0)
    return height


def leaf_costs(
    splits: SplitTable, nodes: SplitNodes, entries: RoutedRows, leaf: Int64[np.ndarray, " entry"]
) -> Int64[np.ndarray, " node"]:
    """Returns the cost of the rows of every leaf; 0 of other nodes."""
    return _costs(splits, leaf, entries.row, nodes.depth.size)


def _costs(
    splits: SplitTable, group: Int64[np.ndarray, " entry"], row: Int[np.ndarray, " entry"], num_groups: int
) -> Int64[np.ndarray, " group"]:
    """The cost of the rows of every group as one leaf."""
    cost, (label, value) = splits.cost, splits.values
    cell = group * cost.num_labels + label[row]
    sums = [np.bincount(cell, own[row], num_groups * cost.num_labels).reshape(num_groups, -1) for own in value]
    with jax.enable_x64(True):
        return np.asarray(cost(np.stack(sums).astype(np.int64).transpose(2, 0, 1).reshape(-1, num_groups)))


def _bottoms(nodes: SplitNodes, height: Int64[np.ndarray, " node"]) -> Int64[np.ndarray, " bottom"]:
    """The largest subtrees of so few levels."""
    is_small = (height <= LEVELS) & (height > 0)
    inner = np.flatnonzero(~nodes.is_leaf)
    is_below = np.zeros(height.size, bool)
    is_below[nodes.child[:, inner[height[inner] <= LEVELS]]] = True
    return np.flatnonzero(is_small & ~is_below)


def _slots(
    nodes: SplitNodes, entries: RoutedRows, bottom: Int64[np.ndarray, " bottom"]
) -> tuple[Int64[np.ndarray, " entry"], Int64[np.ndarray, " entry"]]:
    """The number of the subtree that every entry comes to, below 0 for none, and its leaf."""
    slot_of = np.full(nodes.depth.size, -1)
    slot_of[bottom] = np.arange(bottom.size)
    node = nodes.root[entries.tree]
    slot = slot_of[node]
    while not nodes.is_leaf[node].all():
        node = entries.step(nodes, node)
        slot = np.maximum(slot, slot_of[node])
    return slot, node


def _better_subtrees(
    nodes: SplitNodes,
    bottom: Int64[np.ndarray, " some"],
    slot: Int32[np.ndarray, " row"],
    costs: Int64[np.ndarray, " node"],
    splits: SplitTable,
) -> dict[int, SplitNode | None]:
    """The best subtrees of the rows of some slots, where they are better than those at hand."""
    sides = splits.sides_of_nodes(slot, LEVELS, num_nodes=bottom.size)
    whole = _slot_costs(splits, slot, bottom.size)
    cuts = {}
    for number, node in enumerate(bottom.tolist()):
        leaves = _leaves_below(nodes, node)
        own = sides[number]
        if max(int(nodes.depth[below]) for below in leaves) - int(nodes.depth[node]) < LEVELS:
            own = own[:, :1]
        frontier = frontier_of(own, int(whole[number]))
        if frontier[min(len(leaves), len(frontier)) - 1] < sum(int(costs[leaf]) for leaf in leaves):
            cuts[number] = first_split(own, int(whole[number]), min(len(leaves), len(frontier)))
    below = _second_splits(splits, slot, cuts)
    return {
        int(bottom[number]): split_node_of(
            None if cut is None else Fork(cut.indicator, *below[number]), splits.indicators
        )
        for number, cut in cuts.items()
    }


def _second_splits(splits: SplitTable, slot, cuts) -> dict[int, list[Fork | None]]:
    """Returns the splits that follow on both sides of the first splits of slots."""
    side, asks = np.full(slot.size, -1, np.int32), []
    for number, cut in cuts.items():
        if cut is None:
            continue
        rows = np.flatnonzero(slot == number)
        inside = splits.indicators.column(cut.indicator)[rows]
        side[rows] = len(asks) + 1 - inside
        asks += [(number, cut.inside_leaves), (number, cut.outside_leaves)]
    found: dict[int, list[Fork | None]] = {}
    if not asks:
        return found
    sides, whole = splits.sides_of_nodes(side, 1, num_nodes=len(asks)), _slot_costs(splits, side, len(asks))
    for own, leaf, (number, leaves) in zip(sides, whole.tolist(), asks, strict=True):
        cut = None if leaves == 1 else first_split(own, leaf, leaves)
        found.setdefault(number, []).append(None if cut is None else Fork(cut.indicator, None, None))
    return found


def _slot_costs(splits: SplitTable, slot: Int32[np.ndarray, " row"], num_slots: int) -> Int64[np.ndarray, " slot"]:
    """The cost of every slot's rows as one leaf."""
    used = np.flatnonzero(slot >= 0)
    return _costs(splits, slot[used].astype(np.int64), used, num_slots)


def _leaves_below(nodes: SplitNodes, node: int) -> list[int]:
    first, second = nodes.child[:, node].tolist()
    return [node] if first == node else _leaves_below(nodes, first) + _leaves_below(nodes, second)


def _replaced(nodes: SplitNodes, number: int, better: dict[int, SplitNode | None]) -> SplitNode | None:
    """The tree below a node with other subtrees."""
    if number in better:
        return better[number]
    first, second = nodes.child[:, number].tolist()
    if first == number:
        return None
    return nodes.split_node(number, _replaced(nodes, first, better), _replaced(nodes, second, better))
