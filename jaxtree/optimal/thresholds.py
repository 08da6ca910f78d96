"""Searches all thresholds of a table where the table of pair sums would be too large.

Along the thresholds of a column the rows on one side only grow, and so does what their best tree costs: two thresholds
whose trees are known bound all between them, and a threshold next to one saves no more than the rows between both can
cost (Brita et al., *Optimal classification trees for continuous feature data using dynamic programming with
branch-and-bound*, AAAI 2025). This holds for losses of rows, so that other criteria are searched on bins. The kernel
does the search, or NumPy, see `jaxtree.kernels.thresholds`, with the same tree and the same proof in up to ten times
the time (700 x 5 numbers, two levels: 6.6 CPU seconds against .66).
"""

import math
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Int, Int32

from jaxtree.kernels.choose import Engine
from jaxtree.kernels.thresholds import SWEEP_IN_LOOKS, ThresholdTable, best_tree
from jaxtree.optimal.costs import CostedTarget
from jaxtree.optimal.cuts import all_cuts
from jaxtree.optimal.exact import Fork
from jaxtree.optimal.indicators import Indicators, make_indicators
from jaxtree.optimal.nodes import CodedTable, SplitNode, split_node_of, split_nodes

MOST_CELLS = 2**32
"""Cells of rows and columns that are looked at before the search ends without a proof: the kernel takes ten seconds."""

CELLS_OF_SECOND = 2**28
"""Cells that the kernel looks at in a second at least."""

FEW_PREDICTIONS = 4
"""Up to this many predictions a cell takes the kernel the same time, beyond them in proportion to their number."""

THRESHOLDS_OF_COLUMN = 8
"""How many thresholds of a column are looked at below every node, by experience."""

MOST_INDICATORS = 2**16
"""The most indicators for which a search begins."""

MOST_SWEPT = 2**21
"""The same for rewards, whose columns are swept over."""


BITS = 60
"""Bits of the cost of all rows with all penalties, in parts of a unit."""


class Improved(NamedTuple):
    """The result of a search among all thresholds.

    Attributes:
        tree: A better tree than the one in hand, or this.
        is_proven: Whether no tree is better.
        cells_left: The number of cells that may still be looked at.
    """

    tree: SplitNode | None
    is_proven: bool
    cells_left: int


def cells_within(target: CostedTarget, seconds: float) -> int:
    """Returns how many cells may be looked at in some time, at most in ten seconds."""
    predictions = max(target.cost.num_predictions, FEW_PREDICTIONS)
    return int(min(MOST_CELLS, CELLS_OF_SECOND * seconds)) * FEW_PREDICTIONS // predictions


def can_search(table: CodedTable, target: CostedTarget, depth: int) -> bool:
    """Whether rows cost something of their own, and the search by the kernel is likely to end in seconds."""
    if not target.cost.adds_up or int(target.cost.least_rows) > 1:
        return False
    columns, of_regret = len(table.codes), target.cost.formula == "regret"
    # Rewards have noise, so that bounds leave out little: two levels take a sweep over every column.
    looked_at = (1 + SWEEP_IN_LOOKS) * looks_before_sweep(table, target) if of_regret else THRESHOLDS_OF_COLUMN
    above = float(int(table.num_values.sum()) if of_regret else THRESHOLDS_OF_COLUMN * columns) ** max(depth - 2, 0)
    cells = table.num_rows * columns * (float(looked_at) * columns) ** min(depth - 1, 1) * above
    most = MOST_SWEPT if of_regret else MOST_INDICATORS
    return cells <= cells_within(target, math.inf) and int(table.num_values.sum()) <= most


def looks_before_sweep(table: CodedTable, target: CostedTarget) -> int:
    """Returns how many thresholds of a column are looked at before a sweep: a part of the time that this takes."""
    return math.ceil(math.log2(max(table.num_rows, 2))) * (target.cost.num_predictions - 1)


def indicators_of_all(table: CodedTable, *, learns_missing: bool) -> Indicators:
    """Returns the indicators of all thresholds and categories."""
    return make_indicators(*table, all_cuts(table), learns_missing=learns_missing)


def improved_among_all(
    tree: SplitNode | None,
    indicators: Indicators,
    table: CodedTable,
    target: CostedTarget,
    *,
    depth: int,
    penalty: float,
    cells: int,
    engine: Engine,
) -> Improved:
    """Returns the best tree among all thresholds, or a tree in hand that is as good and has no more leaves.

    Args:
        tree: The tree in hand.
        indicators: All indicators.
        table: The rows.
        target: Their target, with costs that add up over rows.
        depth: The largest depth of a leaf.
        penalty: The penalty of a leaf, in units of cost.
        cells: The number of cells of rows and columns that may be looked at.
        engine: Who computes on the host.
    """
    cost = target.row_costs
    most = cost.max(axis=1)
    # One part of a unit more for a leaf: of equally good trees that of the fewest leaves is the best.
    shift = BITS - max(math.frexp(float(most.sum()) + 2.0 ** (depth + 1) * penalty)[1], 20)
    of_leaf = round(math.ldexp(penalty, shift)) + 1
    in_hand = (_units_of(tree, table, target, np.arange(table.num_rows)) << shift) + of_leaf * (
        len(split_nodes(tree)) + 1
    )
    searched = ThresholdTable(
        indicators.codes,
        indicators.first,
        indicators.is_nested,
        cost << shift,
        most << shift,
        of_leaf,
        *([looks_before_sweep(table, target)] if target.cost.formula == "regret" else []),
    )
    found, left, splits = best_tree(searched, depth, in_hand, cells, engine=engine)
    if found < in_hand:
        tree = split_node_of(_fork(splits, 0), indicators)
    return Improved(tree, left >= 0, max(left, 0))


def _units_of(
    tree: SplitNode | None, table: CodedTable, target: CostedTarget, rows: Int[np.ndarray, " node_row"]
) -> int:
    """The cost of the leaves of a tree, in units."""
    if tree is None:
        with jax.enable_x64(True):
            return int(target.cost(target.sums(rows)))
    second = tree.takes_second(table, rows)
    return _units_of(tree.first, table, target, rows[~second]) + _units_of(tree.second, table, target, rows[second])


def _fork(splits: Int32[np.ndarray, " inner_node"], node: int) -> Fork | None:
    """The tree below a node of a heap."""
    if node >= splits.size or splits[node] < 0:
        return None
    return Fork(int(splits[node]), _fork(splits, 2 * node + 1), _fork(splits, 2 * node + 2))
