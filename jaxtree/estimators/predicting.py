"""A fitted tree made ready for prediction.

Where missing values are shared out, a row whose value is missing ends in several leaves, each with a weight; it is
then predicted by the weighted mean of what those leaves say.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.buckets import row_bucket
from jaxtree.table.binning import round_down_to_float32
from jaxtree.tree import Tree, apply_to_values, pad_nodes

ROWS_AT_A_TIME = 2**16
"""Rows predicted in one call, which bounds the memory of a prediction."""


class Visits(NamedTuple):
    """Rows and the leaves where parts of them end, with the weight of each part."""

    row: Int[np.ndarray, " visit"]
    node: Int[np.ndarray, " visit"]
    weight: Float[np.ndarray, " visit"]


class PredictingTree:
    """A tree padded to a bucket, with thresholds in both float types."""

    def __init__(self, tree: Tree):
        self._is_leaf = np.asarray(tree.is_leaf)
        self._children = np.asarray(tree.first_child), np.asarray(tree.num_children)
        self._weight = np.asarray(tree.weight, np.float64)
        double = pad_nodes(tree)
        single = round_down_to_float32(double.threshold)
        self._trees = {
            np.dtype(np.float64): double,
            np.dtype(np.float32): dataclasses.replace(double, threshold=single),
        }

    def apply(
        self, values: Float[np.ndarray, "row feature"], start: Int[np.ndarray, " row"] | None = None
    ) -> Int[np.ndarray, " row"]:
        """The node where the walk of every row ends."""
        start = np.zeros(len(values), np.int32) if start is None else start.astype(np.int32)
        tree = self._trees[values.dtype]
        blocks = [slice(first, first + ROWS_AT_A_TIME) for first in range(0, len(values), ROWS_AT_A_TIME)]
        ends = [_apply_to_block(tree, values[block], start[block]) for block in blocks]
        return np.concatenate(ends) if ends else np.zeros(0, np.int64)

    def mean(
        self,
        values: Float[np.ndarray, "row feature"],
        end: Int[np.ndarray, " row"],
        of_node: Float[np.ndarray, "node column"],
    ) -> Float[np.ndarray, "row column"]:
        """What nodes say, for the rows that end at `end`; rows that end above the leaves are shared out."""
        result = of_node[end]
        split = np.flatnonzero(~self._is_leaf[end])
        if split.size:
            visits = self.share_out(values[split], end[split])
            result[split] = 0
            np.add.at(result, split[visits.row], visits.weight[:, None] * of_node[visits.node])
        return result

    def share_out(self, values: Float[np.ndarray, "row feature"], end: Int[np.ndarray, " row"]) -> Visits:
        """The leaves where the parts of rows end that a missing value holds up at `end`."""
        held = Visits(np.arange(len(end)), end, np.ones(len(end)))
        arrived = []
        while held.row.size:
            parts = self._to_children(held)
            parts = parts._replace(node=self.apply(values[parts.row], parts.node))
            at_leaf = self._is_leaf[parts.node]
            arrived.append(Visits(*(part[at_leaf] for part in parts)))
            held = Visits(*(part[~at_leaf] for part in parts))
        return Visits(*(np.concatenate(parts) for parts in zip(*arrived, strict=True)))

    def _to_children(self, held: Visits) -> Visits:
        """A part for every child, weighted by the child's share of the training weight."""
        first_child, num_children = (values[held.node] for values in self._children)
        source = np.repeat(np.arange(held.row.size), num_children)
        before = np.cumsum(num_children) - num_children
        child = first_child[source] + np.arange(source.size) - before[source]
        weight = self._weight[child]
        whole = np.bincount(source, weight, minlength=held.row.size)
        share = held.weight[source] * weight / whole[source]
        some = share > 0
        return Visits(held.row[source[some]], child[some], share[some])


def _apply_to_block(
    tree: Tree, values: Float[np.ndarray, "row feature"], start: Int[np.ndarray, " row"]
) -> Int[np.ndarray, " row"]:
    """Walks a block of rows, padded to a bucket so that tables of a like length share a program."""
    num_rows = len(values)
    padding = min(row_bucket(num_rows), ROWS_AT_A_TIME) - num_rows
    if padding:
        values, start = np.pad(values, ((0, padding), (0, 0))), np.pad(start, (0, padding))
    return np.asarray(apply_to_values(tree, values, start))[:num_rows].astype(np.int64)
