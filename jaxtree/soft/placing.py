"""Hard trees as complete binary ones: which question stands at which node of the heap.

A *question* asks whether the sum of some columns is above a limit; rows for which it is go right. A threshold is one
question. A split by category is one or more: its branches are *items*, which a small binary tree divides. A row that
the hard tree leaves at a node, because no branch is for it, has an item of its own there. A missing value's *mass* says
which items it goes to.
"""

import heapq
import itertools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int

from jaxtree.errors import InvalidInputError
from jaxtree.soft.inputs import Inputs
from jaxtree.tree import CODES_PER_WORD, SplitKind, Tree

SHARED_OUT = 2**30
"""The branch of a missing value that is shared out among all branches."""

CERTAIN = 20.0
"""The logit of what is certain: the chance of the opposite is 2e-9."""

MOST_LEVELS = 16
"""Of a soft tree made of a hard one; each level doubles it."""


class End(NamedTuple):
    """Where rows end: at a leaf of the hard tree, or at an inner node that has no branch for them."""

    node: int
    height: int = 0


class Question(NamedTuple):
    """A question, with what follows.

    Attributes:
        node: The node of the hard tree that it is a part of.
        columns: What is summed up.
        limit: Above it rows go right.
        feature: Where its value is missing, the question is not asked; -1 if it always is.
        missing: The logit of a missing value to go right.
        left: What follows for other rows.
        right: What follows for rows above the limit.
        height: The most questions from here to an end.
    """

    node: int
    columns: tuple[int, ...]
    limit: float
    feature: int
    missing: float
    left: "End | Question"
    right: "End | Question"
    height: int


Plan = End | Question


class Item(NamedTuple):
    """A branch of a split by category: its codes, the mass of a missing value that goes there, and what follows."""

    codes: tuple[int, ...]
    mass: float
    plan: Plan


class Placed(NamedTuple):
    """A plan in heap order; below an end all nodes are the same end.

    Attributes:
        node: The node of the hard tree at every node of the heap.
        is_first: Whether this is where rows come to that node of the hard tree.
        is_question: Whether something is asked; of inner nodes, as all that follows.
        column: Which columns are summed up.
        limit: The limit.
        feature: The feature, -1 if missing values do not matter.
        missing: The logit of a missing value to go right.
    """

    node: Int[np.ndarray, " heap"]
    is_first: Bool[np.ndarray, " heap"]
    is_question: Bool[np.ndarray, " inner"]
    column: Bool[np.ndarray, "inner column"]
    limit: Float64[np.ndarray, " inner"]
    feature: Int[np.ndarray, " inner"]
    missing: Float64[np.ndarray, " inner"]


class Planner:
    """Makes plans of the nodes of a hard tree.

    Args:
        tree: The tree, on the host.
        inputs: What columns there are.
        one_column: Whether a question may ask for one column only.
    """

    def __init__(self, tree: Tree, inputs: Inputs, *, one_column: bool):
        self._tree = tree
        self._inputs = inputs
        self._one_column = one_column
        self._indicator = {int(f): inputs.num_values + i for i, f in enumerate(inputs.with_indicator)}

    def plan(self, node: int = 0) -> Plan:
        """The plan of a node and all below it."""
        tree, size = self._tree, int(self._tree.num_children[node])
        if size == 0:
            return End(node)
        feature, kind = int(tree.feature[node]), SplitKind(int(tree.split_kind[node]))
        below = [self.plan(int(tree.first_child[node]) + branch) for branch in range(size)]
        masses = self._masses(node, size)
        if self._inputs.scales[feature] is not None:
            if kind != SplitKind.THRESHOLD:
                raise InvalidInputError(f"node {node} divides the numbers of feature {feature} by category")
            return self._plan_of_threshold(node, feature, below, masses)
        branches = zip(self._codes(node), masses, [*below, End(node)], strict=True)
        items = [Item(codes, mass, plan) for codes, mass, plan in branches]
        return self._plan_of_items(node, feature, [item for item in items if item.codes or item.mass])

    def _masses(self, node: int, size: int) -> list[float]:
        """The mass of a missing value for every branch, and for staying at the node."""
        tree, branch = self._tree, int(self._tree.missing_branch[node])
        if branch == SHARED_OUT:
            first = int(tree.first_child[node])
            return [*np.asarray(tree.weight[first : first + size], np.float64).tolist(), 0.0]
        return [float(min(branch, size) == other) for other in range(size + 1)]

    def _codes(self, node: int) -> list[tuple[int, ...]]:
        """The codes of every branch, and those of none."""
        tree, code, size = self._tree, int(self._tree.code[node]), int(self._tree.num_children[node])
        codes = range(self._inputs.width(int(tree.feature[node])))
        match SplitKind(int(tree.split_kind[node])):
            case SplitKind.MULTIWAY:
                return [*((c,) if c in codes else () for c in range(size)), tuple(codes[size:])]
            case SplitKind.ONE_VS_REST:
                chosen = {code}
            case SplitKind.SUBSET:
                words = tree.subset[node].tolist()
                chosen = {c for c in codes if words[c // CODES_PER_WORD] >> (c % CODES_PER_WORD) & 1}
            case SplitKind.THRESHOLD:
                chosen = {c for c in codes if c > code}
        return [tuple(c for c in codes if c not in chosen), tuple(c for c in codes if c in chosen), ()]

    def _plan_of_threshold(self, node: int, feature: int, below: list[Plan], masses: list[float]) -> Plan:
        threshold, column = float(self._tree.threshold[node]), self._inputs.columns_of(feature).start
        if threshold == np.inf:
            return self._ask_whether_missing(node, feature, below[0], below[1]) if masses[1] else below[0]
        limit = _just_above(self._inputs.scale_values(feature, np.array([threshold]))[0])
        asked = self._ask(node, (column,), limit, feature, masses, below)
        return self._ask_whether_missing(node, feature, asked, End(node)) if masses[2] else asked

    def _ask_whether_missing(self, node: int, feature: int, known: Plan, missing: Plan) -> Plan:
        if feature not in self._indicator:
            return known
        return self._ask(node, (self._indicator[feature],), 0.5, -1, [1.0, 1.0], [known, missing])

    def _plan_of_items(self, node: int, feature: int, items: list[Item]) -> Plan:
        combine = self._peel if self._one_column else self._pair
        return combine(node, feature, items).plan

    def _pair(self, node: int, feature: int, items: list[Item]) -> Item:
        """Puts the two lowest items under one question, again and again: no other order makes a lower tree."""
        count = itertools.count()
        queue = [(item.plan.height, next(count), item) for item in items]
        while len(queue) > 1:
            left, right = heapq.heappop(queue)[2], heapq.heappop(queue)[2]
            joined = self._join(node, feature, left, right)
            heapq.heappush(queue, (joined.plan.height, next(count), joined))
        return queue[0][2]

    def _peel(self, node: int, feature: int, items: list[Item]) -> Item:
        """Asks for one category after the other; what most of them lead to is left for the end."""
        items = sorted(items, key=lambda item: (len(item.codes), item.plan.height))
        rest = items.pop()
        single = [
            Item((code,), item.mass if code == item.codes[0] else 0.0, item.plan)
            for item in items
            for code in item.codes
        ]
        for item in sorted(single, key=lambda item: item.plan.height):
            rest = self._join(node, feature, rest, item)
        for item in items:
            if not item.codes:
                rest = rest._replace(plan=self._ask_whether_missing(node, feature, rest.plan, item.plan))
        return rest

    def _join(self, node: int, feature: int, left: Item, right: Item) -> Item:
        """One item of two, by the question whether the code is one of the right item's."""
        first = self._inputs.columns_of(feature).start
        columns = tuple(first + code for code in right.codes)
        plan = self._ask(node, columns, 0.5, feature, [left.mass, right.mass], [left.plan, right.plan])
        return Item(left.codes + right.codes, left.mass + right.mass, plan)

    def _ask(self, node, columns, limit, feature, masses, below: list[Plan]) -> Question:
        if feature not in self._indicator:
            feature = -1
        height = 1 + max(plan.height for plan in below)
        return Question(node, columns, float(limit), feature, _log_odds(*masses[:2]), below[0], below[1], height)


def place(plan: Plan, depth: int, num_columns: int) -> Placed:
    """Returns a plan in heap order, in a tree of so many levels."""
    num_nodes, num_inner = 2 ** (depth + 1) - 1, 2**depth - 1
    placed = Placed(
        np.zeros(num_nodes, np.int64),
        np.zeros(num_nodes, bool),
        np.zeros(num_inner, bool),
        np.zeros((num_inner, num_columns), bool),
        np.zeros(num_inner),
        np.full(num_inner, -1),
        np.zeros(num_inner),
    )
    todo: list[tuple[int, Plan, int]] = [(0, plan, -1)]
    while todo:
        place_, plan, above = todo.pop()
        placed.node[place_], placed.is_first[place_] = plan.node, plan.node != above
        below = 2 * place_ + 1, 2 * place_ + 2
        if isinstance(plan, Question):
            placed.is_question[place_] = True
            placed.column[place_, list(plan.columns)] = True
            placed.limit[place_], placed.feature[place_] = plan.limit, plan.feature
            placed.missing[place_] = plan.missing
            todo += [(below[0], plan.left, plan.node), (below[1], plan.right, plan.node)]
        elif place_ < num_inner:
            todo += [(child, plan, plan.node) for child in below]
    return placed


def _just_above(limit: float) -> float:
    """A little more than a limit, so that a row at the limit goes left even after a rounding or two in float32."""
    return float(np.float32(limit) + 4 * np.spacing(np.abs(np.float32(limit))))


def _log_odds(left: float, right: float) -> float:
    """log(right / left), within bounds; 0 where both are 0."""
    if left <= 0 or right <= 0:
        return CERTAIN * ((right > 0) - (left > 0))
    return min(max(math.log(right / left), -CERTAIN), CERTAIN)
