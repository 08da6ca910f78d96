"""Soft trees made of hard ones: which binary test stands at which node of the heap.

A *test* compares the sum of some columns with a limit; rows above it go right. A threshold becomes one test. A split by
category becomes several: its branches are *items*, which a small binary tree divides. Rows that stay at a node of the
hard tree, which has no branch for them, are one more item. The *mass* of a missing value is divided among the items.
"""

import bisect
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.kernels.walk import branch_of
from jaxtree.soft.form import SoftForm
from jaxtree.soft.gates import AxisGate, Gate, HardGate, ObliqueGate
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.model import Leaf, SoftTree, init
from jaxtree.tree import ALL_BRANCHES, Tree, majority_class
from jaxtree.tree.nodes import node_means, output_counts

CHOSEN = 10.0
"""The logit of the feature that an axis gate compares; all others have 0."""

LIKED = 1.0
"""The same of a hard gate: the others keep a share of its gradients, so that training may choose them."""

CERTAIN = 20.0
"""The logit of what is certain: the chance of the opposite is 2e-9."""

MOST_LEVELS = 16
"""The most levels of a soft tree made of a hard one; each level doubles it."""


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
        gate: "axis", "hard" or "oblique".
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
        InvalidInputError: The tree needs more levels than there may be or than `depth`; inputs have statistics of
            categories; or an option is not allowed.

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
    if inputs.has_statistics:
        raise InvalidInputError("inputs have means in place of categories: learn them with one_hot_max_size=None")
    tree = jax.tree.map(np.asarray, tree)
    plan = _Planner(tree, inputs, one_column=gate != "oblique").plan()
    depth = plan.height if depth is None else depth
    if not plan.height <= depth <= MOST_LEVELS:
        raise InvalidInputError(
            f"the tree needs {plan.height} levels of two branches each; depth must be from there to {MOST_LEVELS}, "
            f"got {depth}: prune the tree first"
        )
    values = _floats(node_means(tree) if node_value is None else node_value)
    form = SoftForm(depth, inputs.num_features, values.shape[1], gate, rates is not None, inputs.missing)
    heap = [plan]
    for place in range(form.num_inner):
        heap += heap[place].sides or 2 * [heap[place]]  # below an end all nodes are the same end
    node = np.array([plan.node for plan in heap])
    gates = _gate_of(heap[: form.num_inner], inputs, form, temperature, key)
    if rates is None:
        return SoftTree(gates, Leaf(values[node[form.num_inner :]], None), form)
    inner = np.arange(form.num_inner)
    may_stop = (node[inner] != node[(inner - 1) // 2]) & (node[inner] > 0)  # where rows come to the hard tree's node
    stop = jnp.where(may_stop, jnp.broadcast_to(_floats(rates), tree.depth.shape)[node[inner]], 0)
    return SoftTree(gates, Leaf(values[node], stop), form)


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


def _gate_of(heap: "list[_Plan]", inputs: Inputs, form: SoftForm, temperature: float, key: PRNGKeyArray | None) -> Gate:
    """The gates of the inner nodes; those below the ends look in random directions if there is a key."""
    feature, limit, missing = (
        np.array([getattr(plan, name) for plan in heap])[:, None] for name in ("feature", "limit", "missing")
    )
    column = np.zeros((len(heap), inputs.num_features))
    for row, plan in zip(column, heap, strict=True):
        row[list(plan.columns)] = 1
    is_of = feature == inputs.with_indicator  # node indicator
    logit = _floats(np.where(is_of, missing, 0.0)) if form.missing else None
    is_test = column.any(axis=1)
    if form.gate == "axis":
        sharpness = jnp.where(is_test, -np.log(temperature), -CERTAIN)
        gate = AxisGate(_floats(CHOSEN * column), _floats(limit[:, 0]), sharpness, logit)
    elif form.gate == "hard":
        gate = HardGate(_floats(LIKED * column), _floats(limit * column), logit)
    else:
        # For a missing value all columns are 0; its indicator makes up for the limit, so that only `missing` is left.
        column[:, inputs.num_values :] += is_of * limit
        gate = ObliqueGate(_floats(column / temperature), _floats(-limit[:, 0] / temperature), logit)
    if key is None:
        return gate
    fresh = init(form, key=key).gate
    return jax.tree.map(lambda old, new: jnp.where(is_test.reshape(-1, *[1] * (old.ndim - 1)), old, new), gate, fresh)


def _floats(values) -> Float[AnyArray, "..."]:
    return jnp.asarray(values, float)


class _Plan(NamedTuple):
    """A test and the plans of its two sides; or an end, at a leaf of the hard tree or where it has no branch for rows.

    Attributes:
        node: The node of the hard tree that the test is a part of, or where rows end.
        height: The most tests from here to an end.
        columns: The columns that are summed up; none at an end.
        limit: Above it rows go right.
        feature: Where its value is missing, `missing` counts instead of the test; -1 if it has no indicator.
        missing: The logit of a missing value to go right.
        sides: The plan of rows up to the limit, and that of rows above it.
    """

    node: int
    height: int = 0
    columns: Sequence[int] = ()
    limit: float = 0.0
    feature: int = -1
    missing: float = 0.0
    sides: "tuple[_Plan, ...]" = ()


class _Item(NamedTuple):
    """A branch of a split by category: its codes, the mass of a missing value that goes there, and its plan."""

    codes: tuple[int, ...]
    mass: float
    plan: _Plan


class _Planner:
    """Makes plans of the nodes of a hard tree.

    Args:
        tree: The tree, on the host.
        inputs: The columns of the rows.
        one_column: Whether every test compares a single column.
    """

    def __init__(self, tree: Tree, inputs: Inputs, *, one_column: bool):
        self._tree = tree
        self._inputs = inputs
        self._one_column = one_column

    def plan(self, node: int = 0) -> _Plan:
        """The plan of a node and all below it."""
        tree, size = self._tree, int(self._tree.num_children[node])
        if size == 0:
            return _Plan(node)
        feature, first = int(tree.feature[node]), int(tree.first_child[node])
        # Rows without a branch stay at the node, which stands behind its branches.
        below = [*(self.plan(first + branch) for branch in range(size)), _Plan(node)]
        if tree.missing_branch[node] == ALL_BRANCHES:
            masses = [*tree.weight[first : first + size].astype(np.float64).tolist(), 0.0]
        else:
            masses = [float(min(tree.missing_branch[node], size) == branch) for branch in range(size + 1)]
        if self._inputs.scales[feature] is not None:
            return self._plan_threshold(node, feature, below, masses)
        items = [_Item(*parts) for parts in zip(self._codes_of_branches(node), masses, below, strict=True)]
        items = [item for item in items if item.codes or item.mass]
        return (self._peel if self._one_column else self._pair)(node, feature, items).plan

    def _codes_of_branches(self, node: int) -> list[tuple[int, ...]]:
        """The codes of every branch, and those of none."""
        tree, words = self._tree, self._tree.subset[node]
        code = np.arange(self._inputs.width(int(tree.feature[node])))
        read_word = words.__getitem__ if words.size else None
        branch = branch_of(tree.split_kind[[node]], tree.code[[node]], code, read_word)
        size = int(tree.num_children[node])
        return [tuple(np.flatnonzero(branch.clip(max=size) == number).tolist()) for number in range(size + 1)]

    def _plan_threshold(self, node: int, feature: int, below: list[_Plan], masses: list[float]) -> _Plan:
        threshold, column = self._tree.threshold[[node]], self._inputs.columns_of(feature).start
        if threshold == np.inf:
            return self._test_missing(node, feature, below[0], below[1]) if masses[1] else below[0]
        limit = _just_above(self._inputs.scale_values(feature, threshold)[0])
        tested = self._test(node, [column], limit, feature, masses, below)
        return self._test_missing(node, feature, tested, below[2]) if masses[2] else tested

    def _test_missing(self, node: int, feature: int, known: _Plan, missing: _Plan) -> _Plan:
        """The test whether a value is missing, if rows have an indicator of that."""
        place = np.flatnonzero(self._inputs.with_indicator == feature)
        columns = (self._inputs.num_values + place).tolist()
        return self._test(node, columns, 0.5, -1, [1.0, 1.0], [known, missing]) if columns else known

    def _pair(self, node: int, feature: int, items: list[_Item]) -> _Item:
        """Joins the two lowest items by a test, again and again: no other order makes a lower tree."""
        items = sorted(items, key=_height)
        while len(items) > 1:
            bisect.insort(items, self._join(node, feature, items.pop(0), items.pop(0)), key=_height)
        return items[0]

    def _peel(self, node: int, feature: int, items: list[_Item]) -> _Item:
        """Tests one category after the other; the branch of most of them is left for the end."""
        *items, rest = sorted(items, key=lambda item: (len(item.codes), item.plan.height))
        single = [
            _Item((code,), item.mass if code == item.codes[0] else 0.0, item.plan)
            for item in items
            for code in item.codes
        ]
        for item in sorted(single, key=_height):
            rest = self._join(node, feature, rest, item)
        for item in items:
            if not item.codes:
                rest = rest._replace(plan=self._test_missing(node, feature, rest.plan, item.plan))
        return rest

    def _join(self, node: int, feature: int, left: _Item, right: _Item) -> _Item:
        """One item of two, by the test whether the code is one of the right item's."""
        first = self._inputs.columns_of(feature).start
        columns = [first + code for code in right.codes]
        plan = self._test(node, columns, 0.5, feature, [left.mass, right.mass], [left.plan, right.plan])
        return _Item(left.codes + right.codes, left.mass + right.mass, plan)

    def _test(self, node, columns, limit, feature, masses, below: list[_Plan]) -> _Plan:
        left, right = below[:2]
        indicated = feature if feature in self._inputs.with_indicator else -1
        height = 1 + max(left.height, right.height)
        return _Plan(node, height, columns, limit, indicated, _log_odds(*masses[:2]), (left, right))


def _height(item: _Item) -> int:
    return item.plan.height


def _just_above(limit: float) -> float:
    """A little more than a limit, so that a row at the limit goes left even after a rounding or two in float32."""
    return float(np.float32(limit) + 4 * np.spacing(np.abs(np.float32(limit))))


def _log_odds(left: float, right: float) -> float:
    """log(right / left), within bounds; 0 where both are 0."""
    if left <= 0 or right <= 0:
        return CERTAIN * ((right > 0) - (left > 0))
    return min(max(math.log(right / left), -CERTAIN), CERTAIN)
