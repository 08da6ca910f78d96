"""The search for the best tree of a table: which thresholds are compared, and the shape of the tree.

A column with many values has too many thresholds to compare all of them with all others. Then some are compared, at
quantiles, and thereafter *closer* ones, which lie next to those of the best tree, until the tree gets no better.
Where bounds allow it, all thresholds are searched in the end, see `jaxtree.optimal.thresholds`.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError
from jaxtree.kernels.choose import Engine, Engines
from jaxtree.optimal.costs import BITS_OF_COSTS, BITS_OF_LOSSES, CostedTarget
from jaxtree.optimal.cuts import Cuts, all_cuts, closer_cuts, spread_cuts
from jaxtree.optimal.deeper import DeepSearch
from jaxtree.optimal.exact import MOST_EXACT_DEPTH, SplitTable, best_number_of_leaves, exact_frontier, exact_tree
from jaxtree.optimal.greedy import greedy_tree, without_dear_splits
from jaxtree.optimal.indicators import make_indicators
from jaxtree.optimal.nodes import CodedTable, SplitNode, objective_of, split_node_of, split_nodes
from jaxtree.optimal.refine import can_refine, refined
from jaxtree.optimal.thresholds import (
    can_search,
    cells_within,
    improved_among_all,
    indicators_of_all,
)

MOST_INDICATORS = {1: 2**20, 2: 2**13, 3: 2**12, 4: 2**12, 5: 2**12}
"""The most indicators that are compared, by the depth of the tree, where a leaf costs `FEW_TERMS`."""

GOOD_NUMBER = {1: 2**16, 2: 2**11, 3: 512, 4: 128, 5: 96}
"""How many thresholds are compared where the caller leaves it open and a leaf costs `FEW_TERMS`."""

FIRST_OF_SWEEP = 256
"""The same of rewards where all thresholds are swept over thereafter: the first tree need not be the best of many."""

FEW_TERMS = 8
"""Up to this many terms of the cost of a leaf the numbers of indicators stand; more terms take as much more time."""

MOST_LEAVES = 32
"""Leaves of the deepest trees."""

LEVELS_OF_SWEEP = 2
"""The deepest policy tree that is searched among all thresholds: its time is known before the search."""

PATIENCE = 2
"""How many rounds of closer thresholds may bring no better tree before the search ends."""


class SearchLimits(NamedTuple):
    """The trees that are searched.

    Attributes:
        max_depth: The largest depth of a leaf.
        max_leaf_nodes: The most leaves; None for no limit.
        leaf_penalty: The addition to the objective for every leaf.
        max_thresholds: The most thresholds of a column that are compared at once; None leaves it open.
        refine_thresholds: Whether closer thresholds are compared.
        learns_missing: Whether missing values may go to either branch.
        time_limit: Seconds after which the search of four and more levels ends with the best tree found.
        report: Called with the objective in hand and its lower bound as such a search goes on.
    """

    max_depth: int = 3
    max_leaf_nodes: int | None = None
    leaf_penalty: float = 0.0
    max_thresholds: int | None = None
    refine_thresholds: bool = True
    learns_missing: bool = True
    time_limit: float = math.inf
    report: Callable[[float, float], None] | None = None

    @property
    def leaves_thresholds_open(self) -> bool:
        """Whether all thresholds may be compared, for trees of any number of leaves that their depth allows."""
        is_whole = self.max_leaf_nodes is None or self.max_leaf_nodes >= 2**self.max_depth
        return self.max_thresholds is None and self.refine_thresholds and is_whole


class BestTree(NamedTuple):
    """The tree that was found.

    Attributes:
        tree: The tree.
        objective: The sum of the costs of its leaves and of their penalties.
        bound: A lower bound of the objective of any tree of the compared thresholds.
        is_complete: Whether all thresholds of the table were compared.
        is_interrupted: Whether the user ended the search.
    """

    tree: SplitNode | None
    objective: float
    bound: float
    is_complete: bool
    is_interrupted: bool = False

    @property
    def optimality(self) -> str | float:
        """Returns "proven", "proven on bins", or the share of the objective that another tree may save."""
        if self.bound < self.objective:
            return min((self.objective - self.bound) / self.objective, 1.0)
        return "proven" if self.is_complete else "proven on bins"


def find_trees(table: CodedTable, target: CostedTarget, limits: Sequence[SearchLimits]) -> list[BestTree]:
    """Returns the best tree of a table for each of some limits, which differ in penalties and numbers of leaves alone.

    All begin with the same thresholds, so that the sums over pairs of these are made once; closer thresholds depend on
    the tree, and are compared by tree. Each tree is the one that its limits would give alone.

    Raises InvalidInputError if there are too many columns or categories.
    """
    table.check()
    kinds = [_sweeps(own, table, target) for own in limits]
    if len(set(kinds)) > 1:
        found = {}
        for kind in (False, True):
            places = [place for place, own in enumerate(kinds) if own == kind]
            found |= dict(zip(places, find_trees(table, target, [limits[place] for place in places]), strict=True))
        return [found[place] for place in range(len(limits))]
    engines = Engines.of(current_platform())
    whole = all_cuts(table)
    is_swept = limits[0].max_depth <= LEVELS_OF_SWEEP and _sweeps(limits[0], table, target)
    most = _thresholds_of_column(table, whole, target, limits[0], is_swept=is_swept)
    cuts = spread_cuts(table, whole, most, target.whole_weight)
    is_complete = all(own.size == every.size for own, every in zip(cuts, whole, strict=True))
    tries_closer = not is_complete and not is_swept
    searches = [_Search(own, cuts, tries_closer=own.refine_thresholds and tries_closer) for own in limits]
    while going := [search for search in searches if search.goes_on]:
        alike: dict[tuple[bytes, ...], list[_Search]] = {}
        for search in going:
            alike.setdefault(tuple(own.tobytes() for own in search.cuts), []).append(search)
        for members in alike.values():
            splits = _split_table(members[0].cuts, table, target, limits[0], engines)
            for search in members:
                search.compare(splits, table)
                if search.goes_on:
                    search.cuts = closer_cuts(search.cuts, whole, search.best.tree, table, most)
    found = [search.best._replace(is_complete=is_complete) for search in searches]
    found = [_at_least_greedy(own, table, target, best, engines) for own, best in zip(limits, found, strict=True)]
    return _among_all_thresholds(limits, table, target, found, engines.of_host)


def _sweeps(limits: SearchLimits, table: CodedTable, target: CostedTarget) -> bool:
    """Whether all thresholds of a table of rewards are searched in the end."""
    of_rewards = target.cost.formula == "regret" and limits.leaves_thresholds_open
    return of_rewards and can_search(table, target, limits.max_depth)


def _among_all_thresholds(
    limits: Sequence[SearchLimits], table: CodedTable, target: CostedTarget, found: list[BestTree], engine: Engine
) -> list[BestTree]:
    """The best trees of all thresholds where these are few enough, or those that were found."""
    common = limits[0]
    is_open = [
        best.optimality != "proven" and not best.is_interrupted and own.leaves_thresholds_open
        for own, best in zip(limits, found, strict=True)
    ]
    if not any(is_open) or not can_search(table, target, common.max_depth):
        return found
    indicators = indicators_of_all(table, learns_missing=common.learns_missing)
    cells = cells_within(target, common.time_limit)
    for number in np.flatnonzero(is_open).tolist():
        best, penalty = found[number], penalty_in_units(limits[number].leaf_penalty, target)
        better = improved_among_all(
            best.tree, indicators, table, target, depth=common.max_depth, penalty=penalty, cells=cells, engine=engine
        )
        cells = better.cells_left
        objective = _objective(better.tree, table, target, limits[number].leaf_penalty)
        bound = objective if better.is_proven else min(best.bound, objective)
        is_complete = best.is_complete or better.is_proven
        found[number] = BestTree(better.tree, objective, bound, is_complete=is_complete)
    return found


def _at_least_greedy(
    limits: SearchLimits, table: CodedTable, target: CostedTarget, best: BestTree, engines: Engines
) -> BestTree:
    """A tree of many levels that is not proven to be the best, or a better one that greed or `refined` finds."""
    if limits.max_depth <= MOST_EXACT_DEPTH or best.optimality == "proven":
        return best
    greedy = greedy_tree(
        table, target, limits.max_depth, platform=engines.platform, learns_missing=limits.learns_missing
    )
    trees = [greedy]
    if can_refine(target) and limits.learns_missing:
        trees += [refined(tree, table, target, engines) for tree in (greedy, best.tree)]
    for tree in trees:
        smaller = without_dear_splits(tree, table, target, limits.leaf_penalty)
        objective = _objective(smaller, table, target, limits.leaf_penalty)
        if objective < best.objective:
            best = best._replace(tree=smaller, objective=objective, bound=min(best.bound, objective))
    return best


class _Search:
    """The search of one tree: the thresholds that it compares next, and the best tree so far.

    Args:
        limits: The trees that are searched.
        cuts: The first thresholds.
        tries_closer: Whether closer ones are compared thereafter.
    """

    best: BestTree

    def __init__(self, limits: SearchLimits, cuts: Cuts, *, tries_closer: bool):
        self.limits, self.cuts, self._tries_closer = limits, cuts, tries_closer
        self._patience, self._seconds_left = 1, limits.time_limit

    @property
    def goes_on(self) -> bool:
        """Whether there is more to compare, and time for it."""
        is_new = not hasattr(self, "best")
        in_time = self.limits.max_depth <= MOST_EXACT_DEPTH or self._seconds_left > 0
        return is_new or (self._patience > 0 and not self.best.is_interrupted and in_time)

    def compare(self, splits: SplitTable, table: CodedTable) -> None:
        """Looks for a better tree with some thresholds."""
        began = time.monotonic()
        limits = self.limits._replace(report=self._report)
        found = _best_among(splits, table, limits, began + self._seconds_left)
        self._seconds_left -= time.monotonic() - began
        if not hasattr(self, "best") or found.objective < self.best.objective:
            self.best, self._patience = found, PATIENCE * self._tries_closer
        else:
            self.best = self.best._replace(is_interrupted=found.is_interrupted)
            self._patience -= 1

    def _report(self, objective: float, bound: float) -> None:
        """Reports a tree of these thresholds, or the best one so far where it is better."""
        if self.limits.report is not None:
            in_hand = min(objective, self.best.objective) if hasattr(self, "best") else objective
            self.limits.report(in_hand, min(bound, in_hand))


def _split_table(
    cuts: Cuts, table: CodedTable, target: CostedTarget, limits: SearchLimits, engines: Engines
) -> SplitTable:
    """The table of some thresholds; raises InvalidInputError if they are too many."""
    indicators = make_indicators(*table, cuts, learns_missing=limits.learns_missing)
    depth = limits.max_depth
    most = _in_as_much_time(MOST_INDICATORS[depth], depth, target)
    if indicators.number > most:
        of_classes = "" if most == MOST_INDICATORS[depth] else f" for {target.cost.num_labels} classes"
        raise InvalidInputError(
            f"trees of depth {depth} are searched among up to {most} thresholds and categories{of_classes}, and "
            f"the table has {indicators.number}: choose fewer columns, a smaller max_thresholds, or max_depth="
            f"{depth - 1}"
        )
    return SplitTable(indicators, target, engines)


def _best_among(splits: SplitTable, table: CodedTable, limits: SearchLimits, deadline: float) -> BestTree:
    """The best tree with some of the thresholds."""
    indicators, target, depth = splits.indicators, splits.target, limits.max_depth
    penalty = penalty_in_units(limits.leaf_penalty, target)
    fork, gap, is_interrupted = None, 0.0, False
    if indicators.number and depth > MOST_EXACT_DEPTH:
        search = DeepSearch(splits, penalty, deadline, _in_units(limits.report, target))
        fork, route = search.run(depth)
        gap, is_interrupted = route.value - route.lower, search.was_interrupted
    elif indicators.number:
        everyone = np.ones(table.num_rows, bool)
        frontier = exact_frontier(splits, everyone, depth)
        leaves = best_number_of_leaves(frontier, penalty, limits.max_leaf_nodes)
        fork = exact_tree(splits, everyone, depth, leaves)
    tree = split_node_of(fork, indicators)
    objective = _objective(tree, table, target, limits.leaf_penalty)
    return BestTree(tree, objective, objective - gap * target.unit, is_complete=True, is_interrupted=is_interrupted)


def _objective(tree: SplitNode | None, table: CodedTable, target: CostedTarget, penalty: float) -> float:
    """The objective of a tree with the penalties of its leaves."""
    return objective_of(tree, table, target) + penalty * (len(split_nodes(tree)) + 1)


def _in_units(
    report: Callable[[float, float], None] | None, target: CostedTarget
) -> Callable[[float, float], None] | None:
    """A report of whole numbers, made one in units of the objective."""
    if report is None:
        return None
    rest = math.fsum(target.moment)
    return lambda value, lower: report(*(rest + target.unit * cost for cost in (value, lower)))


def penalty_in_units(penalty: float, target: CostedTarget) -> float:
    """Returns a penalty in units of costs, with so many bits that sums with costs are exact."""
    own, cost = penalty / target.unit, target.cost
    if cost.formula == "regret":
        largest = float(target.values.value[1:].max(axis=0).sum())
    elif cost.formula == "cost":
        largest = float(target.values.value[0].sum()) * float(np.max(cost.loss))
    else:
        largest = 2.0**BITS_OF_COSTS
    grain = 2.0 ** (math.frexp(2 * largest + MOST_LEAVES * own)[1] - BITS_OF_LOSSES)
    return round(own / grain) * grain


def _in_as_much_time(number: int, depth: int, target: CostedTarget) -> int:
    """The number of indicators whose comparison takes as long as that of others does where a leaf costs few terms.

    The leaves of every set of as many indicators as there are levels, up to the exact ones, are compared.
    """
    more = max(1.0, target.cost.num_terms / FEW_TERMS)
    return int(number * more ** (-1 / min(depth, MOST_EXACT_DEPTH)))


def _thresholds_of_column(
    table: CodedTable, whole: Cuts, target: CostedTarget, limits: SearchLimits, *, is_swept: bool
) -> int:
    """How many thresholds of a column are compared at once."""
    if limits.max_thresholds is not None:
        return limits.max_thresholds
    every = np.array([own.size for own in whole])
    sizes = every[~table.is_categorical]
    number_of_all = _in_as_much_time(GOOD_NUMBER[limits.max_depth], limits.max_depth, target)
    number_of_all = min(number_of_all, FIRST_OF_SWEEP) if is_swept else number_of_all
    good = number_of_all - every[table.is_categorical].sum()
    numbers = [number for number in range(1, 2**16) if np.minimum(sizes, number).sum() <= good]
    return max(numbers, default=1)
