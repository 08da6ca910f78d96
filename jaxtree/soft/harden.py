"""Soft trees made hard: axis gates become splits of a node table, oblique ones those of an `ObliqueTree`.

A *heap* node is one of the soft tree; a *kept* node is one of the hard tree made of it. A branch is dead if no row
comes there, or if no point of the box of all rows does.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Real, Shaped
from scipy.optimize import linprog

from jaxtree.errors import InvalidInputError
from jaxtree.soft.forest import predict_in_blocks
from jaxtree.soft.form import check_option
from jaxtree.soft.gates import ObliqueGate, planes_of
from jaxtree.soft.hard_trees import (
    AxisSplits,
    HardNodeSums,
    axis_splits,
    axis_tests,
    schema_of_splits,
    tree_of_splits,
)
from jaxtree.soft.inputs import Inputs, SoftSample
from jaxtree.soft.model import SoftTree, apply
from jaxtree.soft.oblique_tree import ObliqueTree, above_planes
from jaxtree.soft.walk import walk_rows
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree
from jaxtree.tree.nodes import node_means
from jaxtree.tree.paths import Links, binary_links

UNREACHED_BY = ("rows", "box")
"""By what a branch may be unreached if it is dropped."""


class Hardened(NamedTuple):
    """A soft tree made hard.

    Attributes:
        tree: A node table, with thresholds in units of the table; or an oblique tree.
        schema: The schema of its features and thresholds. Its bins lie between the thresholds.
        agreement: The share of rows for which it predicts the class that the soft tree predicts; of numbers, of the
            variance of what the soft tree predicts that it explains. The mean over outputs.
    """

    tree: Tree | ObliqueTree
    schema: Schema
    agreement: float


def harden(
    soft: SoftTree,
    inputs: Inputs,
    sample: SoftSample,
    *,
    num_classes: tuple[int, ...] = (),
    temperature: float = 1.0,
    refit: bool = True,
    drop_unreached_by: str = "rows",
) -> Hardened:
    r"""Returns the hard tree that sends every row to the side to which its gates send more than half of it.

    An axis gate becomes a split of the feature with the largest share s: a number above threshold / s, a category, or
    whether a value is missing. A missing value goes to its more probable side. Nodes that stop more than half of their
    rows become leaves, and so does a node whose leaves have the very same value.

    Args:
        soft: The soft tree, whose ends hold shares of classes, or numbers.
        inputs: How rows were made.
        sample: The rows that leaves are refitted on; targets are classes from 0 on, or numbers, a column an output.
        num_classes: The classes of every output; empty for numbers.
        temperature: The temperature of the soft tree, for the comparison.
        refit: Whether a leaf gets the shares of the classes, or the means, of its rows; if not, it keeps the value of
            the soft tree's leaf.
        drop_unreached_by: Which branches are dropped: those that none of the "rows" reach, or those that no point of
            the "box" reaches, whose sides are the ranges of the columns. In a tree of axis gates, a kept node without
            rows is a leaf with the value of its parent.

    Raises:
        InvalidInputError: An option is not allowed; rows, target, weight and the soft tree do not fit one another.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.soft import fit_inputs, from_tree
        >>> X, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([0, 1, 1, 0])
        >>> fitted = DecisionTreeClassifier().fit(X, y)
        >>> inputs = fit_inputs(X, fitted.schema_)
        >>> rows = SoftSample(X, y[:, None], np.ones(4))
        >>> hard, schema, share = harden(from_tree(fitted.tree_, inputs), inputs, rows, num_classes=(2,))
        >>> hard.threshold[~hard.is_leaf].round(3).tolist(), share
        ([1.5, 4.5], 1.0)
    """
    check_option("drop_unreached_by", drop_unreached_by, UNREACHED_BY)
    columns = _target_columns(sample, num_classes, soft.form.num_outputs)
    x = inputs.transform(sample.values)
    routing = (_PlaneRouting if isinstance(soft.gate, ObliqueGate) else _AxisRouting).of(soft, inputs, temperature)
    stops = _stops(soft)
    children = np.where(stops, 0, 2 * np.arange(stops.size) + 1)
    end = walk_rows(functools.partial(routing.branch, sample.values, x), children, len(x))
    sums = _sums_of_rows(sample.weight, columns, end, stops.size, len(num_classes) or columns.shape[1])
    is_reached = sums.num_rows > 0
    if routing.needs_rows:
        stops |= ~is_reached
    if drop_unreached_by == "box":
        is_reached = is_reached | _reached_in_box(routing.normal, routing.offset, x.min(axis=0), x.max(axis=0))
    value = np.zeros((stops.size, soft.form.num_outputs))
    value[stops.size - soft.form.num_ends :] = soft.leaf.value
    heap, is_leaf, value = keep_nodes(is_reached, stops, value, routing.turned)
    links, sums = binary_links(is_leaf), HardNodeSums(*(part[heap] for part in sums))
    if refit:
        value = _refitted(links, sums)
    else:
        value = _means_above(links, value, sums.weight)
        sums = sums._replace(target=value * sums.weight[:, None])
    kept = _KeptNodes(heap[~is_leaf], links, sums, value)
    tree, schema, predicted = routing.to_tree(kept, inputs, sample.values, num_classes)
    compared = predict_in_blocks(apply, soft, x, temperature)
    return Hardened(tree, schema, agreement(compared, predicted, sample.weight, num_classes))


class _KeptNodes(NamedTuple):
    """The nodes of a hard tree.

    Attributes:
        gates: The gate of every inner node.
        links: How the nodes hang together.
        sums: The sums of their rows; targets are those that values follow from.
        value: Their values.
    """

    gates: Int[np.ndarray, " inner"]
    links: Links
    sums: HardNodeSums
    value: Float64[np.ndarray, "node output"]


class _AxisRouting(NamedTuple):
    """Gates that each look at one column: splits of a node table."""

    splits: AxisSplits
    normal: Float64[np.ndarray, "inner column"]
    offset: Float64[np.ndarray, " inner"]

    needs_rows = True
    """Whether a node without rows is a leaf: in a node table it has no value but that of the node above."""

    @property
    def turned(self) -> Bool[np.ndarray, " inner"]:
        """The gates whose children change places."""
        return self.splits.turned

    @classmethod
    def of(cls, soft: SoftTree, inputs: Inputs, temperature: float) -> "_AxisRouting":
        """Returns the splits of the gates of a soft tree."""
        tests = axis_tests(soft, temperature)
        return cls(axis_splits(tests, inputs), np.eye(inputs.num_features)[tests.column], -tests.limit)

    def branch(
        self,
        values: Real[np.ndarray, "row value"],
        x: Float[np.ndarray, "row column"],
        row: Int[np.ndarray, " moving"],
        node: Int[np.ndarray, " moving"],
    ) -> Shaped[np.ndarray, " moving"]:
        """Returns the side that some of the rows take at their nodes."""
        return self.splits.branch(values[row, self.splits.feature[node]], node)

    def to_tree(
        self, kept: _KeptNodes, inputs: Inputs, values: Real[np.ndarray, "row value"], num_classes: tuple[int, ...]
    ) -> tuple[Tree, Schema, Float64[np.ndarray, "row output"]]:
        """Returns the node table, its schema, and what it predicts."""
        splits = AxisSplits(*(part[kept.gates] for part in self.splits)).turned_around(inputs.schema)
        schema = schema_of_splits(inputs.schema, splits, values)
        tree = tree_of_splits(splits, kept.links, schema, kept.sums, num_classes)
        return tree, schema, node_means(tree)[tree.apply(values)]


class _PlaneRouting(NamedTuple):
    """Gates that look at all columns: those of an `ObliqueTree`."""

    normal: Float64[np.ndarray, "inner column"]
    offset: Float64[np.ndarray, " inner"]

    needs_rows = False
    turned = None

    @classmethod
    def of(cls, soft: SoftTree, inputs: Inputs, temperature: float) -> "_PlaneRouting":
        """Returns the planes of the gates of a soft tree."""
        return cls(*_planes(soft, inputs, temperature))

    def branch(
        self,
        values: Real[np.ndarray, "row value"],
        x: Float[np.ndarray, "row column"],
        row: Int[np.ndarray, " moving"],
        node: Int[np.ndarray, " moving"],
    ) -> Shaped[np.ndarray, " moving"]:
        """Returns the side that some of the rows take at their nodes."""
        return above_planes(self.normal, self.offset, x[row], node)

    def to_tree(
        self, kept: _KeptNodes, inputs: Inputs, values: Real[np.ndarray, "row value"], num_classes: tuple[int, ...]
    ) -> tuple[ObliqueTree, Schema, Float64[np.ndarray, "row output"]]:
        """Returns the oblique tree, the schema of the table, and what it predicts."""
        is_leaf = kept.links.num_children == 0
        normal, offset = np.zeros((is_leaf.size, inputs.num_features)), np.zeros(is_leaf.size)
        normal[~is_leaf], offset[~is_leaf] = self.normal[kept.gates], self.offset[kept.gates]
        own = {"num_rows": kept.sums.num_rows, "weight": kept.sums.weight, "value": kept.value}
        tree = ObliqueTree(normal, offset, **kept.links._asdict(), **own, inputs=inputs, num_classes=num_classes)
        return tree, inputs.schema, tree.predict(values)


def _stops(soft: SoftTree) -> Bool[np.ndarray, " heap"]:
    """The nodes of a soft tree that are leaves: its ends, and nodes that stop more than half of their rows."""
    stops = np.arange(2 * soft.form.num_inner + 1) >= soft.form.num_inner
    if soft.leaf.stop is not None:
        stops[: soft.form.num_inner] = np.asarray(soft.leaf.stop) > 0.5
    return stops


def _target_columns(
    sample: SoftSample, num_classes: tuple[int, ...], num_outputs: int
) -> Float64[np.ndarray, "row column"]:
    """One-hot classes, the outputs side by side, or the numbers; raises InvalidInputError if they do not fit."""
    values, target, weight = sample
    if not len(values) or len(target) != len(values) or len(weight) != len(values):
        raise InvalidInputError(
            f"values, target and weight must have as many rows, and one at least, got {len(values)}, {len(target)} "
            f"and {len(weight)}"
        )
    num_columns = sum(num_classes) if num_classes else target.shape[1]
    if num_columns != num_outputs or (num_classes and len(num_classes) != target.shape[1]):
        raise InvalidInputError(
            f"the soft tree has {num_outputs} outputs, the target {num_columns} columns of classes or numbers"
        )
    if not num_classes:
        return np.asarray(target, np.float64)
    return np.concatenate([np.eye(size)[target[:, number]] for number, size in enumerate(num_classes)], axis=1)


def _planes(
    soft: SoftTree, inputs: Inputs, temperature: float
) -> tuple[Float64[np.ndarray, "inner column"], Float64[np.ndarray, " inner"]]:
    """The normals and offsets of oblique gates."""
    plane = planes_of(soft.gate, soft.form, temperature)
    scale = np.asarray(plane.scale, np.float64)
    normal, offset = np.asarray(plane.weight, np.float64) * scale[:, None], np.asarray(plane.bias, np.float64) * scale
    if plane.missing is not None:
        normal[:, inputs.num_values :] += np.asarray(plane.missing)
    return normal, offset


def _sums_of_rows(
    weight: Float64[np.ndarray, " row"],
    columns: Float64[np.ndarray, "row column"],
    end: Int[np.ndarray, " row"],
    num_heap: int,
    num_outputs: int,
) -> HardNodeSums:
    """The sums of all heap nodes, given where rows end."""
    square = np.square(columns).sum(axis=1)
    rows = np.column_stack([weight > 0, weight, weight * square, weight[:, None] * columns])
    total = np.zeros((num_heap, rows.shape[1]))
    np.add.at(total, end, rows)
    for node in range(num_heap - 1, 0, -1):
        total[(node - 1) // 2] += total[node]
    weight, target = total[:, 1], total[:, 3:]
    mean_square = np.divide(np.square(target).sum(axis=1), weight, out=np.zeros(num_heap), where=weight > 0)
    risk = np.maximum(total[:, 2] - mean_square, 0) / num_outputs
    return HardNodeSums(total[:, 0].astype(np.int64), weight, target, risk)


def _reached_in_box(
    normal: Float[np.ndarray, "inner column"],
    offset: Float[np.ndarray, " inner"],
    low: Float[np.ndarray, " column"],
    high: Float[np.ndarray, " column"],
) -> Bool[np.ndarray, " heap"]:
    """Which nodes any point of a box can come to, where points of `normal @ x + offset > 0` go right.

    Linear programs decide. A node that only points on a border of two gates could reach counts as reached.
    """
    is_reached = np.zeros(2 * len(offset) + 1, bool)
    is_reached[0] = True
    box = list(zip(low.tolist(), high.tolist(), strict=True))
    for node in range(1, is_reached.size):
        if is_reached[(node - 1) // 2]:
            # The gates above the node, and the side of each.
            path = [node]
            while path[-1]:
                path.append((path[-1] - 1) // 2)
            gate, sign = np.array(path[1:]), np.array([1.0 if below % 2 else -1.0 for below in path[:-1]])
            size = np.maximum(np.abs(normal[gate]).max(axis=1), np.abs(offset[gate])) + 1e-300
            rule, bound = normal[gate] / size[:, None], -offset[gate] / size
            found = linprog(np.zeros(low.size), A_ub=sign[:, None] * rule, b_ub=sign * bound, bounds=box)
            is_reached[node] = found.status != 2  # infeasible
    return is_reached


def keep_nodes(
    is_reached: Bool[np.ndarray, " heap"],
    stops: Bool[np.ndarray, " heap"],
    value: Float64[np.ndarray, "heap output"],
    turned: Bool[np.ndarray, " inner"] | None = None,
) -> tuple[Int[np.ndarray, " kept"], Bool[np.ndarray, " kept"], Float64[np.ndarray, "kept output"]]:
    """Returns the heap nodes that are kept, in breadth-first order, whether each is a leaf, and its value if it is one.

    A node with one dead branch gives way to the other. Two leaves of the very same value become one.

    Args:
        is_reached: Where rows, or points, come to.
        stops: Where they end at the latest; all heap leaves.
        value: The value of each if it is a leaf; of inner nodes only where rows may stop at them.
        turned: The gates whose second child stands first; None for none.
    """
    kept_of = np.arange(is_reached.size)  # the node that stands for each
    is_leaf, value = stops.copy(), value.copy()
    for node in np.flatnonzero(~stops)[::-1].tolist():
        children = np.array([2 * node + 1, 2 * node + 2])
        left, right = kept_of[children]
        if not is_reached[children].all():
            kept_of[node] = left if is_reached[children[0]] else right
        elif is_leaf[left] and is_leaf[right] and (value[left] == value[right]).all():
            is_leaf[node], value[node] = True, value[left]
    heap = [int(kept_of[0])]
    for node in heap:  # which grows meanwhile
        if not is_leaf[node]:
            below = kept_of[[2 * node + 1, 2 * node + 2]].tolist()
            heap += below if turned is None or not turned[node] else below[::-1]
    return np.array(heap), is_leaf[heap], value[heap]


def _refitted(links: Links, sums: HardNodeSums) -> Float64[np.ndarray, "kept column"]:
    """Shares of the classes, or means; of a node without weight those of the node above."""
    mean = np.zeros_like(sums.target)
    for node, weight in enumerate(sums.weight):
        mean[node] = sums.target[node] / weight if weight > 0 else mean[links.parent[node]]
    return mean


def _means_above(
    links: Links, value: Float64[np.ndarray, "kept output"], weight: Float64[np.ndarray, " kept"]
) -> Float64[np.ndarray, "kept output"]:
    """The values of the leaves, and above them the mean of the children by their weights."""
    for node in np.flatnonzero(links.num_children)[::-1]:
        children = slice(links.first_child[node], links.first_child[node] + 2)
        value[node] = np.average(value[children], axis=0, weights=weight[children] if weight[children].any() else None)
    return value


def agreement(
    soft: Float[np.ndarray, "row output"],
    hard: Float[np.ndarray, "row output"],
    weight: Float64[np.ndarray, " row"],
    num_classes: tuple[int, ...],
) -> float:
    """The share of rows for which both predict the same class; of numbers, of the variance of `soft` that `hard` has.

    The mean over outputs.
    """
    if not num_classes:
        mean = np.average(soft, axis=0, weights=weight)
        missed = np.average(np.square(soft - hard), axis=0, weights=weight)
        spread = np.average(np.square(soft - mean), axis=0, weights=weight)
        share = np.divide(missed, spread, out=(missed > 0).astype(float), where=spread > 0)
        return float(np.mean(1 - share))
    ends = np.cumsum(num_classes)[:-1]
    pairs = zip(np.split(soft, ends, axis=1), np.split(hard, ends, axis=1), strict=True)
    same = [ours.argmax(axis=1) == theirs.argmax(axis=1) for ours, theirs in pairs]
    return float(np.average(np.mean(same, axis=0), weights=weight))
