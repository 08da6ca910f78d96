"""Leaves that are filled by other rows than those that chose the splits, and the removal of those that stay empty."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Int64, Real, UInt

from jaxtree.forests.row_sums import add_up, describe
from jaxtree.forests.samples import TreeRows
from jaxtree.growth.inputs.objective import NO_LABEL, Objective, quantise_entries
from jaxtree.kernels.mesh import Devices
from jaxtree.tree.forest import Forest, take_trees
from jaxtree.tree.nodes import children_of
from jaxtree.tree.predictor import Predictor

SPLIT_FIELDS = (
    "feature", "code", "next_code", "threshold", "split_kind", "subset", "missing_code", "missing_branch", "gain",
    "first_child", "num_children",
)  # fmt: skip
"""The fields of a node's split, which move to the node whose other branches are empty."""


def fill_leaves(
    forest: Forest,
    values: Float[np.ndarray, "row feature"],
    target: Real[np.ndarray, "output row"],
    rows: TreeRows,
    objective: Objective,
    parameters: Real[np.ndarray, "*tree parameter"],
) -> Forest:
    """Returns trees whose nodes have the sums of other rows, without branches that none of these reach.

    A node of which one branch alone has rows gives way to that branch. Gains stay those of the rows that chose the
    splits.

    Args:
        forest: The trees, with thresholds in codes.
        values: The rows of the table, in codes; NaN where a value is missing.
        target: Their targets.
        rows: The rows of every tree.
        objective: The objective that the trees were grown by.
        parameters: The numbers of the objective, of all trees or of each.
    """
    ends = _ends_in_trees(forest, values, rows)
    quantised = quantise_entries(
        objective, target[:, rows.row], rows.weight, Devices(1), is_scaled=not _are_whole(rows.weight)
    )
    nodes, units = forest.nodes, quantised.units
    sums = np.zeros((objective.num_node_channels, nodes.node_count), np.int64)
    for label, channel, value in objective.additions:
        own = quantised.value[value].astype(np.int64)
        if label == NO_LABEL:
            np.add.at(sums[channel], ends, own)
        else:
            np.add.at(sums, (channel + quantised.label[label], ends), own)
    num_rows = np.bincount(ends, minlength=nodes.node_count)
    sums, num_rows = add_up(nodes, np.vstack([sums, num_rows]))[:-1], add_up(nodes, num_rows[None])[0]
    of_tree = np.broadcast_to(parameters, (len(forest), np.shape(parameters)[-1]))
    fields = describe(objective, sums.T, of_tree[forest.tree_of_node], units)
    weight = objective.weight(sums)
    filled = dataclasses.replace(
        nodes,
        num_rows=num_rows.astype(np.int32),
        weight=weight.astype(np.float64) * units.weight if units.is_scaled else weight.astype(nodes.weight.dtype),
        impurity=np.asarray(fields.impurity, np.float64),
        count=np.asarray(fields.count),
        target_sum=np.asarray(fields.target_sum, np.float64),
    )
    return _without_empty(Forest(filled, forest.first_node))


def _are_whole(weight: Real[np.ndarray, " entry"]) -> bool:
    return np.issubdtype(weight.dtype, np.integer)


def _ends_in_trees(
    forest: Forest, values: Float[np.ndarray, "row feature"], rows: TreeRows
) -> Int64[np.ndarray, " entry"]:
    """The nodes where the rows of every tree end."""
    ends = np.empty(rows.row.size, np.int64)
    places = np.searchsorted(rows.tree, np.arange(len(forest) + 1))
    for number, tree in enumerate(forest):
        own = slice(places[number], places[number + 1])
        ends[own] = Predictor(Forest.of(tree)).ends_in_trees(values[rows.row[own]])[:, 0] + forest.first_node[number]
    return ends


def _without_empty(forest: Forest) -> Forest:
    """Returns the trees in which every node of which one branch has rows is that branch, and others without any end."""
    nodes = forest.nodes
    place = np.arange(nodes.node_count)
    has_rows, stops = nodes.num_rows > 0, nodes.is_leaf.copy()
    for depth in range(int(nodes.depth.max()) - 1, -1, -1):
        split = np.flatnonzero((nodes.depth == depth) & ~nodes.is_leaf)
        if not split.size:
            continue
        child = children_of(nodes, split)
        parent = np.repeat(split, nodes.num_children[split])
        filled = np.bincount(parent[has_rows[child]], minlength=nodes.node_count)
        stops[split[filled[split] == 0]] = True
        is_only = has_rows[child] & (filled[parent] == 1)
        place[parent[is_only]] = place[child[is_only]]
    if np.array_equal(place, np.arange(place.size)) and np.array_equal(stops, nodes.is_leaf):
        return forest
    moved: dict[str, Any] = {name: _rows_of(getattr(nodes, name), place) for name in SPLIT_FIELDS}
    raised = dataclasses.replace(nodes, **moved)
    return take_trees(raised, forest.first_node[:-1], collapsed=stops[place])


def _rows_of(field: Any, place: Int[np.ndarray, " node"]) -> UInt[np.ndarray, "..."] | Any:
    return field[place]
