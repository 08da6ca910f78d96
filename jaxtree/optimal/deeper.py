"""Trees of four and more levels: first splits in the order of what two levels below them reach, with bounds.

The best tree of three levels below a node is found at once, see `jaxtree.optimal.exact`; what is above is searched.
Every first split has an upper bound, the best of two levels on both of its sides, by which the splits are ordered: the
search follows the best one, then the best few, then all, so that a good tree is there early (Kohler et al., 2025;
Babbar et al., *Near-optimal decision trees in a SPLIT second*, 2025). A first split whose lower bound is no better than
the tree in hand is left out. Rows that no split tells apart must share a leaf: what they cost is a lower bound. And a
set of rows costs no less than any part of it, nor than another set less what the rows can cost that this one has not
(Demirovic et al., *MurTree*, 2022).
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float64, Int64

from jaxtree.errors import InterruptedFitWarning, warn_user
from jaxtree.optimal.exact import (
    MOST_EXACT_DEPTH,
    Fork,
    SplitTable,
    best_number_of_leaves,
    exact_frontier,
    exact_tree,
)

WIDTHS = (1, 4, 16)
"""How many first splits of every node are followed, one round after the other; then all."""

SLACK = 64
"""Units by which roundings of the costs of leaves may change a bound."""

Bounds = Float64[np.ndarray, "side indicator"]
SplitNumbers = Int64[np.ndarray, " split"]
Members = Bool[np.ndarray, " row"]
Report = Callable[[float, float], None]


class Route(NamedTuple):
    """The best tree that is known for some rows.

    Attributes:
        value: The cost of its leaves, with penalties.
        lower: A lower bound of the cost of any tree.
        split: Its first split, None for the best tree of three levels.
        inside: The route inside of it.
        outside: The route outside.
    """

    value: float
    lower: float
    split: int | None = None
    inside: "Route | None" = None
    outside: "Route | None" = None


class DeepSearch:
    """The search of a tree of some levels more than three.

    Args:
        table: The table.
        penalty: The penalty of a leaf, in units of cost.
        deadline: The reading of `time.monotonic` at which it ends.
        report: Called with the cost in hand and the lower bound whenever a first split of the root is done.
    """

    was_interrupted = False
    """Whether the user ended the search."""

    def __init__(self, table: SplitTable, penalty: float, deadline: float, report: Report | None = None):
        self._table, self._penalty, self._deadline, self._report = table, penalty, deadline, report
        self._known: dict[tuple[int, bytes], Route] = {}
        self._least = _least_costs(table)
        cost = table.cost
        self._of_losses = cost.adds_up
        self._most_lost = table.target.row_costs.max(axis=1) if cost.adds_up else table.values.value[0]
        self._is_monotone = cost.formula in ("cost", "gini", "entropy", "regret") and int(cost.least_rows) <= 1

    def run(self, depth: int) -> tuple[Fork | None, Route]:
        """Returns the best tree found of a depth, and its bounds; an interrupt ends the search as the deadline does."""
        everyone = np.ones(self._table.num_rows, bool)
        self._root = self._best(everyone, MOST_EXACT_DEPTH, None, 1)
        try:
            for width in (*WIDTHS, self._table.indicators.number):
                self._root = self._best(everyone, depth, None, width, is_root=True)
                if self._root.lower >= self._root.value or self._is_over():
                    break
        except KeyboardInterrupt:
            warn_user("the search was interrupted, and keeps the best tree so far", InterruptedFitWarning)
            self.was_interrupted = True
            self._root = self._known.get(_key(everyone, depth), self._root)
        return self._tree(everyone, depth, self._root), self._root

    def _is_over(self) -> bool:
        return time.monotonic() >= self._deadline

    def _best(self, rows: Members, depth: int, upper: float | None, width: int, *, is_root: bool = False) -> Route:
        """The best tree of some rows, as far as one below `upper` is sought and found."""
        key = _key(rows, depth)
        known = self._known.get(key)
        if known is not None and (known.lower >= known.value or (upper is not None and known.lower >= upper)):
            return known
        if depth <= MOST_EXACT_DEPTH:
            route = self._exact(rows, depth)
        else:
            route = self._searched(rows, depth, upper, width, known, is_root=is_root)
        self._known[key] = route
        return route

    def _exact(self, rows: Members, depth: int) -> Route:
        frontier = exact_frontier(self._table, rows, depth)
        leaves = best_number_of_leaves(frontier, self._penalty)
        value = float(frontier[leaves - 1]) + self._penalty * leaves
        return Route(value, value)

    def _searched(
        self, rows: Members, depth: int, upper: float | None, width: int, known: Route | None, *, is_root: bool
    ) -> Route:
        """The best tree whose first split is one of the best few by two levels below."""
        shallow = self._best(rows, MOST_EXACT_DEPTH, None, width)
        best = shallow if known is None or shallow.value <= known.value else known
        least = -math.inf if known is None else known.lower
        best = best._replace(lower=0)
        sides = self._table.sides(rows, MOST_EXACT_DEPTH)
        leaves = self._penalty * np.arange(1, sides.shape[1] + 1)
        reached = (sides + leaves[:, None]).min(axis=1).sum(axis=0)
        bounds, splits = self._first_bounds(rows), self._dividing(rows)
        for split in splits[np.argsort(reached[splits], kind="stable")][:width].tolist():
            if self._is_over():
                break
            sought = best.value if upper is None else min(best.value, upper)
            found = self._follow(rows, split, depth, sought, width, bounds)
            if found is not None and found.value < best.value:
                best = found
            if is_root:
                self._root = best._replace(lower=max(least, self._lower(rows, best.value, bounds, splits)))
                self._known[_key(rows, depth)] = self._root
                if self._report is not None:
                    self._report(self._root.value, self._root.lower)
        return best._replace(lower=max(least, self._lower(rows, best.value, bounds, splits)))

    def _follow(
        self,
        rows: Members,
        split: int,
        depth: int,
        sought: float,
        width: int,
        bounds: Bounds,
    ) -> Route | None:
        """The best tree with a first split, or None if it is not below what is sought; `bounds` rise."""
        column, routes = self._table.indicators.column(split), []
        for side, own in enumerate((rows & column, rows & ~column)):
            other = routes[0].lower if routes else float(bounds[1 - side, split])
            if float(bounds[side, split]) + other >= sought:
                return None
            route = self._best(own, depth - 1, sought - other, width)
            bounds[side, split] = max(float(bounds[side, split]), route.lower)
            self._spread(own, route.lower, bounds)
            routes.append(route)
        inside, outside = routes
        return Route(inside.value + outside.value, 0, split, inside, outside)

    def _first_bounds(self, rows: Members) -> Bounds:
        """Returns what either side of every split costs at least: a leaf, and the rows that no split tells apart."""
        least = np.where(rows, self._least, 0)
        inside = self._table.indicators.sums(least)
        return np.stack([inside, least.sum() - inside]) + self._penalty - float(SLACK * (not self._of_losses))

    def _dividing(self, rows: Members) -> Int64[np.ndarray, " split"]:
        """The indicators that divide some rows."""
        inside = self._table.indicators.sums(rows.astype(np.int64))
        return np.flatnonzero((inside > 0) & (inside < rows.sum()))

    def _spread(self, rows: Members, value: float, bounds: Bounds) -> None:
        """Raises the bounds of sides that have all of some rows, whose cost is known, or most of them."""
        if not self._is_monotone:
            return
        lost = np.where(rows, self._most_lost, 0)
        inside = self._table.indicators.sums(lost)
        lacking = np.stack([lost.sum() - inside, inside])
        if self._of_losses:
            np.maximum(bounds, value - lacking, out=bounds)
        else:
            np.maximum(bounds, np.where(lacking == 0, value - SLACK, bounds), out=bounds)

    def _lower(self, rows: Members, value: float, bounds: Bounds, splits: SplitNumbers) -> float:
        """Returns a lower bound of the trees of some rows, given the bounds of the sides of all first splits."""
        below = bounds[:, splits].sum(axis=0).min(initial=value)
        return min(value, float(below), self._table.leaf(rows) + self._penalty)

    def _tree(self, rows: Members, depth: int, route: Route) -> Fork | None:
        """The tree of a route."""
        if route.split is None or route.inside is None or route.outside is None:
            depth = min(depth, MOST_EXACT_DEPTH)
            leaves = best_number_of_leaves(exact_frontier(self._table, rows, depth), self._penalty)
            return exact_tree(self._table, rows, depth, leaves)
        column = self._table.indicators.column(route.split)
        return Fork(
            route.split,
            self._tree(rows & column, depth - 1, route.inside),
            self._tree(rows & ~column, depth - 1, route.outside),
        )


def _key(rows: Members, depth: int) -> tuple[int, bytes]:
    return depth, np.packbits(rows).tobytes()


def _least_costs(table: SplitTable) -> Int64[np.ndarray, " row"]:
    """Returns the cost of rows that no indicator tells apart as one leaf: at the first of them, and 0 at the others."""
    _, first, group = np.unique(table.indicators.codes, axis=1, return_index=True, return_inverse=True)
    cost, label = table.cost, table.values.label
    sums = np.zeros((cost.num_labels, cost.num_values, first.size), np.int64)
    for number, value in enumerate(table.values.value):
        np.add.at(sums[:, number], (label, group.reshape(-1)), value)
    with jax.enable_x64(True):
        costs = np.asarray(table.free_cost(sums.reshape(cost.num_channels, first.size)))
    least = np.zeros(table.num_rows, np.int64)
    least[first] = costs
    return least
