"""Soft trees made of hard ones: which binary test stands at which node of the heap.

A *test* asks whether the sum of some columns is above a limit; rows for which it is go right. A threshold is one
test. A split by category is one or more: its branches are *items*, which a small binary tree divides. A row that
the hard tree leaves at a node, because no branch is for it, has an item of its own there. The *mass* of a missing value
is divided among the items.
"""

import heapq
import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Float64, Int, PRNGKeyArray

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.model import AxisGate, Gate, Leaf, ObliqueGate, SoftForm, SoftTree, init
from jaxtree.tree import (
    ALL_BRANCHES,
    SplitKind,
    Tree,
    all_class_shares,
    majority_class,
    output_counts,
    target_means,
)
from jaxtree.tree.nodes import branch_of

CHOSEN = 10.0
"""The logit of the feature that an axis gate compares; all others have 0."""

CERTAIN = 20.0
"""The logit of what is certain: the chance of the opposite is 2e-9."""

MOST_LEVELS = 16
"""Of a soft tree made of a hard one; each level doubles it."""


def from_tree(
    tree: Tree,
    inputs: Inputs,
    *,
    temperature: float = 0.1,
    gate: str = "axis",
    node_value: Float[AnyArray, "node output"] | None = None,
    rates: Float[AnyArray, "*node"] | float | None = None,
    depth: int | None = None,
    key: PRNGKeyArray | None = None,
) -> SoftTree:
    r"""Returns a soft tree with the tests and the values of a hard tree.

    As the temperature of `apply` goes to 0, it predicts what the hard tree predicts, on rows of `inputs.transform`.
    A threshold becomes a gate of its column. A split by category becomes a plane over one-hot columns, or for gates of
    one column one test after another; a split into many branches becomes a small tree. A missing value takes the
    branch that it took, or is shared out as C4.5 does, whatever the temperature; the inputs must have an indicator of
    its feature. A row that has no branch at a node ends there.

    Args:
        tree: One tree with its root at node 0, and thresholds in units of the table: an estimator's `tree_`. For a
            pruned one, see `take_tree`.
        inputs: How rows are made; learned with the schema of the tree.
        temperature: The width of the gates' steps, in units of the columns: a scaled number's standard deviation.
        gate: "axis" or "oblique".
        node_value: The value of every node. If not given, the shares of the classes, the outputs side by side, or the
            means of the targets; see also `log_shares` and `class_votes`.
        rates: The probability of every node of the hard tree to be collapsed, as `dropout.node_rates` and
            `dropout.level_rates` make it, or one for all: rows stop there. With `node_value=class_votes(tree)` the soft
            tree is then the infinite vote, `dropout.vote_share`. May be traced. With 0 inner nodes have values at which
            no row stops until rates are set by `with_dropout`; without rates they have none.
        depth: The number of levels, if more than the tree needs.
        key: Gates below the tree's leaves look in random directions, so that training can divide leaves further; if
            not given, they are 0, and leaves stay as they are.

    Raises:
        InvalidInputError: The tree needs more levels than there may be or than `depth`; or an option is not allowed.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.soft import apply, fit_inputs
        >>> X = np.array([[1.0], [2.0], [3.0]])
        >>> hard = DecisionTreeRegressor().fit(X, [0.0, 1.0, 5.0])
        >>> inputs = fit_inputs(X, hard.schema_)
        >>> soft = from_tree(hard.tree_, inputs)
        >>> apply(soft, inputs.transform(X), temperature=1e-6).round(2).ravel().tolist()
        [0.0, 1.0, 5.0]
    """
    tree = jax.tree.map(np.asarray, tree)
    plan = _Planner(tree, inputs, one_column=gate == "axis").plan()
    depth = plan.height if depth is None else depth
    if not plan.height <= depth <= MOST_LEVELS:
        raise InvalidInputError(
            f"the tree needs {plan.height} levels of two branches each; depth must be from there to {MOST_LEVELS}, "
            f"got {depth}: prune the tree first"
        )
    heap = _lay_out(plan, depth, inputs.num_features)
    values = _floats(default_node_value(tree) if node_value is None else node_value)
    form = SoftForm(depth, inputs.num_features, values.shape[1], gate, rates is not None, inputs.missing)
    gates = _gate_of(heap, inputs, form, temperature, key)
    if rates is None:
        return SoftTree(gates, Leaf(values[heap.node[form.num_inner :]], None), form)
    node = heap.node[: form.num_inner]
    may_stop = heap.is_first[: form.num_inner] & (node > 0)
    stop = jnp.where(may_stop, jnp.broadcast_to(_floats(rates), tree.depth.shape)[node], 0)
    return SoftTree(gates, Leaf(values[heap.node], stop), form)


def log_shares(tree: Tree, *, smoothing: float = 1.0) -> Float[np.ndarray, "node class"]:
    r"""Returns $\log\frac{n_c + s}{n + s C}$ of every class: logits whose softmax are smoothed shares.

    Args:
        tree: A tree of one output of C classes.
        smoothing: s, more than 0; in rows.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1]).tree_
        >>> np.exp(log_shares(tree)).round(2)
        array([[0.5 , 0.5 ],
               [0.67, 0.33],
               [0.33, 0.67]])
    """
    count = np.asarray(output_counts(tree), np.float64) + smoothing
    return np.log(count / count.sum(axis=1, keepdims=True))


def class_votes(tree: Tree) -> Float[np.ndarray, "node class"]:
    """Returns 1 for the class that a node predicts, and 0 for the others, of a tree of one output of classes.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> class_votes(DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1]).tree_)
        array([[1., 0.],
               [1., 0.],
               [0., 1.]])
    """
    tree = jax.tree.map(np.asarray, tree)
    return np.eye(tree.num_classes[0])[majority_class(tree)]


def default_node_value(tree: Tree) -> Float[np.ndarray, "node output"]:
    """Returns the shares of the classes, the outputs side by side, or the means of the targets."""
    return all_class_shares(tree) if tree.num_classes else target_means(tree)


def _gate_of(heap: "_HeapLayout", inputs: Inputs, form: SoftForm, temperature: float, key: PRNGKeyArray | None) -> Gate:
    tested, column = heap.is_test, heap.column.astype(float)
    is_of = heap.feature[:, None] == inputs.with_indicator  # node indicator
    missing = _floats(np.where(is_of, heap.missing[:, None], 0.0)) if form.missing else None
    if form.gate == "axis":
        sharpness = jnp.where(tested, -np.log(temperature), -CERTAIN)
        gate = AxisGate(_floats(CHOSEN * column), _floats(heap.limit), sharpness, missing)
    else:
        # Of a missing value all columns are 0; its indicator makes up for the limit, so that only `missing` is left.
        column[:, column.shape[1] - is_of.shape[1] :] += is_of * heap.limit[:, None]
        gate = ObliqueGate(_floats(column / temperature), _floats(-heap.limit / temperature), missing)
    if key is None:
        return gate
    fresh = init(form, key=key).gate
    return jax.tree.map(lambda old, new: jnp.where(tested.reshape(-1, *[1] * (old.ndim - 1)), old, new), gate, fresh)


def _floats(values) -> Float[AnyArray, "..."]:
    return jnp.asarray(values, float)


class _End(NamedTuple):
    """Where rows end: at a leaf of the hard tree, or at an inner node that has no branch for them."""

    node: int
    height: int = 0


class _GateNode(NamedTuple):
    """A test, and the plans of its two sides.

    Attributes:
        node: The node of the hard tree that it is a part of.
        columns: The columns that are summed up.
        limit: Above it rows go right.
        feature: Where its value is missing, `missing` counts instead of the test; -1 if it has no indicator.
        missing: The logit of a missing value to go right.
        left: The plan of other rows.
        right: The plan of rows above the limit.
        height: The most tests from here to an end.
    """

    node: int
    columns: tuple[int, ...]
    limit: float
    feature: int
    missing: float
    left: "_End | _GateNode"
    right: "_End | _GateNode"
    height: int


_Plan = _End | _GateNode


class _Item(NamedTuple):
    """A branch of a split by category: its codes, the mass of a missing value that goes there, and its plan."""

    codes: tuple[int, ...]
    mass: float
    plan: _Plan


class _HeapLayout(NamedTuple):
    """A plan in heap order; below an end all nodes are the same end.

    Attributes:
        node: The node of the hard tree at every node of the heap.
        is_first: Whether this is where rows come to that node of the hard tree.
        is_test: Whether there is a test; of inner nodes, as all fields below.
        column: Which columns are summed up.
        limit: The limit.
        feature: The feature, -1 if missing values do not matter.
        missing: The logit of a missing value to go right.
    """

    node: Int[np.ndarray, " heap"]
    is_first: Bool[np.ndarray, " heap"]
    is_test: Bool[np.ndarray, " inner"]
    column: Bool[np.ndarray, "inner column"]
    limit: Float64[np.ndarray, " inner"]
    feature: Int[np.ndarray, " inner"]
    missing: Float64[np.ndarray, " inner"]


class _Planner:
    """Makes plans of the nodes of a hard tree.

    Args:
        tree: The tree, on the host.
        inputs: The columns of the rows.
        one_column: Whether a test may look at one column only.
    """

    def __init__(self, tree: Tree, inputs: Inputs, *, one_column: bool):
        self._tree = tree
        self._inputs = inputs
        self._one_column = one_column
        self._indicator = {int(f): inputs.num_values + i for i, f in enumerate(inputs.with_indicator)}

    def plan(self, node: int = 0) -> _Plan:
        """The plan of a node and all below it."""
        tree, size = self._tree, int(self._tree.num_children[node])
        if size == 0:
            return _End(node)
        feature, kind = int(tree.feature[node]), SplitKind(int(tree.split_kind[node]))
        below = [self.plan(int(tree.first_child[node]) + branch) for branch in range(size)]
        masses = self._masses(node, size)
        if self._inputs.scales[feature] is not None:
            if kind != SplitKind.THRESHOLD:
                raise InvalidInputError(f"node {node} divides the numbers of feature {feature} by category")
            return self._plan_of_threshold(node, feature, below, masses)
        branches = zip(self._codes(node), masses, [*below, _End(node)], strict=True)
        items = [_Item(codes, mass, plan) for codes, mass, plan in branches]
        return self._plan_of_items(node, feature, [item for item in items if item.codes or item.mass])

    def _masses(self, node: int, size: int) -> list[float]:
        """The mass of a missing value for every branch, and for staying at the node."""
        tree, branch = self._tree, int(self._tree.missing_branch[node])
        if branch == ALL_BRANCHES:
            first = int(tree.first_child[node])
            return [*np.asarray(tree.weight[first : first + size], np.float64).tolist(), 0.0]
        return [float(min(branch, size) == other) for other in range(size + 1)]

    def _codes(self, node: int) -> list[tuple[int, ...]]:
        """The codes of every branch, and those of none."""
        tree, size = self._tree, int(self._tree.num_children[node])
        code = np.arange(self._inputs.width(int(tree.feature[node])))
        at, words = np.full(code.size, node), tree.subset[node]
        branch = branch_of(tree.split_kind[at], tree.code[at], code, words.__getitem__ if words.size else None)
        taken = [branch == number for number in range(size)]
        return [tuple(code[group].tolist()) for group in (*taken, branch >= size)]

    def _plan_of_threshold(self, node: int, feature: int, below: list[_Plan], masses: list[float]) -> _Plan:
        threshold, column = float(self._tree.threshold[node]), self._inputs.columns_of(feature).start
        if threshold == np.inf:
            return self._test_whether_missing(node, feature, below[0], below[1]) if masses[1] else below[0]
        limit = _just_above(self._inputs.scale_values(feature, np.array([threshold]))[0])
        tested = self._test(node, (column,), limit, feature, masses, below)
        return self._test_whether_missing(node, feature, tested, _End(node)) if masses[2] else tested

    def _test_whether_missing(self, node: int, feature: int, known: _Plan, missing: _Plan) -> _Plan:
        if feature not in self._indicator:
            return known
        return self._test(node, (self._indicator[feature],), 0.5, -1, [1.0, 1.0], [known, missing])

    def _plan_of_items(self, node: int, feature: int, items: list[_Item]) -> _Plan:
        combine = self._peel if self._one_column else self._pair
        return combine(node, feature, items).plan

    def _pair(self, node: int, feature: int, items: list[_Item]) -> _Item:
        """Joins the two lowest items by a test, again and again: no other order makes a lower tree."""
        count = itertools.count()
        queue = [(item.plan.height, next(count), item) for item in items]
        while len(queue) > 1:
            left, right = heapq.heappop(queue)[2], heapq.heappop(queue)[2]
            joined = self._join(node, feature, left, right)
            heapq.heappush(queue, (joined.plan.height, next(count), joined))
        return queue[0][2]

    def _peel(self, node: int, feature: int, items: list[_Item]) -> _Item:
        """Tests one category after the other; the branch of most of them is left for the end."""
        items = sorted(items, key=lambda item: (len(item.codes), item.plan.height))
        rest = items.pop()
        single = [
            _Item((code,), item.mass if code == item.codes[0] else 0.0, item.plan)
            for item in items
            for code in item.codes
        ]
        for item in sorted(single, key=lambda item: item.plan.height):
            rest = self._join(node, feature, rest, item)
        for item in items:
            if not item.codes:
                rest = rest._replace(plan=self._test_whether_missing(node, feature, rest.plan, item.plan))
        return rest

    def _join(self, node: int, feature: int, left: _Item, right: _Item) -> _Item:
        """One item of two, by the test whether the code is one of the right item's."""
        first = self._inputs.columns_of(feature).start
        columns = tuple(first + code for code in right.codes)
        plan = self._test(node, columns, 0.5, feature, [left.mass, right.mass], [left.plan, right.plan])
        return _Item(left.codes + right.codes, left.mass + right.mass, plan)

    def _test(self, node, columns, limit, feature, masses, below: list[_Plan]) -> _GateNode:
        if feature not in self._indicator:
            feature = -1
        height = 1 + max(plan.height for plan in below)
        return _GateNode(node, columns, float(limit), feature, _log_odds(*masses[:2]), below[0], below[1], height)


def _lay_out(plan: _Plan, depth: int, num_columns: int) -> _HeapLayout:
    """Returns a plan in heap order, in a tree of so many levels."""
    num_nodes, num_inner = 2 ** (depth + 1) - 1, 2**depth - 1
    heap = _HeapLayout(
        np.zeros(num_nodes, np.int64),
        np.zeros(num_nodes, bool),
        np.zeros(num_inner, bool),
        np.zeros((num_inner, num_columns), bool),
        np.zeros(num_inner),
        np.full(num_inner, -1),
        np.zeros(num_inner),
    )
    todo: list[tuple[int, _Plan, int]] = [(0, plan, -1)]
    while todo:
        place, plan, above = todo.pop()
        heap.node[place], heap.is_first[place] = plan.node, plan.node != above
        below = 2 * place + 1, 2 * place + 2
        if isinstance(plan, _GateNode):
            heap.is_test[place] = True
            heap.column[place, list(plan.columns)] = True
            heap.limit[place], heap.feature[place] = plan.limit, plan.feature
            heap.missing[place] = plan.missing
            todo += [(below[0], plan.left, plan.node), (below[1], plan.right, plan.node)]
        elif place < num_inner:
            todo += [(child, plan, plan.node) for child in below]
    return heap


def _just_above(limit: float) -> float:
    """A little more than a limit, so that a row at the limit goes left even after a rounding or two in float32."""
    return float(np.float32(limit) + 4 * np.spacing(np.abs(np.float32(limit))))


def _log_odds(left: float, right: float) -> float:
    """log(right / left), within bounds; 0 where both are 0."""
    if left <= 0 or right <= 0:
        return CERTAIN * ((right > 0) - (left > 0))
    return min(max(math.log(right / left), -CERTAIN), CERTAIN)
