"""Histograms of the column that every node asks for, over the rows that come to it, a stack of classes for each bar."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.estimators.holding import visits_of
from jaxtree.page.compact import compact
from jaxtree.page.nodes import FEW_DIGITS
from jaxtree.page.rows import Rows
from jaxtree.page.subject import Subject

MOST_BARS, FEWEST_BARS = 16, 4
"""Bounds of the number of a histogram's bars, which is the square root of that of its rows; of categories one each."""

MOST_CATEGORIES = 24
"""More categories than this share bars, those next to one another."""

MOST_STACKS = 8
"""More classes than this are stacked together: the last stack has all that follow."""


class _Bars(NamedTuple):
    """The bars of all nodes, side by side.

    Attributes:
        low: Where the first bar of every node begins.
        high: Where its last ends.
        number: How many it has; 0 at a leaf, and where no row comes.
    """

    low: Float[np.ndarray, " node"]
    high: Float[np.ndarray, " node"]
    number: Int[np.ndarray, " node"]


def histograms(subject: Subject, rows: Rows) -> list[dict[str, Any] | None]:
    """Returns a histogram for every inner node that rows come to, of those whose value is known; None for the others.

    `low` and `high` are the ends of the bars in units of the column, or for categories in their places; `missing` is
    how many rows lack a value; `bars` has a list for each bar with the number of rows in every stack.
    """
    num_nodes = subject.tree.node_count
    stack, num_stacks = _stacks(subject, rows)
    row, node = _passing(subject, rows)
    value = rows.values[row, np.asarray(subject.tree.feature)[node]]
    known = ~np.isnan(value)
    missing = np.bincount(node[~known], minlength=num_nodes)
    row, node, value = row[known], node[known], value[known]
    bars = _bars(subject, node, value)
    first = np.cumsum(bars.number) - bars.number
    width = (bars.high - bars.low) / np.maximum(bars.number, 1)
    place = np.floor((value - bars.low[node]) / np.where(width > 0, width, 1.0)[node]).astype(np.int64)
    cell = first[node] + np.minimum(place, bars.number[node] - 1)
    counts = np.bincount(cell * num_stacks + stack[row], minlength=int(bars.number.sum()) * num_stacks)
    ends = zip(compact(bars.low, FEW_DIGITS), compact(bars.high, FEW_DIGITS), strict=True)
    parts = np.split(counts.reshape(-1, num_stacks), first[1:])
    return [
        {"low": low, "high": high, "missing": lacking, "bars": part.tolist()} if len(part) else None
        for (low, high), lacking, part in zip(ends, missing.tolist(), parts, strict=True)
    ]


def _stacks(subject: Subject, rows: Rows) -> tuple[Int[np.ndarray, " row"], int]:
    """The stack of every row, and how many there are; rows of unknown classes are in the last."""
    if subject.labels is None:
        return np.zeros(len(rows.target), np.int64), 1
    has_unknown = bool(np.any(rows.target < 0))
    num_stacks = min(len(subject.classes) + has_unknown, MOST_STACKS)
    stack = np.where(rows.target < 0, num_stacks - 1, rows.target).astype(np.int64)
    return np.minimum(stack, num_stacks - 1), num_stacks


def _passing(subject: Subject, rows: Rows) -> tuple[Int[np.ndarray, " visit"], Int[np.ndarray, " visit"]]:
    """All pairs of a row and an inner node that it comes to, also in parts."""
    tree = subject.tree
    visits = visits_of(subject.member._predicting, rows.values)
    depth, parent, is_leaf = (np.asarray(values) for values in (tree.depth, tree.parent, tree.is_leaf))
    node, pairs = visits.node, []
    for level in range(int(depth.max()), -1, -1):
        here = (depth[node] == level) & ~is_leaf[node]
        pairs.append(np.unique(visits.row[here].astype(np.int64) * tree.node_count + node[here]))
        node = np.where(depth[node] == level, parent[node], node)
    row, node = np.divmod(np.concatenate(pairs), tree.node_count)
    return row, node


def _bars(subject: Subject, node: Int[np.ndarray, " visit"], value: Float[np.ndarray, " visit"]) -> _Bars:
    """The bars of every node: over the range of its rows, or over all categories of its column."""
    tree, features = subject.tree, subject.schema.features
    low, high = np.full(tree.node_count, np.inf), np.full(tree.node_count, -np.inf)
    np.minimum.at(low, node, value)
    np.maximum.at(high, node, value)
    visits = np.bincount(node, minlength=tree.node_count)
    number = np.clip(np.ceil(np.sqrt(visits)), FEWEST_BARS, MOST_BARS).astype(np.int64)
    asked = np.maximum(np.asarray(tree.feature), 0)
    is_numeric = np.array([feature.kind == "numeric" for feature in features])[asked]
    categories = np.array([feature.num_values for feature in features])[asked]
    low, high = np.where(is_numeric, low, -0.5), np.where(is_numeric, high, categories - 0.5)
    number = np.where(is_numeric, np.where(low < high, number, 1), np.minimum(categories, MOST_CATEGORIES))
    return _Bars(low, high, np.where(visits > 0, number, 0))
