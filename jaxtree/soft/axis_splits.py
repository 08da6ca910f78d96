"""Axis gates that decide, as splits of the table's features."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from jaxtree.soft.deciding import Kept
from jaxtree.soft.gates import AxisGate, feature_shares
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.refitting import Sums
from jaxtree.table.binning import Bins
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree

MARK = -2
"""What stands in `feature` and `threshold` of a leaf, as in scikit-learn's trees."""


class Splits(NamedTuple):
    """A split for every inner node of the heap.

    Attributes:
        feature: The feature of the table.
        kind: THRESHOLD, or ONE_VS_REST for a category.
        threshold: In units of the table; the category's code.
        missing_branch: Where a missing value goes.
        column: The soft tree's column that it asks for.
        limit: The threshold in that column.
    """

    feature: Int[np.ndarray, " inner"]
    kind: Int[np.ndarray, " inner"]
    threshold: Float64[np.ndarray, " inner"]
    missing_branch: Int[np.ndarray, " inner"]
    column: Int[np.ndarray, " inner"]
    limit: Float64[np.ndarray, " inner"]

    def go_right(self, value: Float[np.ndarray, " row"], node: Int[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Which rows go right from the nodes where they are, given the value that each is asked for."""
        is_category = self.kind[node] == SplitKind.ONE_VS_REST
        known = np.where(is_category, value == self.threshold[node], value > self.threshold[node])
        return np.where(np.isnan(value), self.missing_branch[node] == 1, known)


def axis_splits(gate: AxisGate, inputs: Inputs, selector: str, temperature: float) -> Splits:
    """Returns the splits of axis gates: of the column with the largest share s, at threshold / s.

    A gate that sends every known value to one side has a threshold that is infinite.
    """
    share = np.asarray(feature_shares(jnp.asarray(gate.selection), selector, temperature), np.float64)
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
    return Splits(feature[column], kind.astype(np.int64), threshold.astype(np.float64), branch, column, limit)


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
    schema: Schema, splits: Splits, nodes: Int[np.ndarray, " split"], values: Float[np.ndarray, "row value"]
) -> Schema:
    """Returns the schema with a bin between each two thresholds of a numeric column.

    Args:
        schema: The schema of the values.
        splits: The splits of the heap.
        nodes: Those of them that are kept.
        values: Rows, which say what the bins hold.
    """
    columns, features = list(schema.columns), list(schema.features)
    for number, feature in enumerate(features):
        column = columns[feature.column]
        if column.bins is not None:
            used = splits.threshold[nodes][splits.feature[nodes] == number]
            bins = _bins_between(np.unique(used[np.isfinite(used)]), np.asarray(values[:, number], np.float64))
            columns[feature.column] = replace(column, bins=bins)
            features[number] = replace(feature, num_values=bins.num_bins)
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
    splits: Splits,
    kept: Kept,
    schema: Schema,
    sums: Sums,
    target: Float64[np.ndarray, "kept column"],
    num_classes: tuple[int, ...],
) -> Tree:
    """Returns the node table of the kept nodes.

    Args:
        splits: The splits of the heap.
        kept: What is kept of it.
        schema: With bins between the thresholds.
        sums: The sums of the heap.
        target: The weights of the classes, or sums of the targets, of the kept nodes.
        num_classes: The classes of every output; empty for numbers.
    """
    leaf, heap, size = kept.is_leaf, kept.heap, kept.heap.size
    at = np.where(leaf, 0, heap)
    split = [np.zeros(size, part.dtype) if part.size == 0 else part[at] for part in splits]
    feature, kind, threshold, missing_branch = split[:4]
    code = _codes(schema, feature, kind, threshold)
    weight, impurity = sums.weight[heap], sums.impurity[heap]
    risk = weight * impurity
    below = np.bincount(kept.parent[1:], risk[1:], minlength=size)
    gain = np.divide(risk - below, weight, out=np.zeros(size), where=~leaf & (weight > 0))

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
        count=target if num_classes else np.zeros((size, 0)),
        target_sum=np.zeros((size, 0)) if num_classes else target,
        num_rows=sums.num_rows[heap].astype(np.int32),
        impurity=impurity,
        gain=gain,
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
