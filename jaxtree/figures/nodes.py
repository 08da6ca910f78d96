"""Rows at the nodes of a tree, and histograms of the columns that the nodes ask about."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float, Int, Real

from jaxtree.dataset.magnitude import unit_of
from jaxtree.tree import Tree
from jaxtree.tree.nodes import ancestors

MOST_BARS, FEWEST_BARS = 16, 4
"""The most and fewest bars of a histogram of numbers; between them it has the square root of its number of rows; whole
weights count as rows."""

MOST_CATEGORIES = 24
"""The most categories with a bar each; of more, those next to one another share bars."""


class Visits(NamedTuple):
    """Rows at nodes: every pair of a row and a node that it comes to, also in parts, in the order of the nodes.

    Attributes:
        row: The row.
        node: The node.
    """

    row: Int[np.ndarray, " visit"]
    node: Int[np.ndarray, " visit"]

    def those(self, kept: Bool[np.ndarray, " visit"]) -> "Visits":
        """Returns some of them."""
        return Visits(self.row[kept], self.node[kept])


class NodeBars(NamedTuple):
    """Histograms at nodes, of the rows whose value is known.

    Attributes:
        low: The start of each node's first bar, for categories in their places.
        high: The end of its last.
        missing: The rows that lack a value.
        heights: The weights in each bar and stack; without bars where no row comes.
    """

    low: Float[np.ndarray, " node"]
    high: Float[np.ndarray, " node"]
    missing: Real[np.ndarray, " node"]
    heights: list[Real[np.ndarray, "bar stack"]]


def visits_of(tree: Tree, row: Int[np.ndarray, " part"], end: Int[np.ndarray, " part"], num_rows: int) -> Visits:
    """Returns all nodes that rows come to.

    Args:
        tree: The tree.
        row: Rows or parts of them.
        end: The node where the walk of each ends.
        num_rows: The number of rows.
    """
    ended = scipy.sparse.csr_matrix((np.ones(row.size, np.int64), (row, end)), shape=(num_rows, tree.node_count))
    row, node = (ended @ ancestors(tree)).nonzero()
    order = np.lexsort((row, node))
    return Visits(row[order], node[order])


def bars_of_nodes(
    visits: Visits,
    value: Float[np.ndarray, " visit"],
    num_categories: Int[np.ndarray, " node"],
    stack: Int[np.ndarray, " visit"],
    num_stacks: int,
    weight: Any = None,
) -> NodeBars:
    """Returns the histogram of every node: over the range of its rows, or over all categories of its column.

    Args:
        visits: Rows at nodes.
        value: The value that a node asks for; NaN where it is missing.
        num_categories: The categories of each node's column; 0 of numbers.
        stack: The stack of bars in which a row counts.
        num_stacks: The number of stacks.
        weight: The weight of the row of each visit; 1 if not given.
    """
    num_nodes, known = len(num_categories), ~np.isnan(value)
    missing = np.bincount(visits.node[~known], None if weight is None else weight[~known], num_nodes)
    node, value, stack = visits.node[known], value[known], stack[known]
    low, high = np.full(num_nodes, np.inf), np.full(num_nodes, -np.inf)
    np.minimum.at(low, node, value)
    np.maximum.at(high, node, value)
    rows = None if weight is None else weight[known] / unit_of(weight[weight > 0])
    count = np.bincount(node, rows, num_nodes)
    number = np.where(low < high, np.clip(np.ceil(np.sqrt(count)), FEWEST_BARS, MOST_BARS).astype(np.int64), 1)
    is_numeric = num_categories == 0
    low, high = np.where(is_numeric, low, -0.5), np.where(is_numeric, high, num_categories - 0.5)
    number = np.where(count > 0, np.where(is_numeric, number, np.minimum(num_categories, MOST_CATEGORIES)), 0)
    first, width = np.cumsum(number) - number, (high - low) / np.maximum(number, 1)
    place = np.floor((value - low[node]) / np.where(width > 0, width, 1.0)[node]).astype(np.int64)
    cell = (first[node] + np.minimum(place, number[node] - 1)) * num_stacks + stack
    heights = np.bincount(cell, None if weight is None else weight[known], int(number.sum()) * num_stacks)
    return NodeBars(low, high, missing, np.split(heights.reshape(-1, num_stacks), first[1:]))
