"""Hard trees made of soft ones: axis gates as splits of a node table, and trees whose splits are planes."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from jaxtree.soft.inputs import Inputs, Standard
from jaxtree.soft.model import AxisGate, feature_shares
from jaxtree.table.binning import Bins
from jaxtree.table.schema import Schema, value_in_words
from jaxtree.tree import SplitKind, Tree

MARK = -2
"""What stands in `feature` and `threshold` of a leaf, as in scikit-learn's trees."""
LEAST_SHARE = 0.01
"""Of the largest weight of a plane; what weighs less is left out of its text."""


class KeptNodes(NamedTuple):
    """The nodes of a hard tree made of a soft one, in breadth-first order.

    Attributes:
        heap: The node of the soft tree whose gate, rows and value each has.
        is_leaf: Whether it has no children.
        first_child: The first of its two children; 0 for a leaf.
        parent: The node above; a root is its own parent.
        depth: Edges to the root.
    """

    heap: Int[np.ndarray, " node"]
    is_leaf: Bool[np.ndarray, " node"]
    first_child: Int[np.ndarray, " node"]
    parent: Int[np.ndarray, " node"]
    depth: Int[np.ndarray, " node"]


class HardNodeSums(NamedTuple):
    """Of every node rows, their weight, the weights of classes or sums of targets, and weight times impurity.

    Impurity is Gini's, or the variance; the mean over outputs.
    """

    num_rows: Int[np.ndarray, " node"]
    weight: Float64[np.ndarray, " node"]
    target: Float64[np.ndarray, "node column"]
    risk: Float64[np.ndarray, " node"]

    def mean(self, parent: Int[np.ndarray, " node"]) -> Float64[np.ndarray, "node column"]:
        """Shares of the classes, or means; of a node without weight those of the node above."""
        mean = np.zeros_like(self.target)
        for node in range(len(mean)):
            mean[node] = self.target[node] / self.weight[node] if self.weight[node] > 0 else mean[parent[node]]
        return mean


class AxisSplits(NamedTuple):
    """A split for every inner node of the heap.

    Attributes:
        feature: The feature of the table.
        kind: THRESHOLD, or ONE_VS_REST for a category.
        threshold: In units of the table; the category's code.
        missing_branch: Where a missing value goes.
        column: The soft tree's column that it compares.
        limit: The threshold in that column.
    """

    feature: Int[np.ndarray, " inner"]
    kind: Int[np.ndarray, " inner"]
    threshold: Float64[np.ndarray, " inner"]
    missing_branch: Int[np.ndarray, " inner"]
    column: Int[np.ndarray, " inner"]
    limit: Float64[np.ndarray, " inner"]

    def go_right(self, value: Float[np.ndarray, " row"], node: Int[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Which rows go right from the nodes where they are, given the value of each that is compared."""
        is_category = self.kind[node] == SplitKind.ONE_VS_REST
        known = np.where(is_category, value == self.threshold[node], value > self.threshold[node])
        return np.where(np.isnan(value), self.missing_branch[node] == 1, known)


def axis_splits(gate: AxisGate, inputs: Inputs, temperature: float) -> AxisSplits:
    """Returns the splits of axis gates: of the column with the largest share s, at threshold / s.

    A gate that sends every known value to one side has a threshold that is infinite.
    """
    share = np.asarray(feature_shares(jnp.asarray(gate.selection), temperature), np.float64)
    inner = np.arange(len(share))
    column = share.argmax(axis=1)
    limit = np.asarray(gate.threshold, np.float64) / share[inner, column]
    feature, code, is_indicator = _columns_in_words(inputs)
    splits = [
        _split_of(inputs, int(feature[c]), int(code[c]), bool(is_indicator[c]), value)
        for c, value in zip(column.tolist(), limit.tolist(), strict=True)
    ]
    kind, threshold = (np.array(part) for part in zip(*splits, strict=True)) if splits else (inner, limit)
    branch = _missing_branches(gate, inputs, feature[column], limit)
    branch = np.where(is_indicator[column], (limit < 1).astype(np.int64), branch)
    branch = np.where(threshold == -np.inf, 1, branch)
    return AxisSplits(feature[column], kind.astype(np.int64), threshold.astype(np.float64), branch, column, limit)


def _columns_in_words(
    inputs: Inputs,
) -> tuple[Int[np.ndarray, " column"], Int[np.ndarray, " column"], Bool[np.ndarray, " column"]]:
    """The feature of every column, the category, and whether the column is an indicator."""
    features = range(len(inputs.scales))
    own = np.concatenate([np.full(inputs.width(feature), feature) for feature in features])
    code = np.concatenate([np.arange(inputs.width(feature)) for feature in features])
    of_indicators = np.zeros(inputs.with_indicator.size, np.int64)
    is_indicator = np.arange(inputs.num_features) >= inputs.num_values
    return np.append(own, inputs.with_indicator), np.append(code, of_indicators), is_indicator


def _split_of(inputs: Inputs, feature: int, code: int, is_indicator: bool, limit: float) -> tuple[int, float]:
    """The kind and the threshold of a split."""
    is_number = inputs.scales[feature] is not None
    described = inputs.schema.features[feature]
    if is_number and not is_indicator:
        threshold = float(inputs.unscale_values(feature, np.array([limit]))[0])
        if inputs.schema.columns[described.column].bins is not None:
            return SplitKind.THRESHOLD, threshold
        return SplitKind.THRESHOLD, _between_codes(threshold, described.num_values)
    if limit < 0:
        return SplitKind.THRESHOLD, -np.inf
    if is_indicator or limit >= 1:
        return (SplitKind.THRESHOLD, np.inf) if is_number else (SplitKind.ONE_VS_REST, float(described.num_values))
    return SplitKind.ONE_VS_REST, float(code)


def _between_codes(threshold: float, num_values: int) -> float:
    """The middle between the codes on both sides, infinite where there are none on one."""
    below = np.floor(threshold)
    if below < 0:
        return -np.inf
    return np.inf if below >= num_values - 1 else float(below) + 0.5


def _missing_branches(
    gate: AxisGate, inputs: Inputs, feature: Int[np.ndarray, " inner"], limit: Float64[np.ndarray, " inner"]
) -> Int[np.ndarray, " inner"]:
    """Where a gate sends a value that is missing: as it has learned, or as a 0 in the column."""
    branch = (limit < 0).astype(np.int64)
    for indicator, indicated in enumerate(inputs.with_indicator.tolist()):
        learned = np.asarray(gate.missing)[:, indicator] > 0
        branch = np.where(feature == indicated, learned, branch)
    return branch


def schema_of_splits(
    schema: Schema, splits: AxisSplits, nodes: Int[np.ndarray, " split"], values: Float[np.ndarray, "row value"]
) -> Schema:
    """Returns the schema with a bin between each two thresholds of a numeric column.

    Args:
        schema: The schema of the values.
        splits: The splits of the heap.
        nodes: Those of them that are kept.
        values: The rows that the bins describe.
    """
    columns, features = list(schema.columns), list(schema.features)
    for number, feature in enumerate(features):
        column = columns[feature.column]
        if column.bins is not None:
            used = splits.threshold[nodes][splits.feature[nodes] == number]
            bins = _bins_between(np.unique(used[np.isfinite(used)]), np.asarray(values[:, number], np.float64))
            columns[feature.column] = dataclasses.replace(column, bins=bins)
            features[number] = dataclasses.replace(feature, num_values=bins.num_bins)
    return Schema(tuple(columns), tuple(features))


def _bins_between(edges: Float64[np.ndarray, " edge"], values: Float64[np.ndarray, " row"]) -> Bins:
    known = np.sort(values[~np.isnan(values)])
    first, last = np.searchsorted(known, edges, "right"), known.size
    start, stop = np.append(0, first), np.append(first, last)
    is_empty = start == stop
    # A bin without rows holds what lies next to its edges.
    lowest = np.append(np.nan_to_num(edges[:1], nan=0.0) if edges.size else [0.0], np.nextafter(edges, np.inf))
    highest = np.append(edges, lowest[-1])
    at_start, at_stop = known[start.clip(max=last - 1)] if last else lowest, known[stop - 1] if last else highest
    return Bins(np.where(is_empty, lowest, at_start), np.where(is_empty, highest, at_stop), edges, exact=False)


def tree_of_splits(
    splits: AxisSplits, kept: KeptNodes, schema: Schema, sums: HardNodeSums, num_classes: tuple[int, ...]
) -> Tree:
    """Returns the node table of the kept nodes.

    Args:
        splits: The splits of the heap.
        kept: The kept nodes.
        schema: With bins between the thresholds.
        sums: The sums of the kept nodes.
        num_classes: The classes of every output; empty for numbers.
    """
    leaf, size = kept.is_leaf, kept.heap.size
    at = np.where(leaf, 0, kept.heap)
    split = [np.zeros(size, part.dtype) if part.size == 0 else part[at] for part in splits]
    feature, kind, threshold, missing_branch = split[:4]
    code = _codes(schema, feature, kind, threshold)
    weight = sums.weight
    impurity = np.divide(sums.risk, weight, out=np.zeros_like(sums.risk), where=weight > 0)
    risk = weight * impurity
    below = np.bincount(kept.parent[1:], risk[1:], minlength=size)
    nothing = np.zeros((size, 0))

    def integers(inner, of_leaf=0):
        return np.where(leaf, of_leaf, inner).astype(np.int32)

    return Tree(
        feature=integers(feature, MARK),
        code=integers(code),
        next_code=integers(code + 1),
        threshold=np.where(leaf, float(MARK), threshold),
        split_kind=integers(kind),
        subset=np.zeros((size, 0), np.uint32),
        missing_code=integers(schema.num_values[feature]),
        missing_branch=integers(missing_branch),
        first_child=kept.first_child,
        num_children=integers(2),
        parent=kept.parent,
        depth=kept.depth,
        root=np.zeros(size, np.int32),
        weight=weight,
        count=sums.target if num_classes else nothing,
        target_sum=nothing if num_classes else sums.target,
        num_rows=sums.num_rows.astype(np.int32),
        impurity=impurity,
        gain=np.divide(risk - below, weight, out=np.zeros(size), where=~leaf & (weight > 0)),
        num_nodes=np.array(size, np.int32),
        num_classes=num_classes,
        num_features=schema.num_features,
    )


def _codes(
    schema: Schema,
    feature: Int[np.ndarray, " kept"],
    kind: Int[np.ndarray, " kept"],
    threshold: Float64[np.ndarray, " kept"],
) -> Int[np.ndarray, " kept"]:
    """The code of every split: the category, or the last code that is not above the threshold."""
    codes = np.zeros(feature.size, np.int64)
    for node, (number, value) in enumerate(zip(feature.tolist(), threshold.tolist(), strict=True)):
        bins = schema.columns[schema.features[number].column].bins
        if kind[node] == SplitKind.ONE_VS_REST:
            codes[node] = int(value)
        elif not np.isfinite(value):
            codes[node] = schema.features[number].num_values - 1
        else:
            codes[node] = int(value) if bins is None else int(np.searchsorted(bins.edges, value))
    return codes


@dataclasses.dataclass(frozen=True, eq=False)
class ObliqueTree:
    """A tree whose nodes ask whether a sum of columns is above 0; its nodes stand in breadth-first order.

    Attributes:
        normal: What every column of `inputs` counts at a node; 0 in a leaf.
        offset: What is added; where the sum is above 0 a row goes to the second child.
        first_child: The first of two children; 0 for a leaf.
        num_children: 2, or 0 for a leaf.
        parent: The node above; the root is its own parent.
        depth: Edges to the root.
        num_rows: Rows at the node, of those that it was hardened on.
        weight: Their weight.
        value: The value of every node: shares of classes, the outputs side by side, or means.
        inputs: How rows are made of values.
        num_classes: The classes of every output; empty for numbers.
    """

    normal: Float64[np.ndarray, "node column"]
    offset: Float64[np.ndarray, " node"]
    first_child: Int[np.ndarray, " node"]
    num_children: Int[np.ndarray, " node"]
    parent: Int[np.ndarray, " node"]
    depth: Int[np.ndarray, " node"]
    num_rows: Int[np.ndarray, " node"]
    weight: Float64[np.ndarray, " node"]
    value: Float64[np.ndarray, "node output"]
    inputs: Inputs
    num_classes: tuple[int, ...]

    @property
    def is_leaf(self) -> Bool[np.ndarray, " node"]:
        """Whether a node has no children."""
        return self.num_children == 0

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.offset.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @property
    def max_depth(self) -> int:
        """Depth of the deepest node."""
        return int(self.depth.max())

    def apply(self, values: Float[np.ndarray, "row value"]) -> Int[np.ndarray, " row"]:
        """Returns the leaf where every row ends.

        Args:
            values: Numbers, and codes of categories, NaN where one is missing: `Encoder.values`.
        """
        x = self.inputs.transform(values)
        node = np.zeros(len(x), np.int64)
        moving = np.flatnonzero(~self.is_leaf[node])
        while moving.size:
            at = node[moving]
            node[moving] = self.first_child[at] + above_planes(self.normal, self.offset, x[moving], at)
            moving = moving[~self.is_leaf[node[moving]]]
        return node

    def predict(self, values: Float[np.ndarray, "row value"]) -> Float64[np.ndarray, "row output"]:
        """Returns the value of the leaf where every row ends."""
        return self.value[self.apply(values)]

    def export_text(self) -> str:
        """Returns the tree as text, a line a branch.

        A branch is a sum of columns up to or above a limit: numbers in units of the table, or where they
        are scaled by quantiles, as q(name) on that scale; of a category 1 or 0. Columns that weigh less than a
        hundredth of what the heaviest does are left out. A line ends with the value of the node, and its rows.
        """
        lines, stack = [], [0]
        while stack:
            node = stack.pop()
            indent = "|   " * (int(self.depth[node]) - 1) + "|-- " if node else ""
            value = ", ".join(value_in_words(number) for number in self.value[node].tolist())
            lines.append(f"{indent}{self.branch_in_words(node)}: {value} (rows {self.num_rows[node]})")
            if not self.is_leaf[node]:
                first = int(self.first_child[node])
                stack += [first + 1, first]
        return "\n".join(lines)

    def branch_in_words(self, node: int) -> str:
        """Returns the condition of the rows that come to a node from the one above; "root" for the root."""
        if node == 0:
            return "root"
        above = int(self.parent[node])
        relation = ">" if node > self.first_child[above] else "<="
        words, limit = self.plane_in_words(above)
        return f"{words} {relation} {value_in_words(limit)}"

    def plane_in_words(self, node: int) -> tuple[str, float]:
        """The sum that a node looks at, as `export_text` writes it, and its limit."""
        normal, limit = self.normal[node].copy(), -float(self.offset[node])
        shown = np.abs(normal) >= LEAST_SHARE * np.abs(normal).max()
        names = list(self.inputs.names)
        for feature, scale in enumerate(self.inputs.scales):
            column = self.inputs.columns_of(feature).start
            if isinstance(scale, Standard):
                normal[column] /= scale.deviation
                limit += float(normal[column]) * scale.mean if shown[column] else 0.0
            elif scale is not None:
                names[column] = f"q({names[column]})"
        terms = [_term(float(normal[column]), names[column]) for column in np.flatnonzero(shown & (normal != 0))]
        return " ".join(terms).removeprefix("+ ") or "0", limit


def above_planes(
    normal: Float[np.ndarray, "node column"],
    offset: Float[np.ndarray, " node"],
    x: Float[np.ndarray, "row column"],
    node: Int[np.ndarray, " row"],
) -> Bool[np.ndarray, " row"]:
    """Whether every row lies above the plane of the node where it is."""
    return np.einsum("rc,rc->r", normal[node], x) + offset[node] > 0


def _term(weight: float, name: str) -> str:
    name = f"[{name}]" if " " in name else name
    size = value_in_words(abs(weight))
    return f"{'-' if weight < 0 else '+'} {name if size == '1' else f'{size} {name}'}"
