"""The walk of rows through trees of hard gates, in NumPy: where `apply` brings them, bit for bit."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from jaxtree.errors import instance_of
from jaxtree.soft.gates import HardGate
from jaxtree.soft.model import SoftTree


class HardTests(NamedTuple):
    """The comparisons of the inner nodes of a tree of hard gates.

    Attributes:
        column: The column of every node.
        threshold: Rows with more go right.
        indicator: The column that is 1 where the value is missing; -1 where none is.
        goes_right: Whether a row with a missing value goes right.
    """

    column: Int[np.ndarray, " inner"]
    threshold: Float32[np.ndarray, " inner"]
    indicator: Int[np.ndarray, " inner"]
    goes_right: Bool[np.ndarray, " inner"]

    def branch(
        self, x: Float[np.ndarray, "row feature"], row: Int[np.ndarray, " moving"], node: Int[np.ndarray, " moving"]
    ) -> Bool[np.ndarray, " moving"]:
        """Returns whether some of the rows go right at their nodes."""
        known = x[row, self.column[node]].astype(np.float32) > self.threshold[node]
        indicator = self.indicator[node]
        is_missing = (indicator >= 0) & (x[row, indicator] == 1)
        return np.where(is_missing, self.goes_right[node], known)


def hard_tests(tree: SoftTree) -> HardTests:
    """Returns what the nodes of a tree of hard gates compare."""
    gate, form, gates = instance_of(HardGate, tree.gate), tree.form, tree.form.gate_of_nodes()
    selection, threshold = np.asarray(gate.selection), np.asarray(gate.threshold, np.float32)
    column = selection.argmax(axis=1)[gates]
    place = np.full(form.num_features, -1)
    for number, features in enumerate(form.missing):
        place[list(features)] = number
    own = place[column]
    goes_right = np.zeros(len(column), bool)
    if form.missing:
        goes_right = np.asarray(gate.missing)[gates, np.maximum(own, 0)] > 0
    indicator = np.where(own >= 0, form.num_features - len(form.missing) + own, -1)
    return HardTests(column, threshold[gates, column], indicator, goes_right & (own >= 0))


def hard_leaves(tree: SoftTree, x: Float[np.ndarray, "row feature"]) -> Int[np.ndarray, " row"]:
    """Returns the leaf where every row ends, of a tree of hard gates without stops: leaves from left to right."""
    tests, inner = hard_tests(tree), tree.form.num_inner
    children = np.where(np.arange(2 * inner + 1) < inner, 2 * np.arange(2 * inner + 1) + 1, 0)
    return walk_rows(lambda row, node: tests.branch(x, row, node), children, len(x)) - inner


def walk_rows(
    branch: Callable[[Int[np.ndarray, " moving"], Int[np.ndarray, " moving"]], Shaped[np.ndarray, " moving"]],
    first_child: Int[np.ndarray, " node"],
    num_rows: int,
) -> Int[np.ndarray, " row"]:
    """Returns the node where the walk of every row ends.

    Args:
        branch: A function of rows and the node of each: whether they go right from there.
        first_child: The first of two children of every node; 0 for those where rows end.
        num_rows: The number of rows.
    """
    node, moving = np.zeros(num_rows, np.int64), np.arange(num_rows)
    while (moving := moving[first_child[node[moving]] > 0]).size:
        node[moving] = first_child[node[moving]] + branch(moving, node[moving])
    return node
