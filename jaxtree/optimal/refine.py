"""Trees made better: every split chosen again while the rest of the tree stays, and the best subtrees at the bottom.

A round chooses all splits again from the bottom to the top, see `jaxtree.optimal.levels`, and puts the best subtrees of
no more leaves in place of those of the last two levels, see `jaxtree.optimal.bottoms`. Rounds go on until nothing is
better. The result depends on where the rounds start: further starts are the tree with some of its splits drawn at
random, and all of them are roots of the same rounds.
"""

import jax
import numpy as np
from jaxtyping import Array, Int, Int64, PRNGKeyArray

from jaxtree.kernels.choose import Engines
from jaxtree.optimal.bottoms import leaf_costs, with_best_bottoms
from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.cuts import all_cuts, spread_cuts
from jaxtree.optimal.exact import SplitTable
from jaxtree.optimal.indicators import Indicators, make_indicators
from jaxtree.optimal.levels import RoutedRows, SplitNodes, Trees, chosen_again
from jaxtree.optimal.nodes import CodedTable, SplitNode, split_nodes
from jaxtree.tree import SplitKind

MOST_ROUNDS = 50
"""Rounds of choosing all splits again, at most."""

GOOD_NUMBER = 512
"""How many thresholds are tried at a node, over all features."""

DRAWN_SHARE = 0.3
"""The share of the splits that a further start draws at random."""

MOST_ENTRIES = 2**22
"""Rows times trees that are refined side by side, unless one tree has more rows."""


def can_refine(target: CostedTarget) -> bool:
    """Whether rows cost something of their own in a leaf, and leaves may have any number of rows."""
    return target.cost.formula in ("cost", "regret", "squared_error") and int(target.cost.least_rows) <= 1


def refined(
    tree: SplitNode | None,
    table: CodedTable,
    target: CostedTarget,
    engines: Engines,
    *,
    restarts: int = 0,
    key: PRNGKeyArray | None = None,
) -> SplitNode | None:
    """Returns a tree of no more leaves and no greater depth whose objective is not larger.

    Args:
        tree: The tree.
        table: The rows.
        target: Their target, with costs by losses of classes or squared errors.
        engines: Who computes.
        restarts: Further starts; the best tree of any start is returned, of equally good ones that of the first.
        key: The key of further starts. Each has its own, so that more of them find nothing worse.
    """
    splits = SplitTable(make_indicators(*table, _cuts_for(tree, table, target)), target, engines)
    starts: Trees = [tree]
    if restarts and key is not None and splits.indicators.number:
        starts += [_redrawn(tree, splits.indicators, jax.random.fold_in(key, number)) for number in range(restarts)]
    at_once = max(1, MOST_ENTRIES // max(table.num_rows, 1))
    best, least = tree, None
    for begin in range(0, len(starts), at_once):
        for found, cost in _refined_together(starts[begin : begin + at_once], table, splits):
            if least is None or cost < least:
                best, least = found, cost
    return without_empty_branches(best, table, np.arange(table.num_rows))


def _refined_together(starts: Trees, table: CodedTable, splits: SplitTable) -> list[tuple[SplitNode | None, int]]:
    """Trees refined side by side, with their costs."""
    trees, costs = list(starts), _costs_of(starts, table, splits)
    active = np.arange(len(trees))
    for _ in range(MOST_ROUNDS):
        entries = RoutedRows.of(table, active.size)
        nodes = chosen_again(SplitNodes.of([trees[at] for at in active]), entries, splits.target, splits.indicators)
        found = with_best_bottoms(nodes, entries, splits)
        reached = _costs_of(found, table, splits)
        is_better = reached < costs[active]
        for at, tree in zip(active[is_better].tolist(), np.flatnonzero(is_better).tolist(), strict=True):
            trees[at] = found[tree]
        active, reached = active[is_better], reached[is_better]
        costs[active] = reached
        if active.size == 0:
            break
    return list(zip(trees, costs.tolist(), strict=True))


def _costs_of(trees: Trees, table: CodedTable, splits: SplitTable) -> Int64[np.ndarray, " tree"]:
    """The cost of every tree, in units."""
    nodes, entries = SplitNodes.of(trees), RoutedRows.of(table, len(trees))
    costs = leaf_costs(splits, nodes, entries, entries.ends(nodes, nodes.root[entries.tree]))
    return np.add.reduceat(costs, nodes.root)


def _cuts_for(tree: SplitNode | None, table: CodedTable, target: CostedTarget) -> list[Int[np.ndarray, " _cut"]]:
    """The codes that splits are chosen from: at quantiles, and those of a tree."""
    whole = all_cuts(table)
    cuts = spread_cuts(table, whole, max(1, GOOD_NUMBER // max(len(whole), 1)), target.whole_weight)
    for own in split_nodes(tree):
        if own.kind == SplitKind.THRESHOLD and own.code < table.num_values[own.feature] - 1:
            cuts[own.feature] = np.union1d(cuts[own.feature], [own.code])
    return cuts


def _redrawn(tree: SplitNode | None, indicators: Indicators, key: PRNGKeyArray) -> SplitNode | None:
    """The tree with some of its splits drawn at random."""
    which_key, what_key = jax.random.split(key)
    size = len(split_nodes(tree))
    which: Array = jax.random.bernoulli(which_key, DRAWN_SHARE, (size,))
    what: Array = jax.random.randint(what_key, (size,), 0, indicators.number)
    drawn = iter(zip(np.asarray(which).tolist(), np.asarray(what).tolist(), strict=True))

    def redraw(node: SplitNode | None) -> SplitNode | None:
        if node is None:
            return None
        is_drawn, at = next(drawn)
        below = redraw(node.first), redraw(node.second)
        if not is_drawn:
            return node._replace(first=below[0], second=below[1])
        feature, code, kind, missing_branch = (int(own[at]) for own in indicators[3:])
        return SplitNode(feature, code, kind, missing_branch, *below)

    return redraw(tree)


def without_empty_branches(
    tree: SplitNode | None, table: CodedTable, rows: Int[np.ndarray, " node_row"]
) -> SplitNode | None:
    """Returns a tree in which rows come to every leaf."""
    if tree is None or rows.size == 0:
        return None
    second = tree.takes_second(table, rows)
    sides = [
        without_empty_branches(side, table, own)
        for side, own in ((tree.first, rows[~second]), (tree.second, rows[second]))
    ]
    if second.all() or not second.any():
        return sides[int(second.all())]
    return tree._replace(first=sides[0], second=sides[1])
