"""Trees made better: every split chosen again while the rest of the tree stays, and the best subtrees at the bottom.

Given what is below its branches, a split is a question of its own: every row of the node costs something on either
branch, and the best indicator sends it where it costs less. Choosing all splits so, from the bottom to the top, and the
leaves' predictions after them, until nothing changes, is alternating optimisation (Carreira-Perpinan and Tavallali,
*Alternating optimization of decision trees*, NeurIPS 2018). Then every subtree of the last two levels gives way to the
best one of no more leaves.
"""

import numpy as np
from jaxtyping import Float64, Int, Int64

from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.exact import SplitTable, exact_frontier, exact_tree
from jaxtree.optimal.indicators import Indicators, make_indicators
from jaxtree.optimal.nodes import Branching, CodedTable, branching_of, branchings, objective_of
from jaxtree.optimal.search import all_cuts, spread_cuts
from jaxtree.tree import SplitKind

MOST_ROUNDS = 50
"""Rounds of choosing all splits again, at most."""

GOOD_NUMBER = 512
"""How many thresholds are tried at a node, over all features."""

BITS = 48
"""Bits of the sum of the differences of costs that decide on a split."""

LEAST_GAIN = 1e-9
"""A tree is better by at least this share of the objective."""

_Rows = Int[np.ndarray, " node_row"]
_OwnRows = Int[np.ndarray, " own_row"]


def refined(tree: Branching | None, table: CodedTable, target: CostedTarget) -> Branching | None:
    """Returns a tree of no more leaves and no greater depth whose objective is not larger.

    Args:
        tree: The tree.
        table: The rows.
        target: Their target, with costs by losses of classes or squared errors.
    """
    refiner = _Refiner(tree, table, target)
    everyone = np.arange(table.num_rows)
    objective = objective_of(tree, table, target)
    for _ in range(MOST_ROUNDS):
        better = refiner.best_bottoms(refiner.chosen_again(tree, everyone), everyone)
        found = objective_of(better, table, target)
        if not found < objective - LEAST_GAIN * abs(objective):
            break
        tree, objective = better, found
    return tree


class _Refiner:
    """A table with the indicators that splits are chosen from: at quantiles, and those of a tree."""

    def __init__(self, tree: Branching | None, table: CodedTable, target: CostedTarget):
        self._table, self._target = table, target
        self._weight = target.values.value[0] * target.units.weight
        whole = all_cuts(table)
        most = max(GOOD_NUMBER // max(int(np.sum(~table.is_categorical)), 1), 1)
        cuts = spread_cuts(table, whole, most, target.values.value[0])
        for branching in branchings(tree):
            if branching.kind == SplitKind.THRESHOLD:
                cuts[branching.feature] = np.union1d(cuts[branching.feature], [branching.code])
        indicators = make_indicators(*table, cuts)
        self._splits, self._indicators = SplitTable(indicators, target), indicators

    def chosen_again(self, tree: Branching | None, rows: _Rows) -> Branching | None:
        """The tree with every split chosen again, the lower ones first."""
        if tree is None or rows.size == 0:
            return None
        is_second = tree.takes_second(self._table, rows)
        own = rows[~is_second], rows[is_second]
        sides = [self.chosen_again(side, part) for side, part in zip((tree.first, tree.second), own, strict=True)]
        if not own[0].size or not own[1].size:
            return sides[0] if own[0].size else sides[1]
        costs = [self._costs_below(side, part, rows) for side, part in zip(sides, own, strict=True)]
        difference = _whole(costs[0] - costs[1])
        padded = np.zeros(self._table.num_rows, np.int64)
        padded[rows] = difference
        inside = self._indicators.sums(padded)
        # Inside to the first branch, or the other way round.
        changes = np.stack([inside, difference.sum() - inside])
        if changes.size == 0 or changes.min() >= difference[~is_second].sum():
            return tree._replace(first=sides[0], second=sides[1])
        way, split = np.unravel_index(changes.argmin(), changes.shape)
        return _branching(self._indicators, int(split), sides[int(way)], sides[1 - int(way)])

    def _costs_below(self, tree: Branching | None, own: _OwnRows, rows: _Rows) -> Float64[np.ndarray, " node_row"]:
        """What rows would cost in a subtree whose leaves predict what suits its own."""
        if tree is None:
            return self._costs_in_leaf(own, rows)
        costs = np.zeros(rows.size)
        own_second, second = (tree.takes_second(self._table, part) for part in (own, rows))
        for side, own_there, there in ((tree.first, ~own_second, ~second), (tree.second, own_second, second)):
            costs[there] = self._costs_below(side, own[own_there], rows[there])
        return costs

    def _costs_in_leaf(self, own: _OwnRows, rows: _Rows) -> Float64[np.ndarray, " node_row"]:
        """What rows would cost in a leaf of some rows."""
        target, weight = self._target, self._weight[rows]
        if target.cost.num_targets == 0:
            count = target.sums(own).reshape(target.cost.num_labels, -1)[:, 0]
            loss = np.asarray(target.cost.loss)
            return weight * loss[target.values.label[rows], (count @ loss).argmin()]
        mean = target.weighted[:, own].sum(axis=1) / max(self._weight[own].sum(), np.finfo(float).tiny)
        error = target.weighted[:, rows] / weight - mean[:, None]
        return weight * (error**2).mean(axis=0)

    def best_bottoms(self, tree: Branching | None, rows: _Rows) -> Branching | None:
        """The tree with the best subtrees of no more leaves in place of those of two levels or one."""
        if tree is None:
            return None
        if _depth(tree) > 2:
            is_second = tree.takes_second(self._table, rows)
            first, second = (
                self.best_bottoms(tree.first, rows[~is_second]),
                self.best_bottoms(tree.second, rows[is_second]),
            )
            return tree._replace(first=first, second=second)
        member = np.zeros(self._table.num_rows, bool)
        member[rows] = True
        if self._indicators.number == 0:
            return tree
        leaves = len(branchings(tree)) + 1
        depth = _depth(tree)
        frontier = exact_frontier(self._splits, member, depth)
        fork = exact_tree(self._splits, member, depth, min(leaves, frontier.size))
        best = branching_of(fork, self._indicators)
        objective = objective_of(tree, self._table, self._target, rows)
        return best if objective_of(best, self._table, self._target, rows) < objective else tree


def _whole(values: Float64[np.ndarray, " node_row"]) -> Int64[np.ndarray, " node_row"]:
    """Numbers as whole numbers of a unit, so that their sums depend on no order."""
    largest = float(np.abs(values).max(initial=0.0))
    unit = 2.0 ** (np.frexp(largest)[1] + values.size.bit_length() - BITS)
    return np.round(values / unit).astype(np.int64)


def _branching(indicators: Indicators, split: int, inside: Branching | None, outside: Branching | None) -> Branching:
    """A node that asks an indicator."""
    first, second = (inside, outside) if indicators.inside_branch(split) == 0 else (outside, inside)
    feature, code, kind = int(indicators.feature[split]), int(indicators.code[split]), int(indicators.kind[split])
    return Branching(feature, code, kind, int(indicators.missing_branch[split]), first, second)


def _depth(tree: Branching | None) -> int:
    return 0 if tree is None else 1 + max(_depth(tree.first), _depth(tree.second))
