"""Hard trees made of soft ones: the splits of axis gates and hard gates as those of a node table."""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Float64, Int, UInt32

from jaxtree.errors import instance_of
from jaxtree.kernels.walk import CODES_PER_WORD, branch_of
from jaxtree.soft.gates import AxisGate, HardGate, feature_shares
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.model import SoftTree
from jaxtree.soft.scales import Quantile, Standard
from jaxtree.soft.statistics import Statistics
from jaxtree.soft.walk import hard_tests
from jaxtree.table.binning import Bins
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.paths import Links
from jaxtree.tree.subsets import Subsets, words_of_subsets

MARK = -2
"""The `feature` and `threshold` of a leaf, as in scikit-learn's trees."""


class AxisSplits(NamedTuple):
    """Splits in two, each of one feature of a table.

    Attributes:
        feature: The feature.
        kind: THRESHOLD, ONE_VS_REST for a category, or SUBSET for several.
        threshold: In units of the table; the category's code; 0 of a subset.
        missing_branch: Where a missing value goes.
        subset: The codes of subsets as bits, `Tree.subset`.
    """

    feature: Int[np.ndarray, " node"]
    kind: Int[np.ndarray, " node"]
    threshold: Float64[np.ndarray, " node"]
    missing_branch: Int[np.ndarray, " node"]
    subset: Subsets

    def branch(self, value: Float[np.ndarray, " row"], node: Int[np.ndarray, " row"]) -> Int[np.ndarray, " row"]:
        """The branch that every row takes at its node, given the value that is compared there."""
        last = self.subset.shape[1] - 1

        def read_word(place):
            return self.subset[node, np.minimum(place, last)]

        known = branch_of(self.kind[node], self.threshold[node], value, read_word if last >= 0 else None)
        return np.where(np.isnan(value), self.missing_branch[node], known)

    @property
    def turned(self) -> Bool[np.ndarray, " node"]:
        """The splits that send known values right and missing ones left: in a node table they are turned around."""
        return (self.threshold == -np.inf) & (self.missing_branch == 0)

    def turned_around(self, schema: Schema) -> "AxisSplits":
        """Returns the splits as a node table has them, where the children of `turned` ones have changed places."""
        is_number = ~schema.is_categorical[self.feature]
        kind = np.where(self.turned & ~is_number, SplitKind.ONE_VS_REST, self.kind)
        limit = np.where(is_number, np.inf, schema.num_values[self.feature])
        branch = np.where(self.turned, 1, self.missing_branch)
        return AxisSplits(self.feature, kind, np.where(self.turned, limit, self.threshold), branch, self.subset)


class HardNodeSums(NamedTuple):
    """The rows of every node, their weight, the weights of classes or sums of targets, and weight times impurity.

    Impurity is Gini's, or the variance; the mean over outputs.
    """

    num_rows: Int[np.ndarray, " node"]
    weight: Float64[np.ndarray, " node"]
    target: Float64[np.ndarray, "node column"]
    risk: Float64[np.ndarray, " node"]


class AxisTests(NamedTuple):
    """The comparisons of gates that look at one column.

    Attributes:
        column: The column of every gate.
        limit: Rows with more go right.
        missing: The sides of missing values: above 0 they go right; a column an indicator.
    """

    column: Int[np.ndarray, " inner"]
    limit: Float64[np.ndarray, " inner"]
    missing: Float[np.ndarray, "inner indicator"]


def axis_tests(tree: SoftTree, temperature: float) -> AxisTests:
    """Returns what the nodes of a tree of hard gates compare, or of axis gates: the greatest share s, at limit / s."""
    gate, form = instance_of(AxisGate | HardGate, tree.gate), tree.form
    gates = form.gate_of_nodes()
    missing = np.zeros((len(gates), 0)) if gate.missing is None else np.asarray(gate.missing)[gates]
    if isinstance(gate, HardGate):
        tests = hard_tests(tree)
        return AxisTests(tests.column, tests.threshold.astype(np.float64), missing)
    share = np.asarray(feature_shares(jnp.asarray(gate.selection), temperature, form.choice), np.float64)
    return AxisTests(share.argmax(axis=1), np.asarray(gate.threshold, np.float64) / share.max(axis=1), missing)


def axis_splits(tests: AxisTests, inputs: Inputs) -> AxisSplits:
    """Returns the splits of what gates compare, in units of the table.

    A gate that sends every known value to one side has a threshold that is infinite in units of the table.
    """
    column, limit, missing = tests
    widths = [inputs.width(feature) for feature in range(len(inputs.scales))]
    feature = np.append(np.repeat(np.arange(len(widths)), widths), inputs.with_indicator)[column]
    is_indicator = column >= inputs.num_values
    code = column - inputs.first[feature]
    in_table = limit.copy()
    for number in np.unique(feature[~is_indicator]).tolist():
        own = (feature == number) & ~is_indicator
        if isinstance(inputs.scales[number], Standard | Quantile):
            in_table[own] = inputs.limits_in_table(number, limit[own])
    described = zip(*(part.tolist() for part in (feature, code, is_indicator, limit, in_table)), strict=True)
    kind, threshold = np.array([_split_of(inputs, *one) for one in described], np.float64).reshape(-1, 2).T
    subset = _put_subsets(inputs, np.where(is_indicator, -1, feature), code, limit, kind, threshold)
    # Where a gate sends a value that is missing: as it has learned, or as a 0 in the column.
    goes_right = limit < 0
    for place, indicated in enumerate(inputs.with_indicator.tolist()):
        goes_right = np.where(feature == indicated, missing[:, place] > 0, goes_right)
    goes_right = np.where(is_indicator, limit < 1, goes_right)
    return AxisSplits(feature, kind.astype(np.int64), threshold, goes_right.astype(np.int64), subset)


def _put_subsets(
    inputs: Inputs,
    feature: Int[np.ndarray, " node"],
    code: Int[np.ndarray, " node"],
    limit: Float64[np.ndarray, " node"],
    kind: Float64[np.ndarray, " node"],
    threshold: Float64[np.ndarray, " node"],
) -> UInt32[np.ndarray, "node word"]:
    """Puts kinds and thresholds of limits of statistics in their places; returns the categories above, as bits."""
    of_features = {number: scale for number, scale in enumerate(inputs.scales) if isinstance(scale, Statistics)}
    most = max((len(scale.value) for scale in of_features.values()), default=0)
    subset = np.zeros((len(feature), -(-most // CODES_PER_WORD)), np.uint32)
    for number, scale in of_features.items():
        own = np.flatnonzero(feature == number)
        # Compared as `transform` has them, in 32 bits.
        value = scale.value[:, code[own]].T.astype(np.float32)
        is_above = value > limit[own].astype(np.float32)[:, None]
        words, num_above = words_of_subsets(is_above), is_above.sum(axis=1)
        subset[own, : words.shape[1]] = words
        size = is_above.shape[1]
        of_count = [num_above == size, num_above == 0, num_above == 1]
        kind[own] = np.select(of_count, [SplitKind.THRESHOLD, *[SplitKind.ONE_VS_REST] * 2], SplitKind.SUBSET)
        threshold[own] = np.select(of_count, [-np.inf, size, is_above.argmax(axis=1)], 0.0)
    return subset


def _split_of(
    inputs: Inputs, feature: int, code: int, is_indicator: bool, limit: float, threshold: float
) -> tuple[int, float]:
    """The kind and the threshold of a split, given the limit in the column and in units of the table."""
    column, is_number = inputs.schema.columns[feature], isinstance(inputs.scales[feature], Standard | Quantile)
    if is_number and not is_indicator:
        if column.bins is None:  # half way between the codes on both sides, if any
            below = np.floor(threshold)
            threshold = -np.inf if below < 0 else np.inf if below >= column.num_values - 1 else float(below) + 0.5
        return SplitKind.THRESHOLD, threshold
    if limit < 0:
        return SplitKind.THRESHOLD, -np.inf
    if is_indicator or limit >= 1:
        return (SplitKind.THRESHOLD, np.inf) if is_number else (SplitKind.ONE_VS_REST, float(column.num_values))
    return SplitKind.ONE_VS_REST, float(code)


def schema_of_splits(schema: Schema, splits: AxisSplits, values: Float[np.ndarray, "row value"]) -> Schema:
    """Returns the schema with a bin between each two thresholds of a numeric column.

    Args:
        schema: The schema of the values.
        splits: The splits of the tree.
        values: The rows that the bins describe.
    """
    columns = {}
    for number in np.flatnonzero(schema.columns.is_numeric).tolist():
        used = splits.threshold[splits.feature == number]
        bins = _bins_between(np.unique(used[np.isfinite(used)]), np.asarray(values[:, number], np.float64))
        columns[number] = dataclasses.replace(schema.columns[number], bins=bins)
    return schema.with_columns(columns)


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
    splits: AxisSplits, links: Links, schema: Schema, sums: HardNodeSums, num_classes: tuple[int, ...]
) -> Tree:
    """Returns the node table of a tree.

    Args:
        splits: The splits of its inner nodes, in their order.
        links: The links of all nodes.
        schema: With bins between the thresholds.
        sums: The sums of all nodes.
        num_classes: The classes of every output; empty for numbers.
    """
    leaf, weight = links.num_children == 0, sums.weight
    impurity = np.divide(sums.risk, weight, out=np.zeros_like(sums.risk), where=weight > 0)
    risk = weight * impurity
    below = np.bincount(links.parent[1:], risk[1:], minlength=leaf.size)
    nothing = np.zeros((leaf.size, 0))

    def at_splits(values, of_leaf=0, dtype: type = np.int32):
        table = np.full(leaf.size, of_leaf, dtype)
        table[~leaf] = values
        return table

    subset = np.zeros((leaf.size, splits.subset.shape[1]), np.uint32)
    subset[~leaf] = splits.subset
    code = np.array([code_of(schema, *split) for split in zip(*map(np.ndarray.tolist, splits[:3]), strict=True)], int)
    return Tree(
        feature=at_splits(splits.feature, MARK),
        code=at_splits(code),
        next_code=at_splits(code + 1),
        threshold=at_splits(splits.threshold, MARK, np.float64),
        split_kind=at_splits(splits.kind),
        subset=subset,
        missing_code=at_splits(schema.num_values[splits.feature]),
        missing_branch=at_splits(splits.missing_branch),
        **links._asdict(),
        root=np.zeros(leaf.size, np.int32),
        weight=weight,
        count=sums.target if num_classes else nothing,
        target_sum=nothing if num_classes else sums.target,
        num_rows=sums.num_rows.astype(np.int32),
        impurity=impurity,
        gain=np.divide(risk - below, weight, out=np.zeros(leaf.size), where=~leaf & (weight > 0)),
        num_nodes=np.array(leaf.size, np.int32),
        num_classes=num_classes,
        num_features=schema.num_features,
    )


def code_of(schema: Schema, feature: int, kind: int, threshold: float) -> int:
    """Returns the code of a split: the category, or the last code that is not above the threshold; 0 of a subset."""
    column = schema.columns[feature]
    if not np.isfinite(threshold):
        return column.num_values - 1
    if column.bins is None or kind == SplitKind.ONE_VS_REST:
        return int(threshold)
    return int(column.bins.edges.searchsorted(threshold))
